"""Rows of a NumPy file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .batch import RowBatch, checked_batch
from .dataset import NO_QUERIES, QUERIES, Counting, Source, Stamp
from .errors import DataError, hints_for_datasets

NPY_ROWS = 1 << 16  # rows of a memory map that are read at once, in their order


@dataclass(frozen=True, eq=False)
class _Values:
    """One value for each row: an array, or the position of a column."""

    found: NDArray[Any] | int

    def of(self, rows: NDArray[Any], at: slice) -> NDArray[Any]:
        """Return the values of some rows, which have the precision of the file."""
        return rows[:, self.found] if isinstance(self.found, int) else np.array(self.found[at])


@dataclass(eq=False)
class NpyDataset(Counting):
    """Rows of a NumPy file, which are read in their order and never at random.

    Attributes
    ----------
    path : str
        The file.

    label, qid : int, str, ndarray or None
        The labels and the queries: the number of a column, another NumPy file, or an array.

    dtype : str or None
        The precision of the rows.

    scaler : transformer or None
        Scales the rows.
    """

    path: str
    label: Any
    dtype: str | None = None
    scaler: Any = None
    qid: Any = None

    @contextmanager
    def opened(
        self, *, regression: bool, labelled: bool = True, queries: bool = False
    ) -> Iterator[Source]:
        """Open the file for several readings."""
        if queries and self.qid is None:
            with hints_for_datasets():
                raise DataError(f"{self.path}: {NO_QUERIES}", QUERIES)
        stamp = Stamp.of(self.path)
        yield Source(self._counted(lambda: self._read(stamp, regression, labelled, queries)))

    def _read(
        self, stamp: Stamp, regression: bool, labelled: bool, queries: bool
    ) -> Iterator[RowBatch]:
        stamp.check()
        X = np.load(self.path, mmap_mode="r", allow_pickle=False)
        if X.ndim != 2:
            raise DataError(f"{self.path} holds an array of the shape {X.shape}, not rows.")
        qid = None if self.qid is None else self._values("qid", self.qid, X)
        labels = self._labels(X, labelled, qid)
        columns = [v.found for v in (labels, qid) if v is not None and isinstance(v.found, int)]
        drop = set(columns)
        if len(drop) < len(columns):
            raise DataError(f"{self.path}: column {columns[0] + 1} is both label and query.")
        for begin in range(0, len(X), NPY_ROWS):
            at = slice(begin, begin + NPY_ROWS)
            rows = np.array(X[at])
            features = np.delete(rows, sorted(drop), axis=1) if drop else rows
            yield checked_batch(
                features if self.dtype is None else features.astype(self.dtype, copy=False),
                labels.of(rows, at),
                None,
                self.path,
                regression=regression,
                n_before=begin,
                qid=qid.of(rows, at) if queries and qid is not None else None,
            )

    def _labels(self, X: NDArray[Any], labelled: bool, qid: _Values | None) -> _Values:
        """Return the labels: by default the last column that has no queries, if there are any."""
        if self.label is not None:
            return self._values("label", self.label, X)
        if not labelled:
            return _Values(np.zeros(len(X), dtype=np.int8))
        last = X.shape[1] - 1
        is_taken = qid is not None and isinstance(qid.found, int) and qid.found == last
        return _Values(last - 1 if is_taken else last)

    def _values(self, what: str, given: Any, X: NDArray[Any]) -> _Values:
        """Return the values, or the column that holds them."""
        if isinstance(given, str | os.PathLike) and os.fspath(given).endswith(".npy"):
            given = np.load(given, mmap_mode="r", allow_pickle=False)
        if isinstance(given, np.ndarray):
            if given.shape != (len(X),):
                raise DataError(f"{self.path} has {len(X)} rows; {what} has {given.shape}.")
            return _Values(given)
        try:
            column = int(given)
        except (TypeError, ValueError):
            raise DataError(
                f"{self.path} has no names of columns: {what} must be the number of a column, an "
                f"array or a NumPy file, got {given!r}."
            ) from None
        if not 1 <= abs(column) <= X.shape[1]:
            raise DataError(
                f"{self.path} has no column {column}: columns count from 1, and -1 is the last."
            )
        return _Values(column - 1 if column > 0 else X.shape[1] + column)
