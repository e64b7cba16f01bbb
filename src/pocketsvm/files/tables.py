"""Fragments of a ``pyarrow.dataset.Dataset`` as tables."""

from collections.abc import Iterator
from typing import Any

from .arrow import ArrowTable
from .columns import Options, Selection
from .parquet import BATCH_VALUES, checked_names, is_date, is_text


class FragmentTable(ArrowTable):
    """A fragment of a data set, or all of it.

    Parameters
    ----------
    name : str
        What messages call it.

    options : Options
        What the user says about it.

    fragment : Fragment or Dataset of pyarrow
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
        self.words = frozenset(k for k, field in enumerate(self.fields) if is_text(field.type))
        self.dates = frozenset(k for k, field in enumerate(self.fields) if is_date(field.type))

    def record_batches(self, selection: Selection) -> Iterator[Any]:
        """Yield pyarrow's batches."""
        import pyarrow as pa

        keys = checked_names(self.name, self.fields, selection)
        size = max(BATCH_VALUES // len(keys), 1)
        for batch in self.fragment.to_batches(columns=keys, batch_size=size, use_threads=False):
            if batch.num_rows:
                yield pa.record_batch([batch.column(key) for key in keys], names=keys)
