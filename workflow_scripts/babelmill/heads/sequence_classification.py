"""A label, or a number, of one text or two."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.heads.base import Encoded, Head
from babelmill.metrics import score
from babelmill.models.inputs import encode_examples
from babelmill.tasks import Example, read_examples
from babelmill.tokenizers import Tokenizer


class SequenceClassification(Head):
    """A classification, or without labels a regression.

    Predictions are the outputs themselves, (examples, outputs) float32.
    """

    kind = "sequence_classification"

    @property
    def outputs(self) -> int:
        return max(len(self.labels), 1)

    @staticmethod
    def read(path: Path, labels: Sequence[str] | None) -> list[Example]:
        return read_examples(path, labels)

    def encode(
        self,
        examples: Sequence[Any],
        tokenizer: Tokenizer,
        lang: str,
        settings: Mapping[str, Any],
    ) -> Encoded:
        length = settings["max_seq_length"]
        return Encoded(examples, encode_examples(examples, tokenizer, lang, length))

    def targets(self, encoded: Encoded) -> np.ndarray:
        """Class numbers (examples,) int64, or numbers (examples,) float32."""
        return self._targets(encoded.examples)

    def _targets(self, examples: Sequence[Any]) -> np.ndarray:
        if not self.labels:
            return np.asarray([float(e.label) for e in examples], np.float32)
        number = {label: i for i, label in enumerate(self.labels)}
        return np.asarray([number[e.label] for e in examples], np.int64)

    def loss(self, logits, targets):
        """Cross-entropy of classes, squared error of numbers."""
        import paddle.nn.functional as F

        if self.labels:
            return F.cross_entropy(logits, targets, reduction="sum")
        return F.mse_loss(logits.squeeze(-1), targets, reduction="sum")

    def predictions(self, encoded: Encoded, outputs: np.ndarray) -> np.ndarray:
        return outputs

    def score(
        self, metric: str, examples: Sequence[Any], predictions: np.ndarray
    ) -> float:
        likeliest = predictions.argmax(1) if self.labels else predictions[:, 0]
        return float(score(metric, self._targets(examples), likeliest))

    def file(self, examples: Sequence[Any], predictions: np.ndarray) -> str:
        """As TSV: id, label, prediction, and the probability of each class."""
        rows = [["id", "label", "prediction", *(f"p_{name}" for name in self.labels)]]
        for example, name, row in zip(
            examples, self._named(predictions), _shares(predictions), strict=True
        ):
            shares = [f"{share:.6f}" for share in row] if self.labels else []
            rows.append([example.id, example.label or "", name, *shares])
        return _tsv(rows)

    def submission(self, examples: Sequence[Example], predictions: np.ndarray) -> str:
        """As gluebenchmark.com takes them: TSV with the columns index and prediction.

        Numbers are cut to the scale of STS-B, 0 to 5, and have three decimals.
        """
        if not self.labels:
            predictions = np.clip(predictions, 0, 5)
        names = self._named(predictions, decimals=3)
        ids = [example.id for example in examples]
        return _tsv([["index", "prediction"], *zip(ids, names, strict=True)])

    def _named(self, predictions: np.ndarray, decimals: int = 6) -> list[str]:
        if self.labels:
            return [self.labels[place] for place in predictions.argmax(1)]
        return [f"{number:.{decimals}f}" for number in predictions[:, 0]]


def _shares(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _tsv(rows: Sequence[Sequence[str]]) -> str:
    return "".join("\t".join(row) + "\n" for row in rows)
