"""Loss, perplexity and accuracy of held-out rows."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from babelmill.pretraining.objectives import arrays, by_direction, targets
from babelmill.shards.layout import Rows, open_shard, take
from babelmill.training.processes import Processes

Scores = dict[str, dict[str, float]]

_ALONE = Processes()
_ROWS = 64
# Every position of a causal row has scores of the whole vocabulary.
_CAUSAL_ROWS = 8
# One language, two (a translation pair), left to right.
_SUFFIXES = ("", "+", ">")
# What the pairs of sentences of one language are counted under.
_PAIRS = " nsp"


def validate(
    family: ModuleType,
    config: dict[str, Any],
    model,
    path: Path,
    processes: Processes = _ALONE,
) -> Scores:
    """Score the rows of a validation shard; every process takes its share of them.

    An XLM's words count for the language that each is in, apart for rows of one
    language (``en``), of translation pairs (``en+``) and left to right (``en>``). A
    BERT's have one entry ``mlm``, its pairs one of ``nsp``, and where the rows are in
    several languages, both have one for each (``en``).

    Returns:
        by name ``loss`` (nats), ``perplexity`` (but of pairs), ``accuracy`` and ``n``;
        ``nsp_accuracy`` of the pairs of one language.
    """
    names = _names(config, path)
    sums = np.zeros((len(names), 3))
    fields = family.input_fields(config)
    model.eval()
    for rows, causal in _blocks(path, processes):
        words, pairs = _compare(family, model, rows, fields, causal)
        for name, values in _by_name(config, rows, causal, words, pairs):
            sums[names.index(name)] += values
    model.train()
    totals = dict(zip(names, processes.summed(sums), strict=True))
    return {
        name: _scores(name, *values) | _accuracy_of_pairs(totals.get(name + _PAIRS))
        for name, values in totals.items()
        if values[2] and not name.endswith(_PAIRS)
    }


def summary(scores: Scores) -> str:
    """One line: perplexities, and the accuracy of pairs."""
    return ", ".join(
        f"{name} {score['perplexity']:.1f}"
        if "perplexity" in score
        else f"{name} {score['accuracy']:.1%}"
        for name, score in scores.items()
    )


def _names(config: dict[str, Any], path: Path) -> list[str]:
    if "lang2id" not in config:
        with open_shard(path) as shard:
            found = set(shard["language"][:]) if "language" in shard else ()
        langs = sorted(lang.decode() for lang in found)
        return ["mlm", "nsp", *langs, *(lang + _PAIRS for lang in langs)]
    return sorted(lang + suffix for lang in config["lang2id"] for suffix in _SUFFIXES)


def _blocks(path: Path, processes: Processes) -> Iterator[tuple[Rows, bool]]:
    first, step = processes.rank * _ROWS, processes.world * _ROWS
    with open_shard(path) as shard:
        for start in range(first, len(shard["input_ids"]), step):
            block = {name: shard[name][start : start + _ROWS] for name in shard}
            for rows, causal in by_direction(block):
                size = _CAUSAL_ROWS if causal else _ROWS
                for at in range(0, len(rows["input_ids"]), size):
                    index = np.arange(at, min(at + size, len(rows["input_ids"])))
                    yield take(rows, index), causal


def _compare(family: ModuleType, model, rows: Rows, fields, causal: bool):
    """Loss, being right, and 1 for each target of words, and of pairs; (3, n) each."""
    import paddle
    import paddle.nn.functional as F

    def compared(scores, labels):
        losses = F.cross_entropy(scores, labels, reduction="none").flatten()
        right = scores.argmax(-1) == labels
        return np.stack([losses.numpy(), right.numpy(), np.ones(len(right))])

    given = arrays(rows, fields, causal)
    batch = {name: paddle.to_tensor(value) for name, value in given.items()}
    with paddle.no_grad():
        words, pairs = family.pretraining_scores(model, batch, causal)
        found = compared(words, batch["labels"])
        if pairs is None:
            return found, None
        return found, compared(pairs, batch["next_sentence_labels"])


def _by_name(
    config: dict[str, Any],
    rows: Rows,
    causal: bool,
    words: np.ndarray,
    pairs: np.ndarray | None,
) -> Iterator[tuple[str, np.ndarray]]:
    """The sums (3,) of each name's words and pairs."""
    row, position, _ = targets(rows, causal)
    if pairs is not None:
        yield "nsp", pairs.sum(1)
        for lang in np.unique(rows.get("language", [])):
            here = rows["language"] == lang
            yield lang.decode() + _PAIRS, pairs[:, here].sum(1)
            if len(row):
                yield lang.decode(), words[:, here[row]].sum(1)
    if not len(row):
        return
    if "lang2id" not in config:
        yield "mlm", words.sum(1)
        return
    langs = {number: lang for lang, number in config["lang2id"].items()}
    lang = rows["lang_ids"][row, position]
    # Positions restart only in rows of two languages.
    real = rows["input_mask"][:, 1:] > 0
    restarts = ((np.diff(rows["position_ids"], axis=1) < 0) & real).any(1)[row]
    for number in np.unique(lang):
        for pair in (False, True):
            here = (lang == number) & (restarts == pair)
            if here.any():
                suffix = ">" if causal else "+" if pair else ""
                yield langs[int(number)] + suffix, words[:, here].sum(1)


def _accuracy_of_pairs(values: np.ndarray | None) -> dict[str, float]:
    return {} if values is None else {"nsp_accuracy": round(values[1] / values[2], 6)}


def _scores(name: str, loss: float, right: float, count: float) -> dict[str, float]:
    mean = loss / count
    perplexity = {} if name == "nsp" else {"perplexity": round(float(np.exp(mean)), 4)}
    return {
        "loss": round(mean, 6),
        **perplexity,
        "accuracy": round(right / count, 6),
        "n": int(count),
    }
