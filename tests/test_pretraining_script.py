"""pretrain.py from the outside: what it writes for those who watch, how it fails."""

import json
import subprocess

import pytest

from babelmill.plan import as_json
from test_resume import finish, newest_step, pretraining


def with_settings(command, **changes):
    """The call with some settings changed."""
    at = command.index("--settings") + 1
    settings = {**json.loads(command[at]), **changes}
    return [*command[:at], as_json(settings), *command[at + 1 :]]


def refused(command):
    """The one line of a call that must end with code 2."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    *_, line = done.stderr.strip().replace("\r", "\n").splitlines()
    assert line.startswith("error: ")
    assert "Traceback" not in done.stderr
    return line


def test_curves_and_a_profile_of_the_steps_asked_for(smoke_run, tmp_path):
    command = pretraining(smoke_run, tmp_path / "out", tmp_path / "state")
    command = with_settings(command, max_steps=12, logging_steps=4, eval_steps=6)
    options = f"batch_range=[3, 5]; profile_path={tmp_path / 'profile'}"
    finish([*command, "--log_dir", tmp_path / "log", "--profiler_options", options])

    from visualdl import LogReader

    (log,) = (tmp_path / "log").iterdir()
    reader = LogReader(file_path=str(log))
    lines = (tmp_path / "out" / "loss.jsonl").read_text().splitlines()
    records = list(map(json.loads, lines))
    losses = {r["step"]: r["loss"] for r in records if "loss" in r}
    assert list(losses) == [4, 8, 12]
    curve = {point.id: point.value for point in reader.get_data("scalar", "loss")}
    assert curve == pytest.approx(losses)
    english = {r["step"]: r["validation"]["en"] for r in records if "validation" in r}
    curve = reader.get_data("scalar", "validation/en")
    assert {point.id: point.value for point in curve} == pytest.approx(
        {step: scores["loss"] for step, scores in english.items()}
    )

    (trace,) = (tmp_path / "profile").iterdir()
    events = json.loads(trace.read_text())["traceEvents"]
    names = {event.get("name", "").partition("[")[0] for event in events}
    # Steps count from 0.
    steps = {"ProfileStep#3", "ProfileStep#4"}
    assert {name for name in names if name.startswith("ProfileStep")} == steps


@pytest.mark.parametrize("options", ["batch_range=[5, 3]", "batch_range=3-5", "10,20"])
def test_profiler_options_of_another_form_are_one_line(smoke_run, tmp_path, options):
    command = pretraining(smoke_run, tmp_path / "out", tmp_path / "state")
    assert options in refused([*command, "--profiler_options", options])


@pytest.mark.parametrize("engine", ["dynamic", "static"])
def test_a_run_that_breaks_down_is_one_line_and_keeps_its_checkpoint(
    smoke_run, tmp_path, engine
):
    command = pretraining(smoke_run, tmp_path / "out", tmp_path / "state")
    # Steps that leap further and further, and nothing that clips them.
    command = with_settings(
        command, learning_rate=1e20, warmup_steps=30, max_grad_norm=1e30, save_steps=1
    )
    line = refused([*command, "--engine", engine])
    assert "lower learning_rate" in line
    assert "kept" in line
    assert not (tmp_path / "out").exists()
    assert newest_step(tmp_path / "state") > 0
