"""Training that is killed and started again ends in the same bits."""

import json
import random
import signal
import subprocess
import sys
import time

import pytest

from babelmill.files import sha256
from babelmill.plan import Plan, as_json, named
from conftest import ROOT, load_config

SCRIPTS = ROOT / "workflow_scripts"
KILLS = 4
STEPS = 400


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
    settings |= {"num_train_epochs": 100, "evaluations_per_epoch": 1}
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


@pytest.mark.parametrize("call", [pretraining, fine_tuning])
def test_killed_runs_end_in_the_same_bits(smoke_run, tmp_path, call):
    started = time.monotonic()
    finish(call(smoke_run, tmp_path / "straight", tmp_path / "state1"))
    whole = time.monotonic() - started
    rng = random.Random(5)
    command = call(smoke_run, tmp_path / "killed", tmp_path / "state2")
    log = tmp_path / "log"
    for _ in range(KILLS):
        with log.open("a") as out:
            process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=out)
        # From the first checkpoint on, any moment, the writing of one included.
        while not list((tmp_path / "state2").rglob("step*")):
            assert process.poll() is None, log.read_text()
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.5 * whole))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "killed").exists():
            break
    else:
        finish(command)
    assert "resuming at step" in log.read_text()
    for name in ("model.safetensors", "config.json"):
        assert sha256(tmp_path / "killed" / name) == sha256(
            tmp_path / "straight" / name
        )
    for path in (tmp_path / "straight").glob("*.jsonl"):
        assert (tmp_path / "killed" / path.name).read_text() == path.read_text()
    assert not list((tmp_path / "state2").rglob("*")), "the state is forgotten"


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
