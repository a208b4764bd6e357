"""Metrics of labeled tokens: of the entities that the labels spell, or of each label.

Labels are IOB2 or IOBES (``B-PER I-PER O``); an entity counts where its type and both
its borders are right, as in ``conlleval`` (Tjong Kim Sang & De Meulder 2003).
"""

import warnings
from collections.abc import Sequence

Labels = Sequence[Sequence[str]]


def f1(labels: Labels, predictions: Labels) -> float:
    """F1 of the entities of all sentences together; zero where none is found."""
    from seqeval.metrics import f1_score

    with warnings.catch_warnings():
        # Of labels without B- or I-: their runs are entities.
        warnings.simplefilter("ignore")
        return float(f1_score(list(labels), list(predictions), zero_division=0))


def accuracy(labels: Labels, predictions: Labels) -> float:
    """The share of tokens whose label is right, as for parts of speech."""
    pairs = zip(labels, predictions, strict=True)
    hits = [a == b for pair in pairs for a, b in zip(*pair, strict=True)]
    return sum(hits) / len(hits)


METRICS = {"f1": f1, "accuracy": accuracy}
