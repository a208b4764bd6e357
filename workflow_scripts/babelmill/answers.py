"""SQuAD's metrics of answers, as ``evaluate-v1.1.py`` computes them.

Rajpurkar et al. 2016, section 6.1. A question counts with the right answer that fits
the prediction best, and questions without a prediction count as zero.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without ASCII punctuation and English articles, single blanks."""
    text = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", text).split())


def _same(answer: str, prediction: str) -> float:
    return float(normalized(answer) == normalized(prediction))


def _overlap(answer: str, prediction: str) -> float:
    """F1 of the words that both have, each as often as in both."""
    words, predicted = normalized(answer).split(), normalized(prediction).split()
    common = (Counter(words) & Counter(predicted)).total()
    return 2 * common / (len(words) + len(predicted)) if common else 0.0


def _mean_of_best(
    score: Callable[[str, str], float],
    answers: Sequence[Sequence[str]],
    predictions: Sequence[str],
) -> float:
    pairs = list(zip(answers, predictions, strict=True))
    return sum(max(score(a, given) for a in right) for right, given in pairs) / len(
        pairs
    )


def exact_match(answers: Sequence[Sequence[str]], predictions: Sequence[str]) -> float:
    """The share of questions whose prediction equals one of their answers."""
    return _mean_of_best(_same, answers, predictions)


def f1(answers: Sequence[Sequence[str]], predictions: Sequence[str]) -> float:
    """The mean F1 of words of each prediction and the answer nearest to it."""
    return _mean_of_best(_overlap, answers, predictions)


METRICS = {"f1": f1, "exact_match": exact_match}
