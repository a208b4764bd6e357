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
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the masked positions of each row without replacement.

    A row of ``n`` tokens gets ``min(max_predictions, max(1, round(n * prob)))`` of them
    (Devlin et al. 2019, section 3.1, and its code), fewer only where it has fewer
    candidates. With ``weights``, positions are drawn in proportion to them (XLM samples
    by token frequency, Lample & Conneau 2019, 3.3).

    Args:
        candidates: (rows, length) bool, the positions that may be drawn.
        lengths: (rows,) tokens of each row, special tokens included.
        weights: (rows, length) float, positive.

    Returns:
        positions (rows, max_predictions) int32 in ascending order, padded with 0, and
        counts (rows,) of positions that are not padding.
    """
    rows, length = candidates.shape
    wanted = np.rint(lengths * masked_lm_prob).astype(np.int64)
    wanted = np.minimum(np.maximum(wanted, 1), max_predictions_per_seq)
    counts = np.minimum(wanted, candidates.sum(1))
    # The first to ring of clocks with these rates is drawn in proportion to its rate.
    keys = rng.standard_exponential((rows, length), dtype=np.float32)
    if weights is not None:
        keys /= weights
    keys[~candidates] = np.inf
    width = min(max_predictions_per_seq, length)
    drawn = np.argsort(keys, axis=1, kind="stable")[:, :width]
    drawn[np.arange(width) >= counts[:, None]] = length
    drawn.sort(axis=1)
    positions = np.zeros((rows, max_predictions_per_seq), np.int32)
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
