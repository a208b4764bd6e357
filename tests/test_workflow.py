"""The real Snakefile on the smoke config: results, reruns, bad input, dry runs."""

import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

from babelmill.shards.layout import BERT_FIELDS
from babelmill.tokenizers import load_tokenizer
from conftest import ROOT, environment_with_python, load_config

SMOKE = load_config("smoke")
LANGUAGES = SMOKE["languages"]
MODELS = SMOKE["tables"]["xnli"]["models"]


def read_csv(path):
    with open(path, newline="") as source:
        return list(csv.DictReader(source))


def overlay(folder, **changes):
    path = folder / "overlay.yaml"
    path.write_text(yaml.safe_dump(changes, allow_unicode=True))
    return path


def test_table_has_the_rows_and_columns_of_the_paper(smoke_run):
    rows = read_csv(smoke_run.folder / "results" / "xnli_table.csv")
    columns = ["model", "setting", "data", "seeds", *LANGUAGES, "avg", "avg_std"]
    assert list(rows[0])[: len(columns)] == columns
    ours = [row for row in rows if row["source"] == "this run"]
    assert [(row["model"], row["setting"]) for row in ours] == [
        (model, "zero-shot") for model in MODELS
    ]
    assert {row["data"] for row in ours} == {"demo NLI (synthetic)"}
    published = [row for row in rows if row["source"].startswith("published")]
    assert len(published) == len(rows) - len(ours) > 20


def test_table_agrees_with_the_predictions(smoke_run):
    """Recompute a number from the predictions by counting."""
    results = smoke_run.folder / "results"
    (row,) = (
        row
        for row in read_csv(results / "xnli_table.csv")
        if row["model"] == "demo-mlm-tlm" and row["source"] == "this run"
    )
    for lang in LANGUAGES:
        shares = []
        for seed in (1, 2):
            path = results / f"predictions/demo-mlm-tlm/demo-nli/zero-shot/seed{seed}"
            lines = (path / f"test.{lang}.tsv").read_text().splitlines()
            cells = [line.split("\t") for line in lines[1:]]
            assert len(cells) == SMOKE["demo"]["eval_pairs"]
            assert len({cell[0] for cell in cells}) == len(cells)
            shares.append(sum(c[1] == c[2] for c in cells) / len(cells))
        assert float(row[lang]) == pytest.approx(100 * sum(shares) / 2, abs=0.051)


def test_scores_are_in_long_form(smoke_run):
    rows = read_csv(smoke_run.folder / "results" / "scores.csv")
    assert len(rows) == len(MODELS) * 2 * len(LANGUAGES)
    wanted = ["model", "setting", "seed", "language", "split", "metric", "value", "n"]
    assert set(wanted) <= set(rows[0])
    assert {row["split"] for row in rows} == {"test"}


def test_shards_are_the_same_bytes_for_any_cores(smoke_run, project):
    shards = "results/shards/demo-mlm-tlm"
    project.run("--cores", "1", f"{shards}/manifest.json", "--force")
    ours = sorted((project.folder / shards).glob("*.hdf5"))
    assert len(ours) == 3
    manifest = json.loads((project.folder / shards / "manifest.json").read_text())
    assert set(manifest["files"]) == {path.name for path in ours}
    assert manifest["tokenizer"]["mode"] == "facebook"
    assert manifest["settings"]["masked_lm_prob"] == 0.3
    assert manifest["settings"]["objectives"] == {"mlm": 1, "tlm": 6}
    for path in ours:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert manifest["files"][path.name]["sha256"] == digest
        with h5py.File(path) as shard:
            assert manifest["files"][path.name]["rows"] == len(shard["input_ids"])
        other = smoke_run.folder / shards / path.name
        assert path.read_bytes() == other.read_bytes(), path.name


def test_japanese_is_cut_by_a_model_trained_on_the_way(project, tmp_path):
    (tmp_path / "ja.txt").write_text("猫は犬が好き。\n犬は猫が好き。\n" * 9, "utf-8")
    words = "猫 は 犬 が 好き 。\n犬 は 猫 が 好き 。\n"
    (tmp_path / "segmented.txt").write_text(words * 9, "utf-8")
    own = overlay(
        tmp_path,
        corpora={"own": {"path": "{lang}.txt", "languages": ["ja"]}},
        tokenizers={"ja-bpe": {"type": "xlm", "learn_from": ["own"], "codes": 9,
                               "kytea_text": "segmented.txt"}},
    )  # fmt: skip
    folder = project.folder / "results/tokenizers/ja-bpe"
    project.run("results/tokenizers/ja-bpe", configs=("smoke", own))
    pieces = load_tokenizer(folder).tokenize("猫は犬が好き。", "ja")
    assert "".join(pieces).replace("</w>", " ") == "猫 は 犬 か 好き . "


