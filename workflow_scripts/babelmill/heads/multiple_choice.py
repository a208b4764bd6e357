"""Which of some choices follows a text."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.heads.base import Encoded
from babelmill.heads.sequence_classification import SequenceClassification
from babelmill.models.inputs import encode_texts
from babelmill.tasks.multiple_choice import Choice, numbers, read_choices
from babelmill.tokenizers import Tokenizer


class MultipleChoice(SequenceClassification):
    """A score for the text with each choice; the right one is to have the highest.

    Predictions are the scores, (examples, choices) float32. The inputs are the choices
    of the first example, those of the second, and so on.
    """

    kind = "multiple_choice"
    outputs = 1

    @staticmethod
    def read(path: Path, labels: Sequence[str] | None) -> list[Choice]:
        return read_choices(path, labels)

    @staticmethod
    def labels_of(examples: Iterable[Choice]) -> list[str]:
        return numbers(len(next(iter(examples)).choices))

    def encode(
        self,
        examples: Sequence[Choice],
        tokenizer: Tokenizer,
        lang: str,
        settings: Mapping[str, Any],
    ) -> Encoded:
        choices = [choice for example in examples for choice in example.choices]
        texts = [example.text for example in examples for _ in example.choices]
        length = settings["max_seq_length"]
        return Encoded(examples, encode_texts(texts, choices, tokenizer, lang, length))

    def loss(self, logits, targets):
        """Cross-entropy of the choices of an example.

        Args:
            logits: (examples x choices, 1).
            targets: (examples,) int64.
        """
        return super().loss(logits.reshape([-1, len(self.labels)]), targets)

    def predictions(self, encoded: Encoded, outputs: np.ndarray) -> np.ndarray:
        return outputs.reshape(-1, len(self.labels))
