"""The structure of sparse matrices, checked before compiled code follows their indices."""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def safe_to_convert(X: Any) -> Any:
    """Make sure that scikit-learn's conversion to CSR of floats follows no broken index."""
    if X.format != "csr":
        check_structure(X)
    elif X.dtype not in (np.float32, np.float64) and X.dtype.kind in "biuf":
        check_structure(X)
        # scipy's astype would sort and sum the entries of the user's own matrix.
        X = sp.csr_array((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    return X


def sorted_copy(X: Any) -> Any:
    """Return a CSR copy with strictly increasing column indices; duplicate entries are summed.

    The structure of X has been checked.
    """
    # New arrays in a new matrix: the user's entries are not changed, and scipy's cached flags,
    # which may be stale, are not used.
    X = sp.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    X.sum_duplicates()
    return X


def with_own_structure(X: Any) -> Any:
    """Return the same CSR matrix with copies of its index arrays, which may be broken."""
    # Building a new matrix would make scipy check them, with messages of its own.
    own = copy.copy(X)
    own.indices, own.indptr = X.indices.copy(), X.indptr.copy()
    return own


def check_structure(X: Any) -> None:
    """Raise ValueError if the index arrays of a sparse matrix point outside of it.

    scipy's `check_format` asks the same, but it rewrites the matrix.
    """
    if X.format == "coo":
        for name, size, index in zip(("row", "col"), X.shape, X.coords, strict=True):
            _check_indices(f"X.{name}", index, size)
        return
    if X.format not in ("csr", "csc", "bsr"):
        return  # lists, dictionaries and diagonals hold no index that compiled code would follow
    n_rows, n_columns = X.shape
    if X.format == "csc":
        n_rows, n_columns = n_columns, n_rows
    elif X.format == "bsr":
        n_rows, n_columns = n_rows // X.blocksize[0], n_columns // X.blocksize[1]
    _check_index_pointer(X.indptr, n_rows, min(len(X.indices), len(X.data)))
    _check_indices("X.indices", X.indices, n_columns)


def _check_index_pointer(indptr: NDArray[Any], n_rows: int, n_entries: int) -> None:
    if len(indptr) != n_rows + 1:
        raise ValueError(f"X.indptr must have {n_rows + 1} entries, got {len(indptr)}.")
    if indptr[0] != 0:
        raise ValueError(f"X.indptr must start with 0, got {indptr[0]}.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        i = falls[0]
        raise ValueError(
            f"X.indptr must not decrease, but it falls from {indptr[i]} to {indptr[i + 1]} "
            f"at position {i + 1}."
        )
    if indptr[-1] > n_entries:
        raise ValueError(
            f"X.indptr ends at {indptr[-1]}, but X.indices and X.data hold {n_entries} entries."
        )


def _check_indices(name: str, indices: NDArray[Any], size: int) -> None:
    outside = np.flatnonzero((indices < 0) | (indices >= size))
    if outside.size:
        i = outside[0]
        raise ValueError(f"{name} must lie in [0, {size}), got {indices[i]} at position {i}.")
