"""Words, answers and choices are learned, alike with both engines and padding."""

import numpy as np
import pytest

import head_samples
from babelmill.finetuning.batches import Labeled
from babelmill.finetuning.trainer import finetune
from babelmill.heads import HEADS
from babelmill.models.weights import model_tensors
from babelmill.tasks.examples import write_examples
from babelmill.tasks.layouts import form, task_examples
from babelmill.tasks.source import Source
from babelmill.tokenizers import load_tokenizer
from babelmill.training.checkpoints import Checkpoints
from babelmill.training.run import Run
from finetuning_cases import SETTINGS

KINDS = {
    "ner": "token_classification",
    "squad": "question_answering",
    "copa": "multiple_choice",
}
READING = {
    "max_seq_length": 24,
    "doc_stride": 4,
    "max_query_length": 8,
    "max_answer_length": 5,
}
TRAINING = {
    **SETTINGS,
    "dropout": 0.0,
    "learning_rate": 0.01,
    "num_train_epochs": 20,
    "batch_size": 4,
    "evaluations_per_epoch": 1,
}


@pytest.fixture(scope="module")
def encoders(tmp_path_factory):
    """Folders of a BERT and an XLM that know the words of the samples."""
    folder = tmp_path_factory.mktemp("encoders")
    for name in head_samples.ARCHITECTURES:
        head_samples.write_encoder(folder / name, name)
    return folder


def examples_of(task, folder, lang="en"):
    layout, text, suffix = head_samples.SAMPLES[task]
    path = folder / f"given{suffix}"
    path.write_text(text(lang), encoding="utf-8")
    source = Source(path, "train", lang, **head_samples.COLUMNS[task])
    write_examples(folder / "prepared.tsv", task_examples(layout, source), form(layout))
    return HEADS[KINDS[task]].read(folder / "prepared.tsv", [])


def trained(task, encoder, folder, run=None, **settings):
    """Head, model and records of a training on a sample, and the encoded sample."""
    folder.mkdir()
    examples = examples_of(task, folder)
    kind = HEADS[KINDS[task]]
    metric = "accuracy" if task == "copa" else "f1"
    head = kind(kind.labels_of(examples), metric)
    tokenizer = load_tokenizer(encoder)
    encoded = head.encode(examples, tokenizer, "en", READING)
    train = Labeled(encoded.inputs, head.targets(encoded), head.targets_of_tokens)
    model, _, records = finetune(
        encoder,
        {**TRAINING, **settings},
        head,
        train,
        {"en": encoded},
        tokenizer.pad_id,
        Checkpoints(folder / "state", task),
        run,
    )
    return head, model, records, encoded


@pytest.mark.parametrize("task", KINDS)
@pytest.mark.parametrize("name", ["bert", "xlm"])
def test_a_small_sample_is_learned(tmp_path, encoders, name, task):
    *_, records, _ = trained(task, encoders / name, tmp_path / "run")
    assert records[-1]["dev_mean"] > 0.95
    assert records[-1]["loss"] < records[0]["loss"] / 2


@pytest.mark.parametrize("task", KINDS)
def test_engines_agree_in_every_bit(tmp_path, encoders, task):
    settings = {"max_steps": 6, "dropout": 0.1}
    runs = [
        Run("dynamic", gradient_merge_steps=2),
        Run("static", gradient_merge_steps=2),
    ]
    (weights, records), (others, other_records) = (
        trained(task, encoders / "bert", tmp_path / run.engine, run, **settings)[1:3]
        for run in runs
    )
    assert records == other_records
    weights, others = model_tensors(weights), model_tensors(others)
    assert all((weights[name] == others[name]).all() for name in weights)


@pytest.mark.parametrize("task", KINDS)
def test_steps_in_parts_are_those_of_whole_batches(tmp_path, encoders, task):
    """The mean is that of all words or examples of a batch, not a mean of means."""
    # With another epsilon, Adam makes steps of what is zero but for rounding.
    settings = {"max_steps": 6, "adam_epsilon": 1e-4}
    runs = {"whole": Run(), "parts": Run(gradient_merge_steps=2)}
    whole, parts = (
        model_tensors(
            trained(task, encoders / "bert", tmp_path / name, run, **settings)[1]
        )
        for name, run in runs.items()
    )
    assert max(np.abs(whole[name] - parts[name]).max() for name in whole) < 1e-5
