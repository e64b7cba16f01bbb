"""LIBSVM text, plain or compressed, to CSR rows and labels, on all cores."""

import os
import re
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from .. import _core
from .chunks import CHUNK, parsed_chunks, place
from .columns import Layout, delimiter_of, listed
from .compression import decompressed, named_errors, regular_size, whole
from .errors import DataError
from .reader import MAYBE, NO, SURELY, Batch, Labels, Opened, Reader
from .remote import open_binary

# A row that has at least one feature.
ROW = re.compile(rb"\s*[^\s:,;\"]+(\s+qid:\S+)?\s+\+?\d+:[^\s,;\"]+(\s|$)")
BATCH_CHUNKS = 16  # chunks per batch: 4 MB of text keep all threads of a desktop busy
EXPANSION = 12  # guess at the bytes of text per compressed byte: too small a guess costs a copy
MAX_RESERVED = 1 << 28  # bytes of text to reserve memory for: a file's size may mislead

Path = str | bytes | os.PathLike[Any]


def load_svmlight(
    path_or_paths: Path | Iterable[Path],
    n_features: int | None = None,
    *,
    query_id: bool = False,
    n_jobs: int | None = -1,
) -> Any:
    r"""Load rows and labels from text files in the LIBSVM (SVMlight) format.

    The result has the same rows and labels as that of `sklearn.datasets.load_svmlight_file`, which
    takes many times longer. Each line holds ``label index:value index:value ...``, with increasing
    indices. Text after a ``#`` is a comment, explicit zeros are stored, and ``qid:`` after a label
    is skipped unless `query_id` is True.

    Parameters
    ----------
    path_or_paths : str or path-like, or an iterable of them
        The file or files. Those compressed with gzip, bzip2 or xz are decompressed while they are
        read; their first bytes tell, whatever their names.

    n_features : int, default=None
        The number of columns of X. None means as many as the largest index in any of the files
        needs. A test file often lacks the last features of its training file: load both in one
        call, or give the number.

    query_id : bool, default=False
        Whether to return the number of each row's query, which stands as ``qid:NUMBER`` after the
        label, for ranking. Then every row must have one.

    n_jobs : int, default=-1
        Threads. -1 means all processors, None means 1 unless in a `joblib.parallel_config`
        context. The result does not depend on it.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features), float32 or float64
        The rows: float32, or float64 where float32 would lose more than 1e-6 of a column's spread,
        the difference between its largest and its smallest value in all of the files. Its indices
        are sorted and unique.

    y : ndarray of shape (n_samples,), float64
        The labels.

    qid : ndarray of shape (n_samples,), int64
        The numbers of the queries. Only returned if `query_id` is True.

        For an iterable of paths, a list ``[X1, y1, X2, y2, ...]``, in which all ``X`` have the
        same number of columns.

    Raises
    ------
    ValueError
        If a file is not in the format, has several labels per row, has an index that is too large
        for n_features, is a damaged archive, or becomes shorter while it is read. The message
        names the file, and the line and column, both counted from 1.
    OSError
        If a file cannot be read, for example `FileNotFoundError`.

    See Also
    --------
    sklearn.datasets.dump_svmlight_file : Writes such files.

    Notes
    -----
    LIBSVM counts features from 1, other programs count from 0. If index 0 occurs in any of the
    files, all of them count from 0, otherwise from 1. Values are rounded to the nearest float64,
    as by Python's `float` (``inf`` and ``nan`` too), and then, if X is float32, to float32. Values
    that a row leaves out are zeros, and count for the spread. A column such as ``1.7e9 + [0, 100]``
    therefore gives float64, and decimals such as 0.1 do not, unless all values of a column are
    close to each other.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pocketsvm import load_svmlight
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "small.txt"
    ...     _ = path.write_text("+1 1:0.5 3:2  # a comment\n-1 2:1e-1\n")
    ...     X, y = load_svmlight(path)
    >>> X.toarray()
    array([[0.5, 0. , 2. ],
           [0. , 0.1, 0. ]], dtype=float32)
    >>> y
    array([ 1., -1.])
    """
    if n_features is not None and not (isinstance(n_features, Integral) and n_features >= 1):
        raise ValueError(f"n_features must be a positive integer or None, got {n_features!r}.")
    one = isinstance(path_or_paths, (str, bytes, os.PathLike))
    if not one and (hasattr(path_or_paths, "read") or not isinstance(path_or_paths, Iterable)):
        raise TypeError(f"path_or_paths must be one path or several, got {path_or_paths!r}.")
    paths: Any = [path_or_paths] if one else path_or_paths
    n_threads = effective_n_jobs(n_jobs)
    files = [ParsedText.of_file(os.fsdecode(path), n_threads) for path in paths]
    first_index = 0 if any(file.least_index == 0 for file in files) else 1
    needed = max((file.check(n_features, first_index) for file in files), default=1)
    narrow_columns = _core.NarrowColumns()
    for file in files:
        narrow_columns.merge(file.narrow_columns)
    result: list[Any] = []
    for file in files:
        X, y, queries = file.arrays(
            int(n_features or needed), first_index, float64=narrow_columns.need_float64
        )
        result += [X, y, file.check_queries(queries)] if query_id else [X, y]
    return tuple(result) if one else result


