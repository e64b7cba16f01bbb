"""Data sets: rows on disk, and rows of any object that gives them in batches.

A data set is opened for a fit, and then is a `Source`, which is read as often as the fit needs.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._sklearn import num_samples
from ..files.columns import Layout, Options
from ..files.compression import SUFFIXES
from ..files.errors import DataError, Hint, hints_for_datasets
from ..files.file import DataFile
from ..files.reader import Batch, Reader
from ..files.remote import RemotePath, is_url
from ..files.tables import ArrowStream, FragmentTable, is_frame, is_stream
from .ahead import read_ahead
from .cache import TextCache, cache_message
from .chunk import Chunk, Needs, checked_chunk
from .columns import layout_of
from .preparation import Preparing
from .source import ChunkSource

# Bytes of text for each byte of a compressed file.
EXPANSION = 5
# Characters of a name that a data set shows of itself.
MOST_SHOWN = 120
NO_QUERIES = "a ranker needs the query of each row."
QUERIES = Hint("Say which column has them: {}.", "ids")


@runtime_checkable
class Batches(Protocol):
    """Rows that can be read several times, in batches of bounded size.

    Any object with this method takes the place of X and y in `fit`. It may have the attributes
    ``scaler``, ``impute`` and ``one_hot``, which mean what they mean in `open_dataset`.
    """

    def batches(self) -> Iterable[tuple[Any, ...]]:
        """Yield ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, qid)``.

        Each call yields the same rows. Weights may be None.
        """
        ...


@dataclass(frozen=True)
class Stamp:
    """A file as it was when the data set was opened."""

    path: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str) -> "Stamp":
        """Return the stamp of a file."""
        if is_url(path):
            info = RemotePath.of(path).info()
            return cls(path, info.size, info.mtime_ns or 0)
        found = os.stat(path)
        return cls(path, found.st_size, found.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that has changed."""
        try:
            now = Stamp.of(self.path)
        except FileNotFoundError:
            raise DataError(
                f"{self.path} is no longer there: a fit reads the rows several times."
            ) from None
        if now.size != self.size:
            raise DataError(
                f"{self.path} changed between two scans: it had {self.size:,} bytes, and now "
                f"has {now.size:,}."
            )
        if now != self:
            raise DataError(f"{self.path} was written again between two scans.")


@dataclass(frozen=True)
class Progress:
    """How far a scan of all rows is.

    Attributes
    ----------
    reading : int
        The number of the scan, from 1; 0 while text is parsed.

    n_new : int
        The rows of the last batch.

    share : float
        The share of all rows that has been read, estimated in the first scan.

    n_bytes : int
        The size of all files.
    """

    reading: int
    n_new: int
    share: float
    n_bytes: int


class Dataset(ABC):
    """What all data sets share: they count their scans and rows.

    Attributes
    ----------
    name : str
        What messages call the data set.

    preparing : Preparing
        What is done to rows before the kernel sees them.

    say : callable or None
        Called with messages, for example about a sample.
    """

    name: str
    preparing: Preparing
    say: Callable[[str], object] | None = None
    n_scans: int = 0
    n_rows: int = 0

    @property
    def columns(self) -> list[str] | None:
        """The names of the features; None if they have none, or are not known before a fit."""
        layout = self._seen()
        return None if layout is None else layout.names

    @abstractmethod
    def opened(
        self, needs: Needs, like: Layout | None = None
    ) -> AbstractContextManager[ChunkSource]:
        """Open the data set for several scans; a fitted model has features `like` these."""

    def _seen(self) -> Layout | None:
        """Return the columns, as far as they are known before a fit."""
        return None

    def __repr__(self) -> str:
        try:
            layout = self._seen()
        except (DataError, OSError):  # of a file that is gone, or has no unique label
            layout = None
        size = "" if layout is None else f", {layout.n_features} features"
        name = self.name if len(self.name) <= MOST_SHOWN else f"...{self.name[-MOST_SHOWN:]}"
        return f"<{type(self).__name__}: {name}{size}>"

    def batches(self) -> Iterator[tuple[Any, NDArray[Any], NDArray[np.float64] | None]]:
        """Yield X, y and the weights (or None) of one batch after the other."""
        with self.opened(Needs(many=True)) as source:
            for chunk in source.read():
                yield chunk.X, chunk.y, chunk.weight

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "A data set is not an array: only estimators of pocketsvm take it. To scale its rows, "
            "pass open_dataset(..., scaler=StandardScaler()) in place of a pipeline. A fitted "
            "pipeline takes X of each batch that the method batches() yields."
        )

    def _counted(self, read: Callable[[], Iterator[Chunk]]) -> Callable[[], Iterator[Chunk]]:
        """Return a scan that takes note of itself."""
        self.n_scans = self.n_rows = 0

        def count() -> Iterator[Chunk]:
            self.n_scans += 1
            n_rows = 0
            for chunk in read():
                yield chunk
                n_rows += chunk.n_rows
            self.n_rows = n_rows

        return count


