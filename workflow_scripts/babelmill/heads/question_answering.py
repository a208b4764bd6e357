"""Which span of a text answers a question."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from babelmill.answers import METRICS
from babelmill.errors import UserError
from babelmill.heads.base import Encoded, Head, first_place
from babelmill.models.inputs import Inputs, language_id
from babelmill.tasks.squad import Question, read_questions
from babelmill.tokenizers import Tokenizer


@dataclass(frozen=True)
class Window:
    """A part of a context in an input.

    Attributes:
        question: number of the example.
        place: where its tokens start in the input.
        first, last: its tokens in the context; ``last`` is not in it any more.
        offsets: of all tokens of the context, (tokens, 2) int32.
    """

    question: int
    place: int
    first: int
    last: int
    offsets: np.ndarray


class QuestionAnswering(Head):
    """The start and the end of an answer, as ``run_squad.py`` of BERT for SQuAD v1.1.

    A long context is seen through windows, ``doc_stride`` tokens apart. Where a window
    does not hold the whole answer, its target is the first token. Predictions are
    texts: the likeliest of all spans, not only of those of the 20 best starts and ends.
    """

    kind = "question_answering"
    of_tokens = True
    outputs = 2

    @staticmethod
    def read(path: Path, labels: Sequence[str] | None) -> list[Question]:
        return read_questions(path, answered=labels is not None)

    def encode(
        self,
        examples: Sequence[Question],
        tokenizer: Tokenizer,
        lang: str,
        settings: Mapping[str, Any],
    ) -> Encoded:
        """The places are the windows, and the length of the longest answer."""
        contexts = list(dict.fromkeys(example.context for example in examples))
        seen = tokenizer.encode_with_offsets(contexts, lang)
        context_of = dict(zip(contexts, seen, strict=True))
        questions = tokenizer.encode_lines([e.question for e in examples], lang)
        special = len(tokenizer.build_inputs([], [])[0])
        room, asked = settings["max_seq_length"] - special, settings["max_query_length"]
        if room <= asked:
            raise UserError(
                f"max_seq_length ({settings['max_seq_length']}) leaves no room for a"
                f" context after a question of max_query_length ({asked})"
            )
        place, stride = first_place(tokenizer, []), settings["doc_stride"]
        windows = []

        def built() -> Iterator[tuple[list[int], list[int]]]:
            for number, example in enumerate(examples):
                ids = questions[number][:asked]
                context, offsets = context_of[example.context]
                for first, last in _windows(len(context), room - len(ids), stride):
                    at = place + len(ids)
                    windows.append(Window(number, at, first, last, offsets))
                    yield tokenizer.build_inputs(ids, context[first:last])

        inputs = Inputs.gathered(built(), language_id(tokenizer, lang))
        return Encoded(examples, inputs, (windows, settings["max_answer_length"]))

    def targets(self, encoded: Encoded) -> np.ndarray:
        """First and last token of the answer in the input, (inputs, 2) int64."""
        return np.array(
            [
                _target(window, encoded.examples[window.question])
                for window in encoded.places[0]
            ],
            np.int64,
        )

    def loss(self, logits, targets):
        """The mean of the cross-entropies of start and end."""
        import paddle.nn.functional as F

        starts, ends = (
            F.cross_entropy(logits[:, :, i], targets[:, i], reduction="sum")
            for i in range(2)
        )
        return (starts + ends) / 2

    def predictions(self, encoded: Encoded, outputs: np.ndarray) -> list[str]:
        windows, longest = encoded.places
        texts = [""] * len(encoded.examples)
        pairs = zip(windows, outputs, strict=True)
        for number, group in groupby(pairs, key=lambda pair: pair[0].question):
            start, end = _best_span(list(group), longest)
            texts[number] = encoded.examples[number].context[start:end]
        return texts

    def score(
        self, metric: str, examples: Sequence[Question], predictions: list[str]
    ) -> float:
        answers = [[answer.text for answer in e.answers] for e in examples]
        return METRICS[metric](answers, predictions)

    def file(self, examples: Sequence[Question], predictions: list[str]) -> str:
        """The JSON object that ``evaluate-v1.1.py`` reads: id to answer."""
        ids = [example.id for example in examples]
        answers = dict(zip(ids, predictions, strict=True))
        return json.dumps(answers, ensure_ascii=False, indent=2) + "\n"


def _windows(tokens: int, room: int, stride: int) -> Iterator[tuple[int, int]]:
    """First and last token of each window of a context."""
    first = 0
    while True:
        last = min(first + room, tokens)
        yield first, last
        if last == tokens:
            return
        first += min(last - first, stride)


def _target(window: Window, question: Question) -> tuple[int, int]:
    answer = question.answers[0]
    begin, end = answer.start, answer.start + len(answer.text)
    touched = (window.offsets[:, 0] < end) & (window.offsets[:, 1] > begin)
    (tokens,) = np.nonzero(touched)
    if not len(tokens) or tokens[0] < window.first or tokens[-1] >= window.last:
        return 0, 0
    return tuple(window.place - window.first + tokens[[0, -1]])


def _best_span(
    seen: Sequence[tuple[Window, np.ndarray]], longest: int
) -> tuple[int, int]:
    """The characters of the likeliest answer in all windows of a question."""
    best, found = -np.inf, (0, 0)
    for (window, output), starts in zip(seen, _own_starts(seen), strict=True):
        count = window.last - window.first
        if not count:
            continue
        logits = output[window.place :][:count].astype(np.float64)
        pairs = logits[:, None, 0] + logits[None, :, 1]
        lengths = np.arange(count)[None] - np.arange(count)[:, None] + 1
        pairs[(lengths < 1) | (lengths > longest) | ~starts[:, None]] = -np.inf
        start, end = np.unravel_index(pairs.argmax(), pairs.shape)
        if pairs[start, end] > best:
            best = pairs[start, end]
            tokens = window.offsets[window.first + np.array([start, end])]
            found = int(tokens[0, 0]), int(tokens[1, 1])
    return found


def _own_starts(seen: Sequence[tuple[Window, np.ndarray]]) -> list[np.ndarray]:
    """Which tokens of each window may start an answer: those it shows best.

    Of several windows, an answer starts in the one with the most context on the
    shorter side of the token, and of these in the longest (``run_squad.py``).
    """
    windows = [window for window, _ in seen]
    # A context of blanks has no token.
    best = np.full((len(windows), max(w.last for w in windows) or 1), -np.inf)
    for row, window in zip(best, windows, strict=True):
        count = window.last - window.first
        left = np.arange(count)
        row[window.first : window.last] = np.minimum(left, left[::-1]) + 0.01 * count
    owner = best.argmax(0)
    return [owner[w.first : w.last] == i for i, w in enumerate(windows)]
