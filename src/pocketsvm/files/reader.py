"""What a reader of one file format gives: one `Batch` of rows after the other.

`Labels` keeps labels as the file spells them: a code for each row, and the spelling of each code.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .columns import Layout, Options
from .errors import DataError

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LARGEST_EXACT = 2**53 - 1  # larger whole numbers may share one float64
NO, MAYBE, SURELY = range(3)  # how much a line is like a format
TEXT_BYTES = 8  # of memory that a fit takes for each byte of text


@dataclass(frozen=True)
class Labels:
    """The labels of some rows.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        The position of each row's label in `names`.

    names : list of str
        The labels that occur, as the file spells them.

    values : ndarray or None
        The numbers of the names, if the file has numbers.
    """

    codes: NDArray[np.intp]
    names: list[str]
    values: NDArray[Any] | None = None

    @classmethod
    def of_numbers(cls, y: NDArray[np.float64], spell: Callable[[float], str]) -> "Labels":
        """Return numeric labels, each distinct number spelled by a function."""
        values, codes = np.unique(y, return_inverse=True)
        return cls(codes, [spell(value) for value in values.tolist()])

    def numbers(self) -> NDArray[np.float64] | None:
        """Return the labels as numbers, or None if one of them is not a number."""
        if self.values is not None:
            return self.values.astype(np.float64)[self.codes]
        values = [number(name) for name in self.names]
        return None if None in values else np.array(values, dtype=np.float64)[self.codes]

    def checked_numbers(self, place: str) -> NDArray[np.float64]:
        """Return the labels as numbers; refuse those of this place if one is not a number."""
        numbers = self.numbers()
        if numbers is None:
            wrong = next(name for name in self.names if number(name) is None)
            raise DataError(
                f"{place}: the label {wrong!r} is not a number, which a regression and a ranking "
                "need."
            )
        return numbers

    def merged(self) -> "Labels":
        """Return the labels with one spelling, the first, for those that mean the same class.

        Spellings of one number, such as 1, +1 and 1.0, mean the same class, unless they differ in
        leading zeros: 01 and 1 are codes rather than numbers.
        """
        first: dict[str | float, str] = {}
        names = [first.setdefault(meaning(name), name) for name in self.names]
        positions = {name: k for k, name in enumerate(first.values())}
        codes = np.array([positions[name] for name in names], dtype=np.intp)
        return Labels(codes[self.codes], list(positions))

    def targets(self) -> tuple[NDArray[Any], list[str] | None]:
        """Return labels for a fit: numbers and how each class is spelled if all are, else texts.

        Spellings of the same number are one class, spelled as the first of them. If some of them
        differ in leading zeros, they are different classes, and all labels are texts.
        """
        numbers = self.numbers()
        if numbers is None or np.abs(numbers).max() > LARGEST_EXACT:
            return np.array(self.names)[self.codes], None
        labels = self.merged()
        values, first = np.unique(numbers, return_index=True)
        if len(values) < len(labels.names):
            return np.array(labels.names)[labels.codes], None
        return numbers, [labels.names[code] for code in labels.codes[first]]

    def first(self, wanted: Callable[[str], bool]) -> tuple[int, str] | None:
        """Return the row and the spelling of the first label for which `wanted` is true."""
        codes = [code for code, name in enumerate(self.names) if wanted(name)]
        rows = np.flatnonzero(np.isin(self.codes, codes))
        return (int(rows[0]), self.names[self.codes[rows[0]]]) if rows.size else None


def number(text: str) -> float | None:
    """Return the finite number that a text spells, or None if it spells none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def meaning(label: str) -> str | float:
    """Return the number that a label means, or its text if it has leading zeros or is no number."""
    value = None if re.match(r"[+-]?0[0-9]", label) else number(label)
    return label if value is None or abs(value) > LARGEST_EXACT else value


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray or CSR array
        The rows, float32 or float64; sparse rows come from LIBSVM text.

    labels : Labels or None
        Their labels; None if they were not asked for.

    weights : ndarray or None
        Their weights, if the options name a column of weights.

    ids : list of str or None
        Their names, if the options name a column of names, or their queries.

    targets : ndarray of shape (n_rows, n_targets) or None
        More targets, if the options name columns of them.
    """

    X: Any
    labels: Labels | None
    weights: NDArray[np.float64] | None = None
    ids: list[str] | None = None
    targets: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Opened:
    """An open file, of which a reader reads the rows.

    Attributes
    ----------
    name : str
        What messages call the file.

    options : Options
        What the user says about it.

    stream : stream
        Its content, decompressed.

    head : bytes
        The start of the content.

    is_cut : bool
        Whether the last line of the head may continue.

    stack : ExitStack
        Closes what the reader opens.
    """

    name: str
    options: Options
    stream: Any
    head: bytes
    is_cut: bool
    stack: ExitStack


class Reader(ABC):
    """Reads one open file of one format, once, from front to back.

    Attributes
    ----------
    magic : bytes
        The first bytes of all files of the format; empty if there are none.

    is_table : bool
        Whether files have columns with names or numbers; if so, the reader is an `ArrowTable`.

    is_parsed : bool
        Whether rows take long to read, so that a copy of them is kept.

    has_separator : bool
        Whether the user may say which character separates values.
    """

    magic: ClassVar[bytes] = b""
    is_table: ClassVar[bool] = True
    is_parsed: ClassVar[bool] = True
    has_separator: ClassVar[bool] = False

    @classmethod
    def likeness(cls, line: bytes) -> int:
        """Tell whether a line of text may be the first one: NO, MAYBE or SURELY."""
        return NO

    @classmethod
    def bytes_of_rows(cls, path: str, size: int) -> int:
        """Estimate the memory that a fit on all rows of a file takes."""
        return size * TEXT_BYTES

    @abstractmethod
    def batches(self, layout: Layout, labels: bool, n_jobs: int | None = None) -> Iterator[Batch]:
        """Yield the features of a model, and labels if they are wanted, in bounded batches."""
