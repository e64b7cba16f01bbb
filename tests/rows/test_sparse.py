"""Sparse matrices with broken index arrays are rejected before compiled code follows them."""

import numpy as np
import pytest
import scipy.sparse as sp
from models import small_svc


def broken(X, attribute, position, value):
    X = X.copy()
    getattr(X, attribute)[position] = value
    return X


@pytest.mark.parametrize("formats", ["csr", "csc", "bsr"])
@pytest.mark.parametrize(
    ("attribute", "position", "value", "message"),
    [
        ("indptr", 3, 10**6, r"X.indptr must not decrease, but it falls from 1000000 to"),
        ("indptr", 3, -2, r"X.indptr must not decrease, but it falls from \d+ to -2"),
        ("indptr", 0, 1, r"X.indptr must start with 0, got 1"),
        ("indptr", -1, 10**6, r"X.indptr ends at 1000000, but X.indices and X.data hold"),
        ("indices", 5, 10**6, r"X.indices must lie in \[0, \d+\), got 1000000 at position 5"),
        ("indices", 5, -1, r"X.indices must lie in \[0, \d+\), got -1 at position 5"),
    ],
)
def test_broken_sparse_matrix_is_rejected(formats, attribute, position, value, message):
    dense = np.random.default_rng(0).integers(0, 2, (60, 20)).astype(float)
    y = np.arange(60) % 2
    clf = small_svc().fit(dense, y)
    for dtype in (np.float32, np.float64, np.int64):
        X = broken(sp.csr_array(dense.astype(dtype)).asformat(formats), attribute, position, value)
        for call in (clf.predict, lambda X: small_svc().fit(X, y), lambda X: clf.partial_fit(X, y)):
            with pytest.raises(ValueError, match=r"X.indptr|X.indices|index pointer|indices"):
                call(X)
    with pytest.raises(ValueError, match=message):
        small_svc().fit(
            broken(sp.csr_array(dense).asformat(formats), attribute, position, value), y
        )


def test_broken_coordinate_matrix_is_rejected():
    X = sp.coo_array(np.eye(6))
    for name, value in (("row", 6), ("row", -1), ("col", 99)):
        bad = X.copy()
        getattr(bad, name)[2] = value
        with pytest.raises(ValueError, match=rf"X.{name} must lie in \[0, 6\), got {value}"):
            small_svc().fit(bad, [0, 1, 0, 1, 0, 1])


def test_index_arrays_of_the_wrong_length_are_rejected():
    X, y = sp.csr_array(np.eye(6)), [0, 1, 0, 1, 0, 1]
    for name, damage in (("indptr", lambda a: a[:-1]), ("data", lambda a: a[:-2])):
        bad = X.copy()
        setattr(bad, name, damage(getattr(bad, name)))
        with pytest.raises(ValueError, match=r"X.indptr"):
            small_svc().fit(bad, y)
