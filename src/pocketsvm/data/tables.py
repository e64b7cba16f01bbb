"""Data files of every kind, in bounded batches: LIBSVM text, CSV and TSV, Parquet.

What a file is, its first bytes tell, and its name where they do not. LIBSVM text is parsed by the
native core, tables by pyarrow; any text may be compressed, and ``-`` is standard input. Labels
come as they are spelled. Whatever is wrong with a file is a ValueError that names the place.
"""

import bz2
import csv
import io
import lzma
import os
import re
import shlex
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Callable, Generator, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from numpy.typing import NDArray

from .svmlight import CHUNK, GzipText, ParsedText, parsed_chunks, whole

__all__ = ["FORMATS", "Batch", "DataFile", "Labels", "Layout", "Options", "Table", "number"]

FORMATS = ("libsvm", "csv", "tsv", "parquet")
ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
}
COMPRESSED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": GzipText,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
PARQUET = b"PAR1"
BOM = b"\xef\xbb\xbf"
# A row of LIBSVM text that has at least one feature.
LIBSVM_ROW = re.compile(rb"\s*[^\s:,;\"]+(\s+qid:\S+)?\s+\+?\d+:[^\s,;\"]+(\s|$)")
DELIMITERS = "\t,;"  # a line has the one that occurs most often; of equals, the first
LABEL_NAMES = ("label", "target", "class", "y")

PEEK = 1 << 16  # bytes looked at to tell what a file is
LONGEST_HEAD = 1 << 26
BATCH_CHUNKS = 16  # of LIBSVM text: 4 MB
CSV_BLOCK = 1 << 19  # pyarrow reads some 40 of them ahead
PARQUET_VALUES = 1 << 20  # numbers in a batch
PARQUET_BUFFER = 1 << 20  # bytes of a column that are read at once

Array = NDArray[Any]


# --- what a file holds ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Labels:
    """The labels of some rows.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        Which of the names each row has.

    names : list of str
        The labels that occur, as the file spells them.
    """

    codes: NDArray[np.intp]
    names: list[str]

    def numbers(self) -> NDArray[np.float64] | None:
        """Return them as numbers, or None where one is none."""
        values = [number(name) for name in self.names]
        return None if None in values else np.array(values, dtype=np.float64)[self.codes]

    def first(self, wanted: Callable[[str], bool]) -> tuple[int, str] | None:
        """Return row and spelling of the first label of its kind."""
        codes = [code for code, name in enumerate(self.names) if wanted(name)]
        rows = np.flatnonzero(np.isin(self.codes, codes))
        return (int(rows[0]), self.names[self.codes[rows[0]]]) if rows.size else None


@dataclass(frozen=True)
class Layout:
    """Where features and label stand in the files of a model, as its training file had them.

    Attributes
    ----------
    n_features : int
        The number of features.

    names : list of str or None
        Their names.

    label : str, int or None
        The label's column: its name, or its position from 0. None for LIBSVM text.

    dropped : list of int
        Positions of columns that are neither, where features have no names.

    first_index : int
        The index of the first feature in LIBSVM text.
    """

    n_features: int
    names: list[str] | None = None
    label: str | int | None = None
    dropped: list[int] = field(default_factory=list)
    first_index: int = 1


