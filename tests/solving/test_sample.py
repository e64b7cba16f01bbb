"""Sums over parts of rows: results in a fixed order, on any number of threads."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from models import ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import PROBLEMS, class_problem

from pocketsvm import _core
from pocketsvm.solving import sample as sample_module
from pocketsvm.solving.sample import AHEAD, in_order, slices


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


# --- losses ---------------------------------------------------------------------------------------


@pytest.fixture(params=PROBLEMS)
def decided(request):
    """A sample, decision values of its rows, and a change of them."""
    _, sample = PROBLEMS[request.param](n=700)
    shape = 700, sample.loss.n_outputs
    return sample, *np.random.default_rng(0).normal(size=(2, *shape))


def in_numpy(sample):
    """Return the sample with a loss that the core does not know."""

    class Plain:
        def __init__(self, loss):
            self.loss, self.n_outputs = loss, loss.n_outputs

        def take(self, chosen):
            return Plain(self.loss.take(chosen))

        def values(self, decisions):
            return self.loss.values(decisions)

        def derivatives(self, decisions):
            return self.loss.derivatives(decisions)

    return replace(sample, loss=Plain(sample.loss))


def test_the_core_and_numpy_give_the_same_slopes(decided, monkeypatch):
    monkeypatch.setattr(sample_module, "VALUES_AT_ONCE", 100)
    sample, decisions, _ = decided
    for mine, other in zip(
        sample.slopes(decisions, 1), in_numpy(sample).slopes(decisions, 1), strict=True
    ):
        assert_allclose(mine, other, rtol=1e-12, atol=1e-12)


def test_the_core_and_numpy_give_the_same_derivatives_along_a_change(decided):
    sample, decisions, change = decided
    length = np.linspace(0.5, 1.5, decisions.shape[1])
    for mine, other in zip(
        sample.along(decisions, change, length, 1),
        in_numpy(sample).along(decisions, change, length, 1),
        strict=True,
    ):
        assert_allclose(mine, other, rtol=1e-10)


def test_bits_of_losses_do_not_depend_on_threads():
    _, sample = PROBLEMS["four classes"](n=20_000)
    decisions, change = np.random.default_rng(0).normal(size=(2, 20_000, 4))
    for n_threads in (2, 5):
        for one, many in [
            (sample.slopes(decisions, 1), sample.slopes(decisions, n_threads)),
            (
                sample.along(decisions, change, np.ones(4), 1),
                sample.along(decisions, change, np.ones(4), n_threads),
            ),
        ]:
            for a, b in zip(one, many, strict=True):
                assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.slopes(np.ones((9, 1)), np.ones(10), 1), "10 rows and 1 columns, got 9 and 1"),
        (lambda r: r.slopes(np.ones((10, 2)), np.ones(10), 1), "10 rows and 1 columns, got 10 and"),
        (lambda r: r.slopes(np.ones((10, 1)), np.ones(9), 1), "one entry per row, 10, got 9"),
        (
            lambda r: r.along(np.ones((10, 1)), np.ones((9, 1)), np.ones(1), np.ones(10), 1),
            "10 rows and 1 columns, got 9 and 1",
        ),
        (
            lambda r: r.along(np.ones((10, 1)), np.ones((10, 1)), np.ones(2), np.ones(10), 1),
            "one entry per loss, 1, got 2",
        ),
    ],
)
def test_wrong_sizes_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(_core.RowLosses.classes("hinge", np.zeros(10, np.int8), [1], 0.5))


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


def test_rows_are_sparse_if_most_values_of_all_parts_are_zero():
    X = np.zeros((20_000, 30))
    X[:5000] = 1.0
    _, sample = class_problem()
    dense = replace(sample, rows=ready_rows(X, 1.0))
    assert_allclose(dense.mean_values(), 7.5)
    assert not dense.is_sparse
    X[:] = np.eye(30)[np.arange(len(X)) % 30]
    assert replace(sample, rows=ready_rows(X, 1.0)).is_sparse
