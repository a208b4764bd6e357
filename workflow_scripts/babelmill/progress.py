"""Progress of long work: a bar on a terminal, now and then a line in a log file."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
_SECONDS_BETWEEN_LOG_LINES = 10


def progress(
    items: Iterable[Item], what: str, unit: str, total: int | None = None
) -> Iterator[Item]:
    """Pass ``items`` through and show on stderr how far they are."""
    return iter(bar(what, unit, total=total, iterable=items))


def bar(
    what: str,
    unit: str,
    total: int | None = None,
    initial: int = 0,
    iterable=None,
    hidden: bool = False,
) -> tqdm:
    """A tqdm bar that is quiet enough for log files."""
    return tqdm(
        iterable,
        desc=what,
        unit=f" {unit}",
        unit_scale=True,
        total=total,
        initial=initial,
        disable=hidden,
        mininterval=0.2 if sys.stderr.isatty() else _SECONDS_BETWEEN_LOG_LINES,
        dynamic_ncols=sys.stderr.isatty(),
    )
