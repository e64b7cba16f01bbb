"""Parquet: tables in columns, read by pyarrow, a few pages of each column at a time.

A file that pandas wrote may hold the index of the data frame in columns of its own. They are
not data, and are left out unless the user or the model names them.
"""

import json
import re
import shutil
import tempfile
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from .._cached import cached_property
from .arrow import AS_PARTS, DROP, ArrowTable, arrow_errors, check_table_memory, other_label
from .columns import Layout, Selection
from .compression import is_seekable
from .dates import are_dates, no_date
from .errors import DataError
from .reader import Batch, Opened
from .remote import open_binary

BATCH_VALUES = 1 << 21  # numbers per batch: 16 MB
# Bytes of memory that a fit takes for each value and each row.
VALUE_BYTES = ROW_BYTES = 24
MAX_QUOTED = 40  # characters of a wrong value that a message shows
BUFFER_BYTES = 1 << 20  # bytes of a column read at once: each column has a buffer of this size


# Rows that tell whether a column of text holds dates.
HEAD_ROWS = 100


class TypedTable(ArrowTable):
    """A table that knows the types of its columns.

    Attributes
    ----------
    fields : list of pyarrow.Field
        The columns.
    """

    fields: list[Any]

    @abstractmethod
    def head(self, keys: list[str]) -> Any:
        """Return the first rows of some columns, as a batch of pyarrow; None if there are none."""

    def tell_kinds(self) -> None:
        """Tell which columns hold words and dates, by their types."""
        self.words = frozenset(k for k, field in enumerate(self.fields) if is_text(field.type))
        self.dates = frozenset(k for k, field in enumerate(self.fields) if is_date(field.type))

    def tell_dates(self) -> None:
        """Tell which columns of text hold dates; they are no words."""
        dates = self.spelt_dates
        self.words, self.dates = self.words - dates, self.dates | dates

    @cached_property
    def spelt_dates(self) -> frozenset[int]:
        """The columns of text whose first values look like dates."""
        names = [field.name for field in self.fields]
        texts = [
            k for k, f in enumerate(self.fields) if is_text(f.type) and names.count(f.name) < 2
        ]
        first = self.head([names[k] for k in texts]) if texts else None
        if first is None:
            return frozenset()
        with arrow_errors(self.name):  # a text may not be UTF-8
            columns = {k: first.column(names[k]).to_pylist()[:HEAD_ROWS] for k in texts}
        return frozenset(
            k
            for k, column in columns.items()
            if are_dates([text for text in column if text is not None])
        )

    def ready(self, batch: Any, keys: list[str], selection: Selection) -> Any:
        """Return a batch with the columns in order, where texts that are used as dates are read."""
        import pyarrow as pa

        columns = []
        for key, k in zip(keys, selection.used, strict=True):
            column = batch.column(key)
            if k in selection.dates and is_text(column.type):
                try:
                    column = column.cast(pa.string()).cast(pa.timestamp("us"))
                except pa.ArrowInvalid as error:
                    wrong = re.search("'(.*)'", str(error))
                    quoted = repr(wrong[1][:MAX_QUOTED]) if wrong else "a text"
                    at = f"{self.name}, column {key!r}: {quoted}"
                    is_training = selection.label_rule is not None
                    raise no_date(at, key, is_training=is_training) from None
            columns.append(column)
        return pa.record_batch(columns, names=keys)


