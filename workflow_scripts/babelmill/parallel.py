"""Work spread over processes, its results in order."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: Callable[[Any], Any]


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], processes: int
) -> Iterator[Result]:
    """Yield ``function(item)`` of each item in order, as ``map`` does.

    No more items are taken than the processes can be busy with. The function need not
    be picklable: the processes are forks of this one.
    """
    if processes == 1:
        yield from map(function, items)
        return
    fork = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, fork, _remember, (function,)) as pool:
        under_way: deque = deque()
        for item in items:
            under_way.append(pool.submit(_call, item))
            if len(under_way) > 2 * processes:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _remember(function: Callable[[Any], Any]) -> None:
    global _work
    _work = function


def _call(item: Any) -> Any:
    return _work(item)
