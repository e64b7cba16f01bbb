"""What a reader of one file format gives: a whole `Table`, or one `Batch` after the other."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .columns import Layout
from .labels import Labels


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray of float64 or CSR array of float32
        The rows; sparse rows come from LIBSVM text.

    labels : Labels or None
        Their labels; None if they were not asked for.
    """

    X: Any
    labels: Labels | None


@dataclass(frozen=True)
class Table:
    """A whole file.

    Attributes
    ----------
    X : ndarray of float64 or CSR array of float32
        The rows; sparse rows come from LIBSVM text.

    labels : Labels
        Their labels.

    layout : Layout
        Where the file has its features and its label.
    """

    X: Any
    labels: Labels
    layout: Layout


class Reader(Protocol):
    """Reads one open file of one format, once, from front to back."""

    def read(self, advance: Callable[[int], object]) -> Table:
        """Read all rows; call `advance` with the number of rows of each part."""

    def batches(self, layout: Layout, labels: bool) -> Iterator[Batch]:
        """Yield the features of a model, and labels if they are wanted, in bounded batches."""
