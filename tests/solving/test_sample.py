"""Sums over parts of rows: results in a fixed order, on any number of threads."""

import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from solver_problems import class_problem

from pocketsvm.solving import sample as sample_module
from pocketsvm.solving.sample import in_order, slices


def test_slices_hold_everything_in_order():
    assert slices(0, 3) == []
    assert slices(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert slices(6, 3) == [slice(0, 3), slice(3, 6)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_parts_hold_all_rows_and_sums_are_added_in_order(n_threads, monkeypatch):
    monkeypatch.setattr(sample_module, "VALUES_AT_ONCE", 64)
    _, sample = class_problem(n=300)
    seen = {}

    def read(part):
        seen[part.at.start] = part
        return part.c.sum(axis=0), np.array([1.0])

    total, count = sample.sum(read, n_threads)
    parts = [seen[start] for start in sorted(seen)]
    assert_array_equal(np.concatenate([part.c for part in parts])[:, 0], sample.c)
    assert_array_equal(np.concatenate([part.loss.codes for part in parts]), sample.loss.codes)
    expected = parts[0].c.sum(axis=0)
    for part in parts[1:]:
        expected = expected + part.c.sum(axis=0)
    assert_array_equal(total, expected)
    assert count == len(parts) == -(-300 // (64 // sample.loss.n_outputs))


# --- in order -------------------------------------------------------------------------------------


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
