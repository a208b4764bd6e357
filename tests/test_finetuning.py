"""A published BERT is fine-tuned, exported and used as one of our own."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import bert_by_definition
from babelmill.finetuning.evaluation import History
from babelmill.models import bert
from babelmill.models.inputs import encode_examples, sorted_batches
from babelmill.tasks import Example, read_examples, write_examples
from babelmill.tokenizers import load_tokenizer
from conftest import ROOT

WORDS = ["good", "bad", "film", "book", "the", "was"]
LABELS = ["first", "second"]
SETTINGS = {
    "seed": 1,
    "max_seq_length": 16,
    "num_train_epochs": 2,
    "max_steps": None,
    "batch_size": 8,
    "learning_rate": 1e-3,
    "lr_scheduler_type": "linear",
    "warmup_proportion": 0.1,
    "warmup_steps": None,
    "weight_decay": 0.01,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
    "dropout": 0.1,
    "evaluations_per_epoch": 1,
    "early_stopping_patience": None,
    "save_steps": 100,
    "center_languages": False,
    "freeze_embeddings": False,
    "freeze_layers": 0,
    "layerwise_lr_decay": 1.0,
    "sparsity": None,
}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A Hugging Face folder: config, bare weights, vocab.txt, weights for others."""
    folder = tmp_path_factory.mktemp("encoder")
    bert_by_definition.write_folder(folder, WORDS)
    (folder / "pytorch_model.bin").write_bytes(b"the same for others")
    return folder


def script(name, *arguments, code=0):
    command = [sys.executable, ROOT / "workflow_scripts" / name, *arguments]
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stderr


def write_task(path, count, seed):
    """Pairs of texts; the label says which of them praises."""
    rng = np.random.default_rng(seed)
    examples = []
    for number in range(count):
        texts = [f"the {rng.choice(['film', 'book'])} was {w}" for w in WORDS[:2]]
        label = int(rng.integers(2))
        texts = texts[::-1] if label else texts
        examples.append(Example(str(number), *texts, LABELS[label]))
    write_examples(path, examples)


def finetune(
    encoder, folder, settings=SETTINGS, code=0, labels=LABELS, metric="accuracy"
):
    return script(
        *("finetune.py", "--encoder", encoder, "--labels", *labels),
        *("--train", f"en={folder / 'train.tsv'}", "--dev", f"en={folder / 'dev.tsv'}"),
        *("--metric", metric, "--settings", json.dumps(settings)),
        *("--state", folder / "state", "--output_dir", folder / "finetuned"),
        code=code,
    )


def export(folder, *models):
    script(
        *("export_model.py", "--models", *models),
        *("--output_dir", folder / "exported"),
    )
    return folder / "exported"


def records_of(model):
    return [json.loads(x) for x in (model / "metrics.jsonl").read_text().splitlines()]


def test_from_a_published_folder_to_predictions(tmp_path, encoder):
    import paddle

    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    finetune(encoder, tmp_path)
    finetuned, exported = tmp_path / "finetuned", tmp_path / "exported"
    assert sorted(path.name for path in finetuned.iterdir()) == [
        "config.json",
        "inference.json",
        "labels.json",
        "metrics.jsonl",
        "model.safetensors",
        "vocab.txt",
    ]
    export(tmp_path, finetuned)
    predictions = tmp_path / "predictions.tsv"
    script(
        *("predict.py", "--model", exported, "--input", tmp_path / "dev.tsv"),
        *("--lang", "en", "--output", predictions, "--score", tmp_path / "score.json"),
    )
    # The same from the fine-tuned weights, in the dynamic graph.
    config = json.loads((finetuned / "config.json").read_text())
    model = bert.classification_model(config, 2, dropout=0.0)
    bert.load(model, finetuned)
    model.eval()
    tokenizer = load_tokenizer(finetuned)
    examples = read_examples(tmp_path / "dev.tsv", LABELS)
    inputs = encode_examples(examples, tokenizer, "en", 16)
    assert inputs.segments.sum() == 5 * len(examples)
    expected = np.zeros((16, 2))
    for rows, batch in sorted_batches(inputs, 16, tokenizer.pad_id):
        tensors = {name: paddle.to_tensor(value) for name, value in batch.items()}
        logits = bert.classify(model, tensors)
        expected[rows] = paddle.nn.functional.softmax(logits).numpy()
    lines = [line.split("\t") for line in predictions.read_text().splitlines()[1:]]
    printed = np.array([list(map(float, line[3:])) for line in lines])
    assert np.abs(printed - expected).max() < 1e-5
    score = json.loads((tmp_path / "score.json").read_text())
    right = [line[1] == line[2] for line in lines]
    assert score["metrics"]["accuracy"] == pytest.approx(np.mean(right))


