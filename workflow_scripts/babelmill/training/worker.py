"""Run a script as one of several processes and write down how it ended.

    python worker.py FOLDER SCRIPT ARGUMENTS...

writes the exit code to FOLDER/exit.N, where N is the number of the process on this
machine. Where that file is missing, the process was killed. ``launch`` needs it: the
launcher's own exit code is that of any process, also of one that was ended because
another had failed.
"""

import os
import runpy
import sys
import traceback
from pathlib import Path


def exit_code(script: str) -> int:
    """Run ``script`` as if called by hand; its exit code."""
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    folder, script = Path(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    sys.path[0] = str(Path(script).resolve().parent)
    code = exit_code(script)
    name = f"exit.{os.environ['PADDLE_LOCAL_RANK']}"
    (folder / f".{name}").write_text(str(code))
    (folder / f".{name}").rename(folder / name)
    raise SystemExit(code)


if __name__ == "__main__":
    main()
