"""Slices of rows, and functions of them: results in a fixed order, on any number of threads."""

import threading
import time

import pytest

from pocketsvm.backends.slices import AHEAD, in_order, slices


def test_slices_hold_everything_in_order():
    assert slices(0, 3) == []
    assert slices(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert slices(6, 3) == [slice(0, 3), slice(3, 6)]


def test_results_come_in_the_order_of_the_arguments():
    second_is_done = threading.Event()

    def work(number):
        if number == 0:
            assert second_is_done.wait(60)  # so the second one ends first
        elif number == 1:
            second_is_done.set()
        return number * number

    assert list(in_order(work, list(range(10)), 3)) == [number**2 for number in range(10)]


@pytest.mark.parametrize(("n_threads", "arguments"), [(1, [1, 2]), (4, [1]), (4, [])])
def test_one_thread_or_one_argument_needs_no_pool(n_threads, arguments):
    here = threading.current_thread()
    threads = list(in_order(lambda _: threading.current_thread(), arguments, n_threads))
    assert threads == [here] * len(arguments)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupt_cancels_pending_parts(error):
    begun = []

    def work(number):
        begun.append(number)
        if number == 0:
            raise error
        time.sleep(0.01)

    with pytest.raises(error):
        list(in_order(work, list(range(2000)), 2))
    assert len(begun) < 2000
    n_begun = len(begun)
    time.sleep(0.05)
    assert len(begun) == n_begun  # nothing goes on in the background


def test_results_that_nobody_wants_are_not_computed():
    begun = []

    def work(number):
        begun.append(number)
        time.sleep(0.01)

    results = in_order(work, list(range(2000)), 2)
    next(results)
    results.close()
    assert len(begun) < 2000


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_order_and_threads_are_only_a_few_ahead(n_threads):
    started, lock = [], threading.Lock()

    def square(number):
        with lock:
            started.append(number)
        return number**2

    for k, result in enumerate(in_order(square, list(range(100)), n_threads)):
        assert result == k**2
        assert len(started) <= k + 1 + AHEAD * n_threads
    assert sorted(started) == list(range(100))


def test_an_error_ends_the_work():
    started = []

    def fail(number):
        started.append(number)
        raise ValueError(f"no {number}")

    with pytest.raises(ValueError, match="no 0"):
        list(in_order(fail, list(range(100)), 2))
    assert len(started) <= 2 * AHEAD + 1
