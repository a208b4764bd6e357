"""Progress of long work: a bar on a terminal, now and then a line in a log file."""

import sys
import weakref
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
_SECONDS_BETWEEN_LOG_LINES = 10
_bars: weakref.WeakSet[tqdm] = weakref.WeakSet()


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
    made = tqdm(
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
    _bars.add(made)
    return made


def close_bars() -> None:
    """Print the last state of bars left open by an error, so that it comes after."""
    for left in list(_bars):
        left.close()
