"""Runs: chunks are cut at the ends of queries, and hold rows sorted by relevance."""

from itertools import chain, pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from pocketsvm.rows import runs
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.runs import ByRelevance, Runs
from pocketsvm.rows.source import ChunkSource, Scanner


class Collect:
    """A reading that collects the chunks."""

    def __call__(self, chunk, first):
        return [(chunk, first)]

    def merge(self, parts):
        return list(chain.from_iterable(parts))


def source_of(qid, size, y=None, weight=None, layout=np.asarray):
    """Return rows, whose only feature is their number, in chunks of some size."""
    qid = np.asarray(qid)
    y = np.arange(len(qid), dtype=float) if y is None else np.asarray(y, dtype=float)
    X = np.arange(1, len(qid) + 1, dtype=float)[:, None]

    def read():
        for at in range(0, len(qid), size):
            some = slice(at, at + size)
            part = None if weight is None else np.asarray(weight, dtype=float)[some]
            yield Chunk(layout(X[some]), y[some], part, f"chunk {at}", qid[some])

    return ChunkSource(read)


def runs_of(*arguments, **options):
    """Return the runs after a scan, the chunks, and the number of rows before each."""
    found = Runs(source_of(*arguments, **options))
    chunks, firsts = zip(*found.scan(Collect()), strict=True)
    return found, chunks, firsts


def numbers(chunks):
    """Return the numbers of the rows of chunks, from zero."""
    return np.concatenate([np.asarray(chunk.X.sum(axis=1)).ravel() - 1 for chunk in chunks])


QUERIES = {
    "short": np.repeat([4, 1, 9, 2, 7], [3, 1, 5, 2, 4]),
    "long": np.repeat([4, 1, 9], [2, 40, 3]),
    "one": np.zeros(30, dtype=int),
    "single rows": np.arange(30),
    "texts": np.repeat(["b", "a", "c"], [7, 2, 9]),
    "floats": np.repeat([1.5, -2.0], [12, 3]),
}


@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("qid", QUERIES.values(), ids=QUERIES)
def test_each_run_is_in_one_chunk(qid, size, layout):
    found, chunks, firsts = runs_of(qid, size, layout=layout)
    assert_array_equal(numbers(chunks), np.arange(len(qid)))
    assert_array_equal(np.concatenate([chunk.qid for chunk in chunks]), qid)
    assert_array_equal(firsts, np.cumsum([0, *(chunk.n_rows for chunk in chunks[:-1])]))
    for one, other in pairwise(chunks):
        assert one.qid[-1] != other.qid[0]
    assert found.are_whole
    # Chunks are not larger than the runs require.
    longest = np.unique(qid, return_counts=True)[1].max()
    assert max(chunk.n_rows for chunk in chunks) < size + longest


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_query_in_two_places_is_not_whole(size):
    found, chunks, _ = runs_of([1, 1, 2, 2, 2, 1], size)
    assert not found.are_whole
    assert_array_equal(numbers(chunks), np.arange(6))


@pytest.mark.parametrize("size", [1, 4, 100])
def test_a_huge_run_is_cut(size, monkeypatch):
    monkeypatch.setattr(runs, "MOST_ROWS", 10)
    found, chunks, _ = runs_of(np.repeat([3, 5, 8], [2, 35, 4]), size)
    assert_array_equal(numbers(chunks), np.arange(41))
    if size < 10:  # what is in one chunk anyway is not cut
        assert not found.are_whole
        assert max(chunk.n_rows for chunk in chunks) <= 10 + 2 * size
    found, _, _ = runs_of(np.repeat([3, 5], [10, 10]), 2)
    assert found.are_whole


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_in_runs_with_a_pair_are_counted(size):
    qid = np.repeat([1, 2, 3, 4], [3, 1, 2, 4])
    found, _, _ = runs_of(qid, size, y=[0, 0, 1, 5, 2, 2, 7, 7, 7, 8])
    assert found.n_paired == 3 + 4
    found.scan(Collect())  # another scan counts anew
    assert found.n_paired == 3 + 4


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_without_weight_do_not_part_a_run(size):
    weight = [1, 1, 0, 0, 2, 1, 0, 1]
    found, chunks, _ = runs_of([1, 1, 9, 9, 1, 2, 1, 2], size, weight=weight)
    assert found.are_whole
    assert_array_equal(numbers(chunks), [0, 1, 4, 5, 7])
    assert all(len(np.unique(chunk.qid)) == 1 for chunk in chunks) or size == 100
    assert_array_equal(np.concatenate([chunk.weights for chunk in chunks]), [1, 1, 2, 1, 1])


@pytest.mark.parametrize("size", [1, 3, 100])
def test_rows_are_sorted_by_relevance_and_runs_without_a_pair_are_left_out(size):
    qid = np.repeat([7, 2, 5, 1], [3, 2, 1, 4])
    y = [2, 0, 1, 4, 4, 9, 1, 0, 1, 0]
    found = Runs(source_of(qid, size, y=y)).scan(ByRelevance(Collect()))
    chunks, firsts = zip(*found, strict=True)
    assert_array_equal(numbers(chunks), [1, 2, 0, 7, 9, 6, 8])  # equal relevance keeps its order
    assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), [0, 1, 2, 0, 0, 1, 1])
    assert firsts[0] == 0
    assert len(firsts) == 1 or firsts[-1] == 6  # all rows before it count


def test_runs_without_any_pair_give_nothing():
    scanner = Scanner(Runs(source_of([1, 1, 2, 3], 2, y=np.ones(4))), wrap=ByRelevance)
    assert scanner.scan(Collect()) is None
