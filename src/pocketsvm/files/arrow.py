"""Tables that pyarrow reads: from its record batches to rows and labels, checked value by value."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from .columns import NAME_THE_LABEL, ColumnSelector, Layout, Options, Selection
from .dates import PARTS, names_of_parts, part_of
from .errors import DataError, Hint
from .memory import GIB, available_memory
from .reader import Batch, Labels, Reader

DROP = Hint("Columns that are not needed can be left out: {}.", "drop")
ENCODE = Hint("Categories are encoded with {}; 'text' stands for all columns of words.", "texts")
IMPUTE = Hint("Missing values are filled in with {}.", "missing")
TRAINED_WITHOUT = Hint("The model was trained without missing values.", "missing")
AS_PARTS = Hint("Dates are used as year, month, weekday and hour with {}.", "dates")
MISSING = "the value is missing."
MISSING_LABEL = "the label is missing. Leave out rows without a label."
# How a text says that a value is missing.
MISSING_WORDS = frozenset(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None"]
)
MISSING_LABELS = MISSING_WORDS - {"None"}  # a class may have this name


def check_table_memory(name: str, n_bytes: int) -> None:
    """Refuse a table of which a part that is read at once needs more memory than there is."""
    available = available_memory()
    if available is not None and n_bytes > available:
        raise DataError(
            f"{name} is too large: its rows take more than {n_bytes / GIB:,.1f} GiB of memory, and "
            f"{available / GIB:,.1f} GiB are there. Read fewer columns or rows."
        )


class ArrowTable(Reader):
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

    words : frozenset of int
        Positions of the columns that hold words.

    dates : frozenset of int
        Positions of the columns that hold dates.
    """

    names: list[str]
    has_names: bool
    n_skipped: int
    words: frozenset[int]
    dates: frozenset[int]

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options

    def tell_dates(self) -> None:
        """Tell which columns of text hold dates; they are no words."""

    @abstractmethod
    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches, which hold the features in their order and, last, the label."""

    def layout(self) -> Layout:
        """Return where the table has its features and its label, for a fit."""
        selector, sources = self._selector()
        if self.options.dates and not any(part for _, part in sources):
            raise DataError(f"{self.name} has no column of dates.")
        selection = selector.for_training(self.has_names)
        if selection.label is not None and sources[selection.label][1]:
            column = self.names[sources[selection.label][0]]
            raise DataError(
                f"{self.name}: the last column, {column!r}, holds dates, and is no label.",
                NAME_THE_LABEL,
            )
        return selection.layout(self.has_names)

    def batches(self, layout: Layout, labels: bool, n_jobs: int | None = None) -> Iterator[Batch]:
        """Yield batches with the features of a model."""
        selector, sources = self._selector(layout)
        selection = selector.for_model(layout, labels, self.has_names)
        return self._selected(selection.of_table(self.names, sources))

    def check_names(self, layout: Layout, first: str) -> None:
        """Refuse a table if it has names of columns and the first of several files has none.

        Without names, its columns could not be matched, so that the other way is refused, too.
        """
        if self.has_names and layout.names is None:
            raise DataError(
                f"{self.name} names its columns, such as {self.names[0]!r}, but {first} does not. "
                "Give all files a header, or none."
            )
        if not self.has_names and layout.names is not None:
            raise DataError(
                f"{self.name} has no names of columns, such as {layout.names[0]!r} in {first}. "
                "Give all files a header, or none."
            )

    def named_options(self) -> Options:
        """Return the options with the names of columns in place of their numbers."""
        self.tell_dates()
        return ColumnSelector(self.name, self.names, self.options, self.words).named_options()

    def all_names(self) -> list[str]:
        """Return the names of all columns, where parts stand for dates."""
        return self._selector()[0].names

    def _selector(
        self, layout: Layout | None = None
    ) -> tuple[ColumnSelector, list[tuple[int, str | None]]]:
        """Return what selects columns, of which parts of dates are some.

        The second value tells the position of each in the table, and which part it is.
        """
        if layout is None:
            self.tell_dates()
        options, needed = self.options, set((layout and layout.names) or ())
        if options.dates and not self.has_names:
            raise DataError(f"{self.name}: dates are used if columns have names: give it a header.")
        if options.dates:  # columns that are given by number are those of the table
            features = options.features
            selector = ColumnSelector(self.name, self.names, replace(options, features=None))
            options = replace(selector.named_options(), features=features)
        given = {options.label, options.weights, options.ids}
        given |= {*options.drop, *options.texts, *options.targets}
        names: list[str] = []
        sources: list[tuple[int, str | None]] = []
        features = None if options.features is None else list(options.features)
        for k, name in enumerate(self.names):
            parts = names_of_parts(name)
            is_wanted = options.dates and k in self.dates and name not in given | needed
            if not is_wanted and (name in needed or needed.isdisjoint(parts)):
                names.append(name)
                sources.append((k, None))
                continue
            names += parts
            sources += [(k, part) for part in PARTS]
            if features is not None and name in features:
                at = features.index(name)
                features[at : at + 1] = parts
        words = frozenset(j for j, (k, part) in enumerate(sources) if not part and k in self.words)
        return ColumnSelector(self.name, names, replace(options, features=features), words), sources

    def _selected(self, selection: Selection) -> Iterator[Batch]:
        n_before = self.n_skipped
        with arrow_errors(self.name):
            for batch in self.record_batches(selection):
                found = _arrays(self.name, batch, selection, n_before)
                if self.options.queries and found.ids is not None:
                    found = self._with_queries(found, found.ids, selection, n_before)
                yield found
                n_before += batch.num_rows

    def _with_queries(
        self, batch: Batch, ids: list[str], selection: Selection, n_before: int
    ) -> Batch:
        """Return a batch with the queries of its rows; refuse a row that has none."""
        assert selection.ids is not None
        ids = [query.strip() for query in ids]
        if not MISSING_LABELS.isdisjoint(ids):
            row = next(k for k, query in enumerate(ids) if query in MISSING_LABELS)
            at = place(self.name, n_before + row + 1, selection, selection.ids)
            raise DataError(f"{at}the query is missing.")
        return replace(batch, ids=ids)


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Make what pyarrow raises a `DataError` that names the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the system, not of pyarrow
            raise
        raise DataError(f"{name} is damaged or cannot be read: {error}") from error


def place(name: str, row: int, selection: Selection, k: int) -> str:
    """Return the start of a message about one value.

    Rows count from 1, and a header is the first; columns go by name, or by number from 1.
    """
    return f"{name}, row {row}, column {selection.names[k]!r}: "


def other_label(problem: str, selection: Selection, k: int) -> DataError:
    """Return the error of a column that is not a number, but perhaps the label, or text."""
    hints = [DROP]
    if selection.label_rule is not None:
        column = selection.names[k]
        hints = [Hint(ENCODE.advice, "texts", column), DROP]
    if selection.label is None:
        return DataError(problem, *hints)
    return DataError(
        f"{problem} The label is taken from column {selection.names[selection.label]!r}.",
        Hint("If it is in this one, use {}.", "label", selection.names[k]),
        *hints,
    )


def _missing(at: str, selection: Selection) -> DataError:
    """Return the error of a missing feature."""
    if selection.label_rule is not None:
        return DataError(at + MISSING, IMPUTE)
    return DataError(at + MISSING, TRAINED_WITHOUT)


def _arrays(name: str, batch: Any, selection: Selection, n_before: int) -> Batch:
    """Return a batch of pyarrow as arrays; a missing feature is NaN, if it is allowed."""
    n_columns = len(set(selection.features))
    X = _matrix(batch, selection)
    if X is None:
        X = _columns(name, batch, selection, n_before)
    last = iter(batch.columns[n_columns:])
    labels = weights = ids = targets = None
    if selection.label is not None:
        labels = _checked_labels(name, next(last), selection, n_before)
    if selection.weights is not None:
        weights = _numbers(next(last)).astype(np.float64, copy=False)
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if wrong.size:
            at = place(name, n_before + int(wrong[0]) + 1, selection, selection.weights)
            raise DataError(f"{at}a weight must be a number that is not negative.")
    if selection.ids is not None:
        ids = [text or "" for text in _strings(next(last)).to_pylist()]
    if selection.targets:
        targets = np.column_stack([_numbers(next(last)) for _ in selection.targets])
        bad = np.argwhere(~np.isfinite(targets))
        if bad.size:
            row, k = bad[0].tolist()
            at = place(name, n_before + row + 1, selection, selection.targets[k])
            raise DataError(f"{at}a target must be a finite number.")
    return Batch(X, labels, weights, ids, targets)


def _matrix(batch: Any, selection: Selection) -> Any:
    """Return the features of a batch at once if they are finite floats of one type, else None."""
    import pyarrow as pa

    n_features = len(selection.features)
    if selection.texts or selection.parts or selection.used[:n_features] != selection.features:
        return None
    features = batch.select(range(n_features))
    if set(features.schema.types) not in ({pa.float32()}, {pa.float64()}):
        return None
    if any(column.null_count for column in features.columns):
        return None
    X = features.to_tensor().to_numpy()
    is_good = np.isfinite(X).all() or (selection.missing and not np.isinf(X).any())
    return X if is_good else None


def _columns(name: str, batch: Any, selection: Selection, n_before: int) -> Any:
    """Return the features of a batch column by column; refuse values of no use by their place."""
    import pyarrow as pa

    n_features = len(selection.features)
    places = {k: place for place, k in enumerate(selection.used)}
    single = all(
        kind == pa.float32() for kind in batch.schema.types[: len(set(selection.features))]
    )
    kind = object if selection.texts else np.float32 if single else np.float64
    X = np.empty((batch.num_rows, n_features), dtype=kind)
    for j, k in enumerate(selection.features):
        column = batch.column(places[k])
        if j in selection.parts:
            values = part_of(column, selection.parts[j])
        else:
            values = _texts(column) if k in selection.texts else _numbers(column)
        is_missing = values != values
        if is_missing.any() and not selection.missing:
            row = int(np.flatnonzero(is_missing)[0])
            raise _missing(place(name, n_before + row + 1, selection, k), selection)
        if k not in selection.texts and (infinite := np.flatnonzero(np.isinf(values))).size:
            at = place(name, n_before + int(infinite[0]) + 1, selection, k)
            raise DataError(f"{at}{values[infinite[0]]} is not a finite number")
        X[:, j] = values
    return X


def _numbers(column: Any) -> Any:
    """Return a column of numbers or booleans as float64, or float32 if it is; NaN is missing."""
    import pyarrow as pa

    if column.type == pa.float32():
        return column.to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _strings(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):  # its texts may have a type that is not cast with it
        words = column.dictionary.cast(pa.string())
        column = pa.DictionaryArray.from_arrays(column.indices, words)
    return column.cast(pa.string())


def _texts(column: Any) -> Any:
    """Return a column as texts without surrounding blanks; NaN is missing."""
    encoded = _strings(column).dictionary_encode()
    known = [text.strip() for text in encoded.dictionary.to_pylist()]
    values = np.array(
        [*(np.nan if text in MISSING_WORDS else text for text in known), np.nan], object
    )
    codes = encoded.indices.fill_null(len(known)).to_numpy(zero_copy_only=False)
    return values[codes]


def _checked_labels(name: str, column: Any, selection: Selection, n_before: int) -> Labels:
    """Return the labels of a batch; each must be there, and on one line."""
    assert selection.label is not None
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(place(name, n_before + row + 1, selection, selection.label) + MISSING_LABEL)
    labels = _labels(column)
    if empty := labels.first(MISSING_LABELS.__contains__):
        at = place(name, n_before + empty[0] + 1, selection, selection.label)
        raise DataError(at + MISSING_LABEL)
    if broken := labels.first(lambda label: "\n" in label or "\r" in label):
        at = place(name, n_before + broken[0] + 1, selection, selection.label)
        raise DataError(f"{at}a label must be one line, got {broken[1]!r}")
    return labels


def _labels(column: Any) -> Labels:
    import pyarrow as pa

    kind = column.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    encoded = (column if is_number else _strings(column)).dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.intp)
    names = [label.strip() for label in encoded.dictionary.cast(pa.string()).to_pylist()]
    values = encoded.dictionary.to_numpy(zero_copy_only=False) if is_number else None
    return Labels(codes, names, values)
