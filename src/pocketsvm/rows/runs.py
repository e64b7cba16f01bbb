"""Runs: rows of a query that follow each other, in chunks that hold whole runs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from .chunk import Chunk, joined
from .source import ChunkSource, Follower, Reading, Source

T = TypeVar("T")

# A run of more rows than this is cut, because a chunk must fit into memory.
MOST_ROWS = 1 << 20


@dataclass(eq=False)
class Runs(Source):
    """The rows of a source in chunks that are cut at the ends of runs.

    Attributes
    ----------
    source : ChunkSource
        The rows.

    n_paired : int
        The number of rows in runs with a pair, after a scan.

    are_whole : bool
        Whether each query is one run, after a scan.
    """

    source: ChunkSource
    n_paired: int = field(default=0, init=False)
    are_whole: bool = field(default=True, init=False)

    def scan(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all chunks, in their order."""
        ignored = self.source.ignored
        return ChunkSource(lambda: self._chunks(), ignored).scan(reading, follow)

    def _chunks(self) -> Iterator[Chunk]:
        held: list[Chunk] = []  # of the last run, which may continue
        names: list[NDArray[Any]] = []
        self.n_paired, self.are_whole = 0, True
        for chunk in self.source.read():
            chunk = chunk.counted(self.source.ignored)
            if not chunk.n_rows:
                continue
            cut = _begins(chunk)[-1]
            if held and cut == 0 and _last_query(held) == _query(chunk, 0):
                held.append(chunk)
                if sum(each.n_rows for each in held) <= MOST_ROWS:
                    continue
                self.are_whole, cut = False, chunk.n_rows
                held, chunk = held[:-1], held[-1]
            ready = [each for each in (*held, chunk.take(slice(0, cut))) if each.n_rows]
            held = [chunk.take(slice(cut, None))] if cut < chunk.n_rows else []
            if ready:
                names.append(self._noted(whole := joined(ready)))
                yield whole
        if held:
            names.append(self._noted(whole := joined(held)))
            yield whole
        found = np.concatenate(names) if names else np.empty(0)
        self.are_whole &= len(np.unique(found)) == len(found)

    def _noted(self, chunk: Chunk) -> NDArray[Any]:
        """Count the rows in runs with a pair; return the query of each run."""
        begins = _begins(chunk)
        least = np.minimum.reduceat(chunk.y, begins)
        has_pair = least < np.maximum.reduceat(chunk.y, begins)
        self.n_paired += int(np.diff(np.append(begins, chunk.n_rows))[has_pair].sum())
        assert chunk.qid is not None
        return chunk.qid[begins]


def _query(chunk: Chunk, row: int) -> Any:
    """Return the query of a row."""
    assert chunk.qid is not None
    return chunk.qid[row]


def _last_query(chunks: Sequence[Chunk]) -> Any:
    return _query(chunks[-1], -1)


def _begins(chunk: Chunk) -> NDArray[np.intp]:
    """Return the first row of each run."""
    assert chunk.qid is not None
    return np.flatnonzero(np.append(True, chunk.qid[1:] != chunk.qid[:-1]))


@dataclass(frozen=True, eq=False)
class ByRelevance(Generic[T]):
    """A scan of runs that are sorted by relevance; runs without a pair are left out."""

    reading: Reading[T]

    def __call__(self, chunk: Chunk, first: int) -> T | None:
        """Read a chunk; None if no run has a pair."""
        assert chunk.qid is not None
        begins = _begins(chunk)
        sizes = np.diff(np.append(begins, chunk.n_rows))
        order = np.lexsort((chunk.y, np.repeat(np.arange(len(begins)), sizes)))
        y = chunk.y[order]
        has_pair = np.repeat(y[begins] < y[begins + sizes - 1], sizes)
        return self.reading(chunk.take(order[has_pair]), first) if has_pair.any() else None

    def merge(self, parts: Sequence[T | None]) -> T | None:
        """Merge the results of chunks that have pairs."""
        found = [part for part in parts if part is not None]
        return self.reading.merge(found) if found else None
