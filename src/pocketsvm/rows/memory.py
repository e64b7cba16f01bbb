"""Rows in memory as a source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.columns import Layout
from .checked import CheckedRows
from .chunk import Chunk, Needs
from .queries import query_numbers
from .source import ChunkSource, Follower, Reading, Source, T
from .weights import non_negative

# Rows of a chunk of a memory map.
ROWS_AT_ONCE = 1 << 16


@dataclass(eq=False)
class InMemory(Source):
    """Checked arrays of a user.

    Attributes
    ----------
    rows : CheckedRows
        The rows.

    y : ndarray
        Labels or numbers.

    weight : array-like or None
        The weights of the rows.

    qid : array-like or None
        The queries of the rows.

    layout : Layout or None
        The columns of the rows.
    """

    scaling = "make_pipeline({}, ...)"
    rows: CheckedRows
    y: NDArray[Any]
    weight: Any = None
    qid: Any = None
    layout: Layout | None = None

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the features."""
        return None if self.layout is None else self.layout.names

    @property
    def is_map(self) -> bool:
        """Whether the rows are a file that is mapped into memory, and may be larger than it."""
        base = self.rows.X
        while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
            base = base.base
        return isinstance(base, np.memmap)

    def scan(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all chunks that have rows, in their order."""
        return self.in_chunks(Needs()).scan(reading, follow)

    def in_chunks(self, needs: Needs) -> ChunkSource:
        """Return the rows in chunks; queries are in one chunk, each of them in one piece."""
        n_rows, n_each = self.rows.n_rows, ROWS_AT_ONCE
        weight = non_negative(self.weight, self.rows)
        texts = () if self.layout is None else tuple(self.layout.texts)
        every = Chunk(self.rows.X, self.y, weight, "X", texts=texts)
        if needs.queries:
            numbers, n_each = query_numbers(self.qid, self.y), n_rows
            every = replace(every, qid=numbers if self.qid is None else np.ravel(self.qid))
            if np.count_nonzero(np.diff(numbers)) > numbers.max():  # more runs than queries
                every = every.take(np.argsort(numbers, kind="stable"))

        def read() -> Iterator[Chunk]:
            for begin in range(0, n_rows, n_each):
                yield every.take(slice(begin, begin + n_each))

        return ChunkSource(read, needs.ignored, self.layout)
