"""Where rows are: a source scans them, one chunk after the other, as often as a fit needs.

A `Source` applies a `Reading` to every chunk and merges the results. The reading is a pure function
of a chunk, so that a source may be anything: files, partitions of a cluster, an object of a user.
`Scanner` is what a fit uses: it makes sure that every scan reads the same rows.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ..files.columns import Layout
from ..files.errors import DataError
from .chunk import MULTIPLIER, Chunk, joined

T = TypeVar("T")

NO_ROWS = "there are no rows of positive weight: the files, or batches(), gave none."
CHANGED = "the rows changed between two scans: "
# Results of chunks are merged when there are more: each merge copies the rows that were drawn.
MOST_PARTS = 16
# The checksum of a chunk with so many values takes longer than it takes to start a thread.
LARGE = 2**18


class Reading(Protocol[T]):
    """A function of chunks, whose results can be merged."""

    def __call__(self, chunk: Chunk, first: int, /) -> T:
        """Read a chunk, without the rows that have no weight, and with so many rows before it."""
        ...

    def merge(self, parts: Sequence[T], /) -> T:
        """Merge the results of chunks that follow each other."""
        ...


class Follower(Protocol):
    """Is told how far a scan is, so that it can be continued."""

    @property
    def before(self) -> tuple[Any, int]:
        """What the scan had found when it was interrupted, and in how many rows."""
        ...

    def __call__(self, part: Any, n_rows: int) -> None:
        """Take note of what has been found in the first rows."""
        ...


class Source(ABC):
    """Rows that can be scanned several times.

    Attributes
    ----------
    is_remote : bool
        Whether rows are somewhere else, so that few of them should travel.

    n_threads : int or None
        Threads for each chunk; None means those of the estimator.

    scaling : str
        How such rows are scaled by a scaler, which takes the place of the braces.
    """

    is_remote: bool = False
    scaling: ClassVar[str] = "scaler={}"
    n_threads: int | None = None

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the features."""
        return None

    @abstractmethod
    def scan(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all chunks that have rows, in their order."""

    def whole(self) -> Chunk | None:
        """Return all rows, if the source holds them in memory anyway."""
        return None

    def started(self, sizes: dict[int, int]) -> "Source":
        """Return the source after the first scan, which has counted the rows of its chunks."""
        return self


@dataclass(eq=False)
class ChunkSource(Source):
    """Chunks that are read in this process.

    Attributes
    ----------
    read : callable
        Yields all chunks.

    ignored : tuple
        Labels of classes without weight.

    layout : Layout or None
        The columns of the rows; None if they are not known yet.

    spellings : list of str or None
        How text spells the classes.

    is_small : bool
        Whether all rows may be in memory at once.
    """

    read: Callable[[], Iterator[Chunk]]
    ignored: tuple[Any, ...] = ()
    layout: Layout | None = None
    spellings: list[str] | None = None
    is_small: bool = False

    @property
    def names(self) -> Sequence[str] | None:
        """The names of the features."""
        return None if self.layout is None else self.layout.names

    def whole(self) -> Chunk | None:
        """Return all rows, if they may be in memory at once."""
        if not self.is_small:
            return None
        found = [chunk.counted(self.ignored) for chunk in self.read()]
        found = [chunk for chunk in found if chunk.n_rows]
        if not found:
            raise DataError(NO_ROWS)
        return joined(found)

    def scan(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all chunks that have rows, in their order."""
        parts: list[T] = []  # the first one is merged already
        n_done = n_rows = 0
        if follow is not None:
            before, n_done = follow.before
            parts += [before] * (before is not None)
        for chunk in self.read():
            chunk = chunk.counted(self.ignored)
            first = n_rows
            n_rows += chunk.n_rows
            if not chunk.n_rows or n_rows <= n_done:  # read before an interruption
                continue
            if first < n_done:
                raise DataError(
                    f"{chunk.place}: the batches are not those that the checkpoint has read. "
                    "Remove it to begin anew."
                )
            parts.append(reading(chunk, first))
            if len(parts) > MOST_PARTS or follow is not None:
                parts = [reading.merge(parts)]
            if follow is not None:
                follow(parts[0], n_rows)
        if not parts:
            raise DataError(NO_ROWS)
        return reading.merge(parts)


@dataclass(frozen=True)
class Trace:
    """What the chunks of a scan were: two scans of the same rows have the same trace.

    Attributes
    ----------
    n_rows : int
        The number of rows.

    n_chunks : int
        The number of chunks.

    cuts, content : int
        Checksums of the sizes of the chunks, and of all that they hold.
    """

    n_rows: int
    n_chunks: int
    cuts: int
    content: int

    @classmethod
    def of(cls, chunk: Chunk) -> "Trace":
        """Return the trace of one chunk."""
        return cls(chunk.n_rows, 1, chunk.n_rows, chunk.checksum())

    def then(self, other: "Trace") -> "Trace":
        """Return the trace of these chunks and of those that follow."""
        shift = pow(MULTIPLIER, other.n_chunks, 2**64)
        return Trace(
            self.n_rows + other.n_rows,
            self.n_chunks + other.n_chunks,
            (self.cuts * shift + other.cuts) % 2**64,
            (self.content * shift + other.content) % 2**64,
        )

    def check(self, first: "Trace") -> None:
        """Refuse rows that differ from those of the first scan."""
        if self.n_rows != first.n_rows:
            raise DataError(
                f"{CHANGED}the first one found {first.n_rows:,} rows with a weight, and another "
                f"one {self.n_rows:,}."
            )
        # Chunks of other sizes have other checksums, although the rows may be the same.
        if self.cuts == first.cuts and self.content != first.content:
            raise DataError(
                f"{CHANGED}their features, labels or weights are not the same. A fit reads the "
                "rows several times, and needs the same ones in the same order each time."
            )


@dataclass(frozen=True, eq=False)
class Traced(Generic[T]):
    """A reading that also traces the chunks: its results are pairs of a value and a trace."""

    reading: Reading[T]

    def __call__(self, chunk: Chunk, first: int) -> tuple[T, Trace]:
        """Read a chunk; a thread computes the checksum of a large one meanwhile."""
        if chunk.X.size < LARGE:
            return self.reading(chunk, first), Trace.of(chunk)
        trace: Future[Trace] = Future()
        thread = Thread(target=_resolve, args=(trace, chunk))
        thread.start()
        try:
            return self.reading(chunk, first), trace.result()
        finally:
            thread.join()

    def merge(self, parts: Sequence[tuple[T, Trace]]) -> tuple[T, Trace]:
        """Merge the values and the traces."""
        values, traces = zip(*parts, strict=True)
        trace = traces[0]
        for each in traces[1:]:
            trace = trace.then(each)
        return self.reading.merge(values), trace


def _resolve(trace: "Future[Trace]", chunk: Chunk) -> None:
    """Trace a chunk in a thread; the result or an error goes to the one who waits for it."""
    try:
        trace.set_result(Trace.of(chunk))
    except BaseException as error:
        trace.set_exception(error)


@dataclass(frozen=True, eq=False)
class Scanner:
    """Scans a source, and compares what it reads with the first scan.

    Attributes
    ----------
    source : Source
        Where the rows are.

    trace : Trace or None
        The trace of the first scan.

    wrap : callable or None
        Prepares chunks for a reading.
    """

    source: Source
    trace: Trace | None = None
    wrap: Callable[[Any], Any] | None = None

    def scan(self, reading: Reading[T]) -> T:
        """Merge what is read from all chunks."""
        wrapped: Reading[T] = reading if self.wrap is None else self.wrap(reading)
        try:
            value, trace = self.source.scan(Traced(wrapped))
        except DataError as error:
            if self.trace is None or str(error) != NO_ROWS:
                raise
            raise DataError(f"{CHANGED}another one found no rows.") from error
        if self.trace is not None:
            trace.check(self.trace)
        return value

    def first(self, reading: Reading[T]) -> tuple[T, "Scanner"]:
        """Make the first scan; return the scanner of all others, too."""
        value, trace = self.source.scan(Traced(reading))
        return value, replace(self, trace=trace)
