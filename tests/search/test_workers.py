"""Tasks on threads."""

import threading
import time

import pytest

from pocketsvm.search.workers import run_tasks


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    ended = []
    tasks = [lambda k=k: time.sleep(0.02 * (3 - k)) or k for k in range(4)]
    assert run_tasks(tasks, n_threads, lambda *each: ended.append(each)) == [0, 1, 2, 3]
    assert sorted(ended) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_a_failure_ends_the_other_tasks_and_their_threads():
    before, begun = threading.active_count(), threading.Event()

    def endless():
        begun.set()
        while True:
            time.sleep(0.001)

    def failing():
        begun.wait()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_tasks([endless, failing, endless], 2, lambda *_: None)
    assert threading.active_count() == before