@dataclass(frozen=True)
class Options:
    """What a user says of a file; None leaves it to the file.

    Attributes
    ----------
    format : {"libsvm", "csv", "tsv", "parquet"} or None
        Its format.

    header : bool or None
        Whether its first row has the columns' names.

    label : str or None
        The label's column: its name, or its number from 1, or from -1 for the last.

    drop : sequence of str
        Columns that are not used, given likewise.
    """

    format: str | None = None
    header: bool | None = None
    label: str | None = None
    drop: Sequence[str] = ()


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    X : ndarray of float64 or CSR array of float32
        The rows; sparse ones come from LIBSVM text.

    labels : Labels or None
        Their labels; None where they were not asked for or are not there.
    """

    X: Any
    labels: Labels | None


@dataclass(frozen=True)
class Table:
    """A whole file.

    Attributes
    ----------
    X : ndarray of float64 or CSR array of float32
        The rows; sparse ones come from LIBSVM text.

    labels : Labels
        Their labels.

    layout : Layout
        Where features and label stood.
    """

    X: Any
    labels: Labels
    layout: Layout


@dataclass(frozen=True)
class _Columns:
    """Which columns of a table are read: positions, and the names of all."""

    names: list[str]
    features: list[int]
    label: int | None

    @property
    def used(self) -> list[int]:
        return self.features + ([] if self.label is None else [self.label])


# --- files ----------------------------------------------------------------------------------------


class DataFile:
    r"""A data file, open to be read once, from front to back.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.

    options : Options, default=Options()
        What is said of it.

    Attributes
    ----------
    name : str
        What messages call it.

    format : {"libsvm", "csv", "tsv", "parquet"}
        What it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pocketsvm.data.tables import DataFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.csv"
    ...     _ = path.write_text("width,length,kind\n1,2.5,a\n3,4,b\n")
    ...     with DataFile(str(path)) as file:
    ...         table = file.read()
    >>> table.X
    array([[1. , 2.5],
           [3. , 4. ]])
    >>> table.labels.names, table.layout.names
    (['a', 'b'], ['width', 'length'])
    """

    def __init__(self, path: str, options: Options | None = None) -> None:
        self.options = options or Options()
        self.name = "standard input" if path == "-" else path
        with ExitStack() as stack, _named_errors(self.name):
            file = sys.stdin.buffer if path == "-" else open(path, "rb", buffering=0)  # noqa: SIM115
            if path != "-":
                stack.enter_context(file)
            self._file = file
            self._text, self._head = _opened(file, stack)
            self.format = self.options.format or _format(self._head, path)
            self._stack = stack.pop_all()

    def __enter__(self) -> "DataFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def read(
        self, *, n_jobs: int | None = -1, advance: Callable[[int], object] | None = None
    ) -> Table:
        """Read all of it.

        Parameters
        ----------
        n_jobs : int, default=-1
            Threads that parse LIBSVM text.

        advance : callable, default=None
            Called with the number of rows of each piece that has been read.

        Returns
        -------
        table : Table
            Rows, labels and how they lay in the file.
        """
        with _named_errors(self.name), whole(self._file, self.name):
            if self.format == "libsvm":
                table = self._read_svmlight(n_jobs, advance or _ignore)
            else:
                table = self._read_table(advance or _ignore)
        if not table.X.shape[0]:
            raise ValueError(f"{self.name} holds no rows.")
        return table

    def batches(
        self, layout: Layout, *, labels: bool = False, n_jobs: int | None = -1
    ) -> Iterator[Batch]:
        """Read it in bounded batches, with the features of a model.

        Features that the model does not know are left out; those that LIBSVM text does not name
        are zero. The columns of a table are found by name, or by position where there are none.

        Parameters
        ----------
        layout : Layout
            Of the model.

        labels : bool, default=False
            Whether labels are wanted.

        n_jobs : int, default=-1
            Threads that parse LIBSVM text.

        Yields
        ------
        batch : Batch
            The next rows.
        """
        with _named_errors(self.name), whole(self._file, self.name):
            if self.format == "libsvm":
                yield from self._svmlight_batches(layout, labels, n_jobs)
            else:
                source = self._table()
                columns = self._matching_columns(source.names, layout, labels)
                yield from source.batches(columns)

    # LIBSVM text

    def _read_svmlight(self, n_jobs: int | None, advance: Callable[[int], object]) -> Table:
        size = os.fstat(self._text.fileno()).st_size if isinstance(self._text, io.FileIO) else 0
        parsed = ParsedText(self.name, size)
        for chunk, line in self._chunks(n_jobs):
            parsed.append(chunk, line, spelled=True)
            advance(len(chunk.labels))
        first_index = min(parsed.least_index, 1)
        X, y = parsed.arrays(parsed.check(None, first_index), first_index)
        values, codes = np.unique(y, return_inverse=True)
        labels = Labels(codes, [parsed.spellings[value] for value in values.tolist()])
        return Table(X, labels, Layout(X.shape[1], first_index=first_index))

    def _svmlight_batches(
        self, layout: Layout, wanted: bool, n_jobs: int | None
    ) -> Iterator[Batch]:
        parsed, n_chunks = ParsedText(self.name, BATCH_CHUNKS * CHUNK), 0
        for chunk, line in self._chunks(n_jobs):
            if chunk.least_index < layout.first_index:
                raise ValueError(
                    f"{self.name}, lines {line + 1} to {line + chunk.n_lines}: there is an index "
                    "0, but the file that the model was trained on counts features from 1."
                )
            parsed.append(chunk, line)
            n_chunks += 1
            if n_chunks == BATCH_CHUNKS:
                yield _svmlight_batch(parsed, layout, wanted)
                parsed, n_chunks = ParsedText(self.name, BATCH_CHUNKS * CHUNK), 0
        yield _svmlight_batch(parsed, layout, wanted)

    def _chunks(self, n_jobs: int | None) -> Iterator[Any]:
        return parsed_chunks(self._text, self.name, effective_n_jobs(n_jobs), finite=True)

    # tables

    def _table(self) -> "_TextTable | _ParquetTable":
        if find_spec("pyarrow") is None:
            raise ImportError(
                f"{self.name} is a table ({self.format}), and reading one needs pyarrow: "
                "pip install 'pocketsvm[data]'"
            )
        if self.format == "parquet":
            return _ParquetTable(self.name, self._text, self._stack)
        return _TextTable(self.name, self._text, self._head, self.format, self.options.header)

    def _read_table(self, advance: Callable[[int], object]) -> Table:
        source = self._table()
        columns = self._training_columns(source.names, source.has_names)
        batches = []
        for batch in source.batches(columns):
            batches.append(batch)
            advance(len(batch.X))
        X = np.concatenate([batch.X for batch in batches] or [np.empty((0, 1))])
        names = [columns.names[k] for k in columns.features] if source.has_names else None
        unused = set(range(len(columns.names))) - set(columns.used)
        layout = Layout(
            len(columns.features),
            names,
            columns.names[columns.label] if source.has_names else columns.label,
            [] if source.has_names else sorted(unused),
        )
        return Table(X, _joined([batch.labels for batch in batches]), layout)

    def _training_columns(self, names: list[str], has_names: bool) -> _Columns:
        dropped = set(self._positions(self.options.drop, names))
        label = self._label_position(names, dropped)
        if label in dropped:
            raise ValueError(f"{self.name}: column {names[label]!r} is both label and dropped.")
        features = [k for k in range(len(names)) if k != label and k not in dropped]
        if not features:
            raise ValueError(f"{self.name} has no columns beside the label's.")
        if has_names:
            self._check_names([names[k] for k in features])
        return _Columns(names, features, label)

    def _label_position(self, names: list[str], dropped: Set[int] = frozenset()) -> int:
        """Find the label's column: as told, or by its usual names, or the last."""
        if self.options.label is not None:
            return self._positions([self.options.label], names)[0]
        usual = [k for k, name in enumerate(names) if name.lower() in LABEL_NAMES]
        left = [k for k in range(len(names)) if k not in dropped]
        return usual[0] if len(usual) == 1 else left[-1]

    def _matching_columns(self, names: list[str], layout: Layout, wanted: bool) -> _Columns:
        """Find the features of a model among the columns, and the label where it is wanted."""
        places = {name: k for k, name in enumerate(names)}
        needed = set(layout.names or [])
        if needed & places.keys():
            self._check_names([name for name in names if name in needed])
            missing = [name for name in layout.names or [] if name not in places]
            if missing:
                raise ValueError(
                    f"{self.name} lacks the column {missing[0]!r}, which the model needs; "
                    f"it has {_listed(names)}."
                )
            features = [places[name] for name in layout.names or []]
            label = places.get(layout.label) if isinstance(layout.label, str) else None
        else:
            features, label = self._by_position(names, layout)
        if wanted and self.options.label is not None:
            label = self._label_position(names)
        if wanted and label is None:
            raise ValueError(
                f"{self.name} has no column for the label; it has {_listed(names)}. "
                "Say which one it is: --label COLUMN."
            )
        return _Columns(names, features, label if wanted else None)

    def _by_position(self, names: list[str], layout: Layout) -> tuple[list[int], int | None]:
        n_beside = len(layout.dropped)
        label = None
        if self.options.label is not None or len(names) == layout.n_features + n_beside + 1:
            has_position = self.options.label is None and isinstance(layout.label, int)
            label = layout.label if has_position else self._label_position(names)
        dropped = set(layout.dropped)
        if label is None and isinstance(layout.label, int):  # the columns after it move up
            dropped = {k - (k > layout.label) for k in dropped}
        if len(names) == layout.n_features:
            dropped = set()
        features = [k for k in range(len(names)) if k != label and k not in dropped]
        if len(features) != layout.n_features:
            beside = f" beside {n_beside} that it does not use" if n_beside else ""
            raise ValueError(
                f"{self.name} has {len(names)} columns; the model needs {layout.n_features} "
                f"features{beside}, and at most one more, the label."
            )
        return features, label  # type: ignore[return-value]

    def _positions(self, columns: Sequence[str], names: list[str]) -> list[int]:
        """Find columns by name, or by number from 1, or from -1 backwards."""
        positions = []
        for column in columns:
            if column in names:
                positions.append(names.index(column))
                continue
            position = int(column) if re.fullmatch(r"-?[0-9]{1,9}", column) else 0
            if not 1 <= abs(position) <= len(names):
                raise ValueError(
                    f"{self.name} has no column {column!r}; it has {_listed(names)}. Columns are "
                    f"given by name, or by number from 1 to {len(names)}, -1 being the last."
                )
            positions.append(position - 1 if position > 0 else len(names) + position)
        return positions

    def _check_names(self, names: list[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if not name:
                raise ValueError(
                    f"{self.name} has a column without a name. If it only numbers the rows, leave "
                    "it out (--drop 1 for the first), or give it a name."
                )
            if name in seen:
                raise ValueError(f"{self.name} has two columns named {name!r}.")
            seen.add(name)


def _ignore(n_rows: int) -> None:
    """Do nothing about progress."""


# --- opening and telling apart --------------------------------------------------------------------


class _Rewound(io.RawIOBase):
    """A stream whose first bytes have been read before."""

    def __init__(self, head: bytes, stream: Any) -> None:
        self.head = head
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head[: len(buffer)] or self.stream.read(len(buffer))
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _opened(file: Any, stack: ExitStack) -> tuple[Any, bytes]:
    """Return a stream of what the file holds, decompressed, and its first bytes."""
    is_regular = isinstance(file, io.FileIO) and stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    start = _peek(file)
    if is_regular:
        file.seek(0)
    else:
        file = _Rewound(start, file)
    for magic, decompress in COMPRESSED.items():
        if start.startswith(magic):
            text = stack.enter_context(decompress(file))
            head = _peek(text)
            return _Rewound(head, text), head
    return file, start


def _peek(stream: Any) -> bytes:
    """Read enough to tell what it is: two lines at least, if there are."""
    parts: list[bytes] = []
    n_bytes = n_lines = 0
    while (n_bytes < PEEK or n_lines < 2) and n_bytes < LONGEST_HEAD:
        if not (block := stream.read(PEEK)):
            break
        parts.append(block)
        n_bytes += len(block)
        n_lines += block.count(b"\n")
    return b"".join(parts)


def _format(head: bytes, path: str) -> str:
    """Tell a format by the first bytes, and by the ending where they fit several."""
    if head.startswith(PARQUET):
        return "parquet"
    stem, ending = os.path.splitext(path.lower())
    if ending in (".gz", ".bz2", ".xz"):
        ending = os.path.splitext(stem)[1]
    lines = (line.split(b"#")[0] for line in head.removeprefix(BOM).splitlines())
    first = next((line for line in lines if line.strip()), b"")
    if LIBSVM_ROW.match(first):
        return "libsvm"
    if ending in ENDINGS:
        return ENDINGS[ending]
    delimiter = _delimiter(first)
    return "libsvm" if delimiter is None else "tsv" if delimiter == "\t" else "csv"


def _delimiter(line: bytes) -> str | None:
    counts = {mark: line.count(mark.encode()) for mark in DELIMITERS}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else None


# --- LIBSVM text ----------------------------------------------------------------------------------


def _svmlight_batch(parsed: ParsedText, layout: Layout, wanted: bool) -> Batch:
    n_features = max(parsed.check(None, layout.first_index), layout.n_features)
    X, y = parsed.arrays(n_features, layout.first_index)
    if n_features > layout.n_features:
        X = sp.csr_array(X[:, : layout.n_features])
    if not wanted:
        return Batch(X, None)
    values, codes = np.unique(y, return_inverse=True)
    return Batch(X, Labels(codes, [f"{value:.17g}" for value in values.tolist()]))


# --- tables ---------------------------------------------------------------------------------------


class _TextTable:
    """CSV or TSV, read by pyarrow; names and widths are those of the first row."""

    def __init__(
        self, name: str, text: Any, head: bytes, kind: str, has_names: bool | None
    ) -> None:
        self.name, self.text = name, text
        lines = head.removeprefix(BOM).splitlines()
        filled = [k for k, line in enumerate(lines) if line.strip()]
        if not filled:
            raise ValueError(f"{name} is empty.")
        first = lines[filled[0]]
        self.delimiter = "\t" if kind == "tsv" else _delimiter(first) or ","
        whole = filled[:-1] if len(head) >= PEEK else filled  # the last may be cut off
        names = self._split(first)
        rest = [lines[k] for k in whole[1:]]
        self.has_names = self._tell_header(names, rest) if has_names is None else has_names
        self.n_skipped = filled[0] + 1 if self.has_names else 0
        self.names = names if self.has_names else [f"{k + 1}" for k in range(len(names))]
        self.block_size = max(CSV_BLOCK, 16 * len(first))

    def _split(self, line: bytes) -> list[str]:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{self.name} is not text in UTF-8.") from None
        try:
            return [name.strip() for name in next(csv.reader([text], delimiter=self.delimiter))]
        except csv.Error as error:
            raise ValueError(f"{self.name}, row 1: {error}") from None

    def _tell_header(self, first: list[str], rest: list[bytes]) -> bool:
        """Names are no numbers; rows have numbers, and texts that later rows have again."""
        if all(number(name) is None for name in first):
            return True
        if not rest:
            return False
        if first == [str(k) for k in range(len(first))]:
            raise ValueError(f"{self.name}: its first row counts from 0. {_SAY_HEADER}")
        texts = {k: name for k, name in enumerate(first) if name and number(name) is None}
        if not texts:
            return False
        for n_row, row in enumerate(map(self._split, rest), 2):
            below = {k: row[k] for k in texts if k < len(row)}
            for k, other in below.items():
                if number(other) is not None:
                    raise ValueError(
                        f"{self.name}: its first row mixes names and numbers, and {texts[k]!r} "
                        f"stands above {other!r} in row {n_row}. {_SAY_HEADER}"
                    )
            if any(texts[k] == other for k, other in below.items()):
                return False
        raise ValueError(
            f"{self.name}: its first row mixes names and numbers, and {_listed([*texts.values()])} "
            f"stands in no other row. {_SAY_HEADER}"
        )

    def batches(self, columns: _Columns) -> Iterator[Batch]:
        import pyarrow as pa
        import pyarrow.csv as arrow_csv

        keys = [str(k) for k in range(len(columns.names))]
        types = {keys[k]: pa.float64() for k in columns.features}
        if columns.label is not None:
            types[keys[columns.label]] = pa.string()
        n_rows = self.n_skipped
        try:
            reader = arrow_csv.open_csv(
                pa.PythonFile(self.text, mode="r"),
                arrow_csv.ReadOptions(
                    use_threads=False,  # else errors do not know their row
                    block_size=self.block_size,
                    skip_rows=self.n_skipped,
                    column_names=keys,
                ),
                arrow_csv.ParseOptions(delimiter=self.delimiter),
                arrow_csv.ConvertOptions(
                    column_types=types,
                    null_values=[],
                    include_columns=[keys[k] for k in columns.used],
                ),
            )
            for batch in reader:
                yield _table_batch(self.name, batch, columns, n_rows)
                n_rows += batch.num_rows
        except pa.ArrowInvalid as error:
            raise ValueError(self._explain(str(error), columns)) from error

    def _explain(self, message: str, columns: _Columns) -> str:
        """Say what pyarrow says in our words: row, column and what would be right."""
        value = re.search(r"column #(\d+): Row #(\d+): .* to double: invalid value '(.*)'", message)
        if value:
            place = _place(self.name, int(value[2]), columns, int(value[1]))
            return place + _no_number(value[3], columns, int(value[1]))
        text = re.search(r"column #(\d+): Row #(\d+): .*invalid UTF8", message)
        if text:
            return _place(self.name, int(text[2]), columns, int(text[1])) + "no text in UTF-8"
        length = re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message)
        if length:
            return (
                f"{self.name}, row {length[1]}: {length[3]} columns, where the first row has "
                f"{length[2]}"
            )
        return f"{self.name} cannot be read as {self.delimiter!r}-separated text: {message}"


class _ParquetTable:
    """Parquet, read by pyarrow, some pages of each column at a time."""

    has_names = True

    def __init__(self, name: str, file: Any, stack: ExitStack) -> None:
        import pyarrow.parquet as parquet

        self.name = name
        if not isinstance(file, io.FileIO):  # it has to be read from its end
            copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            shutil.copyfileobj(file, copy)
            file = copy
        self.file = parquet.ParquetFile(
            file,
            page_checksum_verification=True,
            pre_buffer=False,  # else a whole row group is in memory
            buffer_size=PARQUET_BUFFER,
        )
        self.names = list(self.file.schema_arrow.names)
        if not self.names:
            raise ValueError(f"{name} has no columns.")

    def batches(self, columns: _Columns) -> Iterator[Batch]:
        import pyarrow as pa

        schema, n_rows = self.file.schema_arrow, 0
        keys = [self.names[k] for k in columns.used]
        if len(set(keys)) < len(keys):
            raise ValueError(f"{self.name} has two columns of one name.")
        for k in columns.used:
            _check_type(self.name, schema.field(k), columns, k)
        batch_size = max(PARQUET_VALUES // len(keys), 1)
        for batch in self.file.iter_batches(batch_size, columns=keys, use_threads=False):
            found = pa.record_batch([batch.column(key) for key in keys], names=keys)
            yield _table_batch(self.name, found, columns, n_rows)
            n_rows += batch.num_rows


def _check_type(name: str, field: Any, columns: _Columns, k: int) -> None:
    from pyarrow import types

    is_label = k == columns.label

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    numeric = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    if any(is_kind(kind) for is_kind in numeric):
        return
    is_text = types.is_string(kind) or types.is_large_string(kind)
    if is_label and is_text:
        return
    hint = _say_label(columns, k) if is_text else ""
    what = "a label must be text or a number" if is_label else "a feature must be a number"
    raise ValueError(f"{name}, column {field.name!r}: {what}, got {field.type}. {hint}{_DROP}")


_SAY_HEADER = "Say whether it is a header: --header or --no-header."
_DROP = "Columns that are not needed can be left out: --drop COLUMN."


def _table_batch(name: str, batch: Any, columns: _Columns, n_before: int) -> Batch:
    """Make arrays of a pyarrow batch, whose columns are the features and, last, the label."""
    import pyarrow as pa

    for j, column in enumerate(batch.columns):
        if column.null_count:
            row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise ValueError(_place(name, n_before + row + 1, columns, columns.used[j]) + _MISSING)
    X = np.empty((batch.num_rows, len(columns.features)))
    for j in range(X.shape[1]):
        numbers = batch.column(j).cast(pa.float64(), safe=False)
        X[:, j] = numbers.to_numpy(zero_copy_only=False)
    if not np.isfinite(X).all():
        row, j = np.argwhere(~np.isfinite(X))[0].tolist()
        place = _place(name, n_before + row + 1, columns, columns.features[j])
        raise ValueError(f"{place}{X[row, j]} is not a finite number")
    if columns.label is None:
        return Batch(X, None)
    text = batch.column(len(columns.features)).cast(pa.string()).dictionary_encode()
    labels = Labels(
        text.indices.to_numpy(zero_copy_only=False).astype(np.intp),
        [label.strip() for label in text.dictionary.to_pylist()],
    )
    if empty := labels.first(lambda label: not label):
        raise ValueError(_place(name, n_before + empty[0] + 1, columns, columns.label) + _MISSING)
    if broken := labels.first(lambda label: "\n" in label or "\r" in label):
        place = _place(name, n_before + broken[0] + 1, columns, columns.label)
        raise ValueError(f"{place}a label must be one line, got {broken[1]!r}")
    return Batch(X, labels)


_MISSING = "the value is missing; fill it in, or leave the row or the column out"


def _no_number(text: str, columns: _Columns, k: int) -> str:
    if not text.strip():
        return _MISSING
    return f"{text[:40]!r} is not a number. {_say_label(columns, k)}{_DROP}"


def _say_label(columns: _Columns, k: int) -> str:
    """Ask whether a column is the label, where another is taken for it."""
    if columns.label is None:
        return ""
    return (
        f"The label is taken from column {columns.names[columns.label]!r}; if it is in this one, "
        f"say --label {shlex.quote(columns.names[k])}. "
    )


def _place(name: str, row: int, columns: _Columns, k: int) -> str:
    """Rows are counted from 1, a header being the first; columns by name, or from 1."""
    return f"{name}, row {row}, column {columns.names[k]!r}: "


def _listed(names: list[str]) -> str:
    some = ", ".join(map(repr, names[:10]))
    return some if len(names) <= 10 else f"{some} and {len(names) - 10} more"


# --- labels ---------------------------------------------------------------------------------------


def number(text: str) -> float | None:
    """Return the finite number that a text spells, if it does."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _joined(parts: list[Any]) -> Labels:
    """Put labels of batches, each with codes of its own, under common codes."""
    names = {
        name: k for k, name in enumerate(dict.fromkeys(n for part in parts for n in part.names))
    }
    codes = [np.array([names[n] for n in part.names], dtype=np.intp)[part.codes] for part in parts]
    return Labels(np.concatenate(codes or [np.empty(0, np.intp)]), list(names))


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def _named_errors(name: str) -> Generator[None]:
    """Let what libraries raise name the file: a damaged archive or table is a ValueError."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{name} is damaged and cannot be decompressed: {error}") from error
    except OSError as error:
        if error.errno is None:  # the content's fault, not the device's
            raise ValueError(f"{name} is damaged: {error}") from error
        raise OSError(error.errno, os.strerror(error.errno), name) from error
    except Exception as error:
        if not type(error).__module__.startswith("pyarrow"):
            raise
        raise ValueError(f"{name} is damaged or cannot be read: {error}") from error
