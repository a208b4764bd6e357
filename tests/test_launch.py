"""Several processes through Paddle's launcher: what comes through, what must not."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from babelmill.errors import UserError
from babelmill.training import launch as launching
from babelmill.training.launch import launcher_options, scrubbed
from babelmill.training.slurm import Machine, expand_hosts, machine
from conftest import ROOT

SECRET = "planted-7e1c"

# Called by hand it launches two of itself; what they do is its argument.
SCRIPT = """
    import os, sys, time
    from pathlib import Path

    from babelmill.errors import UserError
    from babelmill.script import run
    from babelmill.training.interruption import Interruption
    from babelmill.training.launch import is_worker, launch

    def work(what):
        rank = int(os.environ["PADDLE_TRAINER_ID"])
        if what == "sum":
            import paddle
            import paddle.distributed as dist
            dist.init_parallel_env()
            total = paddle.to_tensor([rank + 1.0])
            dist.all_reduce(total)
            Path(f"sum{rank}").write_text(str(float(total)))
            Path(f"environment{rank}").write_text(str(dict(os.environ)))
            print("the first prints", rank)
        elif what == "refuse" and rank == 1:
            raise UserError("line 3: mend it")
        elif what == "refuse":
            time.sleep(60)
        elif what == "wait":
            with Interruption() as interruption:
                Path(f"ready{rank}").touch()
                while not interruption.requested:
                    time.sleep(0.01)
                time.sleep(rank)
                Path(f"saved{rank}").touch()
                interruption.stop(5)

    def main():
        if is_worker():
            work(sys.argv[1])
        else:
            launch(__file__, sys.argv[1:], 2, [])
            print("launched")

    if __name__ == "__main__":
        run(main)
"""


@pytest.fixture
def toy(tmp_path):
    """Starts the script in ``tmp_path``; its temporary files are there as well."""
    (tmp_path / "toy.py").write_text(textwrap.dedent(SCRIPT))
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")}
    environ |= {"TMPDIR": str(tmp_path), "MY_TOKEN": SECRET, "SLURM_JWT": SECRET}
    environ |= {"https_proxy": f"http://me:{SECRET}@proxy"}

    started = []

    def start(what):
        process = subprocess.Popen(
            [sys.executable, "toy.py", what],
            cwd=tmp_path,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def leftovers(folder):
    return list(folder.glob("babelmill-launch-*"))


def readable(folder):
    """The files below a folder with their text; some may go while one looks."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError, IsADirectoryError):
            yield path, path.read_text(errors="replace")


def test_two_processes_sum_and_a_secret_reaches_no_file(toy, tmp_path):
    pytest.importorskip("paddle")
    process = toy("sum")
    written = {}
    while process.poll() is None:
        # The launcher's logs are gone in the end.
        written |= readable(tmp_path)
        time.sleep(0.2)
    written |= readable(tmp_path)
    shown, error = process.communicate()
    assert process.returncode == 0, error
    assert {"the first prints 0", "launched"} <= set(shown.splitlines())
    assert "the first prints 1" not in shown
    assert [(tmp_path / f"sum{rank}").read_text() for rank in (0, 1)] == ["3.0", "3.0"]
    with_environment = [path.name for path, text in written.items() if "PATH" in text]
    assert {"backup_env.1.json", "environment1"} <= set(with_environment)
    assert not [path for path, text in written.items() if SECRET in text]
    assert not leftovers(tmp_path)


def test_what_one_process_refuses_is_one_line_and_code_2(toy, tmp_path):
    pytest.importorskip("paddle")
    process = toy("refuse")
    shown, error = process.communicate(timeout=120)
    assert (process.returncode, shown) == (2, "")
    assert error == "error: line 3: mend it\n"
    assert not leftovers(tmp_path)


def start_waiting(toy, folder):
    process = toy("wait")
    for rank in (0, 1):
        while not (folder / f"ready{rank}").exists():
            assert process.poll() is None
            time.sleep(0.05)
    return process


def test_a_warning_reaches_every_process_and_all_have_time_to_save(toy, tmp_path):
    pytest.importorskip("paddle")
    process = start_waiting(toy, tmp_path)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 75, error
    assert (tmp_path / "saved0").exists() and (tmp_path / "saved1").exists()
    assert not leftovers(tmp_path)


