"""Named random streams: every draw of a run comes from its one root seed.

A stream is named by what it is for, ``stream(seed, "shard", "en", 3)``, so adding a
draw in one place moves no draw elsewhere, and the order of jobs does not matter.
"""

import hashlib

import numpy as np


def _sequence(seed: int, names: tuple[str | int, ...]) -> np.random.SeedSequence:
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return np.random.SeedSequence([seed, *np.frombuffer(digest, "<u4").tolist()])


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for the purpose that ``names`` spell out."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, names)))


def derived_seed(seed: int, *names: str | int) -> int:
    """A seed below 2**31 for a library that wants a number (Paddle, scikit-learn)."""
    return int(_sequence(seed, names).generate_state(1)[0]) >> 1
