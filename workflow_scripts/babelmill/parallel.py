"""Work spread over processes, its results in order."""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from babelmill.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: Callable[[Any], Any]


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """Yield ``function(item)`` of each item in order, as ``map`` does.

    No more items are taken than the processes can be busy with. The function need not
    be picklable: the processes are forks of this one, and end when it is killed.

    Raises:
        UserError: one of the processes was killed.
    """
    if processes == 1:
        yield from map(function, items)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, fork, _begin, (function,)) as pool:
        under_way: deque = deque()
        try:
            for item in items:
                under_way.append(pool.submit(_call, item))
                if len(under_way) > 2 * processes:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise UserError(
                f"one of {processes} processes was killed, perhaps for want of memory:"
                " run again with fewer threads"
            ) from error


def _begin(function: Callable[[Any], Any]) -> None:
    global _work
    _work = function
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Wait for the end of the parent, which a pool's processes would outlive."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _call(item: Any) -> Any:
    return _work(item)
