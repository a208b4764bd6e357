"""The lock, the conda environments and pyproject.toml say the same."""

import re
import sys
import tomllib
from importlib.metadata import version

import pytest
import yaml

from conftest import ROOT

sys.path.insert(0, str(ROOT / "envs"))


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pairs = [line.split(" ")[0].split("==") for line in lines if re.match(r"\w", line)]
    return dict(pairs)


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_conda_environment_has_the_pins_of_the_lock(name):
    text = (ROOT / "envs" / f"{name}.yaml").read_text()
    *_, packages = yaml.safe_load(text)["dependencies"]
    pinned = dict(line.split("==") for line in packages["pip"])
    expected = locked()
    if name == "gpu":
        expected["paddlepaddle-gpu"] = expected.pop("paddlepaddle")
    assert pinned == expected, "run `make lock`"


def test_lock_has_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["dev"]
    names = {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in asked}
    assert names <= locked().keys()
    for line in asked:
        name, _, exact = line.partition("==")
        if exact:
            assert locked()[name] == exact


def test_lock_has_hashes_and_names_no_host():
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert text.count("--hash=sha256:") >= len(locked())


@pytest.mark.parametrize("name", ["snakemake", "paddlepaddle", "paddlenlp", "h5py"])
def test_installed_version_is_the_locked_one(name):
    assert version(name) == locked()[name]
