"""Work spread over processes: in order, bounded, with the errors of the workers."""

import os

import pytest

from babelmill.errors import UserError
from babelmill.parallel import ordered_map


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_the_order_of_the_items(processes):
    offset = 10
    results = ordered_map(lambda n: (n + offset, os.getpid()), range(50), processes)
    numbers, workers = zip(*results, strict=True)
    assert list(numbers) == list(range(10, 60))
    assert (set(workers) == {os.getpid()}) == (processes == 1)


def test_few_items_are_taken_ahead():
    taken = []

    def items():
        for number in range(1000):
            taken.append(number)
            yield number

    results = ordered_map(lambda n: n, items(), 2)
    assert next(results) == 0
    assert len(taken) < 10
    results.close()


def test_an_error_of_a_worker_comes_through():
    def refuse(number):
        if number == 3:
            raise UserError("line 3: bad")
        return number

    with pytest.raises(UserError, match="line 3: bad"):
        list(ordered_map(refuse, range(9), 2))


def test_nothing_is_done_for_nothing():
    assert list(ordered_map(lambda n: n, [], 2)) == []
