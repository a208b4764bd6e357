"""Write the conda environments from the lock, so that there is one set of pins.

    python envs/pin.py

writes cpu.yaml and gpu.yaml beside this file. gpu.yaml differs in one line: the GPU
build of Paddle, which comes from Paddle's own package index (set PIP_EXTRA_INDEX_URL).
"""

import re
from pathlib import Path

ENVS = Path(__file__).resolve().parent
LOCK = ENVS.parent / "requirements.lock"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)( ; [^\\]+)?", re.M)
_HEAD = """\
# Written by envs/pin.py from requirements.lock: run `make lock` after a change.
channels: [conda-forge, nodefaults]
dependencies:
  - python =3.11
  - pip
  - pip:
"""


def pins(lock: str) -> dict[str, str]:
    """Names and versions of a requirements file."""
    return {match[1]: match[2] for match in _PIN.finditer(lock)}


def environment(versions: dict[str, str], gpu: bool) -> str:
    """A conda environment with these pins."""
    lines = []
    for name, version in sorted(versions.items()):
        build = "-gpu" if gpu and name == "paddlepaddle" else ""
        lines.append(f"      - {name}{build}=={version}\n")
    return _HEAD + "".join(lines)


def main() -> None:
    versions = pins(LOCK.read_text())
    for name, gpu in (("cpu", False), ("gpu", True)):
        (ENVS / f"{name}.yaml").write_text(environment(versions, gpu))


if __name__ == "__main__":
    main()