def test_inputs_longer_than_the_encoder_are_refused(tmp_path, encoder):
    for split in ("train", "dev"):
        write_task(tmp_path / f"{split}.tsv", 4, seed=1)
    message = finetune(encoder, tmp_path, {**SETTINGS, "max_seq_length": 21}, code=2)
    assert "max_seq_length (21) is longer" in message
    assert not (tmp_path / "finetuned").exists()


def test_other_words_behind_the_same_ids_are_another_run(tmp_path, encoder):
    """Its checkpoints would be of other inputs."""
    write_task(tmp_path / "train.tsv", 8, seed=1)
    write_task(tmp_path / "dev.tsv", 4, seed=2)
    other = tmp_path / "other"
    shutil.copytree(encoder, other)
    words = (encoder / "vocab.txt").read_text()
    swapped = words.replace("good", "x").replace("bad", "good").replace("x", "bad")
    (other / "vocab.txt").write_text(swapped)
    runs = []
    for folder in (encoder, encoder, other):
        finetune(folder, tmp_path)
        runs += [run.name for run in (tmp_path / "state").iterdir()]
    assert runs[0] == runs[1] != runs[2]


def test_numbers_are_learned_by_regression_and_submitted_on_their_scale(
    tmp_path, encoder
):
    """Three words are worth 0, 2.5 and 5."""
    rng = np.random.default_rng(3)
    for split, count in (("train", 1600), ("dev", 24)):
        worths = rng.integers(3, size=count)
        write_examples(
            tmp_path / f"{split}.tsv",
            [Example(str(i), WORDS[w], "", str(2.5 * w)) for i, w in enumerate(worths)],
        )
    settings = {**SETTINGS, "seed": 3, "num_train_epochs": 1, "learning_rate": 0.01}
    finetune(encoder, tmp_path, settings, labels=[], metric="pearson_spearman")
    exported = export(tmp_path, tmp_path / "finetuned")
    outputs = {name: tmp_path / name for name in ("output", "submission", "score")}
    script(
        *("predict.py", "--model", exported, "--input", tmp_path / "dev.tsv"),
        *("--lang", "en", "--metrics", "pearson", "spearman"),
        *(part for name, path in outputs.items() for part in (f"--{name}", path)),
    )
    rows = [x.split("\t") for x in outputs["output"].read_text().splitlines()]
    assert rows[0] == ["id", "label", "prediction"]
    labels, predictions = np.array([row[1:] for row in rows[1:]], float).T
    expected = np.corrcoef(labels, predictions)[0, 1]
    score = json.loads(outputs["score"].read_text())
    assert expected > 0.8 and predictions.min() < 0
    assert score["metrics"]["pearson"] == pytest.approx(expected, abs=1e-4)
    # The mean squared error was descended, not only the order learned.
    assert np.abs(labels - predictions).mean() < 1
    submitted = [x.split("\t") for x in outputs["submission"].read_text().splitlines()]
    assert submitted[0] == ["index", "prediction"]
    assert submitted[1:] == [
        [str(i), f"{min(max(number, 0), 5):.3f}"]
        for i, number in enumerate(predictions)
    ]


