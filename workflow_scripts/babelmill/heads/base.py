"""What all heads have in common."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from babelmill.models.inputs import Inputs
from babelmill.tokenizers import Tokenizer

# The target of tokens that have none, as in PaddleNLP.
IGNORED = -100


@dataclass(frozen=True)
class Encoded:
    """Examples and what the encoder sees of them.

    Attributes:
        examples: of the task, as its head reads them.
        inputs: as many for each example, or such as ``places`` says.
        places: what a head has to know of its inputs to read their outputs.
    """

    examples: Sequence[Any]
    inputs: Inputs
    places: Any = None


class Head(abc.ABC):
    """A kind of task: what a model is trained towards and judged by.

    Args:
        labels: the names of the classes, in the order of the model's outputs.
        metric: what the best step is chosen by.

    Attributes:
        kind: its name in ``babelmill.kinds``.
        of_tokens: whether the outputs are those of each token of an input.
        targets_of_tokens: whether there is a target for each.
    """

    kind: ClassVar[str]
    of_tokens: ClassVar[bool] = False
    targets_of_tokens: ClassVar[bool] = False

    def __init__(self, labels: Sequence[str], metric: str):
        self.labels, self.metric = list(labels), metric

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """How many numbers the model gives for an input, or for each of its tokens."""

    def output_shape(self, inputs: Inputs) -> tuple[int, ...]:
        """(inputs, outputs), or of each token (inputs, longest, outputs)."""
        longest = [int(inputs.lengths.max())] if self.of_tokens else []
        return len(inputs), *longest, self.outputs

    @staticmethod
    @abc.abstractmethod
    def read(path: Path, labels: Sequence[str] | None) -> list[Any]:
        """The examples of a normalized file.

        Args:
            labels: those that are allowed; ``None`` - an example may have none.

        Raises:
            UserError: the file is not what prepare_task.py writes, or a label is wrong.
        """

    @staticmethod
    def labels_of(examples: Iterable[Any]) -> list[str]:
        """The labels of a task that names none, from its training examples."""
        return []

    @abc.abstractmethod
    def encode(
        self,
        examples: Sequence[Any],
        tokenizer: Tokenizer,
        lang: str,
        settings: Mapping[str, Any],
    ) -> Encoded:
        """Examples of one language as inputs.

        Args:
            settings: ``max_seq_length``, and what ``Kind.reading`` names.
        """

    @abc.abstractmethod
    def targets(self, encoded: Encoded) -> np.ndarray:
        """What the loss compares the outputs with; the first axis is that of inputs.

        (Or of groups of as many inputs each, with multiple choice.)
        """

    def count(self, targets: np.ndarray) -> int:
        """How many terms the loss of such targets is the sum of."""
        return len(targets)

    @abc.abstractmethod
    def loss(self, logits, targets):
        """The loss of a batch: the sum of ``count`` terms, in nats if of classes.

        Args:
            logits: as the model gives them.
            targets: those of the batch; of tokens, (rows, length) like the batch.
        """

    @abc.abstractmethod
    def predictions(self, encoded: Encoded, outputs: np.ndarray) -> Any:
        """What the outputs, of ``output_shape``, say of each example."""

    @abc.abstractmethod
    def score(self, metric: str, examples: Sequence[Any], predictions: Any) -> float:
        """A metric of the predictions of all examples together, as a fraction."""

    @abc.abstractmethod
    def file(self, examples: Sequence[Any], predictions: Any) -> str:
        """The predictions as the text of a file."""


def first_place(tokenizer: Tokenizer, before: Sequence[int] | None = None) -> int:
    """Where the tokens of a text stand in an input, after another text or alone."""
    text = [-1]
    ids, _ = tokenizer.build_inputs(*([text] if before is None else [before, text]))
    return ids.index(-1)
