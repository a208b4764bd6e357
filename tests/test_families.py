"""What the families of models have in common."""

import inspect

import numpy as np
import pytest
import yaml

import bert_by_definition
from babelmill.config import SCHEMA
from babelmill.models.families import family

XLM = {
    "model_type": "xlm",
    "emb_dim": 16,
    "n_layers": 2,
    "n_heads": 2,
    "vocab_size": 40,
    "n_langs": 3,
    "max_position_embeddings": 20,
}
CONFIGS = {
    "xlm": XLM,
    "bert": bert_by_definition.config(),
    "ernie": bert_by_definition.config(model_type="ernie"),
}


FUNCTIONS = {
    "full_config": ["architecture", "tokenizer"],
    "input_fields": ["config"],
    "pretraining_model": ["config"],
    "pretraining_scores": ["model", "batch", "causal"],
    "classification_model": ["config", "num_classes", "dropout", "kind"],
    "classify": ["model", "batch"],
    "save": ["folder", "config", "model"],
    "load": ["model", "folder"],
    "load_config": ["folder"],
    "load_pretrained_encoder": ["model", "folder"],
    "load_pretraining_weights": ["model", "folder"],
    "freeze_embeddings": ["model"],
}


@pytest.mark.parametrize("model_type", CONFIGS)
def test_every_family_offers_the_same(model_type):
    models = family(CONFIGS[model_type])
    for name, parameters in FUNCTIONS.items():
        offered = inspect.signature(getattr(models, name)).parameters
        assert list(offered) == parameters, name
    assert f"{model_type}." == models.PREFIX
    assert isinstance(models.HEADS, tuple)
    assert models.ARCHITECTURE in yaml.safe_load(SCHEMA.read_text())["$defs"]
    assert models.INPUTS.keys() >= {"input_ids", "input_mask"}


class Tokenizer:
    vocab_size, pad_id, bos_id, eos_id, unk_id, mask_id = 40, 2, 0, 1, 3, 4
    lang2id = {"de": 0, "en": 1}  # noqa: RUF012


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_full_config_says_what_model_it_is_of(model_type):
    architecture = {n: v for n, v in CONFIGS[model_type].items() if "vocab" not in n}
    models = family(architecture)
    config = models.full_config(architecture, Tokenizer)
    assert family(config) is models
    assert config["vocab_size"] == 40
    assert config["pad_token_id"] == 2
    word = models.pretraining_model(config).state_dict()
    shapes = [tuple(v.shape) for n, v in word.items() if "embeddings" in n]
    assert (40, 16) in shapes


def test_a_bert_is_base_where_nothing_is_said():
    """Devlin et al. 2019, section 3 and A.2, and the code of Google's release."""
    config = family({"model_type": "bert"}).full_config({}, Tokenizer)
    assert config == {
        "model_type": "bert",
        "vocab_size": 40,
        "pad_token_id": 2,
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 4 * 768,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 512,
        "type_vocab_size": 2,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-12,
    }


def test_a_narrow_bert_has_a_narrow_feed_forward_part():
    config = family({"model_type": "bert"}).full_config({"hidden_size": 16}, Tokenizer)
    assert config["intermediate_size"] == 64


def test_without_a_type_it_is_an_xlm():
    assert family({}) is family(XLM)


def batch_of(rows, length):
    import paddle

    rng = np.random.default_rng(length)
    lengths = rng.integers(2, length + 1, rows)
    lengths[0] = length
    shape = (rows, length)
    batch = {
        "input_ids": rng.integers(0, 40, shape),
        "segment_ids": rng.integers(0, 2, shape),
        "lang_ids": rng.integers(0, 3, shape),
        "position_ids": np.tile(np.arange(length), (rows, 1)),
        "input_mask": (np.arange(length) < lengths[:, None]).astype(np.float32),
        "flat_positions": np.array([1, length + 1]),
    }
    return {name: paddle.to_tensor(value) for name, value in batch.items()}


@pytest.mark.parametrize("model_type", CONFIGS)
def test_a_classifier_drops_out_as_much_as_it_is_told(model_type):
    models = family(CONFIGS[model_type])
    batch = batch_of(4, 9)

    def twice(dropout):
        config = {**CONFIGS[model_type], "dropout": 0.5, "attention_dropout": 0.5}
        model = models.classification_model(config, 3, dropout)
        model.train()
        return [models.classify(model, batch).numpy() for _ in range(2)]

    first, second = twice(0.0)
    assert (first == second).all()
    first, second = twice(0.3)
    assert (first != second).any()


@pytest.mark.parametrize(
    ("model_type", "causal"),
    [("xlm", False), ("xlm", True), ("bert", False), ("ernie", False)],
)
def test_scores_and_gradients_are_the_same_under_to_static(model_type, causal):
    import paddle

    config = CONFIGS[model_type]
    models = family(config)
    model = models.pretraining_model(config)
    fields = [*models.input_fields(config), "flat_positions"]

    class Scores(paddle.nn.Layer):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, batch):
            return models.pretraining_scores(self.model, batch, causal=causal)

    def gradients(forward, batch):
        paddle.seed(7)
        words, pairs = forward({name: batch[name] for name in fields})
        assert (pairs is None) == (model_type == "xlm")
        loss = words.square().mean()
        if pairs is not None:
            loss = loss + pairs.square().mean()
        loss.backward()
        found = [None if p.grad is None else p.grad.numpy() for p in model.parameters()]
        model.clear_gradients()
        return float(loss), found

    spec = {
        name: paddle.static.InputSpec(
            [None] if name == "flat_positions" else [None, None],
            "float32" if name == "input_mask" else "int64",
            name,
        )
        for name in fields
    }
    eager = Scores()
    traced = paddle.jit.to_static(Scores(), input_spec=[spec], full_graph=True)
    for rows, length in ((4, 9), (2, 6)):
        batch = batch_of(rows, length)
        loss, expected = gradients(eager, batch)
        same_loss, found = gradients(traced, batch)
        assert same_loss == pytest.approx(loss, rel=1e-6)
        for a, b in zip(expected, found, strict=True):
            assert (a is None) == (b is None)
            assert a is None or np.abs(a - b).max() < 1e-6
