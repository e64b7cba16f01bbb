"""A sample of whole queries: which ones are drawn, from batches of any kind."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ranking import all_pairs

from pocketsvm.files import DataError
from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.chunk import Needs, checked_chunk
from pocketsvm.rows.drawing import Plan
from pocketsvm.rows.memory import InMemory
from pocketsvm.rows.preparation import Preparing
from pocketsvm.rows.queries import LEAST_OF_QUERY
from pocketsvm.rows.query_drawing import LEAST_QUERIES, QueryReservoir
from pocketsvm.rows.source import ChunkSource
from pocketsvm.rows.survey import survey

NEEDS = Needs(numbers=True, queries=True)


def batch(qid, place="rows", y=None, first=0):
    """Return rows, whose only feature is their number."""
    X = np.arange(first, first + len(qid), dtype=float)[:, None]
    y = np.zeros(len(qid)) if y is None else y
    return checked_chunk(X, y, None, place, NEEDS, qid=qid)


def survey_of(qid, n_rows, size=500, seed=3, y=None):
    """Return the rows that are drawn of about n_rows rows, and the number of scans."""
    y = np.arange(len(qid), dtype=float) if y is None else y
    scans = []

    def read():
        scans.append(1)
        for k in range(0, len(qid), size):
            yield batch(qid[k : k + size], y=y[k : k + size], first=k)

    found = survey(ChunkSource(read), NEEDS, Plan(n_rows, 0, seed), Preparing())
    return found, len(scans)


def numbers_of(found):
    """Return the numbers of drawn rows."""
    return found.rows.X[:, 0].astype(int)


def factors_of(found):
    return np.ones(found.rows.n_rows) if found.survey is None else found.survey.factors


def drawn(qid, n_rows, size=500, seed=3, y=None):
    """Return the queries, the factors and the numbers of a sample of about n_rows rows."""
    found, _ = survey_of(qid, n_rows, size, seed, y)
    return found.qid, factors_of(found), numbers_of(found)


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


@pytest.mark.parametrize("part", [1.0, 0.9, 0.3, 0.002])
@pytest.mark.parametrize("is_shuffled", [True, False])
def test_queries_without_a_pair_take_no_place(part, is_shuffled):
    random = np.random.default_rng(0)
    qid = np.repeat(np.arange(1000), 20)
    qid = random.permutation(qid) if is_shuffled else qid
    has_pair = random.random(1000) < part
    has_pair[17] = True
    y = random.random(len(qid)) * has_pair[qid]
    found, n_scans = survey_of(qid, 2560, y=y)
    queries = np.unique(found.qid)
    assert has_pair[queries].all()
    assert len(queries) == min(2560 // 20, has_pair.sum())
    assert found.rows.n_rows == 20 * len(queries)
    assert n_scans == 1 if part > 0.8 else n_scans <= 2
    n_paired = pytest.approx(20 * has_pair.sum(), abs=0.1 * len(qid) if is_shuffled else 0)
    assert found.survey.n_rows == n_paired
    for size in (333, 10**6):
        other, _ = survey_of(qid, 2560, size, y=y)
        assert_array_equal(numbers_of(other), numbers_of(found))
        assert_array_equal(factors_of(other), factors_of(found))
        assert other.survey.n_rows == found.survey.n_rows


@pytest.mark.parametrize("n_queries", [1, 3, 200])
def test_a_part_of_a_large_query_has_rows_of_rare_relevance(n_queries):
    random = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0, 2.0], [11_000, 995, 5])
    rows = random.permutation(np.arange(12_000 * n_queries))
    qid, y = rows // 12_000, y[rows % 12_000]
    queries, _, numbers = drawn(qid, 2560, y=y)
    _, counts = np.unique(np.stack([queries, y[numbers]]), axis=1, return_counts=True)
    assert (counts.reshape(-1, 3) >= [8, 8, 5]).all()
    common = y[numbers] < 2
    assert np.mean(y[numbers][common]) == pytest.approx(995 / 11_995, abs=0.06)
    assert_array_equal(drawn(qid, 2560, 777, y=y)[2], numbers)


# --- rows in memory -------------------------------------------------------------------------------


def in_memory(y, qid, n_rows, seed=3, weight=None):
    """Return what is drawn of rows in memory."""
    rows = checked_rows(np.arange(len(y), dtype=float)[:, None])
    source = InMemory(rows, np.asarray(y, dtype=float), weight, qid)
    return survey(source, NEEDS, Plan(n_rows, 0, seed), Preparing())


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_the_sample_in_memory_is_that_of_batches(sizes):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    y = np.arange(len(qid)) % 7
    found, other = in_memory(y, qid, 2560), survey_of(qid, 2560, y=y.astype(float))[0]
    assert_array_equal(numbers_of(found), numbers_of(other))
    assert_array_equal(factors_of(found), factors_of(other))
    assert found.survey.n_rows == other.survey.n_rows


def test_mixed_queries_in_memory_are_brought_together():
    qid = shuffled(SIZES["many small queries"])
    y = np.arange(len(qid)) % 7
    found, other = in_memory(y, qid, 2560), survey_of(qid, 2560, y=y.astype(float))[0]
    assert_array_equal(np.unique(found.qid), np.unique(other.qid))
    assert_array_equal(np.sort(numbers_of(found)), numbers_of(other))
    assert_array_equal(found.qid, qid[numbers_of(found)])
    # All rows take part in the solver, unlike those of mixed batches.
    assert (found.note, other.survey.scanner) == (None, None)
    assert "not contiguous" in other.note
    assert found.survey.scanner is not None
    assert found.survey.n_rows == len(qid)


@pytest.mark.parametrize("qid", [None, np.zeros(3000), ["one"] * 3000])
def test_rows_of_one_query_in_memory(qid):
    found = in_memory(np.arange(3000) % 3, qid, 2560)
    assert found.rows.n_rows == 2560
    assert found.survey.n_rows == 3000


def test_all_rows_in_memory_are_at_hand_if_there_is_no_sample():
    rows = checked_rows(np.zeros((3000, 1)))
    source = InMemory(rows, np.arange(3000.0), None, None)
    found = survey(source, NEEDS, Plan(100, 0, 3), Preparing(), samples=False)
    assert found.rows is rows
    assert found.survey is None


@pytest.mark.parametrize(
    ("qid", "weight", "message"),
    [
        ([1] * 2999, None, "qid must have one entry per row, 3000, got 2999"),
        (np.full(3000, np.nan), None, "Input qid contains NaN"),
        (None, -np.ones(3000), "Negative values in data passed to `sample_weight`"),
        (None, np.ones(2999), r"sample_weight.shape == \(2999,\), expected \(3000,\)"),
    ],
)
def test_bad_input_in_memory_is_refused(qid, weight, message):
    with pytest.raises(ValueError, match=message):
        in_memory(np.arange(3000), qid, 2560, weight=weight)


def test_samples_are_of_whole_queries():
    qid = np.repeat(np.arange(100), 12)
    found, other = (in_memory(np.arange(1200), qid, 300, seed) for seed in (1, 2))
    assert set(np.bincount(found.qid, minlength=100)) == {0, 12}
    assert found.rows.n_rows == 300
    assert_allclose(factors_of(found), 1)
    assert not np.array_equal(numbers_of(found), numbers_of(other))


def test_samples_of_large_queries_estimate_their_mean_loss():
    """The value of a query is its number of rows times the mean over its pairs."""
    random = np.random.default_rng(0)
    qid = np.repeat([0, 1], [1500, 300])
    y, f = random.integers(0, 3, 1800).astype(float), random.normal(size=1800)

    def mean_loss(rows, weights):
        losses = []
        for pairs in all_pairs(y[rows], qid[rows]).values():
            i, j = np.array(pairs).T
            losses.append(np.mean(f[rows][j] > f[rows][i]))
        return np.bincount(qid[rows], weights) @ losses / weights.sum()

    whole = mean_loss(np.arange(0, 1800, 4), np.ones(450))
    drawn = [in_memory(y, qid, 400, seed) for seed in range(6)]
    found = [mean_loss(numbers_of(each), factors_of(each)) for each in drawn]
    assert np.mean(found) == pytest.approx(whole, abs=0.03)
    chosen, factors = numbers_of(drawn[0]), factors_of(drawn[0])
    assert_allclose(np.bincount(qid[chosen], factors) / len(chosen), [15 / 18, 3 / 18], rtol=1e-9)


def test_samples_of_a_large_query_have_a_pair():
    relevance = np.zeros(5000)
    relevance[17] = 1
    for seed in range(5):
        found = in_memory(relevance, None, 300, seed)
        chosen = numbers_of(found)
        assert set(relevance[chosen]) == {0, 1}
        assert len(np.unique(chosen)) == 300
        assert_allclose(factors_of(found), 1)


# --- bad input ------------------------------------------------------------------------------------


def test_rows_without_any_pair_are_refused():
    with pytest.raises(DataError, match="nothing to rank in 5,000 rows: no query has two rows of"):
        drawn(np.arange(5000), 2560)


def test_rows_that_are_gone_in_the_second_reading_are_noticed():
    qid = np.repeat(np.arange(1000), 20)
    y = np.arange(len(qid)) * (qid == 500)
    scans = iter([[batch(qid, y=y)], []])
    source = ChunkSource(lambda: iter(next(scans)))
    with pytest.raises(DataError, match="the rows changed between two scans"):
        survey(source, NEEDS, Plan(2560, 0, 3), Preparing())


def test_queries_of_several_types_are_not_rounded():
    large = 2**53 + 1
    reservoir = QueryReservoir(Plan(100, 0, 0))
    reservoir.add(batch(np.array([large, large - 1])))
    reservoir.add(batch(np.array([large, 5], dtype=np.uint64)))
    rows, _ = reservoir.sample()
    assert rows.qid.tolist() == [large, large - 1, large, 5]
    with pytest.raises(DataError, match=f"batch 3: .* float64 here .* {large} would be rounded"):
        reservoir.add(batch([1.5], "batch 3"))


def test_arrays_of_objects_are_queries():
    for numbers in ([3, 1, 2**60 + 1], [1.5, 2, 3], [True, False, True]):
        assert batch(np.array(numbers, dtype=object)).qid.tolist() == numbers


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
        (np.array([2**60 + 1, 0.5], dtype=object), "must be 64-bit integers, floats or texts"),
        (np.array([b"a", b"b"]), r"integers, floats or texts.* got an array of \|S1"),
        (np.array([1, 2], dtype="M8[s]"), "integers, floats or texts.* got an array of datetime"),
        (np.array(["a", 7], dtype=object), "rows, row 2: queries .* all of one type, got 7"),
        ([[1, 2], [3, 4]], "one entry for each of the 2 rows"),
    ],
)
def test_missing_queries_are_refused(qid, message):
    with pytest.raises(DataError, match=message):
        batch(qid)
