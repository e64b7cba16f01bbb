"""Queries: which rows belong together, their places, and the numbers of queries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.rows.queries import Queries, levels_of, query_numbers


def queries_of(y, numbers):
    """Return the queries of rows that are sorted."""
    y, numbers = np.asarray(y, dtype=float), np.asarray(numbers)
    return Queries(numbers, levels_of(y, numbers))


def test_places_partners_and_scales():
    queries = queries_of([0, 0, 1, 3, 3, 3, 9], [1, 1, 1, 2, 2, 2, 2])
    assert_array_equal(queries.places[0], [0, 0, 2, 3])
    assert_array_equal(queries.places[2], [0, 2, 3, 3])
    assert_array_equal(queries.places[6], [3, 6, 7, 7])
    assert_array_equal(queries.n_partners, [1, 1, 2, 1, 1, 1, 3])
    assert_allclose(queries.scales, [3 / 2, 4 / 3])


def test_levels_are_ranks_within_a_query():
    queries = queries_of([-1.5, 0, 0, 7, 7, 2, 3], [0, 0, 0, 0, 4, 9, 9])
    assert_array_equal(queries.levels, [0, 1, 1, 2, 0, 0, 1])
    assert_array_equal(queries.begins, [0, 4, 5, 7])


def test_all_rows_of_a_query_are_found():
    queries = queries_of([0, 1, 0, 1, 2, 5], [1, 1, 2, 2, 2, 7])
    chosen = np.array([False, True, False, False, False, True])
    assert_array_equal(queries.whole(chosen), [True, True, False, False, False, True])


@pytest.mark.parametrize("n_rows", [1, 4, 100])
def test_slices_are_of_whole_queries(n_rows):
    numbers = np.repeat(np.arange(6), [3, 1, 2, 9, 4, 1])
    queries = queries_of(np.zeros(20), numbers)
    found = queries.slices(n_rows)
    assert_array_equal(np.concatenate([numbers[at] for at in found]), numbers)
    assert set(np.cumsum([at.stop - at.start for at in found])) <= set(queries.begins)
    assert len(found) == {1: 6, 4: 5, 100: 1}[n_rows]


def test_queries_of_several_types_are_refused():
    with pytest.raises(ValueError, match="qid must be numbers or strings, not both"):
        query_numbers(np.array([1, "a", None], dtype=object), np.zeros(3))


def test_texts_of_numbers_have_the_order_of_the_numbers():
    for qid in (["10", "9", "-1"], np.array(["10", "9", "-1"], dtype=object), [[10], [9], [-1]]):
        assert_array_equal(query_numbers(qid, np.zeros(3)), [2, 1, 0])
    assert_array_equal(query_numbers(["10", "9", "07"], np.zeros(3)), [1, 2, 0])


def test_no_queries_mean_one():
    assert_array_equal(query_numbers(None, np.zeros(4)), [0, 0, 0, 0])
