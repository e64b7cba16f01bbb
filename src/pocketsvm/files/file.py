"""The front door: opens a data file, tells its format, and reads it with the reader of the format.

The first bytes of a file tell its format, and its name if they fit several. Any file may be
compressed, and ``-`` is standard input.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any, Self

from .._cached import cached_property
from .._formats import FILES, by_ending, named, names
from .columns import Layout, Options
from .compression import Stream, decompressed, named_errors, peeked, whole, without_suffix
from .errors import DataError
from .reader import BYTE_ORDER_MARK, SURELY, Batch, Opened, Reader
from .remote import open_binary

FORMATS = names(FILES)
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

    kind : type
        The reader of the format.

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
                self._file = stack.enter_context(open_binary(path))
            self._content, self._head = peeked(decompressed(self._file), HEAD_BYTES, HEAD_LINES)
            self.format = _format(self._head, path, self.options)
            self.kind: type[Reader] = named(FILES, self.format).load()
            if self.options.sep is not None and not self.kind.has_separator:
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

    @cached_property
    def table(self) -> Any:
        """The reader of a table, which knows its columns.

        LIBSVM text has none: its largest index may be in the last row.
        """
        if not self.kind.is_table:
            raise DataError(f"{self.name} is LIBSVM text, which tells its features at the end.")
        return self.reader

    def layout(self) -> Layout:
        """Return where a table has its features and its label, for a fit; no row is read."""
        layout: Layout = self.table.layout()
        return layout

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
        with self.checked():
            yield from self.reader.batches(layout, labels, n_jobs)

    @cached_property
    def reader(self) -> Reader:
        """The reader of the format."""
        if self.kind.is_table and find_spec("pyarrow") is None:
            raise ImportError(
                f"{self.name} is a table ({self.format}), and reading one needs pyarrow: "
                "pip install 'pocketsvm[data]'"
            )
        head, is_cut = self._head, len(self._head) >= HEAD_BYTES
        opened = Opened(self.name, self.options, self._content, head, is_cut, self._stack)
        with named_errors(self.name):
            reader: Reader = named(FILES, self.format).load()(opened)
        return reader


def _format(head: bytes, path: str, options: Options) -> str:
    """Tell the format by the first bytes, and by the ending of the name if they fit several."""
    kinds: dict[str, type[Reader]] = {each.name: each.load() for each in FILES}
    if options.format is not None:
        return options.format
    for name, kind in kinds.items():
        if kind.magic and head.startswith(kind.magic):
            return name
    if options.sep is not None:
        return next(name for name, kind in kinds.items() if kind.has_separator)
    # A list of all lines would take much memory if a file has nothing but line ends.
    found = re.finditer(rb"[^\r\n]+", head.removeprefix(BYTE_ORDER_MARK))
    lines = (line[0].split(b"#")[0] for line in found)
    first = next((line for line in lines if line.strip()), b"")
    likeness = {name: kind.likeness(first) for name, kind in kinds.items()}
    best = max(likeness, key=likeness.__getitem__)
    by_name = by_ending(FILES, without_suffix(path))
    return best if likeness[best] == SURELY or by_name is None else by_name.name
