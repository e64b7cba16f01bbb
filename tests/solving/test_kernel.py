"""Rows in parts: kernel values, kept or computed again, and results in a fixed order."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from solver_problems import GAMMA, class_problem

from pocketsvm import _core
from pocketsvm.solving import kernel
from pocketsvm.solving.kernel import KernelRows, in_order

ROWS_AT_ONCE = 64


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(kernel, "VALUES_AT_ONCE", 12 * ROWS_AT_ONCE)


@pytest.fixture
def computed(monkeypatch):
    """Return the list of the first rows of all blocks of kernel values that are computed."""
    starts, compute = [], _core.kernel_block

    def count(vectors, gamma, rows, begin, end, n_threads):
        starts.append(begin)
        return compute(vectors, gamma, rows, begin, end, n_threads)

    monkeypatch.setattr(_core, "kernel_block", count)
    return starts


def sums(rows):
    """Return decision values and derivatives that depend on everything that a part has."""
    point = np.random.default_rng(1).normal(size=(2, 13))

    def of_part(part):
        decisions = part.decisions(point)
        slopes = part.loss.derivatives(decisions[:, :1])[0] * part.c * np.array([1.0, -2.0])
        return decisions.sum(axis=0), part.pull(slopes)

    return rows.sum(of_part)


# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 300])
def test_parts_hold_all_rows_in_their_order(n):
    vectors, sample = class_problem(n=max(n, 12))
    sample = sample.take(np.arange(n))
    rows = KernelRows(vectors, sample, 1)
    parts = list(rows.each(lambda part: part))
    assert len(parts) == rows.n_parts == -(-n // ROWS_AT_ONCE)
    assert [part.at for part in parts] == rows.slices()
    assert max(len(part.kernel) for part in parts) <= ROWS_AT_ONCE
    values = np.concatenate([part.kernel for part in parts])
    assert values.dtype == np.float32
    assert_allclose(values, rbf_kernel(sample.rows.dense(), vectors, gamma=GAMMA), atol=1e-6)
    assert_array_equal(np.concatenate([part.c for part in parts])[:, 0], sample.c)
    assert_array_equal(np.concatenate([part.loss.codes for part in parts]), sample.loss.codes)


def test_decisions_and_derivatives_are_those_of_dense_algebra():
    vectors, sample = class_problem()
    k = rbf_kernel(sample.rows.dense(), vectors, gamma=GAMMA)
    point, slopes = np.random.default_rng(1).normal(size=(3, 13)), np.ones((300, 3))
    slopes[::2, 1] = -2.0
    part = KernelRows(vectors, sample, 1).part(slice(64, 128))
    assert_allclose(part.decisions(point), k[64:128] @ point[:, :-1].T + point[:, -1], atol=1e-5)
    pull = part.pull(slopes[64:128])
    assert_allclose(pull[:, :-1], slopes[64:128].T @ k[64:128], atol=1e-5)
    assert_array_equal(pull[:, -1], [64.0, -32.0, 64.0])


def test_more_vectors_than_values_at_once_give_parts_of_one_row(monkeypatch):
    vectors, sample = class_problem()
    monkeypatch.setattr(kernel, "VALUES_AT_ONCE", 5)
    assert KernelRows(vectors, sample, 1).n_parts == 300


# --- kept kernel values ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_kept", [0, 1, 3, 5])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_kept_values_are_computed_once_and_others_again(n_kept, n_threads, computed, monkeypatch):
    vectors, sample = class_problem()
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * 12 * ROWS_AT_ONCE * n_kept)
    rows = KernelRows(vectors, sample, n_threads)
    first = sums(rows)
    starts = [part.start for part in rows.slices()]
    assert sorted(computed) == starts
    second = sums(rows)
    assert sorted(computed[len(starts) :]) == starts[n_kept:]
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
def test_results_do_not_depend_on_memory_threads_or_layout(layout, monkeypatch):
    vectors, sample = class_problem(n=1000, dtype=np.float32)
    expected = sums(KernelRows(vectors, sample, 1))
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * 12 * ROWS_AT_ONCE * 3)
    twin = class_problem(n=1000, dtype=np.float32, layout=layout)[1]
    rows = KernelRows(vectors, twin, 3)
    for _ in range(2):
        for one, other in zip(expected, sums(rows), strict=True):
            assert_array_equal(one, other)


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
