"""Tiny models, their batches and settings, for tests in one process and in several."""

import numpy as np

from babelmill.models.families import family
from babelmill.pretraining.examples import Share
from babelmill.pretraining.objectives import objective, parts
from babelmill.training.engines import make_engine
from babelmill.training.steps import Steps

VOCABULARY = 90
SETTINGS = {
    "seed": 5,
    "learning_rate": 3e-3,
    "lr_scheduler_type": "linear",
    "warmup_steps": 3,
    "max_steps": 20,
    "weight_decay": 0.01,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-8,
    "max_grad_norm": 1.0,
}


def model_config(model_type, dropout=0.1):
    """The config of a model with 2 layers of 16."""
    if model_type == "xlm":
        return {
            **{"model_type": "xlm", "emb_dim": 16, "n_layers": 2, "n_heads": 2},
            **{"dropout": dropout, "attention_dropout": dropout},
            **{"vocab_size": VOCABULARY, "max_position_embeddings": 32},
            **{"lang2id": {"de": 0, "en": 1}, "n_langs": 2, "pad_index": 2},
        }
    return {
        **{"model_type": model_type, "hidden_size": 16, "num_hidden_layers": 2},
        **{"num_attention_heads": 2, "intermediate_size": 32},
        **{"hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout},
        **{"vocab_size": VOCABULARY, "max_position_embeddings": 32},
        **{"pad_token_id": 2},
    }


def rows_of(rng, count, causal=False, length=24):
    """Rows as a shard holds them, of all fields; every other one causal if asked."""
    lengths = rng.integers(4, length, count)
    real = np.arange(length) < lengths[:, None]
    masked = np.zeros((count, 4), int)
    labels = np.zeros((count, 4), int)
    ids = np.where(real, rng.integers(6, VOCABULARY, real.shape), 2)
    is_causal = (np.arange(count) % 2 == 1) & causal
    for row in np.flatnonzero(~is_causal):
        chosen = rng.choice(np.arange(1, lengths[row]), min(3, lengths[row] - 1), False)
        masked[row, : len(chosen)] = np.sort(chosen)
        labels[row, : len(chosen)] = ids[row, masked[row, : len(chosen)]]
        ids[row, chosen] = 5
    return {
        "input_ids": ids.astype(np.int32),
        "input_mask": real.astype(np.int8),
        "segment_ids": (real & (np.arange(length) >= 3)).astype(np.int8),
        "masked_lm_positions": masked.astype(np.int32),
        "masked_lm_ids": labels.astype(np.int32),
        "next_sentence_labels": rng.integers(0, 2, count).astype(np.int8),
        "lang_ids": np.broadcast_to(rng.integers(0, 2, (count, 1)), real.shape).astype(
            np.int8
        ),
        "position_ids": np.broadcast_to(np.arange(length), real.shape).astype(np.int16),
        "causal": is_causal.astype(np.int8),
    }


def share(step, rank=0, world=1, micro_batches=1, causal=False):
    """A process's share of the 8 rows of a step, dealt out."""
    rows = rows_of(np.random.default_rng([7, step]), 8, causal)
    targets = np.count_nonzero(rows["masked_lm_positions"])
    targets += (rows["input_mask"].sum(1) - 1)[rows["causal"] > 0].sum()
    dealt = [
        {name: values[number :: world * micro_batches] for name, values in rows.items()}
        for number in range(rank, world * micro_batches, world)
    ]
    return Share(dealt, int(targets), 8, int(rows["input_mask"].sum()))


def made(model_type, engine, settings=SETTINGS, dropout=0.1, world=1, **options):
    """An engine with first weights that depend on the model type alone."""
    import paddle

    config = model_config(model_type, dropout)
    paddle.seed(3)
    models = family(config)
    layer = models.pretraining_model(config)
    return make_engine(
        engine, layer, objective(models), settings, world=world, **options
    )


def trained(model_type, engine, steps, *, rank=0, world=1, first_step=0, **options):
    """The losses and gradient norms of some steps, and the state after them.

    Options: ``state`` to go on from, ``micro_batches``, ``causal``, and of ``made``.
    """
    cut = {k: options.pop(k) for k in ("micro_batches", "causal") if k in options}
    state = options.pop("state", None)
    settings = options.get("settings", SETTINGS)
    config = model_config(model_type)
    fields = family(config).input_fields(config)
    engine = made(model_type, engine, world=world, **options)
    if state:
        engine.restore(state)
    updates = Steps(engine, settings, rank)
    results = []
    for step in range(first_step, steps):
        given = share(step, rank, world, **cut)
        # The second process of two has no row of a short batch.
        if rank == 1 and step == 2:
            given = Share([], given.predictions, given.rows, given.tokens)
        result = updates.take(parts(given, fields), step)
        results.append([*result.losses, result.gradient_norm])
    return results, engine.state()