def test_shards_of_bert_and_of_causal_rows(project, tmp_path):
    """Words masked whole, next-sentence labels, rows to be read from left to right."""
    own = overlay(
        tmp_path,
        tokenizers={"pieces": {"type": "bert", "learn_from": ["demo-monolingual"],
                               "vocab_size": 900}},
        models={
            "pairs": {
                "tokenizer": "pieces", "monolingual": ["demo-monolingual"],
                "objectives": {"mlm_nsp": 1},
                "architecture": {"model_type": "bert", "hidden_size": 16,
                                 "num_hidden_layers": 1, "num_attention_heads": 2},
                "shards": {"dupe_factor": 2, "max_seq_length": 64,
                           "whole_word_mask": True, "validation_fraction": 0.1},
                "training": {"max_steps": 5},
            },
            "demo-mlm": {"objectives": {"mlm": 1, "clm": 1}},
        },
    )  # fmt: skip
    shards = [f"results/shards/{model}" for model in ("pairs", "demo-mlm")]
    project.run(*(f"{s}/manifest.json" for s in shards), configs=("smoke", own))
    for folder, tokenizer in zip(shards, ("pieces", "demo-bpe"), strict=True):
        done = subprocess.run(
            [sys.executable, ROOT / "workflow_scripts" / "describe_shards.py", folder,
             "--tokenizer", f"results/tokenizers/{tokenizer}"],
            cwd=project.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr + done.stdout
    pairs = project.folder / shards[0]
    vocab = (project.folder / "results/tokenizers/pieces/vocab.txt").read_text()
    vocab = vocab.splitlines()
    with h5py.File(pairs / "0-of-1.dupe1_training.hdf5") as shard:
        rows = {name: shard[name][:] for name in shard}
    assert set(rows) == set(BERT_FIELDS)
    assert 0.3 < rows["next_sentence_labels"].mean() < 0.7
    for row in range(len(rows["input_ids"])):
        count = np.count_nonzero(rows["masked_lm_positions"][row])
        positions, labels = (
            rows[name][row, :count].tolist()
            for name in ("masked_lm_positions", "masked_lm_ids")
        )
        masked = dict(zip(positions, labels, strict=True))
        ids = [masked.get(i, t) for i, t in enumerate(rows["input_ids"][row].tolist())]
        for at, right in masked.items():
            if vocab[right].startswith("##") and not vocab[ids[at - 1]].startswith("["):
                assert at - 1 in masked
            if vocab[ids[at + 1]].startswith("##"):
                assert at + 1 in masked
    with h5py.File(project.folder / shards[1] / "0-of-2.dupe0_training.hdf5") as shard:
        causal, positions = shard["causal"][:] > 0, shard["masked_lm_positions"][:]
        masks = (shard["input_ids"][:] == 5).any(1)
    assert causal.mean() == pytest.approx(0.5, abs=0.05)
    assert not positions[causal].any() and not masks[causal].any()
    assert positions[~causal].any(1).all() and masks[~causal].mean() > 0.5


def test_bert_is_pretrained_in_two_chained_phases(project, tmp_path):
    """Rows of 32 tokens, then of 64 from the weights of the first phase."""
    phase = {
        "tokenizer": "pieces",
        "monolingual": ["demo-monolingual"],
        "objectives": {"mlm_nsp": 1},
        "architecture": {
            "model_type": "bert",
            "hidden_size": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
        },
        "shards": {"dupe_factor": 1, "max_seq_length": 32, "validation_fraction": 0.1},
        "training": {"max_steps": 4, "global_batch_size": 8, "dynamic_masking": True},
    }
    second = {
        **phase,
        "shards": {**phase["shards"], "max_seq_length": 64},
        "training": {"max_steps": 2, "model_name_or_path": "first"},
    }
    own = overlay(
        tmp_path,
        tokenizers={
            "pieces": {
                "type": "bert",
                "learn_from": ["demo-monolingual"],
                "vocab_size": 400,
            }
        },
        models={"first": phase, "second": second},
    )
    project.run("results/pretrained/second", configs=("smoke", own))
    folder = project.folder / "results/pretrained"
    lines = (folder / "second/loss.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["step"] == 2
    assert set(last["validation"]) == {"mlm", "nsp", *SMOKE["languages"]}
    first, second = (
        load_file(str(folder / name / "model.safetensors"))
        for name in ("first", "second")
    )
    assert set(first) == set(second)
    # Two steps at 1e-4 move no weight further than that from where phase one ended.
    assert max(abs(first[name] - second[name]).max() for name in first) < 3e-4


def test_every_job_left_a_log_and_a_benchmark(smoke_run):
    results = smoke_run.folder / "results"
    logs = {path.relative_to(results / "logs").with_suffix("")
            for path in (results / "logs").rglob("*.log")}  # fmt: skip
    timed = {path.relative_to(results / "benchmarks").with_suffix("")
             for path in (results / "benchmarks").rglob("*.jsonl")}  # fmt: skip
    assert logs == timed
    assert len(logs) > 40


def test_no_training_state_stays_behind(smoke_run):
    results = smoke_run.folder / "results"
    assert not list(results.rglob("*.partial"))
    assert not list((results / "state").rglob("*.safetensors"))


def test_provenance_names_what_the_numbers_come_from(smoke_run):
    path = smoke_run.folder / "results" / "provenance.json"
    provenance = json.loads(path.read_text())
    assert provenance["config"]["seed"] == SMOKE["seed"]
    assert provenance["libraries"]["paddlepaddle"] == "3.3.1"
    assert len(provenance["shards"]) == len(MODELS)
    assert "workflow_scripts/pretrain.py" in provenance["code"]


def test_a_second_call_has_nothing_to_do(smoke_run):
    assert "Nothing to be done" in smoke_run.run("--dry-run")


@pytest.mark.parametrize(
    "changes, runs, stays",
    [
        ({"seed": 7}, {"make_demo", "pretrain", "finetune"}, set()),
        (
            {"models": {"demo-mlm": {"training": {"learning_rate": 0.5}}}},
            {"pretrain", "finetune", "export_model", "predict", "make_xnli_table"},
            {"make_demo", "tokenize_corpus", "make_shards", "learn_tokenizer"},
        ),
        (
            {"tasks": {"demo-nli": {"finetuning": {"num_train_epochs": 2}}}},
            {"finetune", "export_model", "predict"},
            {"pretrain", "make_shards", "prepare_task"},
        ),
        (
            {"tables": {"xnli": {"seeds": [1]}}},
            {"collect_scores", "make_xnli_table"},
            {"pretrain", "finetune", "predict"},
        ),
    ],
)
def test_a_changed_setting_runs_what_depends_on_it(
    smoke_run, tmp_path, changes, runs, stays
):
    plan = smoke_run.run("--dry-run", configs=("smoke", overlay(tmp_path, **changes)))
    planned = {line.split()[0] for line in plan.splitlines() if line.strip()}
    assert runs <= planned
    assert not stays & planned


def test_only_the_changed_model_is_trained_again(smoke_run, tmp_path):
    changes = {"models": {"demo-mlm": {"training": {"learning_rate": 0.5}}}}
    plan = smoke_run.run("--dry-run", configs=("smoke", overlay(tmp_path, **changes)))
    assert "output: results/pretrained/demo-mlm\n" in plan
    assert "output: results/pretrained/demo-mlm-tlm" not in plan


def test_threads_and_gpus_train_nothing_again(smoke_run):
    plan = smoke_run.run(
        *("--dry-run", "--set-threads", "pretrain=2", "finetune=2", "--set-resources"),
        *("pretrain:gpu=1", "finetune:processes=2", "finetune:engine=static"),
    )
    assert "Nothing to be done" in plan


def test_a_changed_text_runs_its_language_alone_up_to_the_shards(project, tmp_path):
    """One's own text for two languages: a new line in one of them."""
    for lang in ("de", "en", "sw"):
        text = project.folder / "texts" / f"{lang}.txt"
        text.parent.mkdir(exist_ok=True)
        text.write_text("".join(f"ein Satz {i} {lang}\n\n" for i in range(40)))
    mine = overlay(
        project.folder,
        languages=["de", "en", "sw"],
        corpora={"mine": {"path": "texts/{lang}.txt"}},
        tokenizers={"demo-bpe": {"learn_from": ["demo-monolingual"]}},
        models={"demo-mlm": {"monolingual": ["mine"]}},
    )
    target = "results/corpora/mine/{}.txt".format
    project.run(target("de"), target("sw"), configs=("smoke", mine))
    with (project.folder / "texts" / "sw.txt").open("a") as text:
        text.write("habari ya leo\n")
    plan = project.run("-n", target("de"), target("sw"), configs=("smoke", mine))
    assert "wildcards: corpus=mine, lang=sw" in plan
    assert "lang=de" not in plan


@pytest.mark.parametrize("name", ["smoke", "xnli", "real", None])
def test_every_config_has_a_plan(project, name):
    for lang in load_config()["languages"]:
        for pattern in ("wiki/{}.txt.gz", "parallel/{}.txt.gz", "ntrex/{}.txt"):
            path = project.folder / "data" / pattern.format(lang)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    folder = project.folder / "data" / "xlm_xnli15_bpe"
    folder.mkdir()
    for file in ("codes_xnli_15", "vocab_xnli_15"):
        (folder / file).touch()
    plan = project.run("--dry-run", configs=(name,) if name else ())
    assert "make_xnli_table" in plan


BAD_CONFIGS = [
    ({"langauges": ["en"]}, "langauges"),
    ({"models": {"demo-mlm": {"training": {"lr": 1}}}}, "'lr' was unexpected"),
    ({"languages": []}, "languages"),
    ({"tables": {"xnli": {"task": "x"}}}, "there is no 'x'; there are: demo-nli"),
    (
        {
            "corpora": {"web": {"path": "web/{lang}.txt"}},
            "models": {"demo-mlm": {"monolingual": ["web"]}},
        },
        "corpora.web: no text for en: web/en.txt does not exist",
    ),
]


@pytest.mark.parametrize("changes, message", BAD_CONFIGS)
def test_a_bad_config_is_refused_before_anything_runs(project, changes, message):
    bad = overlay(project.folder, **changes)
    printed = project.run(configs=("smoke", bad), code=1)
    assert message in printed
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize(
    "break_it, message",
    [
        (lambda f: (f / "sw.txt").write_bytes(b""), "sw.txt: no text in it"),
        (
            lambda f: (f / "sw.txt").write_bytes(b"gut\nsch\xf6n\n"),
            "sw.txt, line 2: not UTF-8 at byte 7",
        ),
    ],
)
def test_a_bad_text_stops_the_run_before_training(project, break_it, message):
    texts = project.folder / "texts"
    texts.mkdir()
    for lang in LANGUAGES:
        (texts / f"{lang}.txt").write_text("one sentence\n\nanother one\n" * 20)
    break_it(texts)
    mine = overlay(
        project.folder,
        corpora={"mine": {"path": "texts/{lang}.txt"}},
        models={
            "demo-mlm": {"monolingual": ["mine"]},
            "demo-mlm-tlm": {"monolingual": ["mine"]},
        },
    )
    printed = project.run(configs=("smoke", mine), code=1)
    assert message in printed
    assert "Traceback" not in printed
    assert not (project.folder / "results" / "pretrained").exists()


def test_a_label_outside_the_task_stops_the_run_before_training(project):
    task = project.folder / "task"
    task.mkdir()
    for lang in LANGUAGES:
        for split in ("train", "dev", "test"):
            label = "maybe" if (lang, split) == ("th", "test") else "yes"
            lines = ["text\tlabel", *["a\tno", f"b\t{label}"] * 9]
            (task / f"{split}.{lang}.tsv").write_text("\n".join(lines) + "\n")
    mine = overlay(
        project.folder,
        tasks={
            "mine": {
                "format": "tsv",
                "train": "task/train.{lang}.tsv",
                "dev": "task/dev.{lang}.tsv",
                "test": "task/test.{lang}.tsv",
                "text_columns": ["text"],
                "data": "mine",
                "labels": ["yes", "no"],
                "finetuning": {"max_seq_length": 32},
            }
        },
        tables={"xnli": {"task": "mine"}},
    )
    printed = project.run(configs=("smoke", mine), code=1)
    assert "test.th.tsv, line 3: label 'maybe' is not one of" in printed
    assert not (project.folder / "results" / "pretrained").exists()


def test_report_can_be_made(smoke_run):
    smoke_run.run("--report", "report.html")
    assert "xnli_table" in (smoke_run.folder / "report.html").read_text()


def test_frozen_profile_names_every_rule_with_a_script():
    profile = yaml.safe_load((ROOT / "profiles/frozen/profile.yaml").read_text())
    named = {entry.removesuffix("=script") for entry in profile["consider-ancient"]}
    rules, copies = set(), set()
    for path in (ROOT / "rules").glob("*.smk"):
        text = path.read_text()
        for rule in re.split(r"^ *rule ", text, flags=re.M)[1:]:
            if "script=" in rule:
                rules.add(rule.partition(":")[0])
        copies.update(re.findall(r"^ *use rule (\w+) as (\w+)", text, flags=re.M))
    assert named == rules | {copy for of, copy in copies if of in rules}


def test_an_edited_script_runs_its_rule_again_but_not_when_frozen(tmp_path):
    """In a copy of the workflow, so that a script can be edited."""
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".*", "results", "tests")
    shutil.copytree(ROOT, copy, ignore=ignored)
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--configfile"]
    command += ["configs/smoke.yaml", "--", "results/demo/nli/train.en.tsv"]

    def plan(*more):
        done = subprocess.run(
            [*command[:3], *more, *command[3:]],
            cwd=copy,
            env=environment_with_python(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    plan()
    with (copy / "workflow_scripts" / "make_demo.py").open("a") as source:
        source.write("# edited\n")
    assert "make_demo" in plan("--dry-run")
    frozen = plan("--dry-run", "--workflow-profile", "profiles/frozen")
    assert "Nothing to be done" in frozen
