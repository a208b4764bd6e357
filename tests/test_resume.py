"""Training that is killed and started again ends in the same bits."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from babelmill.files import sha256
from babelmill.plan import Plan, as_json, named
from conftest import ROOT, load_config

SCRIPTS = ROOT / "workflow_scripts"
# More for a soak: BABELMILL_KILLS=50 pytest tests/test_resume.py
KILLS = int(os.environ.get("BABELMILL_KILLS", 5))
STEPS = 100 * (KILLS + 1)


def pretraining(run, output, state):
    """A call of pretrain.py on the shards of a smoke run."""
    plan = Plan(load_config("smoke"))
    model = plan.config["models"]["demo-mlm-tlm"]
    settings = {**model["training"], "seed": 3, "max_steps": STEPS, "save_steps": 7}
    settings |= {"eval_steps": STEPS, "logging_steps": 50}
    shards = run.folder / "results" / "shards" / "demo-mlm-tlm"
    return [
        *(sys.executable, SCRIPTS / "pretrain.py", "--shards"),
        *(run.folder / path for path in plan.training_shards("demo-mlm-tlm")),
        *("--validation", shards / "validation.hdf5"),
        *("--manifest", shards / "manifest.json"),
        *("--tokenizer", run.folder / plan.tokenizer_of("demo-mlm-tlm")),
        *("--architecture", as_json({**model["architecture"], "dropout": 0.1})),
        *("--settings", as_json(settings)),
        *("--state", state, "--output_dir", output),
    ]


def fine_tuning(run, output, state):
    """A call of finetune.py on the encoder and task of a smoke run."""
    task = load_config("smoke")["tasks"]["demo-nli"]
    settings = {**task["finetuning"], "seed": 3, "dropout": 0.1, "save_steps": 7}
    settings |= {"num_train_epochs": STEPS // 3, "evaluations_per_epoch": 1}
    results = run.folder / "results"
    texts = [
        ("en", results / "tasks" / "demo-nli" / f"{s}.en.tsv") for s in ("train", "dev")
    ]
    return [
        *(sys.executable, SCRIPTS / "finetune.py"),
        *("--encoder", results / "pretrained" / "demo-mlm-tlm"),
        *("--train", *named(texts[:1]), "--dev", *named(texts[1:])),
        *("--labels", *task["labels"], "--metric", "accuracy"),
        *("--settings", as_json(settings)),
        *("--state", state, "--output_dir", output),
    ]


def finish(command):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def newest_step(state):
    """The step of the newest checkpoint of a run, -1 without one."""
    return max((int(path.name[4:]) for path in state.glob("*/step*")), default=-1)


# Of fine-tuning, which keeps its state as pretraining does.
FEWER_KILLS = max(3, KILLS // 2)
TWO = ["--devices", "2", "--threads", "2"]
CALLS = [
    pytest.param(
        pretraining, ["--engine", engine, *devices], KILLS, id=f"{engine}{number}"
    )
    for engine in ("dynamic", "static")
    for number, devices in ((1, []), (2, TWO))
]
CALLS += [
    pytest.param(fine_tuning, [], FEWER_KILLS, id="fine-tuning-dynamic1"),
    pytest.param(
        *(fine_tuning, ["--engine", "static", *TWO], FEWER_KILLS),
        id="fine-tuning-static2",
    ),
]


@pytest.mark.parametrize(("call", "flags", "kills"), CALLS)
def test_killed_runs_end_in_the_same_bits(smoke_run, tmp_path, call, flags, kills):
    finish([*call(smoke_run, tmp_path / "straight", tmp_path / "state1"), *flags])
    rng = random.Random(5)
    command = [*call(smoke_run, tmp_path / "killed", tmp_path / "state2"), *flags]
    log = tmp_path / "log"
    for number in range(kills):
        with log.open("a") as out:
            process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out)
        if number % 3 == 2:
            # While it starts.
            time.sleep(rng.uniform(0, 2))
        else:
            # At any moment between two checkpoints, the writing of one included.
            while newest_step(tmp_path / "state2") < STEPS * number // (kills + 1):
                assert process.poll() is None, log.read_text()
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.1))
        assert process.poll() is None, log.read_text()
        process.send_signal(signal.SIGKILL)
        process.wait()
    # Also where the last kill came between the output and the end.
    assert "resuming at step" in log.read_text() + finish(command)
    for name in ("model.safetensors", "config.json"):
        assert sha256(tmp_path / "killed" / name) == sha256(
            tmp_path / "straight" / name
        )
    for path in (tmp_path / "straight").glob("*.jsonl"):
        assert (tmp_path / "killed" / path.name).read_text() == path.read_text()
    assert not list((tmp_path / "state2").rglob("step*")), "no checkpoint is left"
    # Snakemake deletes an output that was finished after it was killed itself.
    shutil.rmtree(tmp_path / "killed")
    assert "is put back" in finish(command)
    assert sha256(tmp_path / "killed" / "model.safetensors") == sha256(
        tmp_path / "straight" / "model.safetensors"
    )


def test_other_settings_do_not_resume_a_run(smoke_run, tmp_path):
    command = pretraining(smoke_run, tmp_path / "out", tmp_path / "state")
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.DEVNULL)
    while not list((tmp_path / "state").rglob("step*")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    at = command.index("--settings") + 1
    settings = json.loads(command[at])
    command[at] = as_json({**settings, "learning_rate": 0.5, "max_steps": 3})
    assert "resuming" not in finish(command)


@pytest.mark.parametrize(
    ("call", "flags"), [(pretraining, []), (pretraining, TWO), (fine_tuning, TWO)]
)
def test_a_warned_run_saves_ends_with_75_and_goes_on(smoke_run, tmp_path, call, flags):
    command = [*call(smoke_run, tmp_path / "out", tmp_path / "state"), *flags]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    while newest_step(tmp_path / "state") < 7:
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.001)
    process.terminate()
    log, _ = process.communicate()
    assert process.returncode == os.EX_TEMPFAIL, log.decode()
    step = newest_step(tmp_path / "state")
    assert f"warned to stop: saved at step {step}" in log.decode()
    assert not (tmp_path / "out").exists()
    assert f"resuming at step {step}" in finish(command)


@pytest.mark.parametrize("call", [pretraining, fine_tuning])
def test_what_the_machine_has_not_is_an_error_before_anything_starts(
    smoke_run, tmp_path, call
):
    command = call(smoke_run, tmp_path / "out", tmp_path / "state")
    for flags, message in (
        (["--devices", "5000"], "5000"),
        (["--settings", '{"max_steps": 1, "use_amp": true}'], "use_amp needs a GPU"),
    ):
        done = subprocess.run(
            list(map(str, [*command, *flags])), capture_output=True, text=True
        )
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert not (tmp_path / "state").exists()


def test_a_workflow_that_succeeded_leaves_no_state(smoke_run):
    state = smoke_run.folder / "results" / "state"
    assert state.exists()
    assert not [path for path in state.rglob("*") if path.is_file()]