def test_sparse_weights_are_2_of_4_to_the_end(tmp_path, encoder):
    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    finetune(encoder, tmp_path, {**SETTINGS, "sparsity": "2:4"})
    tensors = load_file(tmp_path / "finetuned" / "model.safetensors")
    masked = {n for n, v in tensors.items() if "encoder.layers" in n and v.ndim == 2}
    assert len(masked) == 2 * 6
    for name, value in tensors.items():
        if name in masked:
            groups = value.T.reshape(-1, 4)
            assert ((groups != 0).sum(1) == 2).all(), name
        else:
            assert np.count_nonzero(value) > 0.9 * value.size or value.ndim == 1
    assert {n for n in tensors if "pooler" in n or "classifier" in n}


def test_frozen_layers_stay_as_published_and_others_do_not(tmp_path, encoder):
    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    settings = {**SETTINGS, "freeze_layers": 1, "freeze_embeddings": True}
    finetune(encoder, tmp_path, settings)
    config = json.loads((encoder / "config.json").read_text())
    model = bert.classification_model(config, 2, dropout=0.0)
    bert.load_pretrained_encoder(model, encoder)
    published = {name: value.numpy() for name, value in model.state_dict().items()}
    moved = {
        name
        for name, value in load_file(
            tmp_path / "finetuned" / "model.safetensors"
        ).items()
        if not np.array_equal(value, published[name])
    }
    assert not any("layers.0." in n or "_embeddings." in n for n in moved)
    assert "bert.encoder.layers.1.linear1.weight" in moved


def test_the_first_of_the_best_evaluations_is_kept():
    """Also where a checkpoint lies between them."""
    import paddle

    layer = paddle.nn.Linear(1, 1)
    history = History()
    for step, score in enumerate([0.5, 0.7, 0.7, 0.6]):
        layer.weight.set_value(np.full((1, 1), step, np.float32))
        history.losses += [step, step + 1]
        history.add(step, {"en": score - 0.1, "sw": score + 0.1}, layer)
        values = json.loads(json.dumps(history.values()))
        history = History.restored(history.arrays(), values)
    assert history.best["weight"] == 1
    assert history.scores == pytest.approx([0.5, 0.7, 0.7, 0.6])
    assert [record["loss"] for record in history.records] == [0.5, 1.5, 2.5, 3.5]


def test_the_best_on_dev_is_kept_and_patience_ends_the_run(tmp_path, encoder):
    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    settings = {**SETTINGS, "num_train_epochs": 40, "early_stopping_patience": 3}
    finetune(encoder, tmp_path, settings)
    records = records_of(tmp_path / "finetuned")
    scores = [record["dev_mean"] for record in records]
    assert len(scores) - 1 - scores.index(max(scores)) == 3
    assert [r["step"] for r in records] == [8 * (i + 1) for i in range(len(records))]
    exported = export(tmp_path, tmp_path / "finetuned")
    script(
        *("predict.py", "--model", exported, "--input", tmp_path / "dev.tsv"),
        *("--lang", "en", "--score", tmp_path / "score.json"),
        *("--output", tmp_path / "output.tsv"),
    )
    score = json.loads((tmp_path / "score.json").read_text())
    assert score["metrics"]["accuracy"] == max(scores)


def test_of_a_grid_the_best_on_dev_is_exported(tmp_path, encoder):
    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    finetune(encoder, tmp_path)
    models = [tmp_path / name for name in ("lr0.1", "lr0.2", "lr0.3")]
    for model, scores in zip(models, ([0.5, 0.6], [0.8, 0.1], [0.7, 0.7]), strict=True):
        shutil.copytree(tmp_path / "finetuned", model)
        lines = [json.dumps({"dev_mean": score}) + "\n" for score in scores]
        (model / "metrics.jsonl").write_text("".join(lines))
    exported = export(tmp_path, *models)
    assert json.loads((exported / "choice.json").read_text()) == {
        "exported": "lr0.2",
        "dev": {"lr0.1": 0.6, "lr0.2": 0.8, "lr0.3": 0.7},
    }
