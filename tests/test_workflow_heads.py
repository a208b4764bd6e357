"""The real Snakefile on tasks of words, answers and choices, with BERT and XLM."""

import csv
import json
from collections import Counter

import pytest
import yaml

import head_samples
from conftest import Workflow

FINETUNING = {
    "max_seq_length": 24,
    "num_train_epochs": 20,
    "batch_size": 4,
    "learning_rate": 0.01,
    "dropout": 0.0,
}
READING = {"max_query_length": 8, "doc_stride": 4, "max_answer_length": 5}
RUNS = [("bert", "ner"), ("xlm", "squad"), ("bert", "copa")]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    run = Workflow(tmp_path_factory.mktemp("heads"))
    head_samples.write(run.folder / "data")
    for name in ("bert", "xlm"):
        head_samples.write_encoder(run.folder / name, name)
    tasks = {
        name: {
            **{"format": layout, "data": f"own {name}", "finetuning": FINETUNING},
            **{s: f"data/{name}/{s}.{{lang}}{x}" for s in ("train", "dev", "test")},
            **head_samples.COLUMNS[name],
            **(READING if layout == "squad" else {}),
        }
        for name, (layout, _, x) in head_samples.SAMPLES.items()
    }
    config = {
        "languages": list(head_samples.LANGUAGES),
        "models": {name: {"folder": name} for name in ("bert", "xlm")},
        "tasks": tasks,
        "tables": {
            "xnli": {"task": "squad", "models": ["xlm"], "seeds": [1],
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
    """Type and borders of the entities of IOB2 labels, as conlleval has them.

    What goes on with another type, or begins with I-, is an entity of its own.
    """
    found, start = set(), None
    for place, label in enumerate([*labels, "O"]):
        before = labels[place - 1] if place else "O"
        ends = label[:2] != "I-" or label[2:] != before[2:]
        if start is not None and ends:
            found.add((labels[start][2:], start, place))
            start = None
        if label != "O" and start is None:
            start = place
    return found


def test_entities_are_found_and_every_token_has_a_prediction(results):
    for lang in head_samples.LANGUAGES:
        blocks = predictions_of(results, "bert", "ner", lang).strip("\n").split("\n\n")
        gold, predicted, tokens = Counter(), Counter(), []
        for number, block in enumerate(blocks):
            rows = [line.split("\t") for line in block.split("\n")]
            words, labels, guesses = zip(*rows, strict=True)
            tokens += words
            gold.update((number, entity) for entity in entities(labels))
            predicted.update((number, entity) for entity in entities(guesses))
        source = head_samples.conll(lang).splitlines()
        assert tokens == [line.split()[0] for line in source if " x " in line]
        score = score_of(results, "bert", "ner", lang)
        f1 = 2 * (gold & predicted).total() / (gold.total() + predicted.total())
        assert score["metrics"] == {"f1": pytest.approx(f1)}
        assert score["n"] == len(blocks)
    assert score_of(results, "bert", "ner", "en")["metrics"]["f1"] > 0.9
    exported = results / "exported" / "bert" / "ner" / "zero-shot" / "seed1"
    labels = json.loads((exported / "labels.json").read_text())
    assert labels == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def test_answers_are_spans_of_the_contexts(results):
    for lang in head_samples.LANGUAGES:
        answers = json.loads(predictions_of(results, "xlm", "squad", lang, "json"))
        hits = []
        (article,) = json.loads(head_samples.squad(lang))["data"]
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answer = answers.pop(question["id"])
                assert answer in paragraph["context"]
                hits.append(answer == question["answers"][0]["text"])
        assert not answers
        metrics = score_of(results, "xlm", "squad", lang)["metrics"]
        assert metrics["exact_match"] == pytest.approx(sum(hits) / len(hits))
        assert metrics["f1"] >= metrics["exact_match"]
    assert score_of(results, "xlm", "squad", "en")["metrics"]["exact_match"] > 0.9


def test_the_table_has_both_metrics_of_answers(results):
    with (results / "xnli_table.csv").open(newline="") as source:
        rows = list(csv.DictReader(source))
    assert [row["data"] for row in rows] == [
        "own squad, exact_match",
        "own squad, f1",
    ]
    for row in rows:
        metric = row["data"].split(", ")[1]
        for lang in head_samples.LANGUAGES:
            value = score_of(results, "xlm", "squad", lang)["metrics"][metric]
            assert float(row[lang]) == pytest.approx(100 * value, abs=0.051)


def test_the_likeliest_choice_is_the_prediction(results):
    for lang in head_samples.LANGUAGES:
        lines = predictions_of(results, "bert", "copa", lang).splitlines()
        assert lines[0] == "id\tlabel\tprediction\tp_0\tp_1"
        rows = [line.split("\t") for line in lines[1:]]
        source = [json.loads(x) for x in head_samples.choices(lang).splitlines()]
        assert [row[1] for row in rows] == [str(x["label"]) for x in source]
        for _, _, prediction, *chances in rows:
            assert sum(map(float, chances)) == pytest.approx(1, abs=1e-5)
            assert float(chances[int(prediction)]) == max(map(float, chances))
        share = sum(row[1] == row[2] for row in rows) / len(rows)
        score = score_of(results, "bert", "copa", lang)
        assert score["metrics"] == {"accuracy": pytest.approx(share)}
    assert score_of(results, "bert", "copa", "en")["metrics"]["accuracy"] > 0.8
