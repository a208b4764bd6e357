"""Masked positions: which tokens are predicted, and what stands in their place."""

import numpy as np

# What is neither stays as it is: 10 %.
MASKED, RANDOM = 0.8, 0.1


def choose_positions(
    candidates: np.ndarray,
    lengths: np.ndarray,
    masked_lm_prob: float,
    max_predictions_per_seq: int,
    rng: np.random.Generator,
    weights: np.ndarray | None = None,
    word_starts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the masked positions of each row without replacement.

    A row of ``n`` tokens gets ``min(max_predictions, max(1, round(n * prob)))`` of them
    (Devlin et al. 2019, section 3.1, and its code), fewer only where it has fewer
    candidates. With ``weights``, positions are drawn in proportion to them (XLM samples
    by token frequency, Lample & Conneau 2019, 3.3). With ``word_starts``, words are
    drawn whole; one that no longer fits the number is passed over (whole-word masking
    of BERT's code), so that a row may get fewer.

    Args:
        candidates: (rows, length) bool, the positions that may be drawn.
        lengths: (rows,) tokens of each row, special tokens included.
        weights: (rows, length) float, positive; of a word, its first token's counts.
        word_starts: (rows, length) bool, where a token begins a word.

    Returns:
        positions (rows, max_predictions) int32 in ascending order, padded with 0, and
        counts (rows,) of positions that are not padding.
    """
    wanted = np.rint(lengths * masked_lm_prob).astype(np.int64)
    wanted = np.minimum(np.maximum(wanted, 1), max_predictions_per_seq)
    # The first to ring of clocks with these rates is drawn in proportion to its rate.
    keys = rng.standard_exponential(candidates.shape, dtype=np.float32)
    if weights is not None:
        keys /= weights
    if word_starts is not None:
        return _whole_words(
            candidates, word_starts, keys, wanted, max_predictions_per_seq
        )
    length = candidates.shape[1]
    keys[~candidates] = np.inf
    counts = np.minimum(wanted, candidates.sum(1))
    width = min(max_predictions_per_seq, length)
    return _in_order(_smallest(keys, width), counts, length, max_predictions_per_seq)


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    """Columns of the ``count`` smallest of the positive ``keys`` of each row, in order.

    As a stable argsort gives them, but sorting only those.
    """
    # The bits of positive floats are in their order; the column makes each key unique.
    columns = np.arange(keys.shape[1], dtype=np.uint64)
    unique = (keys.view(np.uint32).astype(np.uint64) << np.uint64(32)) | columns
    if count < keys.shape[1]:
        unique = np.partition(unique, count, axis=1)[:, :count]
    unique.sort(axis=1)
    return (unique & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _whole_words(
    candidates: np.ndarray,
    word_starts: np.ndarray,
    keys: np.ndarray,
    wanted: np.ndarray,
    max_predictions_per_seq: int,
) -> tuple[np.ndarray, np.ndarray]:
    rows, length = candidates.shape
    before = np.zeros_like(candidates)
    before[:, 1:] = candidates[:, :-1]
    # What follows a special token begins a word, whatever the tokenizer says.
    first = candidates & (word_starts | ~before)
    row, start = np.nonzero(first)
    word_of = first.cumsum(1) - 1
    # Words as columns, shuffled: their keys, where they start and how long they are.
    word = word_of[row, start]
    words = int(word.max(initial=0)) + 1
    word_keys = np.full((rows, words), np.inf, np.float32)
    word_keys[row, word] = keys[row, start]
    sizes = np.zeros((rows, words), np.int64)
    np.add.at(sizes, (np.nonzero(candidates)[0], word_of[candidates]), 1)
    shuffled = np.argsort(word_keys, axis=1, kind="stable")
    taken = np.zeros((rows, words), bool)
    room = wanted.copy()
    everyone = np.arange(rows)
    for column in shuffled.T:
        size = sizes[everyone, column]
        fits = (size > 0) & (size <= room)
        taken[everyone, column] = fits
        room -= size * fits
    chosen = candidates & np.take_along_axis(taken, word_of.clip(0), axis=1)
    width = min(max_predictions_per_seq, length)
    drawn = np.argsort(~chosen, axis=1, kind="stable")[:, :width]
    return _in_order(drawn, chosen.sum(1), length, max_predictions_per_seq)


def _in_order(
    drawn: np.ndarray, counts: np.ndarray, length: int, max_predictions_per_seq: int
) -> tuple[np.ndarray, np.ndarray]:
    """The first ``counts`` positions drawn in each row, ascending, padded with 0."""
    width = drawn.shape[1]
    drawn = np.where(np.arange(width) < counts[:, None], drawn, length)
    drawn.sort(axis=1)
    positions = np.zeros((len(drawn), max_predictions_per_seq), np.int32)
    positions[:, :width] = np.where(drawn == length, 0, drawn)
    return positions, counts


def mask_tokens(
    input_ids: np.ndarray,
    positions: np.ndarray,
    counts: np.ndarray,
    mask_id: int,
    random_words: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Replace the tokens at masked positions: 80 % mask, 10 % random word, 10 % kept.

    Args:
        input_ids: (rows, length) int32, not changed.
        positions, counts: as from ``choose_positions``.
        random_words: ids to draw from, no special token among them.

    Returns:
        the new ids (rows, length) and the original tokens at the masked positions,
        (rows, max_predictions) int32 padded with 0.
    """
    real = np.arange(positions.shape[1]) < counts[:, None]
    row, slot = np.nonzero(real)
    column = positions[row, slot]
    labels = np.zeros_like(positions)
    labels[row, slot] = input_ids[row, column]
    draw = rng.random(len(row))
    words = random_words[rng.integers(len(random_words), size=len(row))]
    kept = labels[row, slot]
    shown = np.where(
        draw < MASKED, mask_id, np.where(draw < MASKED + RANDOM, words, kept)
    )
    masked = input_ids.copy()
    masked[row, column] = shown
    return masked, labels