@dataclass(eq=False, repr=False)
class FileDataset(Dataset):
    """Rows in files, as `open_dataset` returns them.

    Attributes
    ----------
    paths : list of str
        The files, in the order in which they are read.

    options : Options
        What the user says about them; columns go by their names in the first file.

    dtype : str or None
        The precision of the rows.

    preparing : Preparing
        What is done to rows before the kernel sees them.

    n_jobs : int or None
        Threads that parse LIBSVM text.

    memory : int
        Bytes of memory that the rows may take: if they take no more, all are read at once.

    say : callable or None
        Called with messages, for example about the size of a cache.

    on_batch : callable or None
        Called with a `Progress` after each batch.

    n_scans, n_rows : int
        Scans so far, and the number of rows that the last one found.

    layout : Layout or None
        Where the files have their columns, as the last fit found them.

    spellings : list of str or None
        How text spells the classes, as the last fit found them.
    """

    paths: list[str]
    options: Options = field(default_factory=Options)
    dtype: str | None = None
    preparing: Preparing = field(default_factory=Preparing)
    n_jobs: int | None = -1
    memory: int = 0
    say: Callable[[str], object] | None = None
    on_batch: Callable[[Progress], object] | None = None
    n_scans: int = field(default=0, init=False)
    n_rows: int = field(default=0, init=False)
    layout: Layout | None = field(default=None, init=False)
    spellings: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.stamps = [Stamp.of(path) for path in self.paths]
        self.kinds = [self._kind(path) for path in self.paths]
        are_tables = [kind.is_table for kind in self.kinds]
        if len(set(are_tables)) > 1:
            table, text = (self.paths[are_tables.index(wanted)] for wanted in (True, False))
            raise DataError(f"{text} is LIBSVM text and {table} a table: use files of one kind.")
        first, n_others = self.paths[0], len(self.paths) - 1
        self.name = first + (f" and {n_others} more" if n_others else "")
        if self.is_table:
            with DataFile(first, prepared_options(self.options, self.preparing)) as file:
                self.options = training_options(file.table.named_options(), file.table.all_names())
        elif self.options.ids is not None:
            raise DataError(
                f"{first} is LIBSVM text, which has the queries of its rows after their "
                "labels, as in 'qid:7'; it has no column of them."
            )
        elif self.preparing.texts or self.preparing.impute is not None:
            raise DataError(f"{first} is LIBSVM text; impute and one_hot are for tables.")

    @property
    def is_table(self) -> bool:
        """Whether the files have columns; LIBSVM text has none."""
        return self.kinds[0].is_table

    def _seen(self) -> Layout | None:
        if not self.is_table:
            return self.layout
        with hints_for_datasets(), DataFile(self.paths[0], self.options) as file:
            return file.layout()

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(stamp.size for stamp in self.stamps)

    def n_bytes_of_rows(self) -> int:
        """Estimate the memory of a fit on all rows at once."""
        return sum(map(self._needed, self.stamps, self.kinds))

    def _needed(self, stamp: Stamp, kind: type[Reader]) -> int:
        if stamp.path.endswith(SUFFIXES):  # nothing is known about what is in it
            return Reader.bytes_of_rows(stamp.path, stamp.size * EXPANSION)
        return kind.bytes_of_rows(stamp.path, stamp.size)

    @contextmanager
    def opened(self, needs: Needs, like: Layout | None = None) -> Iterator[ChunkSource]:
        """Open the files for several scans; text is parsed once, into a cache."""
        with hints_for_datasets(), self._source(needs, like) as source:
            self.layout, self.spellings = source.layout, source.spellings
            yield source

    @contextmanager
    def _source(self, needs: Needs, like: Layout | None) -> Iterator[ChunkSource]:
        ignored, small = needs.ignored, self.n_bytes_of_rows() <= self.memory
        # LIBSVM text needs no column of queries.
        options = replace(self.options, queries=not self.is_table or self.options.queries)
        options, layout = read_options(options, needs, like), like
        if self.is_table and layout is None:
            layout = self._layout(needs)
        if layout is not None and not any(kind.is_parsed for kind in self.kinds):
            once = partial(self._chunks, layout, options, needs)
            read = self._followed(lambda: read_ahead(once()))
            yield ChunkSource(read, ignored, layout, None, small)
            return
        texts = () if layout is None else layout.texts
        memory = self.memory if small else 0

        def follow(n_rows: int, place: str) -> None:
            self._tell(0, n_rows, self._ends[place])

        with TextCache(needs, self.dtype, texts, memory=memory, on_batch=follow) as cache:
            if layout is None:
                cache.fill_svmlight(self._checked_paths(), self.n_jobs)
            else:
                cache.fill(self._tables(layout, options, needs.labelled))
            if self.say is not None and not cache.in_memory:
                self.say(cache_message(cache.n_bytes, self.n_bytes))
            read = self._followed(cache.read)
            layout = layout or cache.layout
            yield ChunkSource(read, ignored, layout, cache.spellings, cache.in_memory)

    def _layout(self, needs: Needs) -> Layout:
        """Return the layout of the first file for a fit."""
        with DataFile(self.paths[0], replace(self.options, labelled=needs.labelled)) as file:
            return file.layout()

    def _chunks(self, layout: Layout, options: Options, needs: Needs) -> Iterator[Chunk]:
        for batch, path in self._tables(layout, options, needs.labelled):
            yield table_chunk(batch, path, self.dtype, needs, layout)

    def _followed(self, read: Callable[[], Iterator[Chunk]]) -> Callable[[], Iterator[Chunk]]:
        def follow() -> Iterator[Chunk]:
            n_rows = 0
            for batch in read():
                yield batch
                n_rows += batch.n_rows
                share = n_rows / self.n_rows if self.n_rows else self._ends[batch.place]
                self._tell(self.n_scans, batch.n_rows, share)

        return self._counted(follow)

    @property
    def _ends(self) -> dict[str, float]:
        """The share of all bytes that are read when a file ends."""
        ends = np.cumsum([stamp.size for stamp in self.stamps]) / max(self.n_bytes, 1)
        return dict(zip(self.paths, ends.tolist(), strict=True))

    def _tell(self, reading: int, n_new: int, share: float) -> None:
        if self.on_batch is not None:
            self.on_batch(Progress(reading, n_new, share, self.n_bytes))

    def _checked_paths(self) -> list[str]:
        for stamp in self.stamps:
            stamp.check()
        return self.paths

    def _kind(self, path: str) -> type[Reader]:
        with DataFile(path, self.options) as file:
            return file.kind

    def _tables(
        self, layout: Layout, options: Options, labels: bool
    ) -> Iterator[tuple[Batch, str]]:
        for stamp in self.stamps:
            stamp.check()
            with DataFile(stamp.path, options) as file:
                if options.known is not None:
                    file.table.check_names(layout, self.paths[0])
                for batch in file.batches(layout, labels=labels, n_jobs=self.n_jobs):
                    yield batch, stamp.path
            stamp.check()


