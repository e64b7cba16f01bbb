"""Rows of a NumPy file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.columns import Layout
from ..files.errors import DataError, hints_for_datasets
from .chunk import Chunk, Needs, checked_chunk
from .dataset import NO_QUERIES, QUERIES, Dataset, Stamp
from .preparation import Preparing
from .source import ChunkSource

NPY_ROWS = 1 << 16  # rows of a memory map that are read at once, in their order


# Values for each row: an array, or the positions of the columns that hold them.
Values = NDArray[Any] | list[int]


def _columns(values: Values | None) -> list[int]:
    """Return the columns that hold the values."""
    return values if isinstance(values, list) else []


def _values_at(values: Values | None, rows: NDArray[Any], at: slice) -> Any:
    """Return the values of some rows, which have the precision of the file."""
    if not isinstance(values, list):
        return None if values is None else np.array(values[at])
    return rows[:, values[0] if len(values) == 1 else values]


def _loaded(path: str) -> NDArray[Any]:
    """Return the array of a NumPy file as a memory map; errors name the file."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:
        raise DataError(f"{path} is no NumPy file of numbers, or is damaged: {error}") from error
    if not isinstance(found, np.ndarray):
        raise DataError(f"{path} holds several arrays (.npz), not one.")
    return found


@dataclass(eq=False, repr=False)
class NpyDataset(Dataset):
    """Rows of a NumPy file, which are read in their order and never at random.

    Attributes
    ----------
    path : str
        The file.

    label, qid : int, str, list, ndarray or None
        The labels and the queries: the number of a column, another NumPy file, or an array. A list
        has the columns of several targets.

    dtype : str or None
        The precision of the rows.

    preparing : Preparing
        What is done to rows before the kernel sees them.
    """

    path: str
    label: Any
    dtype: str | None = None
    preparing: Preparing = field(default_factory=Preparing)
    qid: Any = None

    def __post_init__(self) -> None:
        self.name = self.path
        if self.preparing.texts:
            raise ValueError("one_hot is for tables, not for NumPy files.")
        self._seen()

    def _seen(self) -> Layout:
        X, _, _, drop = self._opened(Needs(), None)
        return Layout(X.shape[1] - len(drop), missing=self.preparing.impute is not None)

    @contextmanager
    def opened(self, needs: Needs, like: Layout | None = None) -> Iterator[ChunkSource]:
        """Open the file for several scans."""
        if needs.queries and self.qid is None:
            with hints_for_datasets():
                raise DataError(f"{self.path}: {NO_QUERIES}", QUERIES)
        stamp = Stamp.of(self.path)
        read = self._counted(lambda: self._read(stamp, needs, like))
        yield ChunkSource(read, needs.ignored, like)

    def _opened(
        self, needs: Needs, like: Layout | None
    ) -> tuple[NDArray[Any], Values, Values | None, list[int]]:
        """Return all columns, labels and queries, and the columns that are no features."""
        X = _loaded(self.path)
        if X.ndim != 2:
            raise DataError(f"{self.path} holds an array of the shape {X.shape}, not rows.")
        qid = None if self.qid is None else self._values("qid", self.qid, X)
        is_wide = like is not None and X.shape[1] - len(_columns(qid)) > like.n_features
        labels = self._labels(X, needs.labelled or is_wide, qid)
        drop = _columns(labels) + _columns(qid)
        for column in drop:
            if drop.count(column) > 1:
                raise DataError(f"{self.path}: column {column + 1} is both label and query.")
        return X, labels, qid, drop

    def _read(self, stamp: Stamp, needs: Needs, like: Layout | None) -> Iterator[Chunk]:
        stamp.check()
        X, labels, qid, drop = self._opened(needs, like)
        layout = like or Layout(X.shape[1] - len(drop), missing=self.preparing.impute is not None)
        for begin in range(0, len(X), NPY_ROWS):
            at = slice(begin, begin + NPY_ROWS)
            rows = np.array(X[at])
            features = np.delete(rows, sorted(drop), axis=1) if drop else rows
            yield checked_chunk(
                features if self.dtype is None else features.astype(self.dtype, copy=False),
                _values_at(labels, rows, at),
                None,
                self.path,
                needs,
                replace(layout, names=None),
                n_before=begin,
                qid=_values_at(qid, rows, at),
            )

    def _labels(self, X: NDArray[Any], labelled: bool, qid: Values | None) -> Values:
        """Return the labels: by default the last column that has no queries, if there are any."""
        if self.label is not None:
            return self._values("label", self.label, X)
        if not labelled:
            return np.zeros(len(X), dtype=np.int8)
        last = X.shape[1] - 1
        return [last - 1 if last in _columns(qid) else last]

    def _values(self, what: str, given: Any, X: NDArray[Any]) -> Values:
        """Return the values, or the column that holds them."""
        if isinstance(given, str | os.PathLike) and os.fspath(given).endswith(".npy"):
            given = _loaded(os.fspath(given))
        if isinstance(given, list | tuple) and len(given) == len(X):
            given = np.asarray(given)
        if isinstance(given, list | tuple):
            return [self._column(what, each, X) for each in given]
        if not isinstance(given, np.ndarray):
            return [self._column(what, given, X)]
        if given.ndim > 2 or len(given) != len(X):
            raise DataError(f"{self.path} has {len(X)} rows; {what} has {given.shape}.")
        return given

    def _column(self, what: str, given: Any, X: NDArray[Any]) -> int:
        """Return the position of a column."""
        try:
            column = int(given)
        except (TypeError, ValueError):
            raise DataError(
                f"{self.path} has no names of columns: {what} must be the number of a column, an "
                f"array or a NumPy file, got {given!r}."
            ) from None
        if not 1 <= abs(column) <= X.shape[1]:
            raise DataError(
                f"{self.path} has no column {column}: columns count from 1 to {X.shape[1]}, and "
                "-1 is the last."
            )
        return column - 1 if column > 0 else X.shape[1] + column