class ParquetTable(TypedTable):
    """A Parquet file, which names its columns and knows their types.

    Parameters
    ----------
    file : Opened
        The file.
    """

    magic = b"PAR1"
    is_parsed = False
    has_names = True
    n_skipped = 0

    def __init__(self, file: Opened) -> None:
        import pyarrow.parquet as parquet

        super().__init__(file.name, file.options)
        stream, options = file.stream, file.options
        if not is_seekable(stream):  # Parquet is read from its end
            copy = file.stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(stream, copy)
            stream = copy
        with arrow_errors(self.name):
            self.file = parquet.ParquetFile(
                stream,
                page_checksum_verification=True,
                pre_buffer=False,  # a pre-buffered row group would be in memory as a whole
                buffer_size=BUFFER_BYTES,
            )
            self.schema = self.file.schema_arrow
        self._check_chunks()
        named = {options.label, options.weights, options.ids, *options.drop, *options.texts}
        self._select_data({*named, *options.targets, *(options.features or ())})

    @classmethod
    def bytes_of_rows(cls, path: str, size: int) -> int:
        """Estimate the memory of a fit; the metadata of the file has the number of values."""
        import pyarrow.parquet as parquet

        with open_binary(path) as file:
            found = parquet.read_metadata(file)
        return int(found.num_rows * (found.num_columns * VALUE_BYTES + ROW_BYTES))

    def _check_chunks(self) -> None:
        """Refuse a row group with a column that is larger than the memory, as it is read whole."""
        found = self.file.metadata
        for k in range(found.num_row_groups):
            group = found.row_group(k)
            largest = max(group.column(j).total_uncompressed_size for j in range(group.num_columns))
            check_table_memory(self.name, largest)

    def batches(self, layout: Layout, labels: bool, n_jobs: int | None = None) -> Iterator[Batch]:
        """Yield batches with the features of a model, which may be in the index of this file."""
        options = self.options
        named = {options.label, options.weights, options.ids, layout.label}
        self._select_data({*named, *options.targets, *options.drop, *(layout.names or ())})
        return super().batches(layout, labels)

    def _select_data(self, named: set[str | int | None]) -> None:
        """Leave out the columns of a pandas index that nobody names."""
        left_out = index_columns(self.schema.metadata) - named
        self.fields = [field for field in self.schema if field.name not in left_out]
        self.names = [field.name for field in self.fields]
        self.tell_kinds()
        if not self.names:
            raise DataError(f"{self.name} has no columns{' beside an index' if left_out else ''}.")

    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches, of numbers and, for the label, numbers or text."""
        keys = checked_names(self, selection)
        batch_size = max(BATCH_VALUES // len(keys), 1)
        for batch in self.file.iter_batches(batch_size, columns=keys, use_threads=False):
            yield self.ready(batch, keys, selection)

    def head(self, keys: list[str]) -> Any:
        """Return the first rows of some columns, as a batch of pyarrow; None if there are none."""
        with arrow_errors(self.name):
            return next(self.file.iter_batches(HEAD_ROWS, columns=keys, use_threads=False), None)


def checked_names(table: TypedTable, selection: Selection) -> list[str]:
    """Return the names of the columns to read; refuse two of one name, and types of no use."""
    keys = [table.fields[k].name for k in selection.used]
    if len(set(keys)) < len(keys):
        raise DataError(f"{table.name} has two columns of one name.")
    for k in selection.used:
        _check_type(table, selection, k)
    return keys


def _check_type(table: TypedTable, selection: Selection, k: int) -> None:
    """Refuse a column whose type cannot be a feature or a label."""
    from pyarrow import types

    name, field = table.name, table.fields[k]
    is_label = k == selection.label
    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    is_words = is_text(field.type)
    if (is_words and (is_label or k in selection.texts)) or k == selection.ids:
        return
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(is_kind(kind) for is_kind in numeric):
        return
    if (is_date(kind) or is_words) and k in selection.dates:
        return
    what = "a label must be text or a number" if is_label else "a feature must be a number"
    what = "a target must be a number" if k in selection.targets else what
    problem = f"{name}, column {field.name!r}: {what}, got {field.type}."
    is_spelt = is_words and k in table.spelt_dates
    if is_spelt:
        problem = f"{name}, column {field.name!r}: {what}, and the texts in it look like dates."
    if (is_date(kind) or is_spelt) and not is_label and selection.label_rule is not None:
        raise DataError(problem, AS_PARTS, DROP)
    raise other_label(problem, selection, k) if is_words else DataError(problem, DROP)


def is_date(kind: Any) -> bool:
    """Whether a type of pyarrow holds dates, or times of a date."""
    from pyarrow import types

    return bool(types.is_date(kind) or types.is_timestamp(kind))


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow holds text."""
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def index_columns(metadata: dict[bytes, bytes] | None) -> set[str]:
    """Return the columns that hold the index of a pandas data frame.

    pandas describes the frame in the metadata of the file. A range index is described there by its
    bounds and has no column.
    """
    try:
        described = json.loads((metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):
        return set()
    index = described.get("index_columns") if isinstance(described, dict) else None
    return {name for name in index if isinstance(name, str)} if isinstance(index, list) else set()