def table_chunk(batch: Batch, path: str, dtype: str | None, needs: Needs, layout: Layout) -> Chunk:
    """Return a batch of a table, whose label is a column of texts or of numbers."""
    X, texts = batch.X, tuple(layout.texts)
    if dtype is not None and not texts:
        X = X.astype(dtype, copy=False)
    qid = None
    if needs.queries:  # without a column of queries, all rows are of one query
        one = np.zeros(X.shape[0], dtype=np.int8)
        qid = one if batch.ids is None else np.array(batch.ids)
    if batch.labels is None:
        return Chunk(X, np.zeros(X.shape[0]), batch.weights, path, qid, texts)
    labels = batch.labels
    if needs.numbers or batch.targets is not None:
        y = labels.checked_numbers(path)
    else:
        y = np.array(labels.names) if labels.values is None else labels.values
        y = y[labels.codes]
    y = y if batch.targets is None else np.column_stack([y, batch.targets])
    return Chunk(X, y, batch.weights, path, qid, texts)


def prepared_options(options: Options, preparing: Preparing) -> Options:
    """Return the options of tables whose rows are prepared."""
    missing = options.missing or preparing.impute is not None
    return replace(options, texts=preparing.texts or options.texts, missing=missing)


def training_options(options: Options, columns: Sequence[str]) -> Options:
    """Return the options of all training files, of which the first one has these columns."""
    return replace(options, known=() if options.features is not None else columns)


