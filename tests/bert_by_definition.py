"""BERT in numpy, by Devlin et al. 2019 and Vaswani et al. 2017, to compare with."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

_erf = np.vectorize(math.erf)
ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))),
    "relu": lambda x: np.maximum(x, 0),
}


def config(**changes: Any) -> dict[str, Any]:
    """A small BERT, with the largest epsilon that Paddle takes, so that it shows."""
    return {
        "model_type": "bert",
        "vocab_size": 40,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "max_position_embeddings": 20,
        "type_vocab_size": 2,
        "initializer_range": 0.02,
        "layer_norm_eps": 1e-3,
        "pad_token_id": 0,
        **changes,
    }


def weights(config: dict[str, Any], seed: int = 0) -> dict[str, np.ndarray]:
    """Random weights of BertForPreTraining under Hugging Face's names, (out, in)."""
    rng = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {}

    def linear(name: str, rows: int, columns: int) -> None:
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = (rows, columns), (rows,)

    def norm(name: str) -> None:
        shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = (width,)

    for name, rows in (
        ("word", config["vocab_size"]),
        ("position", config["max_position_embeddings"]),
        ("token_type", config["type_vocab_size"]),
    ):
        shapes[f"bert.embeddings.{name}_embeddings.weight"] = (rows, width)
    norm("bert.embeddings.LayerNorm")
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}"
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            linear(f"{layer}.attention.{name}", width, width)
        norm(f"{layer}.attention.output.LayerNorm")
        linear(f"{layer}.intermediate.dense", inner, width)
        linear(f"{layer}.output.dense", width, inner)
        norm(f"{layer}.output.LayerNorm")
    linear("bert.pooler.dense", width, width)
    linear("cls.predictions.transform.dense", width, width)
    norm("cls.predictions.transform.LayerNorm")
    shapes["cls.predictions.bias"] = (config["vocab_size"],)
    linear("cls.seq_relationship", 2, width)
    return {
        name: rng.normal(0, 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


class Bert:
    """The forward pass in float64."""

    def __init__(self, config: dict[str, Any], weights: dict[str, np.ndarray]):
        self._config = config
        self._weights = {n: v.astype(np.float64) for n, v in weights.items()}
        self._activation = ACTIVATIONS[config["hidden_act"]]

    def hidden(self, ids, segments, mask) -> np.ndarray:
        """Hidden states (rows, length, hidden_size)."""
        w = self._weights
        table = "bert.embeddings.{}_embeddings.weight"
        states = w[table.format("word")][ids]
        states = states + w[table.format("position")][: ids.shape[1]]
        states = states + w[table.format("token_type")][segments]
        states = self._norm("bert.embeddings.LayerNorm", states)
        for i in range(self._config["num_hidden_layers"]):
            layer = f"bert.encoder.layer.{i}"
            attended = self._attention(f"{layer}.attention", states, mask)
            name = f"{layer}.attention.output"
            attended = self._linear(f"{name}.dense", attended)
            states = self._norm(f"{name}.LayerNorm", states + attended)
            inner = self._linear(f"{layer}.intermediate.dense", states)
            outer = self._linear(f"{layer}.output.dense", self._activation(inner))
            states = self._norm(f"{layer}.output.LayerNorm", states + outer)
        return states

    def pooled(self, hidden) -> np.ndarray:
        """The first token's state through the pooler (rows, hidden_size)."""
        return np.tanh(self._linear("bert.pooler.dense", hidden[:, 0]))

    def word_scores(self, hidden) -> np.ndarray:
        """Scores of the vocabulary at every position (rows, length, vocabulary)."""
        name = "cls.predictions.transform"
        states = self._activation(self._linear(f"{name}.dense", hidden))
        states = self._norm(f"{name}.LayerNorm", states)
        words = self._weights["bert.embeddings.word_embeddings.weight"]
        return states @ words.T + self._weights["cls.predictions.bias"]

    def pair_scores(self, hidden) -> np.ndarray:
        """Scores of: goes on, random (rows, 2)."""
        return self._linear("cls.seq_relationship", self.pooled(hidden))

    def _linear(self, name, states):
        w = self._weights
        return states @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def _norm(self, name, states):
        centered = states - states.mean(-1, keepdims=True)
        variance = (centered**2).mean(-1, keepdims=True)
        scaled = centered / np.sqrt(variance + self._config["layer_norm_eps"])
        return scaled * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]

    def _attention(self, name, states, mask):
        heads = self._config["num_attention_heads"]
        rows, length, width = states.shape

        def split(part):
            values = self._linear(f"{name}.self.{part}", states)
            values = values.reshape(rows, length, heads, width // heads)
            return values.transpose(0, 2, 1, 3)

        query, key, value = split("query"), split("key"), split("value")
        scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(width // heads)
        scores = np.where(mask[:, None, None, :] > 0, scores, -np.inf)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        shares = powers / powers.sum(-1, keepdims=True)
        return (shares @ value).transpose(0, 2, 1, 3).reshape(rows, length, width)


def write_folder(folder: Path, words: Sequence[str]) -> None:
    """A small BERT of these words as Hugging Face publishes one, without heads."""
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    settings = config(vocab_size=len(vocab))
    (folder / "config.json").write_text(json.dumps(settings))
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in vocab))
    bare = {n[5:]: v for n, v in weights(settings).items() if n.startswith("bert.")}
    save_file(bare, str(folder / "model.safetensors"), metadata={"format": "pt"})
