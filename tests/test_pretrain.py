"""pretrain.py by hand: what it refuses, what it writes, how it ends when it fails."""

import json
import subprocess
import sys

import h5py
import numpy as np
import pytest

from babelmill.errors import UserError
from babelmill.models.weights import read_weights
from babelmill.plan import Plan, as_json
from babelmill.training.profiling import Profiler
from conftest import ROOT, load_config

MODEL = "demo-mlm-tlm"


class Script:
    """Calls of pretrain.py on the shards of a smoke run."""

    def __init__(self, results, folder):
        plan = Plan(load_config("smoke"))
        self.folder = folder
        self.architecture = dict(plan.config["models"][MODEL]["architecture"])
        self.settings = {"seed": 3, "max_steps": 4, "global_batch_size": 8}
        self.shards = [results.parent / path for path in plan.training_shards(MODEL)]
        self.validation = results / "shards" / MODEL / "validation.hdf5"
        self.manifest = results / "shards" / MODEL / "manifest.json"
        self.tokenizer = results.parent / plan.tokenizer_of(MODEL)

    def run(self, *flags, code=0, **settings):
        """Run it to this exit code; its stdout and its stderr, a list of lines."""
        command = [
            *(sys.executable, ROOT / "workflow_scripts" / "pretrain.py"),
            *("--shards", *self.shards, "--validation", self.validation),
            *("--manifest", self.manifest, "--tokenizer", self.tokenizer),
            *("--architecture", as_json(self.architecture)),
            *("--settings", as_json({**self.settings, **settings})),
            *("--state", self.folder / "state", "--output_dir", self.folder / "out"),
            *flags,
        ]
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr.replace("\r", "\n").splitlines()

    def write_manifest(self):
        """Write a manifest of the present shards, beside the output."""
        self.manifest = self.folder / "manifest.json"
        command = [
            *(sys.executable, ROOT / "workflow_scripts" / "write_manifest.py"),
            *("--shards", *self.shards, self.validation),
            *("--tokenizer", self.tokenizer, "--output", self.manifest),
        ]
        subprocess.run(list(map(str, command)), capture_output=True, check=True)

    def change_shard(self, **changes):
        """Train on a copy of the first shard, its fields changed by functions."""
        path = self.folder / "changed_training.hdf5"
        with h5py.File(self.shards[0]) as source, h5py.File(path, "w") as out:
            for name in source:
                values = changes.get(name, lambda v: v)(source[name][:])
                if values is not None:
                    out[name] = values
        self.shards = [path]
        self.write_manifest()


@pytest.fixture
def script(smoke_run, tmp_path):
    return Script(smoke_run.folder / "results", tmp_path)


def records(folder):
    lines = (folder / "loss.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_settings_that_are_left_out_have_the_configs_defaults(script):
    del script.architecture["init_std"]
    script.run()
    first = (script.folder / "out" / "model.safetensors").read_bytes()
    script.run(optim="adamw", learning_rate=1e-4, lr_scheduler_type="linear")
    assert (script.folder / "out" / "model.safetensors").read_bytes() == first
    config = json.loads((script.folder / "out" / "config.json").read_text())
    assert config["init_std"] == 0.02


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learning_rate": "x"}, "pretraining.learning_rate: 'x' is not of type"),
        ({"max_steps": 0}, "pretraining.max_steps: 0 is less than the minimum of 1"),
        ({"optim": "sgd"}, "pretraining.optim: 'sgd' is not one of"),
        ({"enable_addto": True}, "FLAGS_max_inplace_grad_add=8"),
        ({"fuse_transformer": True}, "for fuse_transformer: engine static or use_amp"),
        ({"use_amp": True}, "use_amp needs a GPU"),
    ],
)
def test_settings_are_refused_in_one_line(script, settings, message):
    _, (line,) = script.run(code=2, **settings)
    assert line.startswith("error: ") and message in line
    assert not (script.folder / "state").exists()


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        ({"n_heads": 3}, "architecture: n_heads (3) must divide emb_dim (16)"),
        ({"hidden": 3}, "xlm_architecture: Additional properties are not allowed"),
        ({"model_type": "gpt"}, "model_type gpt is none of xlm, bert, ernie"),
        ({"max_position_embeddings": 40}, "rows of 48 are longer than max_position"),
    ],
)
def test_architectures_are_refused_in_one_line(script, architecture, message):
    script.architecture |= architecture
    _, (line,) = script.run(code=2)
    assert line.startswith("error: ") and message in line


def test_shards_must_be_the_manifests(script):
    (script.folder / "other_training.hdf5").write_bytes(script.shards[0].read_bytes())
    script.shards.append(script.folder / "other_training.hdf5")
    _, (line,) = script.run(code=2)
    assert "other_training.hdf5: not in " in line
    script.write_manifest()
    with h5py.File(script.shards[-1], "r+") as shard:
        for name in list(shard):
            rows = shard[name][:-1]
            del shard[name]
            shard[name] = rows
        count = len(rows)
    _, (line,) = script.run(code=2)
    assert f"other_training.hdf5: {count} rows, where " in line
    assert f"has {count + 1}" in line


