"""Ranking: sorted rows, places, weights and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.chunk import Chunk
from pocketsvm.tasks.ranking import rank_targets


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


def test_targets_of_a_chunk_are_those_of_its_rows():
    random = np.random.default_rng(0)
    qid = np.repeat([5, 2, 9], 8)
    y, weight = np.sort(random.integers(0, 3, (3, 8))).ravel() * 1.0, random.uniform(1, 2, 10)[qid]
    _, targets = targets_of(y, qid, weight)
    nothing = targets.take(np.arange(0), np.empty(0))
    found = nothing.of(Chunk(np.zeros((24, 1)), y, weight, "rows", qid))
    assert_array_equal(found.queries.begins, [0, 8, 16, 24])
    assert_allclose(found.row_weight(), weight)
    _, two = targets_of(y[:8], qid[:8])
    assert_array_equal(found.queries.levels[:8], two.queries.levels)
    weight[3] += 1
    with pytest.raises(ValueError, match="sample_weight must be the same for all rows of a query"):
        nothing.of(Chunk(np.zeros((24, 1)), y, weight, "rows", qid))
