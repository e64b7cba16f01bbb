"""Draws of rows in the core: random numbers by position, and what all rows need."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import _core

N = 100_001  # several chunks


def reference_numbers(seed, positions):
    """Return the numbers of splitmix64, whose seed is scrambled."""
    step = np.uint64(0x9E3779B97F4A7C15)

    def scramble(z):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    with np.errstate(over="ignore"):
        start = scramble(np.array([seed], dtype=np.uint64) + step)
        bits = scramble(start + (positions.astype(np.uint64) + np.uint64(1)) * step)
    return (bits >> np.uint64(11)).astype(float) * 2.0**-53


@pytest.mark.parametrize("seed", [0, 1, 2**63, 2**64 - 1])
def test_random_numbers_are_those_of_the_reference(seed):
    positions = np.arange(5, 1005)
    assert_array_equal(_core.random_numbers(seed, 5, 1000), reference_numbers(seed, positions))


def test_random_numbers_are_uniform_and_seeds_unrelated():
    one, other = (_core.random_numbers(seed, 0, N) for seed in (3, 4))
    assert one.min() >= 0
    assert one.max() < 1
    counts = np.histogram(one, 100, (0, 1))[0]
    assert np.abs(counts - N / 100).max() < 5 * np.sqrt(N / 100)
    for shift in (0, 1):
        assert abs(np.corrcoef(one[shift:], other[: N - shift])[0, 1]) < 5 / np.sqrt(N)


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_below_the_limits_of_their_groups_are_found(dtype, n_threads):
    groups = np.random.default_rng(0).integers(0, 3, N).astype(dtype)
    limits = np.array([0.0, 0.01, 0.4])
    rows = _core.rows_below(groups, limits, 7, n_threads)
    assert_array_equal(rows, np.flatnonzero(_core.random_numbers(7, 0, N) < limits[groups]))


@pytest.mark.parametrize("first", [0, 1, 8191, 50_000, 2**40, 2**64 - 1])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_after_others_are_drawn_by_their_positions_among_all(first, n_threads):
    groups, limits = np.zeros(N, dtype=np.int8), np.array([0.3])
    rows = _core.rows_below(groups, limits, 7, n_threads, first=first)
    assert_array_equal(rows, np.flatnonzero(_core.random_numbers(7, first, N) < 0.3))


def test_parts_of_all_rows_give_the_same_draw():
    groups = np.random.default_rng(0).integers(0, 3, N).astype(np.int8)
    limits = np.array([0.1, 0.01, 0.4])
    cuts = [0, 10, 10, 40_000, N]
    parts = [
        begin + _core.rows_below(groups[begin:end], limits, 7, first=begin)
        for begin, end in itertools.pairwise(cuts)
    ]
    assert_array_equal(np.concatenate(parts), _core.rows_below(groups, limits, 7))


QUOTAS = np.array([0, 100, 701, N])


def expected_smallest(groups, quotas, priorities):
    """Return the rows with the smallest priorities, and the thresholds, by sorting."""
    rows, thresholds = [], []
    for group, quota in enumerate(quotas):
        members = np.flatnonzero(groups == group)
        order = members[np.argsort(priorities[members], kind="stable")]
        rows.append(order[:quota])
        thresholds.append(priorities[order[quota]] if quota < len(order) else np.inf)
    return np.sort(np.concatenate(rows)), np.array(thresholds)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.int8, np.int32])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("close", [False, True])
def test_smallest_priorities_are_found(weighted, dtype, n_threads, close):
    random = np.random.default_rng(0)
    groups = random.integers(0, 4, N).astype(dtype)
    weights = random.uniform(0.5, 2, N) if weighted else None
    priorities = _core.random_numbers(7, 0, N) / (1 if weights is None else weights)
    expected, thresholds = expected_smallest(groups, QUOTAS, priorities)
    lower, upper = np.zeros(4), np.full(4, np.inf)
    if close:
        lower[:3], upper[:3] = 0.9 * thresholds[:3], 1.1 * thresholds[:3]
        lower[3] = np.inf
    rows, found = _core.smallest_priorities(groups, QUOTAS, lower, upper, weights, 7, n_threads)
    assert_array_equal(rows, expected)
    assert_array_equal(found, thresholds)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("lower", [0.0, 1e-9])
def test_the_first_of_equal_priorities_are_taken(n_threads, lower):
    numbers = _core.random_numbers(7, 0, N)
    weights = numbers * np.where(np.arange(N) % 3 == 0, 2**20, 4)  # two different priorities
    groups = np.zeros(N, dtype=np.int8)
    quota = np.array([N // 3 + 5000])
    expected, thresholds = expected_smallest(groups, quota, numbers / weights)
    limits = np.array([lower]), np.array([np.inf])
    rows, found = _core.smallest_priorities(groups, quota, *limits, weights, 7, n_threads)
    assert_array_equal(rows, expected)
    assert_array_equal(found, thresholds)


@pytest.mark.parametrize(("lower", "upper"), [(0.2, 0.3), (0.0, 0.05), (0.05, 0.05)])
def test_limits_that_do_not_enclose_a_threshold_are_noticed(lower, upper):
    groups, quota = np.zeros(N, dtype=np.int8), np.array([N // 10])
    limits = np.array([lower]), np.array([upper])
    assert _core.smallest_priorities(groups, quota, *limits, None, 7) is None


def test_nothing_is_taken_of_groups_without_a_quota():
    groups = np.zeros(10, dtype=np.int8)
    nothing = np.zeros(1)
    rows, _ = _core.smallest_priorities(groups, np.array([0]), nothing, nothing, None, 7)
    assert len(rows) == 0


@pytest.mark.parametrize("n_threads", [1, 3])
def test_groups_are_counted_and_weighted(n_threads):
    random = np.random.default_rng(0)
    groups, weights = random.integers(0, 5, N).astype(np.int8), random.random(N)
    assert_array_equal(_core.group_counts(groups, 6, n_threads), np.bincount(groups, minlength=6))
    each = np.arange(1.0, 6.0)
    assert_array_equal(_core.row_weights(groups, each, None, 1.0, n_threads), each[groups])
    found = _core.row_weights(groups, each, weights, 3.0, n_threads)
    assert_array_equal(found, each[groups] * weights / 3.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_are_taken(dtype, n_threads):
    random = np.random.default_rng(0)
    X = random.random((1000, 3)).astype(dtype)
    chosen = random.integers(0, 1000, N)
    found = _core.take_rows(X, chosen, n_threads)
    assert found.dtype == dtype
    assert_array_equal(found, X[chosen])
    assert _core.take_rows(X, chosen[:0]).shape == (0, 3)


@pytest.mark.parametrize("group", [-1, 2, 100])
def test_unknown_groups_are_refused(group):
    groups = np.array([0, 1, group], dtype=np.int8)
    match = r"groups must be in \[0, 2\)"
    with pytest.raises(ValueError, match=match):
        _core.group_counts(groups, 2)
    with pytest.raises(ValueError, match=match):
        _core.rows_below(groups, np.ones(2), 0)
    with pytest.raises(ValueError, match=match):
        _core.smallest_priorities(groups, np.ones(2, int), np.ones(2), np.ones(2), None, 0)
    with pytest.raises(ValueError, match=match):
        _core.row_weights(groups, np.ones(2), None)


def test_bad_shapes_and_types_are_refused():
    groups = np.zeros(3, dtype=np.int8)
    with pytest.raises(ValueError, match="weights must have one entry per row, 3, got 2"):
        _core.smallest_priorities(groups, np.array([1]), np.zeros(1), np.ones(1), np.ones(2), 0)
    with pytest.raises(ValueError, match="weights must have one entry per row, 3, got 4"):
        _core.row_weights(groups, np.ones(1), np.ones(4))
    with pytest.raises(TypeError, match="groups must be int8 or int32"):
        _core.group_counts(groups.astype(np.int64), 1)


@pytest.mark.parametrize("position", [-1, 3, 2**62])
def test_positions_that_do_not_exist_are_refused(position):
    chosen, kernel = np.array([0, position]), np.ones((3, 2), dtype=np.float32)
    match = rf"positions must be in \[0, 3\), got {position}"
    with pytest.raises(ValueError, match=match):
        _core.take_rows(kernel, chosen)
    with pytest.raises(ValueError, match=match):
        _core.add_outer_products(np.zeros((2, 2)), kernel, chosen, np.ones(2))


def test_bad_quotas_are_refused():
    groups, one = np.zeros(3, dtype=np.int8), np.ones(1)
    with pytest.raises(ValueError, match="quotas must not be negative"):
        _core.smallest_priorities(groups, np.array([-1]), one, one, None, 0)
    with pytest.raises(ValueError, match="limits must have one entry per group, 2"):
        _core.smallest_priorities(groups, np.array([1, 1]), one, one, None, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_totals_are_summed_in_float64(dtype, n_threads):
    numbers = np.random.default_rng(0).random(N).astype(dtype)
    assert_allclose(_core.total(numbers, n_threads), math.fsum(numbers), rtol=1e-14)
    assert _core.total(numbers, n_threads) == _core.total(numbers)
    assert _core.total(numbers[:0]) == 0.0
