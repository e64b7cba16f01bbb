"""Rows: checked in scikit-learn's way, then held in the precision that their kernel values need."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import assert_all_finite, check_X_y

from .. import _core
from .._sklearn import has_callbacks, validate_data
from ..files.columns import Layout
from ..files.tables import is_frame, is_stream
from .columns import as_numbers, check_finite, features_of
from .sparse import check_structure, safe_to_convert, sorted_copy, with_own_structure

Dtype = Literal["float32", "float64"]
INDEX_DTYPES = (np.int32, np.int64)


@dataclass(frozen=True, eq=False)
class CheckedRows:
    """Rows that passed scikit-learn's checks.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows, float32 or float64. Column indices increase strictly in each row.

    structure : _core.Rows or None
        The same rows as the core sees them, if they are sparse: the core has checked their indices.
    """

    X: Any
    structure: _core.Rows | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def core(self, dtype: Dtype) -> _core.Rows:
        """View the rows in this precision; they are copied only if dtype or memory order differ."""
        # A value beyond float32 becomes infinite, and then the squared norm is infinite, too.
        with np.errstate(over="ignore"):
            if self.structure is None:
                return _core.Rows.dense(np.ascontiguousarray(self.X, dtype=dtype))
            if self.structure.dtype == dtype:
                return self.structure
            return self.structure.with_values(np.ascontiguousarray(self.X.data, dtype=dtype))

    def take(self, chosen: NDArray[Any], n_threads: int = 1) -> "CheckedRows":
        """Copy the chosen rows: a mask, or positions."""
        if self.structure is not None or not self.X.flags.c_contiguous:
            return checked_rows(self.X[chosen])
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        return checked_rows(_core.take_rows(self.X, positions, n_threads))


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are ready for training.

    Attributes
    ----------
    checked : CheckedRows
        The rows as they were given.

    core : _core.Rows
        The rows in the precision that their kernel values need.

    gamma : float
        The kernel coefficient.
    """

    checked: CheckedRows
    core: _core.Rows
    gamma: float

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.core.n_rows

    def take(self, chosen: NDArray[Any], n_threads: int = 1) -> "Rows":
        """Copy the chosen rows: a mask, or positions."""
        checked = self.checked.take(chosen, n_threads)
        return Rows(checked, checked.core(self.core.dtype), self.gamma)

    def precise(self) -> "Rows":
        """Return the rows for kernel values in float64; their own values stay as they are."""
        X, structure, own = self.checked.X, self.checked.structure, self.core.dtype
        if own == "float64":
            return self
        if structure is None:
            core = _core.Rows.dense(np.ascontiguousarray(X, dtype=own).astype("float64"))
        else:
            core = structure.with_values(X.data.astype(own).astype("float64"))
        return replace(self, core=core)

    def dense(self) -> NDArray[Any]:
        """Return the rows as a dense array."""
        is_sparse = self.checked.structure is not None
        X: NDArray[Any] = self.checked.X.toarray() if is_sparse else self.checked.X
        return X


def check_rows(estimator: Any, X: Any, *, reset: bool, layout: Layout | None = None) -> CheckedRows:
    """Check X in scikit-learn's way.

    Sets (`reset`) or compares the estimator's `n_features_in_` and `feature_names_in_`. The layout
    tells which columns may have texts or missing values.
    """
    return checked_rows(_validate(estimator, X, "no_validation", reset, layout))


def check_rows_and_targets(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    reset: bool,
    layout: Layout | None = None,
    numeric: bool = False,
    multi_output: bool = False,
) -> tuple[CheckedRows, NDArray[Any]]:
    """Check X and y in scikit-learn's way; the rest is as in `check_rows`."""
    X, y = _validate(estimator, X, y, reset, layout, y_numeric=numeric, multi_output=multi_output)
    # Callbacks run after the check of the indices, and they get the user's X.
    return checked_rows(X, own_structure=has_callbacks(estimator)), y


def _validate(
    estimator: Any, X: Any, y: Any, reset: bool, layout: Layout | None, **options: Any
) -> Any:
    if callable(getattr(X, "batches", None)) or (is_stream(X) and not is_frame(X)):
        raise TypeError(
            "X must be rows in memory, but is a data set: call this method for each of the batches "
            "that its batches() yields."
        )
    if layout is not None and (layout.texts or layout.missing):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        X = features_of(X, layout)
        check_finite(X, layout, "X")
        if isinstance(y, str):
            return X
        return X, check_X_y(as_numbers(X, layout.texts), y, ensure_all_finite=False, **options)[1]
    if sp.issparse(X):
        X = safe_to_convert(X)
    dtype = [np.float64, np.float32]
    # Dense rows are checked below, on several threads.
    options |= {"accept_sparse": "csr", "dtype": dtype, "ensure_all_finite": sp.issparse(X)}
    checked = validate_data(estimator, X, y, reset=reset, **options)
    _check_finite(estimator, checked[0] if isinstance(checked, tuple) else checked)
    return checked


def _check_finite(estimator: Any, X: Any) -> None:
    """Refuse dense rows with NaN or infinity, with scikit-learn's message."""
    if get_config()["assume_finite"]:
        return
    if isinstance(X, np.ndarray) and X.flags.c_contiguous:
        n_threads = effective_n_jobs(getattr(estimator, "n_jobs", None))
        if _core.Rows.dense(X).all_finite(n_threads):
            return
    if not sp.issparse(X):
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")


def checked_rows(X: Any, *, own_structure: bool = False) -> CheckedRows:
    """Check the indices of rows that passed scikit-learn's checks; sort them if necessary.

    With `own_structure`, they are copied: the user may then change the indices of X.
    """
    is_sparse: bool = sp.issparse(X)
    if not is_sparse:
        return CheckedRows(X)
    is_core_layout = (
        len(X.indptr) == X.shape[0] + 1
        and len(X.indices) == len(X.data)
        and X.indices.dtype in INDEX_DTYPES
        and X.indptr.dtype in INDEX_DTYPES
    )
    if is_core_layout:
        if own_structure:
            X = with_own_structure(X)
        structure = _structure(X)
        if structure is not None:
            return CheckedRows(X, structure)
    else:
        check_structure(X)
    X = sorted_copy(X)
    return CheckedRows(X, _structure(X))


def _structure(X: Any) -> _core.Rows | None:
    """Let the core check the indices; None if they have to be sorted first."""
    return _core.Rows.csr(
        np.ascontiguousarray(X.data),
        np.ascontiguousarray(X.indices),
        np.ascontiguousarray(X.indptr),
        X.shape[1],
    )