def read_options(options: Options, needs: Needs, like: Layout | None) -> Options:
    """Return the options with which a fit, or a fitted model, reads tables."""
    if needs.queries and options.ids is None and not options.queries:
        raise DataError(NO_QUERIES, QUERIES)
    if options.targets and needs.labelled and not needs.many:
        raise DataError("label names several targets, which only BudgetedSVR takes.")
    return replace(
        options,
        ids=options.ids if needs.queries else None,
        queries=needs.queries,
        labelled=needs.labelled or like is not None,  # a label may be there, but not be wanted
        targets=options.targets if needs.labelled else (),
        known=options.known if like is None else None,
    )


@dataclass(eq=False, repr=False)
class ArrowDataset(Dataset):
    """A ``pyarrow.dataset.Dataset``, or an object that gives its rows as a stream of Arrow."""

    dataset: Any
    options: Options = field(default_factory=Options)
    dtype: str | None = None
    preparing: Preparing = field(default_factory=Preparing)

    @staticmethod
    def takes(X: Any) -> bool:
        """Whether an object is one of pyarrow's data sets, or a stream that is not in memory."""
        is_dataset = type(X).__module__.startswith("pyarrow.") and hasattr(X, "get_fragments")
        return is_dataset or (is_stream(X) and not is_frame(X))

    def __post_init__(self) -> None:
        if is_stream(self.dataset):
            self.dataset = ArrowStream(self.dataset)
        self.name = getattr(self.dataset, "name", "the data set")
        table = self._table(prepared_options(self.options, self.preparing))
        self.options = training_options(table.named_options(), table.all_names())

    def _table(self, options: Options) -> FragmentTable:
        return FragmentTable(self.name, options, self.dataset)

    def _seen(self) -> Layout:
        with hints_for_datasets():
            return self._table(self.options).layout()

    @contextmanager
    def opened(self, needs: Needs, like: Layout | None = None) -> Iterator[ChunkSource]:
        """Open the data set for several scans."""
        with hints_for_datasets():
            options = read_options(self.options, needs, like)
            layout = like or self._table(replace(self.options, labelled=needs.labelled)).layout()
            read = self._counted(lambda: read_ahead(self._read(layout, options, needs)))
            yield ChunkSource(read, needs.ignored, layout)

    def _read(self, layout: Layout, options: Options, needs: Needs) -> Iterator[Chunk]:
        for fragment in self.dataset.get_fragments():
            name = getattr(fragment, "path", "") or self.name
            table = FragmentTable(name, options, fragment)
            for batch in table.batches(layout, labels=needs.labelled):
                yield table_chunk(batch, name, self.dtype, needs, layout)


@dataclass(eq=False, repr=False)
class BatchesDataset(Dataset):
    """An object of a user that follows the protocol."""

    dataset: Batches

    @staticmethod
    def takes(X: Any) -> bool:
        """Whether an object follows the protocol."""
        return callable(getattr(X, "batches", None))

    def __post_init__(self) -> None:
        self.name = type(self.dataset).__name__

    @property
    def preparing(self) -> Preparing:  # type: ignore[override]
        """What the object asks for, if anything."""
        scaler, impute, one_hot = (
            getattr(self.dataset, name, None) for name in ("scaler", "impute", "one_hot")
        )
        return Preparing(scaler, impute, one_hot)

    @contextmanager
    def opened(self, needs: Needs, like: Layout | None = None) -> Iterator[ChunkSource]:
        """Open the object for several scans; its first rows show the columns."""
        source = ChunkSource(lambda: self._read(source, needs), needs.ignored, like)
        yield source

    def _read(self, source: ChunkSource, needs: Needs) -> Iterator[Chunk]:
        for number, batch in enumerate(self.dataset.batches(), 1):
            place = f"batch {number}"
            if not isinstance(batch, tuple) or len(batch) not in (2, 3, 4):
                kind = type(batch).__name__
                got = f"{len(batch)} values" if isinstance(batch, tuple) else kind
                raise DataError(
                    f"{place}: batches() must yield (X, y), (X, y, sample_weight) or "
                    f"(X, y, sample_weight, qid), got {got}."
                )
            X, y, weight, qid = (*batch, None, None)[:4]
            if needs.queries and qid is None:
                raise DataError(
                    f"{place}: {NO_QUERIES} batches() must yield (X, y, sample_weight, qid), "
                    "where the weights may be None."
                )
            if y is None and needs.labelled:
                what = "relevance" if needs.queries else "label or target"
                raise DataError(f"{place}: y, the {what} of the rows, is missing.")
            n_rows = num_samples(X)
            if source.layout is None and n_rows:
                preparing = self.preparing
                missing = preparing.impute is not None
                source.layout = layout_of(X, preparing.texts, missing=missing, place=place)
            y = np.zeros(n_rows) if y is None else y
            yield checked_chunk(X, y, weight, place, needs, source.layout, qid=qid)