def test_another_tokenizer_is_refused(script, tmp_path):
    content = json.loads(script.manifest.read_text())
    content["tokenizer"]["fingerprint"] = "0" * 64
    script.manifest = tmp_path / "manifest.json"
    script.manifest.write_text(json.dumps(content))
    _, (line,) = script.run(code=2)
    assert "manifest.json: the shards were made with another tokenizer" in line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lang_ids": lambda v: None}, "it has no lang_ids, which a model of type xlm"),
        ({"input_ids": lambda v: v + 5000}, "the tokenizer has"),
        ({"masked_lm_ids": lambda v: v + 5000}, "the tokenizer has"),
        ({"input_mask": np.zeros_like}, "it has a row without a token"),
    ],
)
def test_shards_that_do_not_fit_are_named(script, changes, message):
    script.change_shard(**changes)
    _, lines = script.run(code=2)
    assert lines[-1].startswith("error: ") and message in lines[-1]
    assert "changed_training.hdf5" in lines[-1]


def test_an_empty_validation_shard_is_refused(script):
    path = script.folder / "validation.hdf5"
    with h5py.File(script.validation) as source, h5py.File(path, "w") as out:
        for name in source:
            out[name] = source[name][:0]
    script.validation = path
    script.write_manifest()
    _, (line,) = script.run(code=2)
    assert "validation.hdf5: it has no rows" in line


@pytest.mark.parametrize("devices", [1, 2])
def test_after_an_explosion_the_last_good_checkpoint_is_trained_on(script, devices):
    # Warmed up to a rate of 3: good at first, then away.
    script.settings |= {"save_steps": 1, "logging_steps": 1, "eval_steps": 500}
    flags = ["--devices", devices, "--threads", devices]
    _, lines = script.run(
        *flags, code=2, max_steps=300, learning_rate=3, warmup_steps=100,
        max_grad_norm=1e9, weight_decay=0, lr_scheduler_type="constant",
    )  # fmt: skip
    found = [line for line in lines if line.startswith("error: the loss explodes: ")]
    assert lines[-1] == found[-1]
    kept = found[-1].split("to go on from ")[1].split(" with other settings")[0]
    content = json.loads((script.folder / kept / "checkpoint.json").read_text())
    guessing, losses = np.log(read_vocabulary(script)), content["values"]["watch"]
    assert losses["recent"][-1] < 3 * guessing
    weights, _ = read_weights(f"{kept}/weights.safetensors")
    script.run(
        *flags, "--model_name_or_path", kept, max_steps=1, learning_rate=1e-9,
        weight_decay=0,
    )  # fmt: skip
    after, _ = read_weights(script.folder / "out" / "model.safetensors")
    assert set(weights) == set(after)
    assert max(np.abs(weights[n] - after[n]).max() for n in weights) < 1e-6
    assert records(script.folder / "out")[0]["step"] == 1


def read_vocabulary(script):
    return len(json.loads((script.tokenizer / "vocab.json").read_text()))


def test_curves_hold_what_loss_jsonl_holds(script):
    visualdl = pytest.importorskip("visualdl")
    curves = script.folder / "curves"
    script.run("--log_dir", curves, logging_steps=2, eval_steps=4)
    (path,) = curves.iterdir()
    reader = visualdl.LogReader(file_path=str(path))

    def points(tag):
        return {point.id: point.value for point in reader.get_data("scalar", tag)}

    *logged, last = records(script.folder / "out")
    for name in ("loss", "gradient_norm"):
        expected = {record["step"]: record[name] for record in logged}
        assert set(expected) == {2, 4}
        assert points(name) == pytest.approx(expected, rel=1e-6)
    assert set(points("tokens_per_second")) == {2, 4}
    for name, score in last["validation"].items():
        assert points(f"validation/{name}") == pytest.approx({4: score["loss"]})


def test_a_profile_holds_the_steps_that_were_asked_for(script):
    folder = script.folder / "profile"
    script.run("--profiler_options", f"batch_range=[1, 3]; profile_path={folder}")
    (path,) = folder.iterdir()
    events = json.loads(path.read_text())["traceEvents"]
    names = {event.get("name", "") for event in events}
    steps = {name.partition("[")[0] for name in names if name.startswith("ProfileStep")}
    assert steps == {"ProfileStep#1", "ProfileStep#2"}
    assert any(name.startswith("matmul") for name in names)


def test_a_profile_of_no_step_is_said(script):
    folder = script.folder / "profile"
    options = f"batch_range=[10, 20]; profile_path={folder}"
    _, lines = script.run("--profiler_options", options)
    assert (
        "nothing was profiled: 4 steps were done, batch_range begins at 10" in lines[-1]
    )


@pytest.mark.parametrize(
    "options",
    [
        "range=3",
        "batch_range=[3, 3]",
        "batch_range=[3]",
        "batch_range=[1, 2]; profile_path=",
        "batch_range=[1, 2]; sorted_key=total",
    ],
)
def test_other_profiler_options_are_refused(options):
    with pytest.raises(UserError, match="is not of the form 'batch_range="):
        Profiler(options)


def test_folders_that_cannot_be_made_are_named(script, tmp_path):
    (tmp_path / "file").write_text("")
    inside = tmp_path / "file" / "folder"
    with pytest.raises(UserError, match=rf"profile_path: {inside}: Not a directory"):
        Profiler(f"batch_range=[1, 2]; profile_path={inside}")
    _, lines = script.run("--log_dir", inside, code=2)
    assert lines[-1] == f"error: {inside}: Not a directory"
