"""Tables that pyarrow reads: from its record batches to rows and labels, checked value by value."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .columns import ColumnSelector, Layout, Options, Selection
from .errors import DataError, Hint
from .reader import Batch, Labels, Table

DROP = Hint("Columns that are not needed can be left out: {}.", "drop")
MISSING = "the value is missing; fill it in, or leave the row or the column out"


class ArrowTable(ABC):
    """A table with named or numbered columns.

    Parameters
    ----------
    name : str
        What messages call the file.

    options : Options
        What the user says about it.

    Attributes
    ----------
    names : list of str
        The columns' names, or their numbers from 1.

    has_names : bool
        Whether the file names its columns.

    n_skipped : int
        Rows before the first one that is data: messages count them.
    """

    names: list[str]
    has_names: bool
    n_skipped: int

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options

    @abstractmethod
    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches, which hold the features in their order and, last, the label."""

    def read(self, advance: Callable[[int], object]) -> Table:
        """Read all rows."""
        selection = self._selector().for_training(self.has_names)
        batches, labels = [], []
        for batch in self._selected(selection):
            batches.append(batch.X)
            if batch.labels is not None:
                labels.append(batch.labels)
            advance(len(batch.X))
        X = np.concatenate(batches or [np.empty((0, len(selection.features)))])
        layout = selection.layout(self.has_names)
        return Table(X, Labels.joined(labels), layout, selection.label_rule)

    def batches(self, layout: Layout, labels: bool) -> Iterator[Batch]:
        """Yield batches with the features of a model."""
        return self._selected(self._selector().for_model(layout, labels))

    def _selector(self) -> ColumnSelector:
        return ColumnSelector(self.name, self.names, self.options)

    def _selected(self, selection: Selection) -> Iterator[Batch]:
        n_before = self.n_skipped
        with arrow_errors(self.name):
            for batch in self.record_batches(selection):
                yield _arrays(self.name, batch, selection, n_before)
                n_before += batch.num_rows


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Make what pyarrow raises a `DataError` that names the file."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        raise DataError(f"{name} is damaged or cannot be read: {error}") from error


def place(name: str, row: int, selection: Selection, k: int) -> str:
    """Return the start of a message about one value.

    Rows count from 1, and a header is the first; columns go by name, or by number from 1.
    """
    return f"{name}, row {row}, column {selection.names[k]!r}: "


def other_label(problem: str, selection: Selection, k: int) -> DataError:
    """Return the error of a column that is not a feature, but perhaps the label."""
    if selection.label is None:
        return DataError(problem, DROP)
    return DataError(
        f"{problem} The label is taken from column {selection.names[selection.label]!r}.",
        Hint("If it is in this one, use {}.", "label", selection.names[k]),
        DROP,
    )


def _arrays(name: str, batch: Any, selection: Selection, n_before: int) -> Batch:
    """Return a batch of pyarrow as arrays; no value may be missing or infinite."""
    import pyarrow as pa

    for j, column in enumerate(batch.columns):
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            at = place(name, n_before + row + 1, selection, selection.used[j])
            raise DataError(at + MISSING)
    X = np.empty((batch.num_rows, len(selection.features)))
    for j in range(X.shape[1]):
        numbers = batch.column(j).cast(pa.float64(), safe=False)
        X[:, j] = numbers.to_numpy(zero_copy_only=False)
    if not np.isfinite(X).all():
        row, j = np.argwhere(~np.isfinite(X))[0].tolist()
        at = place(name, n_before + row + 1, selection, selection.features[j])
        raise DataError(f"{at}{X[row, j]} is not a finite number")
    if selection.label is None:
        return Batch(X, None)
    labels = _labels(batch.column(len(selection.features)))
    if empty := labels.first(lambda label: not label):
        raise DataError(place(name, n_before + empty[0] + 1, selection, selection.label) + MISSING)
    if broken := labels.first(lambda label: "\n" in label or "\r" in label):
        at = place(name, n_before + broken[0] + 1, selection, selection.label)
        raise DataError(f"{at}a label must be one line, got {broken[1]!r}")
    return Batch(X, labels)


def _labels(column: Any) -> Labels:
    import pyarrow as pa

    text = column.cast(pa.string()).dictionary_encode()
    codes = text.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    return Labels(codes, [label.strip() for label in text.dictionary.to_pylist()])