def test_no_process_outlives_the_one_that_launched_it(toy, tmp_path):
    pytest.importorskip("paddle")
    process = start_waiting(toy, tmp_path)
    process.kill()
    process.communicate()
    patience = time.monotonic() + 60
    while not ((tmp_path / "saved0").exists() and (tmp_path / "saved1").exists()):
        assert time.monotonic() < patience
        time.sleep(0.05)


@pytest.fixture
def ended(tmp_path):
    """Judges two processes that ended so, in this order, by their number."""

    logs = tmp_path / "logs"

    def judge(codes, launcher=0, warned=False, log=""):
        logs.mkdir(exist_ok=True)
        for at, (number, code) in enumerate(codes.items()):
            path = logs / f"exit.{number}"
            path.write_text(str(code))
            os.utime(path, (1000 + at, 1000 + at))
            (logs / f"workerlog.{number}").write_text(f"{log} {number}\n")
        (logs / "launcher.log").write_text("the launcher's own words\n")
        launching._judge(2, logs, launcher, warned)

    return judge


def test_a_run_is_good_when_all_say_so_whatever_the_launcher_says(ended, capsys):
    ended({0: 0, 1: 0}, launcher=1)
    assert "ended with code 1 after all processes had ended" in capsys.readouterr().err


def test_a_process_that_says_nothing_was_killed(ended, capsys):
    with pytest.raises(SystemExit) as stop:
        ended({0: 0}, launcher=0)
    assert stop.value.code == 1
    assert "the launcher's own words" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        ended({0: 0}, launcher=-9, warned=True)
    assert stop.value.code == 75


def test_the_first_that_failed_speaks(ended, capsys):
    with pytest.raises(UserError, match=r"^no shards 1$"):
        ended({1: 2, 0: 1}, launcher=1, log="error: no shards")
    with pytest.raises(SystemExit) as stop:
        ended({0: 7, 1: 2}, launcher=7, log="Traceback")
    assert stop.value.code == 7
    assert "Traceback 0\na process failed; the logs of all are in" in (
        capsys.readouterr().err
    )


def test_only_what_training_needs_is_passed_on():
    needed = {"PATH": "/bin", "OMP_NUM_THREADS": "1", "NCCL_DEBUG": "INFO"}
    other = {"HF_TOKEN": "x", "PADDLE_TRAINER_ENDPOINTS": "a:1", "SLURM_JOB_ID": "7"}
    other |= {"PATHS": "x", "http_proxy": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    assert scrubbed({**needed, **other}) == needed


@pytest.mark.parametrize(
    "hosts, names",
    [
        ("", []),
        ("login", ["login"]),
        ("n1,n3", ["n1", "n3"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("gpu[08-10,12],cpu7", ["gpu08", "gpu09", "gpu10", "gpu12", "cpu7"]),
        ("r[1-2]n[1-2].hpc", ["r1n1.hpc", "r1n2.hpc", "r2n1.hpc", "r2n2.hpc"]),
    ],
)
def test_host_lists_as_scontrol_expands_them(hosts, names):
    assert expand_hosts(hosts) == names


STEP = {
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "n[07-08]",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_NODEID": "1",
}


def test_machines_of_a_step_meet_at_its_first_one():
    first, second = machine({**STEP, "SLURM_NODEID": "0"}), machine(STEP)
    assert (first.rank, second.rank, first.count, second.count) == (0, 1, 2, 2)
    assert first.master == second.master
    assert first.master.startswith("n07:2")
    assert machine({**STEP, "SLURM_STEP_ID": "1"}).master != first.master


def test_outside_a_step_of_several_machines_a_machine_stands_alone():
    assert machine({}) is None
    assert machine({**STEP, "SLURM_STEP_NODELIST": "n07"}) is None
    batch = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NODELIST": "n[07-08]"}
    assert machine({**batch, "SLURM_NODEID": "0"}) is None


def test_more_than_one_task_on_a_machine_is_an_error():
    with pytest.raises(UserError, match="16 tasks on 2 machines: start one on each"):
        machine({**STEP, "SLURM_STEP_NUM_TASKS": "16"})


def test_the_launcher_is_told_the_machines(tmp_path):
    alone = launcher_options(4, tmp_path, None)
    assert alone[:2] == ["--nproc_per_node", "4"] and "--master" not in alone
    many = launcher_options(4, tmp_path, Machine(1, 2, "n07:21234"))
    assert many[-6:] == ["--master", "n07:21234", "--nnodes", "2", "--rank", "1"]
