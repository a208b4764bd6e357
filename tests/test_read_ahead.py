"""Items made in the background."""

import contextlib
import threading

import pytest

from babelmill.training.read_ahead import read_ahead


def readers():
    return [t for t in threading.enumerate() if t.name == "read_ahead"]


class Counted:
    """A generator of 0, 1, 2 …, how far it is, and whether it was closed."""

    def __init__(self, stop, error=None):
        self.stop, self.error = stop, error
        self.made, self.closed = 0, False
        self.reached = threading.Condition()

    def __iter__(self):
        try:
            while self.made < self.stop:
                with self.reached:
                    self.made += 1
                    self.reached.notify_all()
                yield self.made - 1
            if self.error:
                raise self.error
        finally:
            self.closed = True

    def wait_until_made(self, count, seconds=10):
        with self.reached:
            return self.reached.wait_for(lambda: self.made >= count, timeout=seconds)


@pytest.mark.parametrize("depth", [1, 3, 100])
def test_all_items_in_order_and_no_thread_left(depth):
    assert list(read_ahead(iter(Counted(50)), depth)) == list(range(50))
    assert not readers()


def test_up_to_depth_items_are_ready_while_the_first_is_used():
    source = Counted(50)
    with contextlib.closing(read_ahead(iter(source), 3)) as items:
        assert next(items) == 0
        assert source.wait_until_made(4)
        assert not source.wait_until_made(5, seconds=0.2)


def test_an_exception_comes_after_the_items_before_it():
    items = read_ahead(iter(Counted(3, ValueError("torn shard"))), 2)
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="torn shard"):
        next(items)
    assert not readers()


def test_closing_midway_ends_the_thread_and_the_source():
    source = Counted(10**9)
    held = iter(source)
    items = read_ahead(held, 2)
    assert next(items) == 0
    assert len(readers()) == 1
    items.close()
    assert not readers()
    assert source.closed and source.made <= 4


def test_a_failing_reader_of_the_items_leaves_no_thread():
    with (
        pytest.raises(KeyError),
        contextlib.closing(read_ahead(iter(Counted(10**9)), 2)) as items,
    ):
        for item in items:
            if item == 5:
                raise KeyError
    assert not readers()
