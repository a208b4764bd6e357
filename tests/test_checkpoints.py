"""What is kept of a training run, and when it is taken back."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.training.checkpoints import Checkpoints, computed, forget_finished
from conftest import ROOT


def arrays(value, size=3):
    return {"weights": {"w": np.full(size, value, np.float32)}}


def kept(folder):
    return sorted(int(path.name[4:]) for path in folder.rglob("step?????????"))


def tear(folder, step, damage="cut"):
    (weights,) = folder.rglob(f"step{step:09d}/weights.safetensors")
    content = weights.read_bytes()
    if damage == "cut":
        weights.write_bytes(content[:-4])
    elif damage == "flip":
        weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "delete":
        weights.unlink()
    else:
        weights.with_name("checkpoint.json").write_text("{")


def test_the_last_two_stay(tmp_path):
    checkpoints = Checkpoints(tmp_path, {"lr": 1})
    for step in (1, 2, 3):
        checkpoints.save(step, arrays(step), {"step": step})
    checkpoints.close()
    assert kept(tmp_path) == [2, 3]
    loaded, values = Checkpoints(tmp_path, {"lr": 1}).load()
    assert values == {"step": 3}
    assert loaded["weights"]["w"].tolist() == [3, 3, 3]


def test_a_run_belongs_to_one_process(tmp_path):
    first = Checkpoints(tmp_path, "run")
    with pytest.raises(UserError, match="another process trains this"):
        Checkpoints(tmp_path, "run")
    first.close()
    Checkpoints(tmp_path, "run")


def test_the_other_processes_of_a_run_load_what_its_writer_saved(tmp_path):
    writer = Checkpoints(tmp_path, "run")
    writer.save(1, arrays(7), {"step": 1})
    loaded, _ = Checkpoints(tmp_path, "run", writer=False).load()
    assert loaded["weights"]["w"].tolist() == [7, 7, 7]


def test_a_process_that_only_loads_creates_nothing(tmp_path):
    assert Checkpoints(tmp_path / "state", "run", writer=False).load() is None
    assert not (tmp_path / "state").exists()


def test_checkpoints_of_other_settings_are_not_taken(tmp_path):
    Checkpoints(tmp_path, {"lr": 1}).save(1, arrays(1), {"step": 1})
    assert Checkpoints(tmp_path, {"lr": 2}).load() is None


def test_how_a_run_is_watched_is_not_what_it_computes():
    settings = {"max_steps": 9, "save_steps": 1, "eval_steps": 2, "logging_steps": 3}
    assert computed(settings) == {"max_steps": 9}


@pytest.mark.parametrize("damage", ["cut", "flip", "delete", "json"])
def test_a_torn_checkpoint_is_skipped(tmp_path, capsys, damage):
    checkpoints = Checkpoints(tmp_path, "run")
    checkpoints.save(1, arrays(1), {"step": 1})
    checkpoints.save(2, arrays(2), {"step": 2})
    tear(tmp_path, 2, damage)
    assert checkpoints.load()[1] == {"step": 1}
    assert "step000000002: torn checkpoint skipped" in capsys.readouterr().err


def test_a_torn_checkpoint_is_none_of_the_two_that_stay(tmp_path):
    first = Checkpoints(tmp_path, "run")
    for step in (10, 20):
        first.save(step, arrays(step), {"step": step})
    first.close()
    tear(tmp_path, 20)
    resumed = Checkpoints(tmp_path, "run")
    assert resumed.load()[1] == {"step": 10}
    resumed.save(15, arrays(15), {"step": 15})
    assert kept(tmp_path) == [10, 15]
    tear(tmp_path, 15)
    assert resumed.load()[1] == {"step": 10}


def test_a_write_that_was_cut_off_leaves_nothing(tmp_path):
    first = Checkpoints(tmp_path, "run")
    first.save(1, arrays(1), {"step": 1})
    (run,) = tmp_path.iterdir()
    partial = run / ".step000000002.4711.partial"
    shutil.copytree(run / "step000000001", partial)
    first.close()
    assert Checkpoints(tmp_path, "run").load()[1] == {"step": 1}
    assert not partial.exists()


def test_a_full_disk_is_an_error_that_keeps_what_there_is(tmp_path):
    checkpoints = Checkpoints(tmp_path, "run")
    checkpoints.save(1, arrays(1), {"step": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, limits[1]))
    try:
        with pytest.raises(UserError, match=r"no checkpoint can be written.*are kept"):
            checkpoints.save(2, arrays(2, size=1 << 16), {"step": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept(tmp_path) == [1]
    assert not list(tmp_path.rglob(".*"))
    assert checkpoints.load()[1] == {"step": 1}


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(UserError, match=r"state/\w+: no checkpoint can be written"):
        Checkpoints(tmp_path / "state", "run")


@pytest.fixture
def output(tmp_path):
    folder = tmp_path / "output"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


def finished_run(tmp_path, output):
    checkpoints = Checkpoints(tmp_path / "state", "run")
    checkpoints.save(1, arrays(1), {"step": 1})
    checkpoints.finish(output, {"code": 1})
    checkpoints.close()
    return Checkpoints(tmp_path / "state", "run")


def test_the_output_of_a_finished_run_is_put_back(tmp_path, output):
    checkpoints = finished_run(tmp_path, output)
    assert not kept(tmp_path)
    shutil.rmtree(output)
    assert checkpoints.put_back(output, {"code": 1})
    assert (output / "model.safetensors").read_bytes() == b"weights"


def test_the_output_takes_no_second_room(tmp_path, output):
    finished_run(tmp_path, output)
    (kept_file,) = (tmp_path / "state").rglob("model.safetensors")
    assert os.path.samefile(kept_file, output / "model.safetensors")


def test_other_code_does_not_get_the_old_output(tmp_path, output):
    checkpoints = finished_run(tmp_path, output)
    shutil.rmtree(output)
    assert not checkpoints.put_back(output, {"code": 2})
    assert not output.exists()


def test_an_output_that_was_changed_is_not_put_back(tmp_path, output):
    checkpoints = finished_run(tmp_path, output)
    (output / "model.safetensors").write_bytes(b"wEights")
    assert not checkpoints.put_back(output, {"code": 1})


def test_a_run_that_did_not_finish_has_nothing_to_put_back(tmp_path, output):
    assert not Checkpoints(tmp_path / "state", "run").put_back(output, {})


def test_one_output_has_one_finished_run(tmp_path, output):
    finished_run(tmp_path, output).close()
    other = Checkpoints(tmp_path / "state", "other run")
    going_on = Checkpoints(tmp_path / "state", "third run")
    going_on.save(5, arrays(5), {"step": 5})
    other.finish(output, {})
    assert len(list((tmp_path / "state").rglob("finished.json"))) == 1
    assert going_on.load()[1] == {"step": 5}


def test_forgetting_leaves_what_goes_on(tmp_path, output):
    # A model may have any name.
    state = tmp_path / "state" / "finished"
    for name in ("one", "two"):
        run = Checkpoints(state / name, "run")
        run.finish(output, {})
        run.close()
    held = Checkpoints(state / "two", "run")
    going_on = Checkpoints(state / "three", "run")
    going_on.save(5, arrays(5), {"step": 5})
    forget_finished(tmp_path / "state")
    assert not list((state / "one").iterdir())
    assert list((state / "two").rglob("finished.json"))
    assert going_on.load()[1] == {"step": 5}
    held.close()
    forget_finished(tmp_path / "nothing")


TRAINER = """
    import sys
    from pathlib import Path
    import numpy as np
    from babelmill.training.checkpoints import Checkpoints
    from babelmill.training.interruption import Interruption

    checkpoints = Checkpoints(Path(sys.argv[1]), "run")
    with Interruption() as interruption:
        step = 0
        while True:
            print(step, flush=True)
            step += 1
            for _ in range(1000):
                sum(range(100))
            if interruption.requested:
                arrays = {"weights": {"w": np.zeros(1, np.float32)}}
                checkpoints.save(step, arrays, {"step": step})
                interruption.stop(step)
"""


@pytest.mark.parametrize("warning", [signal.SIGTERM, signal.SIGUSR1])
def test_a_warned_run_saves_its_step_and_asks_to_be_tried_again(tmp_path, warning):
    steps = tmp_path / "steps"
    with steps.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(TRAINER), tmp_path],
            env={**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        )
    while not steps.read_text():
        time.sleep(0.01)
    process.send_signal(warning)
    _, error = process.communicate(timeout=60)
    last = len(steps.read_text().splitlines())
    assert process.returncode == 75
    assert error == f"warned to stop: saved at step {last}\n"
    assert kept(tmp_path) == [last]


def test_after_the_run_a_warning_does_what_it_did_before():
    from babelmill.training.interruption import Interruption

    before = signal.getsignal(signal.SIGTERM)
    with Interruption() as interruption:
        assert signal.getsignal(signal.SIGTERM) != before
        os.kill(os.getpid(), signal.SIGUSR1)
        assert interruption.requested
    assert signal.getsignal(signal.SIGTERM) == before
