"""Blocks of kernel values: kept or computed again, with the same results."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from solver_problems import GAMMA, class_problem

from pocketsvm import _core
from pocketsvm.backends import kernel
from pocketsvm.backends.kernel import OUTPUT_VALUES, KernelRows

N_VECTORS = 12
ROWS_AT_ONCE = 64
BLOCK = ROWS_AT_ONCE * (N_VECTORS + OUTPUT_VALUES)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", BLOCK)


@pytest.fixture
def computed(monkeypatch):
    """Return the list of the first rows of all blocks of kernel values that are computed."""
    starts, compute = [], _core.fill_kernel

    def count(out, vectors, gamma, rows, begin, n_threads):
        starts.append(begin)
        compute(out, vectors, gamma, rows, begin, n_threads)

    monkeypatch.setattr(_core, "fill_kernel", count)
    return starts


def kernel_rows(n_threads=1, **changes):
    vectors, sample = class_problem(**changes)
    return KernelRows(vectors, sample.rows, 1, n_threads)


def results(rows):
    """Return decision values and derivatives of all blocks."""
    random = np.random.default_rng(1)
    point = random.normal(size=(2, N_VECTORS + 1))
    found = []
    for at, values in rows.blocks():
        slopes = random.normal(size=(at.stop - at.start, 2))
        found += [rows.decisions(values, point), rows.pull(values, slopes)]
    return found


@pytest.mark.parametrize("n", [1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_hold_all_rows_in_their_order(n, dtype, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_KEPT", 0)
    vectors, sample = class_problem(n=max(n, N_VECTORS))
    sample = sample.take(np.arange(n))
    rows = KernelRows(vectors, sample.rows, 1, 1, dtype=dtype)
    blocks = [(at, values.copy()) for at, values in rows.blocks()]
    assert [at for at, _ in blocks] == rows.slices
    assert len(blocks) == -(-n // ROWS_AT_ONCE)
    values = np.concatenate([values for _, values in blocks])
    assert values.dtype == dtype
    close = 1e-6 if dtype == np.float32 else 1e-14
    assert_allclose(values, rbf_kernel(sample.rows.dense(), vectors, gamma=GAMMA), atol=close)


def test_kernel_values_are_float32_unless_asked_otherwise():
    vectors, sample = class_problem(dtype=np.float64)
    _, values = next(KernelRows(vectors, sample.rows, 1, 1).blocks())
    assert values.dtype == np.float32


class Seen:
    """Notes the blocks that it is called with."""

    def __init__(self, needed):
        self.needed, self.blocks = needed, []

    def __call__(self, at, values):
        self.blocks.append((at, values.copy()))


def test_all_blocks_are_handed_over():
    random, rows, seen = np.random.default_rng(1), kernel_rows(), Seen(np.ones(300, dtype=bool))
    rows.pull_of(random.normal(size=(300, 2)), seen)
    for (at, values), (expected_at, expected) in zip(seen.blocks, rows.blocks(), strict=True):
        assert_array_equal(np.arange(300)[at], np.arange(300)[expected_at])
        assert_array_equal(values, expected)


@pytest.mark.parametrize("n_kept", [0, 2])
def test_rows_without_a_slope_or_a_use_are_left_out(n_kept, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * BLOCK * n_kept)
    random, rows = np.random.default_rng(1), kernel_rows()
    slopes = random.normal(size=(300, 2)) * (np.arange(300)[:, None] % 10 == 0)
    seen = Seen(np.arange(300) % 10 == 5)
    found = rows.pull_of(slopes, seen)
    assert_allclose(found, sum(rows.pull(k, slopes[at]) for at, k in rows.blocks()), atol=1e-12)
    chosen = np.concatenate([np.arange(300)[at] for at, _ in seen.blocks])
    expected = (np.arange(300) % 5 == 0) | (np.arange(300) < rows._n_kept)
    assert_array_equal(chosen, np.flatnonzero(expected))


def test_decisions_and_derivatives_are_those_of_dense_algebra():
    vectors, sample = class_problem()
    k = rbf_kernel(sample.rows.dense(), vectors, gamma=GAMMA)
    point, slopes = np.random.default_rng(1).normal(size=(3, 13)), np.ones((300, 3))
    slopes[::2, 1] = -2.0
    rows = KernelRows(vectors, sample.rows, 3, 1)
    for at, values in rows.blocks():
        expected = k[at] @ point[:, :-1].T + point[:, -1]
        assert_allclose(rows.decisions(values, point), expected, atol=1e-5)
        pull = rows.pull(values, slopes[at])
        assert_allclose(pull[:, :-1], slopes[at].T @ k[at], atol=1e-5)
        assert_array_equal(pull[:, -1], slopes[at].sum(axis=0))


@pytest.mark.parametrize("n_kept", [0, 2, 9])
def test_decisions_and_derivatives_of_all_rows_are_those_of_the_blocks(n_kept, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * BLOCK * n_kept)
    random, rows = np.random.default_rng(1), kernel_rows()
    points, slopes = random.normal(size=(2, 3, 13)), random.normal(size=(300, 3))
    one, two = rows.decisions_of(points)
    parts = [(rows.decisions(k, points[0]), rows.pull(k, slopes[at])) for at, k in rows.blocks()]
    assert_array_equal(one, np.concatenate([decisions for decisions, _ in parts]))
    assert not np.array_equal(one, two)
    assert_allclose(rows.pull_of(slopes), sum(pull for _, pull in parts))


def test_no_rows_have_no_derivative():
    vectors, sample = class_problem()
    rows = KernelRows(vectors, sample.rows.take(np.arange(0)), 2, 1)
    assert_array_equal(rows.pull_of(np.empty((0, 2))), np.zeros((2, N_VECTORS + 1)))


def test_many_vectors_or_outputs_give_blocks_of_one_row(monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 5)
    monkeypatch.setattr(kernel, "MOST_KEPT", 0)
    assert len(kernel_rows().slices) == 300


@pytest.mark.parametrize("n_kept", [0, 1, 3, 5])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_kept_block_is_computed_once_and_others_again(n_kept, n_threads, computed, monkeypatch):
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * BLOCK * n_kept)
    rows = kernel_rows(n_threads)
    starts = [at.start for at in rows.slices]
    assert starts == [0, *range(max(n_kept, 1) * ROWS_AT_ONCE, 300, ROWS_AT_ONCE)]
    first = results(rows)
    assert computed == starts
    second = results(rows)
    assert computed[len(starts) :] == starts[min(n_kept, 1) :]
    for one, other in zip(first, second, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
def test_results_do_not_depend_on_threads_or_layout(layout, monkeypatch):
    changes = {"n": 1000, "dtype": np.float32}
    monkeypatch.setattr(kernel, "MOST_KEPT", 4 * BLOCK * 3)
    expected = results(kernel_rows(**changes))
    rows = kernel_rows(3, layout=layout, **changes)
    for _ in range(2):
        for one, other in zip(expected, results(rows), strict=True):
            assert_array_equal(one, other)
