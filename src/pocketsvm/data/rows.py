"""What comes in: rows, labels, weights and parameters are checked and brought into shape here.

scikit-learn's own validation does most of it, in scikit-learn's words. What is added: the structure
of sparse matrices is checked before compiled code follows their indices, and one rule decides
between float32 and float64 rows (`training_rows`).
"""

import math
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

from .. import _core
from .._sklearn import validate_data

# The kernel needs |x - s|^2 and gets it as |x|^2 + |s|^2 - 2 x s, which is fast and cancels: the
# exponent gamma |x - s|^2 carries an absolute error of about gamma max|x|^2 times the unit
# roundoff. These limits hold it near 512 * 2^-24 = 3e-5 in float32, 2^40 * 2^-53 = 1e-4 in float64.
FLOAT32_SPREAD = 512.0
FLOAT64_SPREAD = 2.0**40
# More than that, the squared norm of a row over the variance of the rows, is a large offset.
LARGEST_OFFSET = 2.0**20
# Beyond these, squared norms overflow, or gamma itself leaves float32's range.
LARGEST_SQUARED_NORM = {"float32": 1e37, "float64": 1e300}
FLOAT32_GAMMA = (1e-30, 1e30)

# Entries whose variance, set against their squares, is below this are equal but for rounding.
CONSTANT = 1e-22

# A warning where one column is as many times as wide as another, in about as many entries.
SCALES_APART = 1000.0
SAMPLE_FOR_SCALES = 1 << 17


def check_rows(estimator: Any, X: Any, *, reset: bool, y: Any = "no_validation") -> Any:
    """Check X, or X and y, in scikit-learn's way; sparse input comes back as canonical CSR.

    Sets (`reset`) or compares the estimator's `n_features_in_` and `feature_names_in_`.
    """
    if sp.issparse(X):
        X = _safe_to_convert(X)
    checked = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
    )
    if isinstance(checked, tuple):
        return canonical(checked[0]), checked[1]
    return canonical(checked)


