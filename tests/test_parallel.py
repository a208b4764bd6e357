"""Work spread over processes: in order, bounded, with the errors of the workers."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from babelmill.errors import UserError
from babelmill.parallel import ordered_map
from conftest import ROOT


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


def test_a_killed_process_is_an_error_for_people():
    with pytest.raises(UserError, match="one of 2 processes was killed"):
        list(ordered_map(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(9), 2))


def test_processes_end_with_a_killed_parent():
    """They print their ids, then the parent is killed; its pipe closes with them."""
    program = (
        "import os, time\n"
        "from babelmill.parallel import ordered_map\n"
        "for pid in ordered_map(lambda _: (time.sleep(0.1), os.getpid())[1], "
        "range(9999), 3):\n"
        "    print(pid, flush=True)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT / "workflow_scripts")},
    )
    pids = {int(parent.stdout.readline()) for _ in range(12)}
    parent.kill()
    assert parent.pid not in pids
    # The end of the file is the end of the last process that holds the pipe.
    watch = threading.Timer(60, lambda: [os.kill(pid, signal.SIGKILL) for pid in pids])
    watch.start()
    parent.stdout.read()
    ended_by_themselves = watch.is_alive()
    watch.cancel()
    parent.wait()
    assert ended_by_themselves
