"""Layers that stay as they are, and layers that learn more slowly."""

import numpy as np
import pytest

import bert_by_definition
from babelmill.errors import UserError
from babelmill.finetuning.layers import decay_learning_rates, freeze_layers
from babelmill.models.families import family
from babelmill.training.engines import Part, make_engine
from babelmill.training.steps import Steps

CONFIGS = {
    "bert": bert_by_definition.config(),
    "xlm": {
        "model_type": "xlm",
        "emb_dim": 16,
        "n_layers": 2,
        "n_heads": 2,
        "vocab_size": 40,
        "n_langs": 3,
        "max_position_embeddings": 20,
    },
}
# One tensor of each depth: embeddings, both layers, what is above them.
DEPTHS = {
    "bert": [
        ["bert.embeddings.word_embeddings.weight", "bert.embeddings.layer_norm.weight"],
        ["bert.encoder.layers.0.linear1.weight", "bert.encoder.layers.0.norm2.bias"],
        ["bert.encoder.layers.1.self_attn.q_proj.weight"],
        ["bert.pooler.dense.weight", "classifier.weight"],
    ],
    "xlm": [
        ["xlm.embeddings.weight", "xlm.layer_norm_emb.weight"],
        ["xlm.attentions.0.q_lin.weight", "xlm.layer_norm1.0.weight"],
        ["xlm.ffns.1.lin1.weight", "xlm.layer_norm2.1.weight"],
        ["classifier.weight"],
    ],
}
SETTINGS = {
    "seed": 1,
    "learning_rate": 0.01,
    "lr_scheduler_type": "constant",
    "warmup_steps": 0,
    "max_steps": 10,
    "weight_decay": 0.0,
    "adam_beta1": 0.9,
    "adam_beta2": 0.999,
    "adam_epsilon": 1e-12,
    "max_grad_norm": 1.0,
}


def parameters(name):
    model = family(CONFIGS[name]).classification_model(CONFIGS[name], 2, dropout=0.0)
    return model, dict(model.named_parameters())


@pytest.mark.parametrize("name", CONFIGS)
def test_the_lowest_layers_are_frozen_and_nothing_else(name):
    model, found = parameters(name)
    freeze_layers(model, 1)
    frozen = {n for n, p in found.items() if p.stop_gradient}
    assert frozen >= set(DEPTHS[name][1])
    assert not frozen & {n for depth in (0, 2, 3) for n in DEPTHS[name][depth]}
    assert len(frozen) == 16
    with pytest.raises(UserError, match="freeze_layers is 3, but the encoder has 2"):
        freeze_layers(model, 3)


def sum_of_all(model, batch, causal):
    """A loss whose gradient is 1 everywhere."""
    import paddle

    total = sum(parameter.sum() for parameter in model.parameters())
    return paddle.stack([total, paddle.zeros_like(total)])


@pytest.mark.parametrize("engine", ["dynamic", "static"])
@pytest.mark.parametrize("name", CONFIGS)
def test_each_layer_downwards_learns_more_slowly(name, engine):
    """Adam's first step is the learning rate, whatever the gradient."""
    model, found = parameters(name)
    decay_learning_rates(model, 0.5)
    before = {n: p.numpy() for n, p in found.items()}
    made = make_engine(engine, model, sum_of_all, SETTINGS)
    Steps(made, SETTINGS).take([Part({"input_ids": np.zeros((1, 1), int)})], 0)
    after = made.state()["weights"]
    for depth, names in enumerate(DEPTHS[name]):
        for parameter in names:
            moved = np.abs(after[parameter] - before[parameter]).max()
            wanted = 0.01 * 0.5 ** (3 - depth)
            assert moved == pytest.approx(wanted, rel=1e-2), parameter
