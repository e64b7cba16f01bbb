"""`RowBatch`: some rows of data that are not all in memory, checked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from .._sklearn import num_samples
from .errors import DataError
from .sparse import safe_to_convert

QUERY_TYPES = "queries (qid) must be 64-bit integers, floats or texts, all of one type"


@dataclass(frozen=True, eq=False)
class RowBatch:
    """Some rows, their targets and their weights.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows, finite, float32 or float64.

    y : ndarray of shape (n_rows,)
        Labels or numbers.

    weight : ndarray of shape (n_rows,) or None
        The weights of the rows; None means one.

    place : str
        Where the rows come from, for messages.

    qid : ndarray of shape (n_rows,) or None
        The queries of the rows: numbers or texts; None if they have none.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    place: str
    qid: NDArray[Any] | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the rows, also if all of them are one."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def take(self, chosen: NDArray[Any]) -> "RowBatch":
        """Copy the chosen rows: a mask, or positions."""
        weight = None if self.weight is None else self.weight[chosen]
        qid = None if self.qid is None else self.qid[chosen]
        return replace(self, X=self.X[chosen], y=self.y[chosen], weight=weight, qid=qid)

    def counted(self, ignored: Sequence[Any] = ()) -> "RowBatch":
        """Leave out rows without weight: their own, or that of their class (`ignored`)."""
        kept = np.ones(self.n_rows, dtype=bool) if self.weight is None else self.weight > 0
        if len(ignored):
            kept &= ~np.isin(self.y, ignored)
        return self if kept.all() else self.take(kept)


def label_codes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels that occur, and the position of each row's label among them."""
    if len(y) and y.dtype.kind in "biuf":  # two classes are the usual case, and need not be sorted
        least, most = y.min(), y.max()
        is_most = y == most
        if least < most and (is_most | (y == least)).all():
            return np.array([least, most], dtype=y.dtype), is_most.astype(np.intp)
    return np.unique(y, return_inverse=True)


def checked_batch(
    X: Any,
    y: Any,
    weight: Any,
    place: str,
    *,
    regression: bool,
    n_before: int = 0,
    qid: Any = None,
) -> RowBatch:
    """Check arrays of a user in scikit-learn's way; errors name the place and the row.

    So many rows of the same place come before the first one.
    """
    if not num_samples(X):
        return RowBatch(_empty(X), np.empty(0), None, place)
    try:
        X = safe_to_convert(X) if sp.issparse(X) else X
        X = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            input_name="X",
        )
    except (ValueError, TypeError) as error:
        raise DataError(f"{place}: {error}") from error
    _check_finite(X, place, n_before)
    y = np.asarray(y)
    y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (X.shape[0],):
        raise DataError(
            f"{place}: y must have one value for each of the {X.shape[0]} rows, but has the shape "
            f"{y.shape}. Several targets need the rows in memory."
        )
    y = (_checked_numbers if regression else _checked_labels)(y, place, n_before)
    queries = None if qid is None else _checked_queries(qid, X.shape[0], place, n_before)
    return RowBatch(X, y, checked_weight(weight, X.shape[0], place), place, queries)


def checked_weight(weight: Any, n_rows: int, place: str) -> NDArray[np.float64] | None:
    """Return float64 weights, one per row, or None."""
    if weight is None:
        return None
    found: NDArray[np.float64] = np.asarray(weight, dtype=np.float64).ravel()
    if len(found) != n_rows:
        raise DataError(f"{place}: there are {n_rows} rows and {len(found)} weights.")
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if wrong.size:
        raise DataError(
            f"{place}, row {wrong[0] + 1}: a weight must be a number that is not negative, got "
            f"{found[wrong[0]]}."
        )
    return found


def _checked_queries(qid: Any, n_rows: int, place: str, n_before: int) -> NDArray[Any]:
    """Return the queries, one per row, as numbers or texts."""
    found = np.asarray(qid)
    found = found.ravel() if found.ndim == 2 and found.shape[1] == 1 else found
    if found.shape != (n_rows,):
        raise DataError(
            f"{place}: qid must have one entry for each of the {n_rows} rows, but has the shape "
            f"{found.shape}."
        )
    if found.dtype.kind == "O" and all(isinstance(query, Real) for query in found):
        found = _exact_numbers(found)
    if found.dtype == np.uint64 and found.max() <= np.iinfo(np.int64).max:
        found = found.astype(np.int64)  # which batches of other integers have
    if found.dtype.kind in "biu":
        return found
    if found.dtype.kind not in "fUO":
        raise DataError(f"{place}: {QUERY_TYPES}, got an array of {found.dtype}.")
    if found.dtype.kind == "f":
        wrong = np.flatnonzero(~np.isfinite(found))
    else:
        wrong = np.flatnonzero([not isinstance(query, str) or not query for query in found])
    if wrong.size:
        query = found[wrong[0]]
        is_missing = query is None or query == "" or query != query
        what = "the query is missing" if is_missing else f"{QUERY_TYPES}, got {query!r}"
        raise DataError(f"{place}, row {n_before + wrong[0] + 1}: {what}.")
    return found if found.dtype.kind == "f" else found.astype(str)


def _exact_numbers(found: NDArray[Any]) -> NDArray[Any]:
    """Return an array of numbers; the same objects if it would round some of them."""
    try:
        numbers = np.array(found.tolist())
    except OverflowError:
        return found
    is_exact = numbers.dtype.kind in "biuf" and all(
        a == b or a != a for a, b in zip(numbers.tolist(), found.tolist(), strict=True)
    )
    return numbers if is_exact else found


def _empty(X: Any) -> Any:
    shape = getattr(X, "shape", (0, 0))
    return np.empty((0, shape[1] if len(shape) > 1 else 0))


def _check_finite(X: Any, place: str, n_before: int) -> None:
    is_sparse: bool = sp.issparse(X)
    values = X.data if is_sparse else X
    if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
        return
    wrong = int(np.flatnonzero(~np.isfinite(values).ravel())[0])
    if is_sparse:
        row = int(np.searchsorted(np.asarray(X.indptr), wrong, side="right")) - 1
        column = X.indices[wrong]
    else:
        row, column = divmod(wrong, X.shape[1])
    value = values.ravel()[wrong]
    what = "the value is missing (NaN)" if np.isnan(value) else f"{value} is not a finite number"
    raise DataError(f"{place}, row {n_before + row + 1}, column {column + 1}: {what}.")


def _checked_numbers(y: NDArray[Any], place: str, n_before: int) -> NDArray[np.float64]:
    try:
        numbers = y.astype(np.float64, copy=False)
    except (ValueError, TypeError):
        raise DataError(
            f"{place}: the targets y of a regression or a ranking must be numbers."
        ) from None
    if not np.isfinite(numbers).all():
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        at = f"{place}, row {n_before + row + 1}"
        raise DataError(f"{at}: the target {numbers[row]} is not finite.")
    return numbers


def _checked_labels(y: NDArray[Any], place: str, n_before: int) -> NDArray[Any]:
    if y.dtype.kind == "O":
        if not all(isinstance(label, str) for label in y.tolist()):
            raise DataError(f"{place}: labels must be numbers or texts, not both, and not missing.")
        return y.astype(str)
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{place}, row {n_before + row + 1}: the label is missing.")
    return y
