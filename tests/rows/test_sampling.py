"""Sampling: the drawn rows represent all rows, whatever their weights, classes and order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import _core
from pocketsvm.rows import sampling
from pocketsvm.rows.sampling import draw

N = 4000


def one_group(n=N):
    return np.zeros(n, dtype=np.int8)


def some_weights(decades, n=N):
    return 10 ** np.random.default_rng(0).uniform(0, decades, n)


# --- draw -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decades", [0, 1, 4])
def test_sums_of_the_sample_estimate_those_of_all_rows(decades):
    weights, n_drawn, n_seeds = some_weights(decades), 200, 400
    values = np.random.default_rng(1).normal(1.0, 1.0, N) * (1 + np.arange(N) / N)
    exact, found = weights @ values, []
    for seed in range(n_seeds):
        rows, factors = draw(one_group(), weights, n_drawn, 0, seed)
        # The factors are those of a mean, not of a sum.
        found.append((weights[rows] * factors) @ values[rows] * (N / n_drawn))
    error = np.std(found) / np.sqrt(n_seeds)
    assert abs(np.mean(found) - exact) < 4 * error
    assert error < 0.01 * exact


@pytest.mark.parametrize("decades", [0, 1, 4])
def test_total_weight_of_every_group_is_kept(decades):
    groups = np.repeat([0, 1, 2], [100, 900, 3000]).astype(np.int8)
    weights = some_weights(decades)
    rows, factors = draw(groups, weights, 400, 50, 3)
    assert_array_equal(np.bincount(groups[rows]), [50, 90, 300])
    scale = len(rows) / N
    for group in range(3):
        drawn = rows[groups[rows] == group]
        kept = factors[groups[rows] == group] @ weights[drawn]
        assert_allclose(kept, scale * weights[groups == group].sum())


def test_heavy_rows_are_drawn_and_drawn_rows_have_nearly_equal_weights():
    weights = some_weights(4)
    rows, factors = draw(one_group(), weights, 400, 0, 0)
    drawn = weights[rows] * factors
    is_drawn = np.isin(np.arange(N), rows)
    assert is_drawn[weights > np.quantile(weights, 0.99)].mean() > 0.7
    assert is_drawn[weights < np.quantile(weights, 0.5)].mean() < 0.02
    assert np.ptp(np.log10(weights)) > 3.9
    assert np.quantile(drawn, 0.75) < 1.01 * drawn.min()
    # A draw by number alone has factors that differ by rounding only.
    _, equal = draw(one_group(), np.ones(N), 400, 0, 0)
    assert_allclose(equal, 1.0)


def test_one_row_may_have_nearly_all_the_weight():
    weights = np.ones(N)
    weights[1234] = 1e12
    rows, factors = draw(one_group(), weights, 100, 0, 0)
    assert 1234 in rows
    assert_allclose(factors @ weights[rows], weights.sum() * 100 / N)


@pytest.mark.parametrize("least", [1, 10, 1000])
def test_groups_have_their_share_or_the_least(least):
    counts = np.array([5, 40, 955, 3000])
    groups = np.repeat(np.arange(4), counts).astype(np.int32)
    rows, _ = draw(groups, np.ones(N), 400, least, 0)
    expected = np.minimum(counts, np.maximum(counts // 10, least))
    assert_array_equal(np.bincount(groups[rows], minlength=4), expected)


def test_rows_are_sorted_and_different():
    rows, _ = draw(np.arange(N, dtype=np.int32) % 3, some_weights(2), 1000, 0, 0)
    assert (np.diff(rows) > 0).all()
    assert len(rows) == pytest.approx(1000, abs=3)


def test_the_seed_decides():
    draws = [draw(one_group(), np.ones(N), 300, 0, seed)[0] for seed in (5, 5, 6)]
    assert_array_equal(draws[0], draws[1])
    overlap = np.isin(draws[2], draws[0]).mean()
    assert 0 < overlap < 0.2


def test_every_row_is_drawn_equally_often():
    n, drawn = 50, np.zeros(50)
    for seed in range(2000):
        rows, _ = draw(one_group(n), np.ones(n), 10, 0, seed)
        drawn[rows] += 1
    # The standard deviation of a count is 18.
    assert np.abs(drawn - 400).max() < 4 * 18


def test_a_larger_sample_contains_a_smaller_one():
    small, large = (draw(one_group(), some_weights(1), n, 0, 0)[0] for n in (100, 1000))
    assert np.isin(small, large).all()


# --- members --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 50, 4000])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_members_with_the_smallest_numbers_are_drawn(n, n_threads):
    members = np.random.default_rng(0).random(100_001) < 0.5  # several chunks
    numbers = np.where(members, _core.random_numbers(7, 0, len(members)), np.inf)
    expected = np.sort(np.argsort(numbers)[:n])
    assert_array_equal(sampling.draw_members(members, n, 7, n_threads), expected)


def test_few_members_are_drawn_even_if_their_numbers_are_large():
    numbers = _core.random_numbers(7, 0, 1000)
    members = numbers > 0.99
    n = int(members.sum()) - 1
    expected = np.sort(np.argsort(np.where(members, numbers, np.inf))[:n])
    assert_array_equal(sampling.draw_members(members, n, 7, 1), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_limits_enclose_the_thresholds_at_once(weighted, monkeypatch):
    calls, found = [], _core.smallest_priorities
    monkeypatch.setattr(
        _core, "smallest_priorities", lambda *args: [calls.append(args), found(*args)][1]
    )
    groups = np.repeat([0, 1, 2], [20, 900, 3080]).astype(np.int8)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N) if weighted else None
    for seed in range(50):
        rows, _ = draw(groups, weights, 400, 50, seed)  # all rows of the first group
        assert_array_equal(np.bincount(groups[rows]), [20, 90, 308])
    assert len(calls) == 50
