"""The real Snakefile on tasks of words, answers and choices, with BERT and XLM."""

import csv
import json
from collections import Counter

import pytest
import yaml
from safetensors.numpy import load_file

import bert_by_definition
import head_samples
from babelmill.tokenizers import load_tokenizer
from babelmill.tokenizers.folder import language_ids, write_xlm
from babelmill.tokenizers.learning import WordCounts, learn_bpe
from babelmill.tokenizers.words import TextToWords
from conftest import Workflow

FINETUNING = {
    "max_seq_length": 20,
    "num_train_epochs": 15,
    "batch_size": 4,
    "learning_rate": 0.01,
    "dropout": 0.0,
}
TASKS = {
    "ner": {"token_column": 0, "label_column": -1},
    "squad": {"max_query_length": 8, "doc_stride": 4, "max_answer_length": 5},
    "copa": {
        "text_columns": ["premise", "question"],
        "choice_columns": ["choice1", "choice2"],
    },
}
RUNS = [(model, task) for model in ("bert", "xlm") for task in TASKS]


def write_xlm_folder(folder):
    """A small XLM, as pretraining here leaves one."""
    import paddle

    from babelmill.models import xlm

    counts = WordCounts()
    counts.add(2 * head_samples.words())
    langs = language_ids(head_samples.LANGUAGES)
    write_xlm(folder, *learn_bpe(counts, 90, None), TextToWords(), langs)
    architecture = {
        "emb_dim": 16, "n_layers": 1, "n_heads": 2, "max_position_embeddings": 20,
    }  # fmt: skip
    config = xlm.full_config(architecture, load_tokenizer(folder))
    paddle.seed(5)
    model = xlm.pretraining_model(config)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            paddle.nn.initializer.Normal(0.0, 0.3)(parameter)
    xlm.save(folder, config, model)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    run = Workflow(tmp_path_factory.mktemp("heads"))
    head_samples.write(run.folder / "data")
    (run.folder / "bert").mkdir()
    bert_by_definition.write_folder(run.folder / "bert", head_samples.words())
    write_xlm_folder(run.folder / "xlm")
    tasks = {
        name: {
            **{"format": layout, "data": f"own {name}", "finetuning": FINETUNING},
            **{s: f"data/{name}/{s}.{{lang}}{x}" for s in ("train", "dev", "test")},
            **TASKS[name],
        }
        for name, (layout, _, x) in head_samples.SAMPLES.items()
    }
    config = {
        "languages": list(head_samples.LANGUAGES),
        "models": {name: {"folder": name} for name in ("bert", "xlm")},
        "tasks": tasks,
        "tables": {
            "xnli": {"task": "squad", "models": ["bert", "xlm"], "seeds": [1],
                     "published": None},
        },
    }  # fmt: skip
    path = run.folder / "overlay.yaml"
    path.write_text(yaml.safe_dump(config))
    targets = [
        f"results/scores/{model}/{task}/zero-shot/seed1/test.{lang}.json"
        for model, task in RUNS
        for lang in head_samples.LANGUAGES
    ]
    run.run("results/xnli_table.csv", *targets, configs=(path,))
    return run.folder / "results"


def predictions_of(results, model, task, lang, suffix="tsv"):
    folder = results / "predictions" / model / task / "zero-shot" / "seed1"
    return (folder / f"test.{lang}.{suffix}").read_text(encoding="utf-8")


def score_of(results, model, task, lang):
    folder = results / "scores" / model / task / "zero-shot" / "seed1"
    return json.loads((folder / f"test.{lang}.json").read_text())


def entities(labels):
    """Type and borders of the entities of IOB2 labels, by definition."""
    found, start = set(), None
    for place, label in enumerate([*labels, "O"]):
        if start is not None and not label.startswith("I-"):
            found.add((labels[start][2:], start, place))
            start = None
        if label.startswith("B-"):
            start = place
    return found


@pytest.mark.parametrize("model", ["bert", "xlm"])
def test_entities_are_learned_and_every_token_has_a_prediction(results, model):
    for lang in head_samples.LANGUAGES:
        blocks = predictions_of(results, model, "ner", lang).strip("\n").split("\n\n")
        gold, predicted = Counter(), Counter()
        tokens = []
        for number, block in enumerate(blocks):
            columns = list(
                zip(*(x.split("\t") for x in block.split("\n")), strict=True)
            )
            tokens += columns[0]
            gold.update((number, entity) for entity in entities(columns[1]))
            predicted.update((number, entity) for entity in entities(columns[2]))
        source = head_samples.conll(lang).splitlines()
        assert tokens == [line.split()[0] for line in source if " x " in line]
        right = (gold & predicted).total()
        f1 = 2 * right / (gold.total() + predicted.total()) if right else 0.0
        score = score_of(results, model, "ner", lang)
        assert score["metrics"]["f1"] == pytest.approx(f1, abs=0.05)
        assert score["n"] == len(blocks)
    assert score_of(results, model, "ner", "en")["metrics"]["f1"] > 0.9
