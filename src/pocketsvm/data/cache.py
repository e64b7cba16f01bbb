"""Parsed text in a temporary folder, because text takes long to parse and is read several times.

Each batch is written as arrays, one after the other, to a single file: no pickle, and no more in
memory than one batch.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.lib import format as npy
from numpy.typing import NDArray

from .._replacing import temporary_folder
from .batch import RowBatch
from .chunks import CHUNK, parsed_chunks
from .columns import Layout
from .errors import DataError
from .file import DataFile
from .reader import Batch, Labels, number
from .summary import MOST_CLASSES
from .svmlight import BATCH_CHUNKS, ParsedText

Array = NDArray[Any]

PREFIX = "pocketsvm-cache-"  # of the names of the folders


class TextCache:
    """Batches of parsed text, to be read several times.

    Parameters
    ----------
    regression : bool
        Whether labels are numbers to predict.

    dtype : str or None
        The precision to keep; None keeps that of the parser.

    Attributes
    ----------
    spellings : list of str or None
        How the text spells the classes, in their order; None if they are texts.

    first_index, n_features : int
        The index of the first feature in LIBSVM text, and the number of features.
    """

    def __init__(self, regression: bool, dtype: str | None) -> None:
        self.regression, self.dtype = regression, dtype
        self._stack = ExitStack()
        self.spellings: list[str] | None = None
        self.n_batches = self.n_bytes = self.n_features = self.largest_index = 0
        self.first_index = 1
        self._positions: dict[str, int] = {}
        self._labels: Array = np.empty(0)
        self._places: list[str] = []

    def __enter__(self) -> Self:
        self.folder = Path(self._stack.enter_context(temporary_folder(PREFIX)))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # --- writing ----------------------------------------------------------------------------------

    def fill(self, batches: Iterator[tuple[Batch, str]]) -> None:
        """Write all batches; refuse them before the disk is full."""
        with open(self.folder / "rows", "wb") as file:
            for batch, place in batches:
                if not batch.X.shape[0]:
                    continue
                for array in self._arrays(batch, place):
                    npy.write_array(file, array, allow_pickle=False)
                self._places.append(place)
                self._check_space(file.tell())
            self.n_bytes = file.tell()
        self.n_batches = len(self._places)
        if not self.regression and self._positions:
            names = list(self._positions)
            self._labels, self.spellings = Labels(np.arange(len(names)), names).targets()

    def _check_space(self, written: int) -> None:
        if shutil.disk_usage(self.folder).free < written // 8:
            raise OSError(
                f"{self.folder} has no space for the parsed text, of which {written / 1e9:.1f} GB "
                "are written. Set TMPDIR to a larger disk, or convert the files to Parquet."
            )

    def _arrays(self, batch: Batch, place: str) -> list[Array]:
        X = batch.X if self.dtype is None else batch.X.astype(self.dtype, copy=False)
        weights = np.empty(0) if batch.weights is None else batch.weights
        qid = np.array(batch.ids or [], dtype=str)
        labels = batch.labels or Labels(np.zeros(X.shape[0], dtype=np.intp), ["0"])
        y = self._numbers(labels, place) if self.regression else self._codes(labels)
        if isinstance(X, np.ndarray):
            self.n_features = X.shape[1]
            return [y, weights, qid, np.ascontiguousarray(X)]
        return [y, weights, qid, X.data, X.indices, X.indptr]

    def _numbers(self, labels: Labels, place: str) -> Array:
        numbers = labels.numbers()
        if numbers is None:
            wrong = next(text for text in labels.names if number(text) is None)
            raise DataError(
                f"{place}: the label {wrong!r} is not a number, which a regression and a ranking "
                "need."
            )
        return numbers

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

    def read(self) -> Iterator[RowBatch]:
        """Yield the batches in their order."""
        with open(self.folder / "rows", "rb") as file:
            for place in self._places:
                y, weights, qid = (_read(file) for _ in range(3))
                X = self._sparse(file, len(y)) if self.largest_index else _read(file)
                y = y if self.regression else self._labels[y]
                yield RowBatch(
                    X, y, weights if len(weights) else None, place, qid if len(qid) else None
                )

    def _sparse(self, file: Any, n_rows: int) -> Any:
        data, indices, indptr = (_read(file) for _ in range(3))
        shape = (n_rows, self.n_features)
        return sp.csr_array((data, indices - self.first_index, indptr), shape=shape)

    # --- LIBSVM text ------------------------------------------------------------------------------

    def fill_svmlight(
        self, paths: Sequence[str], n_jobs: int | None, *, queries: bool = False
    ) -> None:
        """Parse LIBSVM text; the last row may decide on the number of features."""
        least = [1]

        def batches() -> Iterator[tuple[Batch, str]]:
            for path in paths:
                for parsed in _parsed(path, n_jobs):
                    least.append(parsed.least_index)
                    self.largest_index = max(self.largest_index, parsed.largest_index)
                    spell = parsed.spellings.__getitem__
                    X, y, found = parsed.arrays(max(parsed.largest_index + 1, 1), 0)
                    ids = list(map(str, parsed.check_queries(found))) if queries else None
                    yield Batch(X, Labels.of_numbers(y, spell), ids=ids), path

        self.fill(batches())
        self.first_index = min(min(least), 1)
        self.n_features = max(self.largest_index + 1 - self.first_index, 1)

    @property
    def layout(self) -> Layout:
        """The layout of LIBSVM text."""
        return Layout(self.n_features, first_index=self.first_index)


def _read(file: Any) -> Array:
    array: Array = npy.read_array(file, allow_pickle=False)
    return array


def _parsed(path: str, n_jobs: int | None) -> Iterator[ParsedText]:
    """Parse a file of LIBSVM text in batches of some chunks."""
    with DataFile(path) as file, file.checked() as text:
        parsed, n_chunks = ParsedText(path, BATCH_CHUNKS * CHUNK), 0
        for chunk, line in parsed_chunks(text, path, effective_n_jobs(n_jobs), finite=True):
            parsed.append(chunk, line, spelled=True)
            n_chunks += 1
            if n_chunks == BATCH_CHUNKS:
                yield parsed
                parsed, n_chunks = ParsedText(path, BATCH_CHUNKS * CHUNK), 0
        yield parsed


def cache_message(n_bytes: int, n_text: int) -> str:
    """Say how large the cache is."""
    return (
        f"parsed {n_text / 1e6:,.0f} MB of text into a temporary cache of {n_bytes / 1e6:,.0f} MB "
        f"in {os.path.join(tempfile.gettempdir(), PREFIX + '*')}"
    )
