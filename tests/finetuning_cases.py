"""Tiny encoders to fine-tune on random examples, in one process or in several."""

from pathlib import Path

import numpy as np

from babelmill.finetuning.batches import Labeled
from babelmill.finetuning.trainer import finetune
from babelmill.heads import Encoded
from babelmill.heads.sequence_classification import SequenceClassification
from babelmill.models.families import family
from babelmill.models.inputs import Inputs
from babelmill.models.weights import model_tensors, save_weights
from babelmill.models.xlm import TOKEN_COUNTS
from babelmill.tasks import Example
from babelmill.training.checkpoints import Checkpoints
from pretraining_cases import SETTINGS as OPTIMIZER
from pretraining_cases import VOCABULARY, model_config

PAD = 2
CLASSES = SequenceClassification(["a", "b", "c"], "accuracy")
SETTINGS = {
    **OPTIMIZER,
    "batch_size": 8,
    "num_train_epochs": 2,
    "max_steps": None,
    "warmup_steps": 3,
    "warmup_proportion": 0.1,
    "dropout": 0.1,
    "evaluations_per_epoch": 2,
    "early_stopping_patience": None,
    "save_steps": 5,
    "center_languages": False,
    "freeze_embeddings": False,
    "freeze_layers": 0,
    "layerwise_lr_decay": 1.0,
    "sparsity": None,
}
OPTIONS = {
    "center_languages": True,
    "freeze_embeddings": True,
    "freeze_layers": 1,
    "layerwise_lr_decay": 0.8,
    "sparsity": "2:4",
}
# With another epsilon, Adam makes steps of what is zero but for rounding.
EXACT = {**OPTIONS, "dropout": 0.0, "adam_epsilon": 1e-4}


def encoded(seed, count, lang_id=0):
    """Examples whose class (of three) their second token tells."""
    rng = np.random.default_rng([9, seed])
    lengths = rng.integers(4, 24, count)
    ids = [rng.integers(6, VOCABULARY, length) for length in lengths]
    segments = [np.arange(length) >= 3 for length in lengths]
    labels = [CLASSES.labels[tokens[1] % 3] for tokens in ids]
    examples = [Example(str(i), "", "", label) for i, label in enumerate(labels)]
    return Encoded(examples, Inputs.of(ids, segments, lang_id))


def labeled(*of):
    examples = encoded(*of)
    return Labeled(examples.inputs, CLASSES.targets(examples))


# 41 = 5 * 8 + 1: of a step with one example, the second process of two has nothing.
TRAIN = Labeled.joined([labeled(0, 30), labeled(1, 11, 1)])
DEV = {"de": encoded(2, 70), "en": encoded(3, 150, 1)}


def write_encoder(folder, model_type):
    """A folder as pretraining leaves it, with fresh weights."""
    import paddle

    config = model_config(model_type)
    models = family(config)
    paddle.seed(3)
    models.save(folder, config, models.pretraining_model(config))
    counts = np.random.default_rng(4).integers(0, 9, (2, VOCABULARY))
    save_weights(folder / TOKEN_COUNTS, {"counts": counts.astype(np.float32)})


def finetuned(model_type, folder: Path, run=None, **settings):
    """The best weights of a fine-tuning, and its records; ``folder`` is a new one."""
    encoder = folder / f"encoder{run.processes.rank if run else 0}"
    encoder.mkdir(parents=True)
    write_encoder(encoder, model_type)
    first = run is None or run.processes.is_first
    model, _, records = finetune(
        encoder,
        {**SETTINGS, **settings},
        CLASSES,
        TRAIN,
        DEV,
        PAD,
        Checkpoints(folder / "state", model_type, writer=first),
        run,
    )
    return model_tensors(model), records
