"""`Chunk`: some raw rows, their targets and weights, and where they came from."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from .._sklearn import num_samples
from ..files.columns import Layout
from ..files.errors import DataError
from .columns import check_finite, check_width, features_of, in_order

# Checksums of arrays are joined as the digits of a number with this base, modulo 2^64.
MULTIPLIER = 0x9E3779B97F4A7C15
QUERY_TYPES = "queries (qid) must be 64-bit integers, floats or texts, all of one type"


@dataclass(frozen=True)
class Needs:
    """What an estimator wants of the rows besides their features.

    Attributes
    ----------
    numbers : bool
        Whether targets are numbers, and not labels.

    labelled : bool
        Whether rows have targets.

    queries : bool
        Whether rows have queries.

    many : bool
        Whether rows may have several targets.

    ignored : tuple
        Labels of classes without weight, whose rows are left out.
    """

    numbers: bool = False
    labelled: bool = True
    queries: bool = False
    many: bool = False
    ignored: tuple[Any, ...] = ()


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, their targets and their weights.

    Attributes
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The rows, finite, float32 or float64; objects if some features are texts. Values may be
        missing (NaN) where they are to be imputed.

    y : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Labels or numbers.

    weight : ndarray of shape (n_rows,) or None
        The weights of the rows; None means one.

    place : str
        Where the rows come from, for messages.

    qid : ndarray of shape (n_rows,) or None
        The queries of the rows: numbers or texts; None if they have none.

    texts : tuple of int
        Positions of the features that are texts.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    place: str
    qid: NDArray[Any] | None = None
    texts: tuple[int, ...] = ()

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weights of the rows, also if all of them are one."""
        return np.ones(self.n_rows) if self.weight is None else self.weight

    def take(self, chosen: NDArray[Any] | slice) -> "Chunk":
        """Copy the chosen rows: a mask, or positions; a slice gives a view."""
        weight = None if self.weight is None else self.weight[chosen]
        qid = None if self.qid is None else self.qid[chosen]
        return replace(self, X=self.X[chosen], y=self.y[chosen], weight=weight, qid=qid)

    def counted(self, ignored: Sequence[Any] = ()) -> "Chunk":
        """Leave out rows without weight: their own, or that of their class (`ignored`)."""
        kept = np.ones(self.n_rows, dtype=bool) if self.weight is None else self.weight > 0
        if len(ignored):
            kept &= ~np.isin(self.y, ignored)
        return self if kept.all() else self.take(kept)

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Make errors name the place that the rows come from."""
        try:
            yield
        except ValueError as error:
            raise DataError(f"{self.place}: {error}") from error

    def checksum(self) -> int:
        """Return a checksum of all that the rows hold, and of their order."""
        is_sparse: bool = sp.issparse(self.X)
        X = (self.X.data, self.X.indices, self.X.indptr) if is_sparse else (self.X,)
        total = 0
        for values in (*X, self.y, self.weight, self.qid):
            if values is not None:
                total = (total * MULTIPLIER + _core.checksum(_as_bytes(values))) % 2**64
        return total


def _as_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """View an array as bytes; texts of tables are objects, and are joined."""
    if values.dtype.kind == "O":
        return np.frombuffer("\0".join(map(str, values.ravel().tolist())).encode(), dtype=np.uint8)
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Join chunks of rows."""
    if len(chunks) == 1:
        return chunks[0]
    every = [chunk.X for chunk in chunks]
    is_sparse = all(sp.issparse(X) for X in every)
    if not is_sparse:
        every = [X if isinstance(X, np.ndarray) else X.toarray() for X in every]
    weight = None
    if any(chunk.weight is not None for chunk in chunks):
        weight = np.concatenate([chunk.weights for chunk in chunks])
    qid = [chunk.qid for chunk in chunks if chunk.qid is not None]
    return Chunk(
        sp.vstack(every, format="csr") if is_sparse else np.concatenate(every),
        np.concatenate([chunk.y for chunk in chunks]),
        weight,
        chunks[0].place,
        np.concatenate(qid) if qid else None,
        chunks[0].texts,
    )


def label_codes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted labels that occur, and the position of each row's label among them."""
    if len(y) and y.dtype.kind in "biuf":  # two classes are the usual case, and need not be sorted
        least, most = y.min(), y.max()
        is_most = y == most
        if least < most and (is_most | (y == least)).all():
            return np.array([least, most], dtype=y.dtype), is_most.astype(np.intp)
    return np.unique(y, return_inverse=True)


def checked_chunk(
    X: Any,
    y: Any,
    weight: Any,
    place: str,
    needs: Needs,
    layout: Layout | None = None,
    *,
    n_before: int = 0,
    qid: Any = None,
) -> Chunk:
    """Check arrays of a user in scikit-learn's way; errors name the place and the row.

    Data frames must have the columns of the layout, in any order. So many rows of the same place
    come before the first one.
    """
    if not num_samples(X):
        return Chunk(_empty(X), np.empty(0), None, place)
    layout = layout or Layout(0)
    X = in_order(X, layout.names, place)
    try:
        X = features_of(X, layout)
    except (ValueError, TypeError) as error:
        raise DataError(f"{place}: {error}") from error
    if layout.n_features:
        check_width(X, layout, place)
    check_finite(X, layout, place, n_before)
    n_rows = X.shape[0]
    y = np.zeros(n_rows) if not needs.labelled else np.asarray(y)
    y = y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (n_rows,) and not (needs.many and y.ndim == 2 and len(y) == n_rows):
        raise DataError(
            f"{place}: y must have one value for each of the {n_rows} rows, but has the shape "
            f"{y.shape}."
        )
    y = (_checked_numbers if needs.numbers else _checked_labels)(y, place, n_before)
    queries = _checked_queries(qid, n_rows, place, n_before) if needs.queries else None
    weight = checked_weight(weight, n_rows, place)
    return Chunk(X, y, weight, place, queries, tuple(layout.texts))


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


def _checked_numbers(y: NDArray[Any], place: str, n_before: int) -> NDArray[np.float64]:
    try:
        numbers = y.astype(np.float64, copy=False)
    except (ValueError, TypeError):
        raise DataError(
            f"{place}: the targets y of a regression or a ranking must be numbers."
        ) from None
    if not np.isfinite(numbers).all():
        wrong = np.argwhere(~np.isfinite(numbers))[0]
        at = f"{place}, row {n_before + wrong[0] + 1}"
        raise DataError(f"{at}: the target {numbers[tuple(wrong)]} is not finite.")
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
