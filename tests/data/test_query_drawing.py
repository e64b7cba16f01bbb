"""A sample of whole queries: which ones are drawn, from batches of any kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.data import DataError
from pocketsvm.data.batch import checked_batch
from pocketsvm.data.drawing import Plan
from pocketsvm.data.queries import LEAST_OF_QUERY
from pocketsvm.data.query_drawing import LEAST_QUERIES, QueryReservoir


def batch(qid, place="rows"):
    X = np.zeros((len(qid), 1))
    return checked_batch(X, np.zeros(len(qid)), None, place, regression=True, qid=qid)


def drawn(qid, n_rows, size=500, seed=3):
    """Return the queries, the factors and the numbers of a sample of about n_rows rows."""
    reservoir = QueryReservoir(Plan(n_rows, 0, seed))
    for begin in range(0, len(qid), size):
        reservoir.add(batch(qid[begin : begin + size]))
    rows, factors, numbers = reservoir.sample(None)
    return rows.qid, factors, numbers


def shuffled(sizes):
    return np.random.default_rng(0).permutation(np.repeat(np.arange(len(sizes)), sizes))


SIZES = {
    "many small queries": np.full(3000, 20),
    "one large query": np.array([50_000]),
    "few queries": np.array([20_000, 30, 500, 9000]),
    "of all sizes": np.random.default_rng(2).integers(1, 3000, 300),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_sample_does_not_depend_on_the_batches(sizes):
    qid = shuffled(sizes)
    queries, factors, numbers = drawn(qid, 2560)
    assert len(queries) <= 2560
    assert_array_equal(queries, qid[numbers])
    assert (np.diff(numbers) > 0).all()
    for size in (333, 10**6):
        other = drawn(qid, 2560, size)
        assert_array_equal(other[2], numbers)
        assert_allclose(other[1], factors)


def test_small_queries_are_drawn_whole():
    qid = shuffled(SIZES["many small queries"])
    queries, factors, _ = drawn(qid, 2560)
    assert (np.unique(queries, return_counts=True)[1] == 20).all()
    assert len(queries) == 2560
    assert_array_equal(factors, 1)


@pytest.mark.parametrize("sizes", [SIZES["few queries"], SIZES["of all sizes"]])
def test_a_part_of_a_large_query_has_the_weight_of_all_of_it(sizes):
    queries, factors, _ = drawn(shuffled(sizes), 2560)
    names, counts = np.unique(queries, return_counts=True)
    share = max(2560 // min(len(sizes), LEAST_QUERIES), LEAST_OF_QUERY)
    assert_array_equal(counts, np.minimum(sizes[names], share))
    weights = np.array([factors[queries == name].sum() for name in names])
    assert_allclose(weights / weights.sum(), sizes[names] / sizes[names].sum())
    assert factors.mean() == pytest.approx(1)


def test_every_query_is_drawn_with_the_same_probability():
    qid = np.repeat(np.arange(200), 5)
    counts = np.zeros(200)
    for seed in range(300):
        counts[np.unique(drawn(qid, 100, seed=seed)[0])] += 1
    assert counts.sum() == 300 * 20
    assert abs(counts - 30).max() < 5 * np.sqrt(30)


def test_rows_that_fit_are_all_drawn():
    qid = shuffled([100, 3, 50])
    queries, factors, numbers = drawn(qid, 200)
    assert_array_equal(queries, qid)
    assert_array_equal(numbers, np.arange(153))
    assert_array_equal(factors, 1)


def test_texts_and_numbers_name_the_same_queries():
    qid = shuffled(SIZES["many small queries"])
    for other in (qid.astype(float), qid.astype(str)):
        assert_array_equal(drawn(other, 2560)[2], drawn(qid, 2560)[2])


def test_batches_with_queries_of_two_kinds_are_refused():
    reservoir = QueryReservoir(Plan(100, 0, 0))
    reservoir.add(batch([1, 2]))
    reservoir.add(batch([1.0, 2.0]))
    with pytest.raises(DataError, match=r"batch 7: some queries \(qid\) are texts and others num"):
        reservoir.add(batch(["a", "b"], "batch 7"))


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([1.0, np.nan], "rows, row 2: the query is missing"),
        (["a", ""], "rows, row 2: the query is missing"),
        (np.array(["a", None], dtype=object), "rows, row 2: the query is missing"),
        ([[1, 2], [3, 4]], "one entry for each of the 2 rows"),
    ],
)
def test_missing_queries_are_refused(qid, message):
    with pytest.raises(DataError, match=message):
        batch(qid)
