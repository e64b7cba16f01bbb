"""Summaries of rows: those of batches, merged, are those of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.rows import summary
from pocketsvm.rows.chunk import Chunk, label_codes
from pocketsvm.rows.summary import merged, summarise


def rows(n=1000, dtype=np.float64):
    random = np.random.default_rng(0)
    X = (random.normal(size=(n, 3)) * [1.0, 100.0, 1e-3] + [1e4, 0.0, -5.0]).astype(dtype)
    return Chunk(X, random.integers(0, 3, n), random.uniform(0.5, 2.0, n), "here")


def assert_sums_of(found, batch):
    X = batch.X.toarray() if sp.issparse(batch.X) else batch.X.astype(np.float64)
    assert found.n_rows == len(X)
    assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12)
    assert_allclose(found.squares, X.var(axis=0) * len(X), rtol=1e-9)
    assert_array_equal(found.least, X.min(axis=0))
    assert_array_equal(found.most, X.max(axis=0))
    assert_allclose(found.squared_norm, np.square(X).sum(axis=1).max(), rtol=1e-12)
    assert_array_equal(found.labels, np.unique(batch.y))
    assert_array_equal(found.counts, np.bincount(batch.y))
    assert_allclose(found.weights, np.bincount(batch.y, batch.weight), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("at_once", [7, 1000, 4096])
def test_dense_rows_are_summed_up_some_at_a_time(dtype, at_once, monkeypatch):
    monkeypatch.setattr(summary, "ROWS_AT_ONCE", at_once)
    batch = rows(dtype=dtype)
    assert_sums_of(summarise(batch, regression=False), batch)


def test_sparse_rows():
    batch = rows()
    batch = Chunk(sp.csr_array(batch.X), batch.y, batch.weight, batch.place)
    assert_sums_of(summarise(batch, regression=False), batch)


def test_summaries_of_batches_are_merged():
    batch, total = rows(), None
    for begin in range(0, batch.n_rows, 130):
        part = batch.take(np.arange(begin, min(begin + 130, batch.n_rows)))
        total = merged(total, summarise(part, regression=False))
    assert_sums_of(total, batch)


@pytest.mark.parametrize(
    "y",
    [
        np.array([2, -1, 2, 2]),
        np.array([True, False]),
        np.array([0.5, 0.5]),
        np.array([3, 1, 2, 3], dtype=np.int8),
        np.array(["b", "a", "b"]),
        np.empty(0),
    ],
)
def test_label_codes_are_those_of_numpy(y):
    labels, codes = label_codes(y)
    expected = np.unique(y, return_inverse=True)
    assert labels.dtype == y.dtype
    assert_array_equal(labels, expected[0])
    assert_array_equal(codes, expected[1])
