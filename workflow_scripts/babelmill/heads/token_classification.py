"""A label for each word, such as the names of persons and places."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.entities import METRICS
from babelmill.heads.base import IGNORED, Encoded, Head, first_place
from babelmill.models.inputs import Inputs, language_id
from babelmill.tasks.conll import Sentence, read_sentences
from babelmill.tokenizers import Tokenizer


class TokenClassification(Head):
    """The first piece of a word carries its label (Devlin et al. 2019, section 5.3).

    A sentence that is too long becomes several inputs, each with some of its words, so
    that every word has a prediction. Predictions are the labels of each sentence.
    """

    kind = "token_classification"
    of_tokens = targets_of_tokens = True

    @property
    def outputs(self) -> int:
        return len(self.labels)

    @staticmethod
    def read(path: Path, labels: Sequence[str] | None) -> list[Sentence]:
        return read_sentences(path, labels)

    @staticmethod
    def labels_of(examples: Iterable[Sentence]) -> list[str]:
        return sorted({label for example in examples for label in example.labels})

    def encode(
        self,
        examples: Sequence[Sentence],
        tokenizer: Tokenizer,
        lang: str,
        settings: Mapping[str, Any],
    ) -> Encoded:
        """The places are, for each input, where its words start.

        (words,) int; the words of all inputs are those of all sentences, in order.
        """
        words = list(dict.fromkeys(chain.from_iterable(e.words for e in examples)))
        pieces = dict(zip(words, tokenizer.encode_words(words, lang), strict=True))
        special = len(tokenizer.build_inputs([])[0])
        room = settings["max_seq_length"] - special
        nothing = np.array([tokenizer.unk_id], np.int32)
        first, places = first_place(tokenizer), []

        def built() -> Iterator[tuple[list[int], list[int]]]:
            for example in examples:
                # A word of nothing but control characters has no pieces.
                ids = [p if len(p) else nothing for p in map(pieces.get, example.words)]
                for window, starts in _windows(ids, room):
                    places.append(first + starts)
                    yield tokenizer.build_inputs(window)

        inputs = Inputs.gathered(built(), language_id(tokenizer, lang))
        if more := len(inputs) - len(examples):
            print(
                f"{lang}: {len(examples)} sentences are {more} inputs more, some being"
                f" longer than max_seq_length ({settings['max_seq_length']})",
                file=sys.stderr,
            )
        return Encoded(examples, inputs, places)

    def targets(self, encoded: Encoded) -> np.ndarray:
        """(inputs, longest) int16: class numbers where a word starts, or IGNORED."""
        number = {label: i for i, label in enumerate(self.labels)}
        labels = (number[x] for example in encoded.examples for x in example.labels)
        shape = (len(encoded.inputs), int(encoded.inputs.lengths.max()))
        targets = np.full(shape, IGNORED, np.int16)
        for row, starts in zip(targets, encoded.places, strict=True):
            row[starts] = list(islice(labels, len(starts)))
        return targets

    def count(self, targets: np.ndarray) -> int:
        return int((targets != IGNORED).sum())

    def loss(self, logits, targets):
        """Cross-entropy of the words of a batch."""
        import paddle.nn.functional as F

        classes = logits.reshape([-1, len(self.labels)])
        targets = targets.astype("int64").reshape([-1])
        return F.cross_entropy(classes, targets, ignore_index=IGNORED, reduction="sum")

    def predictions(self, encoded: Encoded, outputs: np.ndarray) -> list[list[str]]:
        classes = chain.from_iterable(
            output[starts].argmax(1)
            for output, starts in zip(outputs, encoded.places, strict=True)
        )
        return [
            [self.labels[i] for i in islice(classes, len(example.words))]
            for example in encoded.examples
        ]

    def score(
        self, metric: str, examples: Sequence[Sentence], predictions: list[list[str]]
    ) -> float:
        labels = [list(example.labels) for example in examples]
        return METRICS[metric](labels, predictions)

    def file(self, examples: Sequence[Sentence], predictions: list[list[str]]) -> str:
        """CoNLL's columns, parted by tabs: token, label if known, prediction."""
        lines = []
        for example, predicted in zip(examples, predictions, strict=True):
            columns = [example.words, example.labels, predicted]
            rows = zip(*filter(None, columns), strict=True)
            lines += ["\t".join(row) + "\n" for row in rows] + ["\n"]
        return "".join(lines)


def _windows(
    pieces: Sequence[np.ndarray], room: int
) -> list[tuple[list[int], np.ndarray]]:
    """Runs of whole words that have room in an input, and where the words start."""
    windows: list[tuple[list[int], list[int]]] = [([], [])]
    for ids in pieces:
        if len(windows[-1][0]) + len(ids[:room]) > room:
            windows.append(([], []))
        window, starts = windows[-1]
        starts.append(len(window))
        window += ids[:room].tolist()
    return [(window, np.array(starts)) for window, starts in windows]
