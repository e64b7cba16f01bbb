"""Tables of other libraries: fragments of pyarrow's data sets, and streams of Arrow."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .columns import Options, Selection
from .errors import DataError
from .parquet import BATCH_VALUES, HEAD_ROWS, TypedTable, checked_names, index_columns


def is_stream(X: Any) -> bool:
    """Whether an object gives its rows as a stream of Arrow, as tables and queries do."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "collect_batches")


def is_frame(X: Any) -> bool:
    """Whether an object that `is_stream` accepts has its rows in memory, as data frames do."""
    return is_stream(X) and hasattr(X, "__array__") and hasattr(X, "shape")


class ArrowStream:
    """An object with ``__arrow_c_stream__``, or a LazyFrame of polars, as a fragment of a data set.

    Parameters
    ----------
    given : object
        Gives the same rows each time a stream is asked for.

    Attributes
    ----------
    name : str
        What messages call it.

    schema : pyarrow.Schema
        The columns.
    """

    path = ""

    def __init__(self, given: Any) -> None:
        import pyarrow as pa

        self.name = f"the {type(given).__name__}"
        self.given = pa.table(given) if is_frame(given) else given
        # A query without rows tells its columns at once.
        empty = self.given.limit(0) if hasattr(self.given, "limit") else self.given
        with self._reader(empty) as reader:
            self.schema = reader.schema
        for name in index_columns(self.schema.metadata):
            self.schema = self.schema.remove(self.schema.get_field_index(name))

    def get_fragments(self) -> "list[ArrowStream]":
        """Return the only fragment, as a data set of pyarrow does."""
        return [self]

    def to_batches(self, columns: Sequence[str], batch_size: int, **_: Any) -> Iterator[Any]:
        """Yield batches of one size, however many rows the object gives at once."""
        with self._reader(self.given) as reader:
            try:
                yield from _resized((batch.select(columns) for batch in reader), batch_size)
            except OSError as error:  # what pyarrow makes of the error of another library
                raise DataError(f"{self.name} cannot be read: {error}") from error

    def _reader(self, given: Any) -> Any:
        import pyarrow as pa

        try:
            if hasattr(given, "to_pyarrow_batches"):  # ibis: its stream holds all rows
                return given.to_pyarrow_batches()
            if hasattr(given, "collect_batches"):  # polars
                given = given.collect_batches(maintain_order=True)
            return pa.RecordBatchReader.from_stream(given)
        except Exception as error:  # of any library
            raise DataError(
                f"{self.name} gives no stream of Arrow: {error}. fit reads the rows several times, "
                "and asks for a stream each time."
            ) from error


def _resized(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Yield the same rows in batches of so many."""
    import pyarrow as pa

    held: list[Any] = []
    n_held = 0
    for batch in batches:
        while batch.num_rows:
            part = batch.slice(0, size - n_held)
            batch = batch.slice(part.num_rows)
            held.append(part)
            n_held += part.num_rows
            if n_held == size:
                yield pa.concat_batches(held)
                held, n_held = [], 0
    if held:
        yield pa.concat_batches(held)


class FragmentTable(TypedTable):
    """A fragment of a data set, or all of it.

    Parameters
    ----------
    name : str
        What messages call it.

    options : Options
        What the user says about it.

    fragment : Fragment or Dataset of pyarrow, or ArrowStream
        The rows.
    """

    has_names = True
    n_skipped = 0

    def __init__(self, name: str, options: Options, fragment: Any) -> None:
        super().__init__(name, options)
        self.fragment = fragment
        schema = getattr(fragment, "physical_schema", None) or fragment.schema
        self.fields = list(schema)
        self.names = [field.name for field in self.fields]
        self.tell_kinds()

    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches."""
        keys = checked_names(self, selection)
        size = max(BATCH_VALUES // len(keys), 1)
        for batch in self.fragment.to_batches(columns=keys, batch_size=size, use_threads=False):
            if batch.num_rows:
                yield self.ready(batch, keys, selection)

    def head(self, keys: list[str]) -> Any:
        """Return the first rows of some columns, as a batch of pyarrow; None if there are none."""
        batches = self.fragment.to_batches(columns=keys, batch_size=HEAD_ROWS, use_threads=False)
        return next((batch for batch in batches if batch.num_rows), None)
