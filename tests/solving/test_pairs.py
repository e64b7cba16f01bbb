"""Sums over pairs: against brute force and finite differences; parts, factors and scans."""

import numpy as np
import pytest
from loss_formulas import Pairs
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded

from pocketsvm import _core
from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.queries import Queries
from pocketsvm.solving.pairs import PairwiseHinge
from pocketsvm.tasks.ranking import rank_targets

WIDTH = 0.5


def some_loss(n_rows=12, spread=1.0, y=None, seed=0):
    X, relevance, qid = graded(6, n_rows, seed)
    relevance = relevance if y is None else y
    rows, targets = rank_targets(checked_rows(X), relevance.astype(float), qid, None)
    decisions = spread * np.random.default_rng(seed).normal(size=(rows.n_rows, 1))
    return PairwiseHinge(targets.queries, WIDTH), decisions


def ones(loss):
    return np.ones(len(loss.queries.levels))


def listed(loss, decisions):
    """Return value, slopes and second derivative, from a list of all pairs."""
    value, slopes, second = Pairs(loss).weighted(decisions, ones(loss))
    return value, slopes, second.toarray()


def value_of(loss, decisions):
    return loss.derivatives(decisions, ones(loss), 1)[0].sum()


@pytest.mark.parametrize("spread", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("kind", ["graded", "all different"])
def test_sums_are_those_of_all_pairs(spread, kind):
    y = np.random.default_rng(5).permutation(72) if kind == "all different" else None
    loss, decisions = some_loss(spread=spread, y=y)
    value, slopes, second = listed(loss, decisions)
    total, found, bounds = loss.derivatives(decisions, ones(loss), 1)
    assert_allclose(total.sum(), value, rtol=1e-12)
    assert_allclose(found[:, 0], slopes, rtol=0, atol=1e-11)
    assert_allclose(bounds[:, 0], 2 * np.diag(second), rtol=0, atol=1e-10)
    products = loss.curvature_products(decisions, None, np.full(72, 2.0))[:, 0]
    assert_allclose(products, 2 * second @ decisions[:, 0], atol=1e-9)
    assert np.linalg.eigvalsh(np.diag(bounds[:, 0]) - second).min() > -1e-9
    assert bounds.max() <= loss.largest_curvature


def test_slopes_are_finite_differences():
    loss, decisions = some_loss()
    step = 1e-6
    _, slopes, _ = loss.derivatives(decisions, ones(loss), 1)
    for row in range(0, 72, 7):
        change = np.zeros_like(decisions)
        change[row] = step
        rise = value_of(loss, decisions + change) - value_of(loss, decisions - change)
        assert slopes[row, 0] == pytest.approx(rise / (2 * step), abs=1e-7)


def test_a_large_offset_of_the_decision_values_changes_nothing():
    loss, decisions = some_loss()
    for mine, other in zip(
        loss.derivatives(decisions + 1e6, ones(loss), 1),
        loss.derivatives(decisions, ones(loss), 1),
        strict=True,
    ):
        assert_allclose(mine, other, rtol=0, atol=1e-6)


def test_parts_are_whole_queries_and_have_the_same_sums():
    loss, decisions = some_loss()
    total, slopes, curvatures = loss.derivatives(decisions, ones(loss), 1)
    for n_rows in (1, 13, 30, 1000):
        parts = loss.queries.slices(n_rows)
        assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
        each = [
            loss.take(at).derivatives(decisions[at], np.ones(at.stop - at.start), 1) for at in parts
        ]
        totals, *others = zip(*each, strict=True)
        assert_allclose(sum(totals), total)
        for mine, expected in zip(others, (slopes, curvatures), strict=True):
            assert_array_equal(np.concatenate(mine), expected)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_weighted_sums_are_those_of_all_pairs(n_threads, monkeypatch):
    monkeypatch.setattr("pocketsvm.solving.pairs.ROWS_AT_ONCE", 13)
    loss, decisions = some_loss()
    random, pairs = np.random.default_rng(1), Pairs(loss)
    c = random.uniform(0.5, 2.0, 6)[loss.queries.numbers]  # one weight for each query
    change, length = random.normal(size=(72, 1)), np.array([0.3])
    value, slopes, second = pairs.weighted(decisions, c)
    total, weighted, bounds = loss.derivatives(decisions, c, n_threads)
    assert_allclose(total, value)
    assert_allclose(weighted[:, 0], slopes, atol=1e-11)
    assert_allclose(bounds[:, 0], 2 * second.diagonal(), atol=1e-10)
    _, slopes, _ = pairs.weighted(decisions + length * change, c)
    _, _, bounds = loss.derivatives(decisions + length * change, c, 1)
    first, curvature = loss.along(decisions, change, length, c, n_threads)
    assert_allclose(first, slopes @ change[:, 0])
    assert_allclose(curvature, bounds[:, 0] @ change[:, 0] ** 2)


def test_near_queries_are_whole_and_those_with_a_pair_within_reach():
    queries = Queries(np.repeat([0, 1], 3), np.array([0, 1, 1, 0, 0, 1], dtype=np.int32))
    loss = PairwiseHinge(queries, WIDTH)
    decisions = np.array([0.0, 1.9, 2.5, 0.0, 0.0, 2.1])[:, None]
    assert_array_equal(loss.near(decisions, 2.0, 1), [True] * 3 + [False] * 3)


def test_partners_bend_together_and_are_drawn_equally_often():
    loss, decisions = some_loss()
    random, row = np.random.default_rng(0), 3
    _, _, second = listed(loss, decisions)
    curved = np.flatnonzero(second[row])
    partners = loss.partners(np.full(6000, row), decisions, random)
    counts = np.bincount(partners, minlength=72)
    assert_array_equal(np.flatnonzero(counts), curved[curved != row])
    expected = 6000 / (len(curved) - 1)
    assert np.abs(counts[curved[curved != row]] - expected).max() < 5 * np.sqrt(expected)
    levels, numbers = loss.queries.levels, loss.queries.numbers
    anywhere = loss.partners(np.arange(72), None, random)
    assert_array_equal(numbers[anywhere], numbers)
    assert (levels[anywhere] != levels).all()


@pytest.mark.parametrize("n_levels", [1, 2, 5, 40])
@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("width", [0.1, 0.7])
def test_a_partner_is_the_drawn_one_of_all_rows_that_bend(n_levels, is_sorted, width):
    """Decision values have ties, and pairs lie exactly on the borders of the quadratic part."""
    random, n = np.random.default_rng(0), 90
    levels = random.integers(0, n_levels, n).astype(np.int32)
    begins = np.array([0, 50, 51, n])
    if is_sorted:
        levels = np.concatenate([np.sort(part) for part in np.split(levels, begins[1:-1])])
    f = random.integers(-20, 20, n) / 10
    rows, draws = np.arange(n), random.random(n)
    found = _core.bent_partners(f, levels, begins, width, rows, draws)
    for row, draw, partner in zip(rows, draws, found.tolist(), strict=True):
        at = np.arange(*begins[np.searchsorted(begins, row, side="right") + np.array([-1, 0])])
        sign = np.where(levels[row] > levels[at], 1, -1)
        excess = 1 - sign * (f[row] - f[at])
        curved = at[(levels[at] != levels[row]) & (np.abs(excess) <= width)]
        assert partner == (curved[int(draw * len(curved))] if len(curved) else row)


def test_bad_input_of_the_core_is_refused():
    f, levels = np.zeros(4), np.zeros(4, dtype=np.int32)
    for begins in ([0, 2], [1, 4], [0, 2, 2, 4]):
        starts = np.array(begins)
        with pytest.raises(ValueError, match="begins must"):
            _core.pair_sums(f, levels, starts, np.ones(len(begins) - 1), 0.5)
    begins = np.array([0, 4])
    with pytest.raises(ValueError, match="levels must not be negative"):
        _core.pair_sums(f, levels - 1, begins, np.ones(1), 0.5)
    with pytest.raises(ValueError, match="scales must have one entry per query"):
        _core.pair_sums(f, levels, begins, np.ones(2), 0.5)
    with pytest.raises(ValueError, match="rows must be positions"):
        _core.bent_partners(f, levels, begins, 0.5, np.array([4]), np.zeros(1))
    with pytest.raises(ValueError, match="draws must be in"):
        _core.bent_partners(f, levels, begins, 0.5, np.array([0]), np.ones(1))
