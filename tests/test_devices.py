"""Which devices a job may take, and that no two jobs take the same."""

import fcntl
import os
import subprocess
import sys
import textwrap
import threading

import pytest

from babelmill.errors import UserError
from babelmill.training import devices
from babelmill.training.devices import check_cpus, lease_gpus, visible_gpus
from conftest import ROOT

FOUR = {str(number): f"GPU-{number:04x}" for number in range(4)}


@pytest.fixture
def nvidia_smi(tmp_path, monkeypatch):
    """A driver that reports four GPUs."""
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    lines = "\\n".join(f"{index}, {uuid}" for index, uuid in FOUR.items())
    program.write_text(f'#!/bin/sh\nprintf "{lines}\\n"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


@pytest.mark.parametrize(
    "allowed, expected",
    [
        (None, FOUR),
        ("2,0", {"2": "GPU-0002", "0": "GPU-0000"}),
        ("GPU-0003", {"GPU-0003": "GPU-0003"}),
        ("", {}),
        ("-1", {}),
        ("1,-1,2", {"1": "GPU-0001"}),
        ("NoDevFiles", {}),
    ],
)
def test_what_a_scheduler_set_is_respected(nvidia_smi, allowed, expected):
    environ = {} if allowed is None else {"CUDA_VISIBLE_DEVICES": allowed}
    assert visible_gpus(environ) == expected


def test_without_a_driver_there_is_no_gpu(nvidia_smi):
    nvidia_smi.write_text("#!/bin/sh\necho no devices were found >&2; exit 6\n")
    assert visible_gpus({}) == {}
    nvidia_smi.unlink()
    assert visible_gpus({}) == {}


def test_leases_do_not_overlap_and_end(tmp_path):
    with lease_gpus(1, FOUR, tmp_path) as one, lease_gpus(3, FOUR, tmp_path) as three:
        assert sorted(one + three) == list("0123")
        with (
            pytest.raises(UserError, match="1 GPUs asked for, 0 of 4 free"),
            lease_gpus(1, FOUR, tmp_path),
        ):
            pass
    with lease_gpus(4, FOUR, tmp_path) as four:
        assert four == list("0123")


def test_a_lease_that_fails_holds_nothing(tmp_path):
    with lease_gpus(2, FOUR, tmp_path):
        with (
            pytest.raises(UserError, match="3 GPUs asked for, 2 of 4 free"),
            lease_gpus(3, FOUR, tmp_path),
        ):
            pass
        with lease_gpus(2, FOUR, tmp_path) as rest:
            assert rest == ["2", "3"]


def test_one_gpu_by_two_names_is_leased_once(tmp_path):
    with (
        lease_gpus(1, {"0": "GPU-7"}, tmp_path),
        pytest.raises(UserError, match="0 of 1 free"),
        lease_gpus(1, {"GPU-7": "GPU-7"}, tmp_path),
    ):
        pass


def test_more_than_there_are_is_an_error(tmp_path):
    with (
        pytest.raises(UserError, match=r"5 GPUs asked for, 4 visible \(0, 1, 2, 3\)"),
        lease_gpus(5, FOUR, tmp_path),
    ):
        pass
    with (
        pytest.raises(UserError, match=r"1 GPUs asked for, 0 visible \(none\)"),
        lease_gpus(1, {}, tmp_path),
    ):
        pass


def test_one_job_chooses_at_a_time(tmp_path):
    """Else two jobs that want all GPUs could take half of them each, and both fail."""
    with lease_gpus(1, FOUR, tmp_path):
        pass
    done = threading.Event()

    def lease():
        with lease_gpus(4, FOUR, tmp_path):
            done.set()

    with (tmp_path / "choosing").open() as choosing:
        fcntl.flock(choosing, fcntl.LOCK_EX)
        thread = threading.Thread(target=lease)
        thread.start()
        assert not done.wait(0.2)
    assert done.wait(10)
    thread.join()


HOLDER = """
    import sys
    from pathlib import Path
    from babelmill.errors import UserError
    from babelmill.training.devices import lease_gpus

    gpus = {str(number): f"GPU-{number:04x}" for number in range(4)}
    sys.stdin.readline()
    try:
        with lease_gpus(2, gpus, Path(sys.argv[1])) as leased:
            print(*leased, flush=True)
            sys.stdin.readline()
    except UserError:
        print("none", flush=True)
"""


def test_racing_processes_share_nothing_and_death_frees(tmp_path):
    """Six processes want two of four GPUs each, at once: two of them get two."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(HOLDER), tmp_path / "locks"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    try:
        for racer in racers:
            racer.stdin.write("go\n")
            racer.stdin.flush()
        said = [racer.stdout.readline().split() for racer in racers]
        leased = [names for names in said if names != ["none"]]
        assert sorted("".join(map("".join, leased))) == list("0123")
        assert [len(names) for names in leased] == [2, 2]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()
    with lease_gpus(4, FOUR, tmp_path / "locks"):
        pass


def test_more_processes_than_cores_is_an_error(monkeypatch):
    monkeypatch.setattr(devices.os, "sched_getaffinity", lambda _: {0, 5})
    check_cpus(2)
    with pytest.raises(UserError, match="3 processes asked for on 2 cores"):
        check_cpus(3)
