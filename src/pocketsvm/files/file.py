"""The front door: opens a data file, tells its format, and reads it with the reader of the format.

The first bytes of a file tell its format, and its name if they fit several. Any file may be
compressed, and ``-`` is standard input.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Self

from .._cached import cached_property
from . import parquet
from .arrow import ArrowTable
from .columns import Layout, Options
from .compression import SUFFIXES, Stream, decompressed, named_errors, peeked, whole
from .delimited import BYTE_ORDER_MARK, DelimitedText, delimiter_of
from .errors import DataError
from .reader import Batch, Reader
from .svmlight import SvmlightReader

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
# A row of LIBSVM text that has at least one feature.
LIBSVM_ROW = re.compile(rb"\s*[^\s:,;\"]+(\s+qid:\S+)?\s+\+?\d+:[^\s,;\"]+(\s|$)")
HEAD_BYTES = 1 << 16  # bytes that tell the format: enough rows to tell a header from data
HEAD_LINES = 2  # a header and a row, however long they are


class DataFile:
    r"""A data file, open to be read once, from front to back.

    Parameters
    ----------
    path : str
        The file; ``-`` is standard input.

    options : Options, default=None
        What the user says about it. None leaves everything to the file.

    Attributes
    ----------
    name : str
        What messages call it.

    format : {"libsvm", "csv", "tsv", "parquet"}
        Its format.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pocketsvm.files import DataFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "iris.csv"
    ...     _ = path.write_text("width,length,kind\n1,2.5,a\n3,4,b\n")
    ...     with DataFile(str(path)) as file:
    ...         layout = file.layout()
    ...         (batch,) = file.batches(layout, labels=True)
    >>> batch.X
    array([[1. , 2.5],
           [3. , 4. ]])
    >>> batch.labels.names, layout.names
    (['a', 'b'], ['width', 'length'])
    """

    def __init__(self, path: str, options: Options | None = None) -> None:
        self.options = options or Options()
        self.name = "standard input" if path == "-" else path
        with ExitStack() as stack, named_errors(self.name):
            if path == "-":
                self._file = sys.stdin.buffer
            else:
                self._file = stack.enter_context(open(path, "rb", buffering=0))
            self._content, self._head = peeked(decompressed(self._file), HEAD_BYTES, HEAD_LINES)
            self.format = self.options.format or _format(self._head, path, self.options.sep)
            if self.options.sep is not None and self.format != "csv":
                raise DataError(f"{self.name} is {self.format}, which has no separator to choose.")
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def checked(self) -> Iterator[Stream]:
        """Give the content to a parser; errors name the file, which must not become shorter."""
        with named_errors(self.name), whole(self._file, self.name):
            yield self._content

    def columns(self) -> list[str]:
        """Return the names of the columns of a table, or their numbers from 1."""
        return [] if self.format == "libsvm" else list(self._table.names)

    def layout(self) -> Layout:
        """Return where a table has its features and its label, for a fit; no row is read.

        LIBSVM text does not tell: its largest index may be in the last row.
        """
        if self.format == "libsvm":
            raise DataError(f"{self.name} is LIBSVM text, which tells its features at the end.")
        return self._table.layout()

    def named_options(self) -> Options:
        """Return the options with the names of a table's columns in place of their numbers.

        They choose the same columns of other tables with these names, whatever their order.
        """
        return self._table.named_options()

    def check_names(self, layout: Layout, first: str) -> None:
        """Refuse a table if it has names of columns and the first of several files has none.

        Without names, its columns could not be matched, so that the other way is refused, too.
        """
        if self._table.has_names and layout.names is None:
            raise DataError(
                f"{self.name} names its columns, such as {self._table.names[0]!r}, but {first} "
                "does not. Give all files a header, or none."
            )
        if not self._table.has_names and layout.names is not None:
            raise DataError(
                f"{self.name} has no names of columns, such as {layout.names[0]!r} in {first}. "
                "Give all files a header, or none."
            )

    def batches(
        self, layout: Layout, *, labels: bool = False, n_jobs: int | None = -1
    ) -> Iterator[Batch]:
        """Read the features of a model in batches of bounded size.

        Features that the model does not know are left out; features that LIBSVM text does not
        mention are zero. The columns of a table are found by name, or by position if they have no
        names.

        Parameters
        ----------
        layout : Layout
            Where the model's training file had its columns.

        labels : bool, default=False
            Whether labels are wanted.

        n_jobs : int, default=-1
            Threads that parse LIBSVM text.

        Yields
        ------
        batch : Batch
            The next rows.

        Raises
        ------
        DataError
            If the file cannot be used as it is. The message names the place.
        """
        with named_errors(self.name), whole(self._file, self.name):
            yield from self._reader(n_jobs).batches(layout, labels)

    def _reader(self, n_jobs: int | None) -> Reader:
        if self.format == "libsvm":
            if self.options.weights is not None or self.options.ids is not None:
                raise DataError(f"{self.name} is LIBSVM text, which has no columns of other kinds.")
            return SvmlightReader(self.name, self._content, n_jobs, self.options.queries)
        return self._table

    @cached_property
    def _table(self) -> ArrowTable:
        if find_spec("pyarrow") is None:
            raise ImportError(
                f"{self.name} is a table ({self.format}), and reading one needs pyarrow: "
                "pip install 'pocketsvm[data]'"
            )
        with named_errors(self.name):
            if self.format == "parquet":
                return parquet.ParquetTable(self.name, self.options, self._content, self._stack)
            return DelimitedText(
                self.name,
                self.options,
                self._content,
                self._head,
                is_cut=len(self._head) >= HEAD_BYTES,
                is_tsv=self.format == "tsv",
            )


def _format(head: bytes, path: str, sep: str | None) -> str:
    """Tell the format by the first bytes, and by the ending of the name if they fit several."""
    if head.startswith(parquet.MAGIC):
        return "parquet"
    if sep is not None:
        return "csv"
    stem, ending = os.path.splitext(path.lower())
    if ending in SUFFIXES:
        ending = os.path.splitext(stem)[1]
    # A list of all lines would take much memory if a file has nothing but line ends.
    found = re.finditer(rb"[^\r\n]+", head.removeprefix(BYTE_ORDER_MARK))
    lines = (line[0].split(b"#")[0] for line in found)
    first = next((line for line in lines if line.strip()), b"")
    if LIBSVM_ROW.match(first):
        return "libsvm"
    if ending in ENDINGS:
        return ENDINGS[ending]
    delimiter = delimiter_of(first)
    if delimiter == " ":  # a row of LIBSVM text may be damaged; a table of numbers has no colon
        return "libsvm" if b":" in first else "csv"
    return "libsvm" if delimiter is None else "tsv" if delimiter == "\t" else "csv"
