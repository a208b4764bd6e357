"""Fixtures that every test may use."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow_scripts"))


@pytest.fixture(scope="session")
def test_data() -> Callable[..., Path]:
    """Path of a file or folder of the outside data, or a skip that says why.

    The data may not be redistributed, so it is not in this repository. It lies in the
    folder that the environment variable BABELMILL_TEST_DATA names: ``data/`` holds
    official releases, ``golden/`` the outputs of independent implementations.
    """

    def find(*parts: str) -> Path:
        root = os.environ.get("BABELMILL_TEST_DATA")
        if not root:
            pytest.skip("BABELMILL_TEST_DATA is not set: no outside data")
        path = Path(root, *parts)
        if not path.exists():
            pytest.skip(f"BABELMILL_TEST_DATA has no {'/'.join(parts)}")
        return path

    return find