def _safe_to_convert(X: Any) -> Any:
    """Make sure that scikit-learn's conversion to CSR of floats follows no broken index."""
    if X.format != "csr":
        check_structure(X)
    elif X.dtype not in (np.float32, np.float64) and X.dtype.kind in "biuf":
        check_structure(X)
        # scipy's astype would sort and sum up the entries of the user's own matrix.
        X = sp.csr_array((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    return X


def canonical(X: Any) -> Any:
    """X itself where it is dense or CSR with strictly increasing indices, else such a copy."""
    if not sp.issparse(X):
        return X
    if len(X.indptr) == X.shape[0] + 1:
        with suppress(TypeError, ValueError):
            as_rows(X, X.dtype)
            return X
    check_structure(X)  # refuses what is broken; what passes has unsorted or double entries
    # Fresh arrays in a fresh matrix: neither the user's entries nor scipy's cached flags, which
    # may be stale, are touched or trusted.
    X = sp.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    X.sum_duplicates()
    return X


def check_structure(X: Any) -> None:
    """Raise ValueError where the index arrays of a sparse matrix point outside of it.

    scipy's `check_format` asks the same but rewrites the matrix as it goes.
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


def as_rows(X: Any, dtype: Any) -> _core.Rows:
    """View X as native rows of this dtype; a copy only where dtype or memory order need one."""
    # A value beyond float32 becomes infinite, and the squared norm tells of it.
    with np.errstate(over="ignore"):
        if not sp.issparse(X):
            return _core.Rows.dense(np.ascontiguousarray(X, dtype=dtype))
        return _core.Rows.csr(
            np.ascontiguousarray(X.data, dtype=dtype),
            np.ascontiguousarray(X.indices),
            np.ascontiguousarray(X.indptr),
            X.shape[1],
        )


def warn_about_scales(X: Any) -> None:
    """Warn where some columns are so much wider than others that the kernel sees only those.

    Judged on evenly spaced rows. Both the ranges and the standard deviations have to differ so
    much: rare binary columns have small deviations and the same range, standardised columns with
    outliers large ranges and the same deviation. Constant columns do not count, nor do those with
    few entries that are not zero: a handful of values has no scale.
    """
    n_sampled = max(100, SAMPLE_FOR_SCALES // X.shape[1])
    X = X[:: -(-X.shape[0] // n_sampled)]
    if sp.issparse(X):
        least, most = min_max_axis(X, axis=0)
        deviations = np.sqrt(mean_variance_axis(X, axis=0)[1])
        n_entries = np.bincount(X.indices, minlength=X.shape[1])
    else:
        least, most = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore", under="ignore"):
            deviations = X.std(axis=0, dtype=np.float64)
        n_entries = np.count_nonzero(X, axis=0)
    ranges = np.subtract(most, least, dtype=np.float64)
    varies = np.flatnonzero((ranges > 0) & (n_entries >= max(10, 0.01 * X.shape[0])))
    if not varies.size:
        return
    ranges, deviations = ranges[varies], deviations[varies]
    if deviations.max() <= SCALES_APART * deviations.min():
        return
    wide, narrow = ranges.argmax(), ranges.argmin()
    if ranges[wide] > SCALES_APART * ranges[narrow]:
        warnings.warn(
            f"The columns of X differ in scale: column {varies[wide]} ranges over "
            f"{ranges[wide]:.3g}, column {varies[narrow]} over {ranges[narrow]:.3g}. The "
            "kernel's distances are those in the wide columns, and the narrow ones hardly count. "
            "Standardise X: make_pipeline(StandardScaler(), ...), with MaxAbsScaler for sparse X, "
            "or --scale standard on the command line.",
            stacklevel=6,
        )


def training_rows(
    X: Any, gamma: str | float, *, least_dtype: Any = np.float32
) -> tuple[_core.Rows, float]:
    """Return the rows in the precision that their kernel values need, and gamma as a number.

    The one place where the precision is decided. float32 is twice as fast and half as large, and
    it is enough where ``gamma * max|x|^2`` is moderate (see the limits above): standardised data,
    counts, one-hot columns. Offsets such as time stamps take float64, up to where even that
    cannot tell the rows apart. The answer depends on the values alone, not on whether they came
    dense or sparse.
    """
    if np.dtype(least_dtype) == np.float32:
        rows = as_rows(X, np.float32)
        squared_norm = rows.max_squared_norm()
        value = gamma_as_number(gamma, rows, squared_norm)
        # None: all entries are equal, or differ only in float64.
        if value is not None and _float32_is_enough(value, squared_norm):
            return rows, value
    rows = as_rows(X, np.float64)
    squared_norm = rows.max_squared_norm()
    value = gamma_as_number(gamma, rows, squared_norm)
    if value is None:
        value = 1.0  # as sklearn.svm.SVC does
    if not _float64_is_enough(value, squared_norm, X):
        raise ValueError(
            f"The values of X are too large for the kernel: gamma={value:.3g} times the largest "
            f"squared norm of a row, {squared_norm:.3g}, is above 2**40, where rounding errors "
            "swamp the distances between rows even in float64. Subtract large offsets and "
            "standardise X (sklearn.preprocessing.StandardScaler, or MaxAbsScaler for sparse X), "
            "or choose a smaller gamma."
        )
    return rows, value


def _float32_is_enough(gamma: float, squared_norm: float) -> bool:
    return (
        gamma * squared_norm <= FLOAT32_SPREAD
        and squared_norm <= LARGEST_SQUARED_NORM["float32"]
        and FLOAT32_GAMMA[0] <= gamma <= FLOAT32_GAMMA[1]
    )


def _float64_is_enough(gamma: float, squared_norm: float, X: Any) -> bool:
    if not (squared_norm <= LARGEST_SQUARED_NORM["float64"] and math.isfinite(gamma)):
        return False
    if gamma * squared_norm <= FLOAT64_SPREAD:
        return True
    # Without large offsets, a gamma so large makes the kernel the identity, and that is exact:
    # equal rows are at distance zero to the last bit, all others too far apart to matter.
    columns = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0)
    return float(np.sum(columns)) > squared_norm / LARGEST_OFFSET


def gamma_as_number(gamma: str | float, rows: _core.Rows, squared_norm: float) -> float | None:
    """Resolve "scale" and "auto" as sklearn.svm.SVC does; None: "scale" of equal entries."""
    if gamma == "scale":
        spread = rows.n_features * rows.variance()
        return 1.0 / spread if spread > CONSTANT * squared_norm else None
    if gamma == "auto":
        return 1.0 / rows.n_features
    return float(gamma)


def decision_values(
    vectors: NDArray[Any],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    gamma: float,
    X: Any,
    n_threads: int,
) -> NDArray[np.float64]:
    """Decision values (n_rows, n_outputs), in the precision of the vectors.

    Rows so large that their squares overflow are far from every vector; the core knows.
    """
    rows = as_rows(X, vectors.dtype)
    return _core.decide(vectors, coefficients, intercepts, gamma, rows, n_threads)
