"""A published BERT is fine-tuned, exported and used as one of our own."""

import json
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import save_file

import bert_by_definition
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
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    config = bert_by_definition.config(vocab_size=len(vocab))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocab))
    weights = bert_by_definition.weights(config)
    bare = {n[5:]: v for n, v in weights.items() if n.startswith("bert.")}
    save_file(bare, str(folder / "model.safetensors"), metadata={"format": "pt"})
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


def finetune(encoder, folder, settings=SETTINGS, code=0):
    return script(
        *("finetune.py", "--encoder", encoder, "--labels", *LABELS),
        *("--train", f"en={folder / 'train.tsv'}", "--dev", f"en={folder / 'dev.tsv'}"),
        *("--metric", "accuracy", "--settings", json.dumps(settings)),
        *("--state", folder / "state", "--output_dir", folder / "finetuned"),
        code=code,
    )


def test_from_a_published_folder_to_predictions(tmp_path, encoder):
    import paddle

    write_task(tmp_path / "train.tsv", 64, seed=1)
    write_task(tmp_path / "dev.tsv", 16, seed=2)
    finetune(encoder, tmp_path)
    finetuned, exported = tmp_path / "finetuned", tmp_path / "exported"
    assert sorted(path.name for path in finetuned.iterdir()) == [
        "config.json",
        "labels.json",
        "metrics.jsonl",
        "model.safetensors",
        "vocab.txt",
    ]
    script(
        *("export_model.py", "--models", finetuned, "--max_seq_length", 16),
        *("--output_dir", exported),
    )
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
