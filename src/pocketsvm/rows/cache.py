"""Parsed text, kept because text takes long to parse and is read several times.

Batches stay in memory if all of them fit. If not, each is written as arrays, one after the other,
to a single file in a temporary folder: no pickle, and no more in memory than one batch.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from .. import _core
from .._replacing import temporary_folder
from ..files.chunks import place
from ..files.columns import Layout
from ..files.errors import DataError
from ..files.file import DataFile
from ..files.reader import Batch, Labels
from ..files.svmlight import ParsedText, parsed_parts
from .chunk import Chunk, Needs
from .columns import as_numbers
from .summary import MOST_CLASSES

Array = NDArray[Any]

PREFIX = "pocketsvm-cache-"  # of the names of the folders
COPIES = 2  # of batches in memory: they are joined in the end


class TextCache:
    """Batches of parsed text, to be read several times.

    Parameters
    ----------
    needs : Needs
        What is needed of the rows besides their features.

    dtype : str or None
        The precision to keep; None keeps that of the parser.

    texts : sequence of int, default=()
        The columns of texts.

    memory : int, default=0
        Bytes of memory that the batches may take.

    on_batch : callable, default=None
        Called with the number of rows and the place of each batch that has been parsed.

    Attributes
    ----------
    spellings : list of str or None
        How the text spells the classes, in their order; None if they are texts.

    first_index, n_features : int
        The index of the first feature in LIBSVM text, and the number of features.
    """

    def __init__(
        self,
        needs: Needs,
        dtype: str | None,
        texts: Sequence[int] = (),
        *,
        memory: int = 0,
        on_batch: Callable[[int, str], object] = lambda *_: None,
    ) -> None:
        self.needs, self.dtype, self.memory, self.on_batch = needs, dtype, memory, on_batch
        self._words: dict[int, dict[str, int]] = {column: {} for column in texts}
        self._kept: list[list[Array]] = []
        self._stack = ExitStack()
        self._file: BinaryIO | None = None
        self.spellings: list[str] | None = None
        self.largest_place: str | None = None
        self.n_bytes = self.n_features = self.largest_index = 0
        self.first_index = 0
        self._is_sparse = False
        self._positions: dict[str, int] = {}
        self._labels: Array = np.empty(0)
        self._places: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        self._kept.clear()

    # --- writing ----------------------------------------------------------------------------------

    @property
    def in_memory(self) -> bool:
        """Whether all batches are in memory."""
        return self._file is None

    def fill(self, batches: Iterator[tuple[Batch, str]]) -> None:
        """Keep all batches."""
        for batch, path in batches:
            if not batch.X.shape[0]:
                continue
            self._kept.append(self._arrays(batch, path))
            self._places.append(path)
            self.n_bytes += sum(array.nbytes for array in self._kept[-1])
            if COPIES * self.n_bytes > self.memory:
                self._write()
            self.on_batch(batch.X.shape[0], path)
        if self._file is not None:
            self._file.close()
        if not self.needs.numbers and self._positions:
            names = list(self._positions)
            self._labels, self.spellings = Labels(np.arange(len(names)), names).targets()

    def _write(self) -> None:
        """Move batches from memory to the disk; refuse them before it is full."""
        if self._file is None:
            self.folder = Path(self._stack.enter_context(temporary_folder(PREFIX)))
            self._file = self._stack.enter_context(open(self.folder / "rows", "wb"))  # noqa: SIM115
        for arrays in self._kept:
            for array in arrays:
                npy.write_array(self._file, array, allow_pickle=False)
        self._kept.clear()
        if shutil.disk_usage(self.folder).free < self.n_bytes // 8:
            raise OSError(
                f"{self.folder} has no space for the parsed text, of which "
                f"{self.n_bytes / 1e9:.1f} GB are written. Set TMPDIR to a larger disk, or convert "
                "the files to Parquet."
            )

    def _arrays(self, batch: Batch, place: str) -> list[Array]:
        X = self._coded(batch.X) if self._words else batch.X
        X = X if self.dtype is None or self._words else X.astype(self.dtype, copy=False)
        weights = np.empty(0) if batch.weights is None else batch.weights
        qid = np.array(batch.ids or [], dtype=str)
        labels = batch.labels or Labels(np.zeros(X.shape[0], dtype=np.intp), ["0"])
        if not self.needs.labelled:
            y: Array = np.zeros(X.shape[0])
        else:
            is_number = self.needs.numbers or batch.targets is not None
            y = labels.checked_numbers(place) if is_number else self._codes(labels)
            if batch.targets is not None:
                y = np.column_stack([y, batch.targets])
        self.n_features, self._is_sparse = X.shape[1], not isinstance(X, np.ndarray)
        if isinstance(X, np.ndarray):
            return [y, weights, qid, np.ascontiguousarray(X)]
        return [y, weights, qid, X.data, X.indices, X.indptr]

    def _coded(self, X: Array) -> Array:
        """Return rows as numbers: a text is its position among all that have occurred."""
        found: Array = as_numbers(X, list(self._words))
        for column, words in self._words.items():
            is_text = ~np.isnan(found[:, column])
            codes = [words.setdefault(text, len(words)) for text in X[is_text, column].tolist()]
            found[is_text, column] = codes
        return found

    def _decoded(self, X: Array) -> Array:
        """Return rows with their texts."""
        found = X.astype(object)
        for column, words in self._words.items():
            codes = np.where(np.isnan(X[:, column]), len(words), X[:, column]).astype(np.intp)
            found[:, column] = np.array([*words, np.nan], dtype=object)[codes]
        return found

    def _codes(self, labels: Labels) -> Array:
        """Return the positions of labels among all that have occurred."""
        for name in labels.names:
            self._positions.setdefault(name, len(self._positions))
        if len(self._positions) > MOST_CLASSES:
            raise DataError(
                f"there are more than {MOST_CLASSES:,} different labels, for example "
                f"{labels.names[0]!r}. BudgetedSVR and --regression predict numbers."
            )
        positions = np.array([self._positions[name] for name in labels.names], dtype=np.int32)
        found: Array = positions[labels.codes]
        return found

    # --- reading ----------------------------------------------------------------------------------

    def read(self) -> Iterator[Chunk]:
        """Yield the batches in their order."""
        for arrays, path in zip(self._read(), self._places, strict=True):
            y, weights, qid, *values = arrays
            X = self._sparse(values, len(y)) if self._is_sparse else values[0]
            X = self._decoded(X) if self._words else X
            y = self._labels[y] if y.dtype == np.int32 else y  # codes
            if self.needs.queries and not len(qid):  # all rows are of one query
                qid = np.zeros(len(y), dtype=np.int8)
            weight = weights if len(weights) else None
            queries = qid if self.needs.queries else None
            yield Chunk(X, y, weight, path, queries, tuple(self._words))

    def _read(self) -> Iterator[list[Array]]:
        """Yield the arrays of each batch."""
        if self._file is None:
            yield from self._kept
            return
        n_arrays = 6 if self._is_sparse else 4
        with open(self.folder / "rows", "rb") as file:
            for _ in self._places:
                yield [npy.read_array(file, allow_pickle=False) for _ in range(n_arrays)]

    def _sparse(self, values: list[Array], n_rows: int) -> Any:
        data, indices, indptr = values
        shape = (n_rows, self.n_features)
        data = data if self.dtype is None else data.astype(self.dtype, copy=False)
        return sp.csr_array((data, indices - self.first_index, indptr), shape=shape)

    # --- LIBSVM text ------------------------------------------------------------------------------

    def fill_svmlight(self, paths: Sequence[str], n_jobs: int | None) -> None:
        """Parse LIBSVM text; the last row may decide on the features and on the precision.

        A batch that needs no float64 on its own loses nothing in float32, whatever the others are.
        """
        self._is_sparse = True
        least, narrow_columns = [1], _core.NarrowColumns()

        def batches() -> Iterator[tuple[Batch, str]]:
            for path in paths:
                with DataFile(path) as file, file.checked() as text:
                    for parsed in parsed_parts(text, path, n_jobs, spelled=True):
                        least.append(parsed.least_index)
                        narrow_columns.merge(parsed.narrow_columns)
                        yield self._text_batch(parsed), path

        self.fill(batches())
        self.first_index = min(min(least), 1)
        self.n_features = max(self.largest_index + 1 - self.first_index, 1)
        self.dtype = self.dtype or ("float64" if narrow_columns.need_float64 else "float32")

    def _text_batch(self, parsed: ParsedText) -> Batch:
        if parsed.largest_index > self.largest_index:
            self.largest_index = parsed.largest_index
            self.largest_place = place(parsed.name, *parsed.largest_place)
        X, y, queries = parsed.arrays(max(parsed.largest_index + 1, 1), 0)
        ids = list(map(str, parsed.check_queries(queries))) if self.needs.queries else None
        return Batch(X, Labels.of_numbers(y, parsed.spellings.__getitem__), ids=ids)

    @property
    def layout(self) -> Layout:
        """The layout of LIBSVM text."""
        largest = self.largest_place and f"{self.largest_place}index {self.largest_index:,}"
        return Layout(self.n_features, first_index=self.first_index, largest_index=largest)


def cache_message(n_bytes: int, n_text: int) -> str:
    """Say how large the cache is."""
    return (
        f"parsed {n_text / 1e6:,.0f} MB of text into a temporary cache of {n_bytes / 1e6:,.0f} MB "
        f"in {os.path.join(tempfile.gettempdir(), PREFIX + '*')}"
    )
