"""Queries: sorted rows, places, weights, samples and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ranking import all_pairs, graded

from pocketsvm.data.queries import rank_targets
from pocketsvm.data.rows import checked_rows


def targets_of(y, qid=None, sample_weight=None):
    y = np.asarray(y, dtype=float)
    X = np.arange(len(y), dtype=float)[:, None]  # tells where a row came from
    rows, targets = rank_targets(checked_rows(X), y, qid, sample_weight)
    return rows.X[:, 0].astype(int), targets


def test_rows_are_sorted_by_query_and_relevance():
    order, targets = targets_of([5, 1, 7, 1, 5, 2], ["b", "a", "b", "b", "a", "a"])
    assert_array_equal(order, [1, 5, 4, 3, 0, 2])
    assert_array_equal(targets.queries.numbers, [0, 0, 0, 1, 1, 1])
    assert_array_equal(targets.queries.levels, [0, 1, 2, 0, 1, 2])
    assert_array_equal(targets.queries.begins, [0, 3, 6])


def test_places_partners_and_scales():
    _, targets = targets_of([0, 0, 1, 3, 3, 3, 9], [1, 1, 1, 2, 2, 2, 2])
    queries = targets.queries
    assert_array_equal(queries.places[0], [0, 0, 2, 3])
    assert_array_equal(queries.places[2], [0, 2, 3, 3])
    assert_array_equal(queries.places[6], [3, 6, 7, 7])
    assert_array_equal(queries.n_partners, [1, 1, 2, 1, 1, 1, 3])
    assert_allclose(queries.scales, [3 / 2, 4 / 3])


def test_queries_without_a_pair_and_rows_of_zero_weight_are_dropped():
    y, qid = [1, 1, 4, 0, 1, 2], [1, 1, 2, 3, 3, 3]
    order, targets = targets_of(y, qid)
    assert_array_equal(order, [3, 4, 5])
    order, targets = targets_of(y, qid, [1, 1, 1, 2, 0, 2])
    assert_array_equal(order, [3, 5])
    assert_array_equal(targets.row_weight(), 2)


def test_no_queries_means_one():
    _, targets = targets_of([0, 1, 2])
    assert_array_equal(targets.queries.begins, [0, 3])


@pytest.mark.parametrize(
    ("y", "qid", "weight", "message"),
    [
        ([1, 1, 1], None, None, "nothing to rank in n_samples=3 rows"),
        ([1, 2, 3], [1, 2, 3], None, "no query has two rows of different relevance"),
        ([1, 2], [1, 1, 1], None, "qid must have one entry per row, 2, got 3"),
        ([1, 2], [[1, 2], [3, 4]], None, r"qid must have one entry per row; got .* \(2, 2\)"),
        ([1, 2], [1.0, np.nan], None, "Input qid contains NaN"),
        ([1, 2, 3], None, [1, 2, 2], "sample_weight must be the same for all rows of a query"),
    ],
)
def test_bad_input_is_refused(y, qid, weight, message):
    with pytest.raises(ValueError, match=message):
        targets_of(y, qid, weight)


def test_samples_are_of_whole_queries():
    X, y, qid = graded(100, 12)
    _, targets = rank_targets(checked_rows(X), y.astype(float), qid, None)
    chosen, factors = targets.draw(300, seed=1)
    sizes = np.bincount(targets.queries.numbers[chosen], minlength=100)
    assert set(sizes) == {0, 12}
    assert 300 <= len(chosen) < 312
    assert_allclose(factors, 1)
    assert not np.array_equal(chosen, targets.draw(300, seed=2)[0])


def test_samples_of_large_queries_estimate_their_mean_loss():
    """The value of a query is its number of rows times the mean over its pairs."""
    random = np.random.default_rng(0)
    qid = np.repeat([0, 1], [1500, 300])
    y, f = random.integers(0, 3, 1800).astype(float), random.normal(size=1800)
    _, targets = rank_targets(checked_rows(f[:, None]), y, qid, None)
    f, y, qid = (values[np.lexsort((y, qid))] for values in (f, y, qid))

    def mean_loss(rows, weights):
        losses = []
        for pairs in all_pairs(y[rows], qid[rows]).values():
            i, j = np.array(pairs).T
            losses.append(np.mean(f[rows][j] > f[rows][i]))
        return np.bincount(qid[rows], weights) @ losses / weights.sum()

    whole = mean_loss(np.arange(0, 1800, 4), np.ones(450))
    found = [mean_loss(*targets.draw(400, seed)) for seed in range(6)]
    assert np.mean(found) == pytest.approx(whole, abs=0.03)
    chosen, factors = targets.draw(400, seed=0)
    assert_allclose(np.bincount(qid[chosen], factors) / len(chosen), [15 / 18, 3 / 18], rtol=1e-9)


def test_samples_of_a_large_query_have_a_pair():
    relevance = np.zeros(5000)
    relevance[17] = 1
    order, targets = targets_of(relevance)
    for seed in range(5):
        chosen, factors = targets.draw(300, seed)
        assert set(targets.queries.levels[chosen]) == {0, 1}
        assert len(np.unique(chosen)) == 300
        assert_allclose(factors, 1)
    assert order[-1] == 17


def test_queries_of_several_types_are_refused():
    with pytest.raises(ValueError, match="qid must be numbers or strings, not both"):
        targets_of([0, 1, 2], np.array([1, "a", None], dtype=object))
