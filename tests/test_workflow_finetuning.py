"""The real Snakefile from a published encoder: GLUE, and the settings of XNLI."""

import csv
import json
import re

import numpy as np
import pytest
import yaml
from safetensors.numpy import load_file

import bert_by_definition
from babelmill.glue import GLUE
from conftest import Workflow

WORDS = ["good", "bad", "film", "book", "the", "was"]
FINETUNING = {"max_seq_length": 16, "num_train_epochs": 1, "learning_rate": 0.01}
LANGUAGES = ["en", "sw", "th"]


def overlay(folder, **config):
    path = folder / "overlay.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def encoder(folder):
    path = folder / "encoder"
    path.mkdir()
    bert_by_definition.write_folder(path, WORDS)
    return {"tiny": {"folder": "encoder"}}


def write_tsv(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["\t".join(map(str, row)) + "\n" for row in [header, *rows]]
    path.write_text("".join(lines))


def write_glue(folder):
    """MNLI and STS-B as the official archives have them, but for unread columns."""
    rng = np.random.default_rng(1)
    for split in ("train", "dev_matched", "dev_mismatched"):
        names = rng.choice(["entailment", "neutral", "contradiction"], 40)
        rows = [(i, "the film", "the book", name) for i, name in enumerate(names)]
        header = ["index", "sentence1", "sentence2", "gold_label"]
        write_tsv(folder / "MNLI" / f"{split}.tsv", header, rows)
    for split in ("test_matched", "test_mismatched"):
        rows = [(i, "the film", "was good") for i in range(5)]
        header = ["index", "sentence1", "sentence2"]
        write_tsv(folder / "MNLI" / f"{split}.tsv", header, rows)
    for split in ("train", "dev"):
        header = ["index", "sentence1", "sentence2", "score"]
        rows = [
            (i, "the film", rng.choice(WORDS), f"{rng.uniform(0, 5):.3f}")
            for i in range(40)
        ]
        write_tsv(folder / "STS-B" / f"{split}.tsv", header, rows)
    rows = [(i, "a", "b") for i in range(3)]
    write_tsv(folder / "STS-B" / "test.tsv", ["index", *"ab"], rows)


@pytest.fixture(scope="module")
def glue_run(tmp_path_factory):
    run = Workflow(tmp_path_factory.mktemp("glue"))
    write_glue(run.folder / "glue")
    task = {"format": "glue", "folder": "glue", "data": "GLUE dev (tiny)"}
    config = overlay(
        run.folder,
        languages=["en"],
        models={
            **encoder(run.folder),
            "sparse": {"encoder": "tiny", "finetuning": {"sparsity": "2:4"}},
        },
        tasks={
            "mnli": {**task, "finetuning": FINETUNING},
            "sts-b": {
                **task,
                "finetuning": {**FINETUNING, "learning_rate": [0.0001, 0.01]},
            },
        },
        tables={
            "xnli": None,
            "glue": {"tasks": ["mnli", "sts-b"], "models": ["tiny", "sparse"],
                     "seeds": [1]},
        },
    )  # fmt: skip
    targets = ["results/glue_table.csv", "results/provenance.json"]
    targets += [f"results/glue_submission/tiny/seed1/MNLI-{x}.tsv" for x in ("m", "mm")]
    run.run(*targets, configs=(config,))
    return run.folder / "results"


def test_the_glue_table_agrees_with_the_predictions(glue_run):
    with (glue_run / "glue_table.csv").open(newline="") as source:
        rows = [row for row in csv.DictReader(source) if row["source"] == "this run"]
    assert [row["model"] for row in rows] == ["sparse", "tiny"]
    for row in rows:
        folder = glue_run / "predictions" / row["model"]
        for column, split in (("mnli_m_acc", "dev"), ("mnli_mm_acc", "dev_mismatched")):
            path = folder / "mnli" / "fine-tuning" / "seed1" / f"{split}.en.tsv"
            cells = [line.split("\t") for line in path.read_text().splitlines()[1:]]
            share = np.mean([cell[1] == cell[2] for cell in cells])
            assert float(row[column]) == pytest.approx(100 * share, abs=0.051)
        path = folder / "sts-b" / "fine-tuning" / "seed1" / "dev.en.tsv"
        pairs = np.genfromtxt(path, skip_header=1, usecols=(1, 2), delimiter="\t")
        pearson = 100 * np.corrcoef(pairs.T)[0, 1]
        assert float(row["stsb_pearson"]) == pytest.approx(pearson, abs=0.1)


def test_the_best_of_the_grid_is_exported_without_a_look_at_test(glue_run):
    runs = glue_run / "finetuned" / "tiny" / "sts-b" / "fine-tuning" / "seed1"
    best = {
        path.name: max(
            json.loads(line)["dev_mean"]
            for line in (path / "metrics.jsonl").read_text().splitlines()
        )
        for path in runs.iterdir()
    }
    assert set(best) == {"lr0.0001", "lr0.01"}
    exported = glue_run / "exported" / "tiny" / "sts-b" / "fine-tuning" / "seed1"
    choice = json.loads((exported / "choice.json").read_text())
    assert choice["dev"] == best
    assert best[choice["exported"]] == max(best.values())
    assert not (glue_run / "tasks" / "sts-b" / "test.en.tsv").exists()


def test_a_submission_has_a_row_for_every_test_example(glue_run):
    for name in ("MNLI-m", "MNLI-mm"):
        path = glue_run / "glue_submission" / "tiny" / "seed1" / f"{name}.tsv"
        rows = [line.split("\t") for line in path.read_text().splitlines()]
        assert rows[0] == ["index", "prediction"]
        assert [row[0] for row in rows[1:]] == [str(i) for i in range(5)]
        assert {row[1] for row in rows[1:]} <= set(GLUE["mnli"].labels)


def test_one_encoder_is_fine_tuned_dense_and_sparse(glue_run):
    for model, share in (("tiny", 1.0), ("sparse", 0.5)):
        folder = glue_run / "finetuned" / model / "mnli" / "fine-tuning" / "seed1"
        weights = load_file(folder / "lr0.01" / "model.safetensors")
        weight = weights["bert.encoder.layers.1.linear1.weight"]
        assert np.count_nonzero(weight) == share * weight.size


def test_provenance_names_the_files_of_the_encoder(glue_run):
    provenance = json.loads((glue_run / "provenance.json").read_text())
    assert set(provenance["encoders"]) == {
        f"encoder/{name}" for name in ("config.json", "model.safetensors", "vocab.txt")
    }
    assert provenance["shards"] == {}


def test_every_setting_trains_and_reads_in_its_languages(project):
    """Each command names the languages that XLM's language embeddings are taken of."""
    for lang in LANGUAGES:
        for split in ("train", "dev", "test", "translated"):
            path = project.folder / "task" / f"{split}.{lang}.tsv"
            write_tsv(path, ["text", "label"], [("good", "yes"), ("bad", "no")])
    settings = ["zero-shot", "translate-train", "translate-train-all", "translate-test"]
    task = {
        "format": "tsv", "data": "mine", "text_columns": ["text"],
        "labels": ["yes", "no"], "finetuning": FINETUNING,
        "test_translated": "task/translated.{lang}.tsv",
        **{split: f"task/{split}.{{lang}}.tsv" for split in ("train", "dev", "test")},
    }  # fmt: skip
    own = overlay(
        project.folder,
        languages=LANGUAGES,
        models=encoder(project.folder),
        tasks={"mine": task},
        tables={"xnli": {"task": "mine", "models": ["tiny"], "settings": settings,
                         "seeds": [1]}},
    )  # fmt: skip
    planned = project.run("--dry-run", "--printshellcmds", configs=(own,))
    trained = {}
    for command in re.findall(r"python \S+/finetune.py .*", planned):
        path = re.search(r"_dir results/finetuned/tiny/mine/(\S+)/seed", command)
        given = re.search(r"--train (.*) --dev (.*) --labels", command)
        langs = [re.findall(r"(\w+)=results/tasks/mine/\w+\.(\w+)\.", x)
                 for x in given.groups()]  # fmt: skip
        assert all(a == b for pairs in langs for a, b in pairs)
        trained[path[1]] = [[a for a, _ in pairs] for pairs in langs]
    # Zero-shot and translate-test are one training.
    assert trained == {
        "zero-shot": [["en"], ["en"]],
        "translate-train-all": [["en", "sw", "th"], ["en"]],
        **{f"translate-train.{lang}": [[lang], [lang]] for lang in LANGUAGES},
    }
    read = {}
    for command in re.findall(r"python \S+/predict.py .*", planned):
        name = r"--output results/predictions/tiny/mine/(\S+)/seed1/test.(\w+).tsv"
        setting, lang = re.search(name, command).groups()
        read[setting, lang] = re.search(
            r"--model results/exported/tiny/mine/(\S+)/seed1"
            r" --input results/tasks/mine/(\S+).tsv --lang (\w+)",
            command,
        ).groups()
    assert len(read) == 4 * 3
    for lang in LANGUAGES:
        test = (f"test.{lang}", lang)
        assert read["zero-shot", lang] == ("zero-shot", *test)
        assert read["translate-train-all", lang] == ("translate-train-all", *test)
        assert read["translate-train", lang] == (f"translate-train.{lang}", *test)
    for lang in ("sw", "th"):
        expected = ("zero-shot", f"test_translated.{lang}", "en")
        assert read["translate-test", lang] == expected
    assert read["translate-test", "en"] == ("zero-shot", "test.en", "en")
    assert "rule pretrain" not in planned


def test_an_encoder_that_is_not_there_is_refused(project):
    own = overlay(project.folder, models={"x": {"folder": "no/model"}})
    printed = project.run(configs=("smoke", own), code=1)
    assert "models.x: no/model is no model folder" in printed