class ParsedText:
    """The rows of one text, before it is known whether its indices count from 0 or from 1.

    Its `narrow_columns` tell whether float32 can hold the values. If it can, then it can hold them
    in any text that these rows are a part of.
    """

    def __init__(self, name: str, expected_size: int) -> None:
        self.name = name
        self.rows = _core.SvmlightRows(min(expected_size, MAX_RESERVED))
        self.least_index, self.largest_index = np.iinfo(np.int32).max, -1
        self.largest_place = 0, 0  # line and column
        self.unasked_place: tuple[int, int] | None = None  # line and column
        self.spellings: dict[float, str] = {}  # of each label, as it is first written

    @property
    def narrow_columns(self) -> _core.NarrowColumns:
        """The columns whose values lie close together."""
        return self.rows.narrow_columns

    @classmethod
    def of_file(cls, path: str, n_threads: int) -> Self:
        """Parse a file, which may be compressed."""
        with named_errors(path), open_binary(path) as file, whole(file, path):
            text = decompressed(file)
            parsed = cls(path, regular_size(file) * (1 if text is file else EXPANSION))
            for chunk, line in parsed_chunks(text, path, n_threads):
                parsed.append(chunk, line)
        return parsed

    def append(self, chunk: _core.SvmlightChunk, line: int, *, spelled: bool = False) -> None:
        """Append a chunk that begins after so many lines."""
        if chunk.largest_index > self.largest_index:
            at_line, column = chunk.largest_place
            self.largest_index = chunk.largest_index
            self.largest_place = line + at_line, column
        self.least_index = min(self.least_index, chunk.least_index)
        if self.unasked_place is None and chunk.unasked_place is not None:
            at_line, column = chunk.unasked_place
            self.unasked_place = line + at_line, column
        self.rows.append(chunk)
        if spelled:
            for label, row in zip(*np.unique(chunk.labels, return_index=True), strict=True):
                if label not in self.spellings:
                    self.spellings[float(label)] = chunk.spelling(row).decode()

    def check(self, n_features: int | None, first_index: int) -> int:
        """Return the number of features that the text needs; refuse a smaller n_features."""
        needed = max(self.largest_index + 1 - first_index, 1)
        if n_features is not None and n_features < needed:
            raise DataError(
                place(self.name, *self.largest_place)
                + f"index {self.largest_index} (the first being {first_index}) needs n_features "
                f"to be at least {needed}, got {n_features}"
            )
        return needed

    def check_queries(self, queries: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the queries; refuse a text in which a row has none."""
        if self.unasked_place is not None:
            raise DataError(
                place(self.name, *self.unasked_place)
                + "expected the number of the row's query after the label, as in 'qid:7'"
            )
        return queries

    def arrays(
        self, n_features: int, first_index: int, *, float64: bool | None = None
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.int64]]:
        """Return X, y and queries; can be called once, because it transfers its buffers.

        By default, X is float64 if these rows need it. It can be so if all rows of a larger text,
        of which they are a part, need it.
        """
        if float64 is None:
            float64 = self.narrow_columns.need_float64
        labels, queries, row_lengths, indices, values = self.rows.finish(first_index == 0, float64)
        pointers: NDArray[np.integer[Any]]
        if len(values) <= np.iinfo(np.int32).max:
            pointers = np.add.accumulate(row_lengths, dtype=np.int32, out=row_lengths)
        else:
            pointers = np.add.accumulate(row_lengths, dtype=np.int64)
        X = sp.csr_array((values, indices, pointers), shape=(len(labels), n_features))
        X.has_canonical_format = True
        return X, labels, queries


def parsed_parts(
    text: Any, name: str, n_jobs: int | None, *, spelled: bool = False, first_index: int = 0
) -> Iterator[ParsedText]:
    """Yield the rows of a text, whose numbers must be finite, in parts of bounded size.

    An index below `first_index` is refused. `spelled` keeps the spellings of labels.
    """
    parsed, n_chunks = ParsedText(name, BATCH_CHUNKS * CHUNK), 0
    for chunk, line in parsed_chunks(text, name, effective_n_jobs(n_jobs), finite=True):
        if chunk.least_index < first_index:
            raise DataError(
                f"{name}, lines {line + 1} to {line + chunk.n_lines}: there is an index 0, but the "
                "file that the model was trained on counts features from 1."
            )
        parsed.append(chunk, line, spelled=spelled)
        n_chunks += 1
        if n_chunks == BATCH_CHUNKS:
            yield parsed
            parsed, n_chunks = ParsedText(name, BATCH_CHUNKS * CHUNK), 0
    yield parsed


class SvmlightReader(Reader):
    """LIBSVM text as a data file, whose numbers must be finite.

    Parameters
    ----------
    file : Opened
        The file.
    """

    is_table = False

    def __init__(self, file: Opened) -> None:
        if file.options.weights is not None or file.options.ids is not None:
            raise DataError(f"{file.name} is LIBSVM text, which has no columns of other kinds.")
        self.file = file

    @classmethod
    def likeness(cls, line: bytes) -> int:
        """Tell whether a line may be the first one; rows may be damaged, or have no features."""
        if ROW.match(line):
            return SURELY
        delimiter = delimiter_of(line)  # a table of numbers has no colon
        return MAYBE if delimiter is None or (delimiter == " " and b":" in line) else NO

    def batches(self, layout: Layout, labels: bool, n_jobs: int | None = None) -> Iterator[Batch]:
        """Yield batches with as many columns as the model has features, which have no names."""
        name, first_index = self.file.name, layout.first_index
        if layout.names is not None:
            raise DataError(
                f"{name} is LIBSVM text, which has no names of columns, but the model finds "
                f"its features by name: {listed(layout.names)}. Give a table with these columns."
            )
        for parsed in parsed_parts(self.file.stream, name, n_jobs, first_index=first_index):
            yield self._batch(parsed, layout, labels)

    def _batch(self, parsed: ParsedText, layout: Layout, with_labels: bool) -> Batch:
        n_features = max(parsed.check(None, layout.first_index), layout.n_features)
        X, y, queries = parsed.arrays(n_features, layout.first_index)
        if n_features > layout.n_features:
            X = sp.csr_array(X[:, : layout.n_features])
        labels = Labels.of_numbers(y, "{:.17g}".format) if with_labels else None
        ids = None
        if self.file.options.queries:
            ids = [str(query) for query in parsed.check_queries(queries)]
        return Batch(X, labels, ids=ids)
