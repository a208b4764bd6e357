"""Keeping the input ready: items are made in the background while a step computes."""

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _End:
    """No more items: the iterator ended, or failed with ``error``."""

    error: BaseException | None = None


def read_ahead(items: Generator[Item, None, None], depth: int) -> Iterator[Item]:
    """Pass ``items`` through, with up to ``depth`` of them ready in advance.

    A thread begins to make them with the first ``next``. What it raises is raised here,
    after the items before it. Closing the returned generator (``contextlib.closing``)
    ends the thread and closes ``items``.
    """
    ready: queue.SimpleQueue[Item | _End] = queue.SimpleQueue()
    free, closed = threading.Semaphore(depth), threading.Event()

    def make() -> None:
        try:
            while free.acquire() and not closed.is_set():
                ready.put(next(items))
        except StopIteration:
            ready.put(_End())
        except BaseException as error:
            ready.put(_End(error))

    # A daemon: a run that fails elsewhere must not wait for it at its end.
    thread = threading.Thread(target=make, name="read_ahead", daemon=True)
    thread.start()
    try:
        while not isinstance(item := ready.get(), _End):
            free.release()
            yield item
        if item.error is not None:
            raise item.error
    finally:
        closed.set()
        free.release()
        thread.join()
        items.close()
