"""Rows that are not in memory: the data sets, and the protocol that other sources follow.

A `Source` is a data set while a fit reads it: it yields `RowBatch` after `RowBatch`, several times.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .._sklearn import num_samples
from .ahead import read_ahead
from .batch import RowBatch, checked_batch
from .cache import TextCache, cache_message
from .columns import ColumnSelector, Layout, Options
from .errors import DataError, Hint, hints_for_datasets
from .file import DataFile
from .reader import Batch
from .tables import FragmentTable

NO_QUERIES = "a ranker needs the query of each row."
QUERIES = Hint("Say which column has them: {}.", "ids")


@runtime_checkable
class Dataset(Protocol):
    """Rows that can be read several times, in batches of bounded size.

    Any object with this method takes the place of X and y in `fit`.
    """

    def batches(self) -> Iterable[tuple[Any, ...]]:
        """Yield ``(X, y)``, ``(X, y, sample_weight)`` or ``(X, y, sample_weight, qid)``.

        Each call yields the same rows. Weights may be None.
        """
        ...


@dataclass(eq=False)
class Source:
    """A data set that is open for a fit.

    Attributes
    ----------
    read : callable
        Yields all rows.

    layout : Layout or None
        Where files have their features and their label.

    names : list of str or None
        The names of the features.

    spellings : list of str or None
        How text spells the classes.
    """

    read: Callable[[], Iterator[RowBatch]]
    layout: Layout | None = None
    names: list[str] | None = None
    spellings: list[str] | None = None


@dataclass(frozen=True)
class Stamp:
    """A file as it was when the data set was opened."""

    path: str
    size: int
    time: int

    @classmethod
    def of(cls, path: str) -> "Stamp":
        """Return the stamp of a file."""
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
                f"{self.path} changed between two readings: it had {self.size:,} bytes, and now "
                f"has {now.size:,}."
            )
        if now != self:
            raise DataError(f"{self.path} was written again between two readings.")


@dataclass(frozen=True)
class Progress:
    """How far a reading of all rows is.

    Attributes
    ----------
    reading : int
        The number of the reading, from 1.

    n_new : int
        The rows of the last batch.

    share : float
        The share of all rows that has been read, estimated in the first reading.

    n_bytes : int
        The size of all files.
    """

    reading: int
    n_new: int
    share: float
    n_bytes: int


class Counting(ABC):
    """What the data sets of `open_dataset` share: they count their readings and rows."""

    n_readings: int = 0
    n_rows: int = 0

    @abstractmethod
    def opened(
        self, *, regression: bool, labelled: bool = True, queries: bool = False
    ) -> AbstractContextManager[Source]:
        """Open the data set for several readings; without labels, targets are zero.

        With `queries`, batches have the queries of their rows.
        """

    def batches(self) -> Iterator[tuple[Any, NDArray[Any], NDArray[np.float64] | None]]:
        """Yield X, y and the weights (or None) of one batch after the other."""
        with self.opened(regression=False) as source:
            for batch in source.read():
                yield batch.X, batch.y, batch.weight

    def _counted(self, read: Callable[[], Iterator[RowBatch]]) -> Callable[[], Iterator[RowBatch]]:
        """Return a reading that takes note of itself."""
        self.n_readings = self.n_rows = 0

        def count() -> Iterator[RowBatch]:
            self.n_readings += 1
            n_rows = 0
            for batch in read():
                yield batch
                n_rows += batch.n_rows
            self.n_rows = n_rows

        return count


@dataclass(eq=False)
class FileDataset(Counting):
    """Rows in files, as `open_dataset` returns them.

    Attributes
    ----------
    paths : list of str
        The files, in the order in which they are read.

    options : Options
        What the user says about them.

    features : list of str or None
        The columns to use.

    dtype : str or None
        The precision of the rows.

    scaler : transformer or None
        Scales the rows. `fit` fits a copy of it while it surveys the rows.

    n_jobs : int or None
        Threads that parse LIBSVM text.

    say : callable or None
        Called with messages, for example about the size of a cache.

    on_batch : callable or None
        Called with a `Progress` after each batch.

    n_readings, n_rows : int
        Readings so far, and the number of rows that the last one found.

    layout : Layout or None
        Where the files have their columns, as the last fit found them.

    spellings : list of str or None
        How text spells the classes, as the last fit found them.
    """

    paths: list[str]
    options: Options = field(default_factory=Options)
    features: list[str] | None = None
    dtype: str | None = None
    scaler: Any = None
    n_jobs: int | None = -1
    say: Callable[[str], object] | None = None
    on_batch: Callable[[Progress], object] | None = None
    n_readings: int = field(default=0, init=False)
    n_rows: int = field(default=0, init=False)
    layout: Layout | None = field(default=None, init=False)
    spellings: list[str] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.stamps = [Stamp.of(path) for path in self.paths]
        self.formats = [self._format(path) for path in self.paths]
        kinds = {"libsvm" if form == "libsvm" else "table" for form in self.formats}
        if len(kinds) > 1:
            table = self.paths[next(k for k, f in enumerate(self.formats) if f != "libsvm")]
            text = self.paths[self.formats.index("libsvm")]
            raise DataError(f"{text} is LIBSVM text and {table} a table: use files of one kind.")
        if kinds == {"libsvm"} and self.options.ids is not None:
            raise DataError(
                f"{self.paths[0]} is LIBSVM text, which has the queries of its rows after their "
                "labels, as in 'qid:7'; it has no column of them."
            )

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(stamp.size for stamp in self.stamps)

    @contextmanager
    def opened(
        self, *, regression: bool, labelled: bool = True, queries: bool = False
    ) -> Iterator[Source]:
        """Open the files for several readings; text is parsed once, into a cache."""
        with hints_for_datasets(), self._source(regression, labelled, queries) as source:
            self.layout, self.spellings = source.layout, source.spellings
            if queries and self.options.ids is None and self.formats[0] != "libsvm":
                source.read = partial(_as_one_query, source.read)
            yield source

    @contextmanager
    def _source(self, regression: bool, labelled: bool, queries: bool) -> Iterator[Source]:
        if self.formats[0] == "libsvm":
            with TextCache(regression, self.dtype) as cache:
                cache.fill_svmlight(self._checked_paths(), self.n_jobs, queries=queries)
                self._announce(cache)
                yield Source(self._followed(cache.read), cache.layout, None, cache.spellings)
            return
        layout, options = self._layout(_options(self.options, labelled, queries))
        if set(self.formats) <= {"parquet"}:

            def read() -> Iterator[RowBatch]:
                return read_ahead(self._direct(self._tables(layout, options), regression))

            yield Source(self._followed(read), layout, layout.names)
            return
        with TextCache(regression, self.dtype) as cache:
            cache.fill(self._tables(layout, options))
            self._announce(cache)
            yield Source(self._followed(cache.read), layout, layout.names, cache.spellings)

    def _followed(self, read: Callable[[], Iterator[RowBatch]]) -> Callable[[], Iterator[RowBatch]]:
        sizes = np.cumsum([stamp.size for stamp in self.stamps]).tolist()
        ends = dict(zip(self.paths, sizes, strict=True))

        def follow() -> Iterator[RowBatch]:
            n_rows = 0
            for batch in read():
                yield batch
                n_rows += batch.n_rows
                if self.on_batch is not None:
                    share = ends[batch.place] / max(self.n_bytes, 1)
                    if self.n_rows:
                        share = n_rows / self.n_rows
                    self.on_batch(Progress(self.n_readings, batch.n_rows, share, self.n_bytes))

        return self._counted(follow)

    def _announce(self, cache: TextCache) -> None:
        if self.say is not None:
            self.say(cache_message(cache.n_bytes, self.n_bytes))

    def _checked_paths(self) -> list[str]:
        for stamp in self.stamps:
            stamp.check()
        return self.paths

    def _format(self, path: str) -> str:
        with DataFile(path, self.options) as file:
            return file.format

    def _layout(self, options: Options) -> tuple[Layout, Options]:
        """Return the layout of the first file, and the options that read it from all files."""
        plain = replace(options, ids=self.options.ids)
        drop = list(options.drop)
        if self.features is not None:
            with DataFile(self.paths[0], plain) as file:
                drop += others(self.paths[0], file.columns(), self.features, plain)
        with DataFile(self.paths[0], replace(plain, drop=drop)) as file:
            return file.layout(), replace(options, drop=drop)

    def _tables(self, layout: Layout, options: Options) -> Iterator[tuple[Batch, str]]:
        for stamp in self.stamps:
            stamp.check()
            with DataFile(stamp.path, options) as file:
                labels = layout.label is not None
                for batch in file.batches(layout, labels=labels, n_jobs=self.n_jobs):
                    yield batch, stamp.path
            stamp.check()

    def _direct(self, batches: Iterator[tuple[Batch, str]], regression: bool) -> Iterator[RowBatch]:
        for batch, path in batches:
            yield row_batch(batch, path, self.dtype, regression=regression)


def row_batch(batch: Batch, path: str, dtype: str | None, *, regression: bool) -> RowBatch:
    """Return a batch of a table, whose column has either texts or numbers as labels."""
    X = batch.X if dtype is None else batch.X.astype(dtype, copy=False)
    qid = None if batch.ids is None else np.array(batch.ids)
    if batch.labels is None:
        return RowBatch(X, np.zeros(X.shape[0]), batch.weights, path, qid)
    y = batch.labels.numbers() if regression else batch.labels.values
    if regression and y is None:
        raise DataError(f"{path}: the labels must be numbers for a regression or a ranking.")
    if y is None:
        y = np.array(batch.labels.names)
    y = y if regression else y[batch.labels.codes]
    return RowBatch(X, y, batch.weights, path, qid)


def _as_one_query(read: Callable[[], Iterator[RowBatch]]) -> Iterator[RowBatch]:
    """Yield rows that are all of one query."""
    for batch in read():
        yield replace(batch, qid=np.zeros(batch.n_rows, dtype=np.int8))


def _options(options: Options, labelled: bool, queries: bool) -> Options:
    """Return how the columns of a table are read: those of weights and queries are no features."""
    if queries and options.ids is None and not options.queries:
        raise DataError(NO_QUERIES, QUERIES)
    drop = [column for column in (options.weights, options.ids) if column is not None]
    return replace(
        options,
        drop=[*options.drop, *drop],
        ids=options.ids if queries else None,
        queries=queries,
        labelled=labelled,
    )


def others(path: str, names: list[str], features: Sequence[str], options: Options) -> list[str]:
    """Return the columns that are neither features nor label, weights or queries."""
    found = ColumnSelector(path, names, options)
    wanted = set(found._positions([str(column) for column in features]))
    chosen = frozenset(wanted)
    roles = {"label": options.label, "weight": options.weights, "query": options.ids}
    for role, given in roles.items():
        if given is None:
            continue
        (k,) = found._positions([given])
        if k in chosen:
            raise DataError(f"{path}: column {names[k]!r} is both feature and {role}.")
        wanted.add(k)
    if options.label is None:
        label, _ = found._find_label()
        wanted |= set() if label is None else {label}
    return [names[k] for k in range(len(names)) if k not in wanted]


@dataclass(eq=False)
class ArrowDataset(Counting):
    """A ``pyarrow.dataset.Dataset``."""

    dataset: Any
    options: Options = field(default_factory=Options)
    dtype: str | None = None
    scaler: Any = None

    @contextmanager
    def opened(
        self, *, regression: bool, labelled: bool = True, queries: bool = False
    ) -> Iterator[Source]:
        """Open the data set for several readings."""
        with hints_for_datasets():
            options = _options(self.options, labelled, queries)
            plain = replace(options, ids=self.options.ids)
            layout = FragmentTable("the data set", plain, self.dataset).layout()
            read = partial(self._read, layout, options, regression)
            yield Source(self._counted(lambda: read_ahead(read())), layout, layout.names)

    def _read(self, layout: Layout, options: Options, regression: bool) -> Iterator[RowBatch]:
        for fragment in self.dataset.get_fragments():
            name = getattr(fragment, "path", "") or "the data set"
            table = FragmentTable(name, options, fragment)
            for batch in table.batches(layout, labels=layout.label is not None):
                yield row_batch(batch, name, self.dtype, regression=regression)


@dataclass(eq=False)
class BatchesDataset:
    """An object of a user that follows the protocol."""

    dataset: Dataset

    @property
    def scaler(self) -> Any:
        """The scaler that the object asks for, if any."""
        return getattr(self.dataset, "scaler", None)

    @contextmanager
    def opened(
        self, *, regression: bool, labelled: bool = True, queries: bool = False
    ) -> Iterator[Source]:
        """Open the object for several readings."""
        source = Source(lambda: iter(()))

        def read() -> Iterator[RowBatch]:
            for number, batch in enumerate(self.dataset.batches(), 1):
                if not isinstance(batch, tuple) or len(batch) not in (2, 3, 4):
                    kind = type(batch).__name__
                    got = f"{len(batch)} values" if isinstance(batch, tuple) else kind
                    raise DataError(
                        f"batch {number}: batches() must yield (X, y), (X, y, sample_weight) or "
                        f"(X, y, sample_weight, qid), got {got}."
                    )
                X, y, weight, qid = (*batch, None, None)[:4]
                if queries and qid is None:
                    raise DataError(
                        f"batch {number}: {NO_QUERIES} batches() must yield (X, y, sample_weight, "
                        "qid), where the weights may be None."
                    )
                if y is None and labelled:
                    what = "relevance" if queries else "label or target"
                    raise DataError(f"batch {number}: y, the {what} of the rows, is missing.")
                y = np.zeros(num_samples(X)) if y is None else y
                if source.names is None and hasattr(X, "columns"):
                    source.names = [str(name) for name in X.columns]
                yield checked_batch(
                    X,
                    y,
                    weight,
                    f"batch {number}",
                    regression=regression,
                    qid=qid if queries else None,
                )

        source.read = read
        yield source
