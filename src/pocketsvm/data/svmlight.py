"""LIBSVM text files, plain or compressed, into CSR rows and labels, on all cores.

A file is cut into chunks of whole lines, which threads parse in native code. The calling thread
decompresses ahead of them, where that is needed, and appends what they parsed, in order: the
result depends on neither the cuts nor the number of threads.
"""

from __future__ import annotations

import bz2
import lzma
import os
import stat
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from io import FileIO
from numbers import Integral
from operator import methodcaller
from typing import Any, BinaryIO, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs

from .. import _core

__all__ = ["load_svmlight"]

DECOMPRESSORS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: GzipText(file),
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
CHUNK = 1 << 18  # bytes of text: with what is parsed of them, they stay in a core's cache
BLOCK = 1 << 16  # compressed bytes read at once
LONGEST_LINE = 1 << 30  # of what is streamed, which need not have an end
AHEAD = 2  # chunks in work or waiting, for each thread beside the calling one

Path = str | bytes | os.PathLike[Any]
Fill = Callable[["_core.SvmlightChunk"], None]


def load_svmlight(
    path_or_paths: Path | Iterable[Path],
    n_features: int | None = None,
    *,
    n_jobs: int | None = -1,
) -> Any:
    r"""Load rows and labels from text files in the LIBSVM (SVMlight) format.

    The same rows and labels as from `sklearn.datasets.load_svmlight_file`, many times faster. Each
    line holds ``label index:value index:value ...``, with indices that increase. What follows a
    ``#`` is a comment; ``qid:`` after a label is skipped; values written as zero are stored.

    Parameters
    ----------
    path_or_paths : str or path-like, or an iterable of them
        The file or files. Those whose names end in ``.gz``, ``.bz2`` or ``.xz`` are decompressed
        on the way.

    n_features : int, default=None
        The number of columns of X. None takes as many as the largest index in any of the files
        needs. A test file often lacks the last features of its training file: load both in one
        call, or give the number.

    n_jobs : int, default=-1
        Threads. -1 means all processors, None means 1 unless in a `joblib.parallel_config`
        context. The result does not depend on it.

    Returns
    -------
    X : csr_array of shape (n_samples, n_features), float32
        The rows. Its indices are sorted and unique.

    y : ndarray of shape (n_samples,), float64
        The labels.

        For an iterable of paths, a list ``[X1, y1, X2, y2, ...]``, in which all ``X`` have the
        same number of columns.

    Raises
    ------
    ValueError
        If a file is not in the format, holds several labels a row, has an index that n_features
        leaves no room for, is a damaged archive, or becomes shorter while it is read. The message
        names the file, and the line and column, both counted from 1.
    OSError
        If a file cannot be read: `FileNotFoundError`, say.

    See Also
    --------
    sklearn.datasets.dump_svmlight_file : Writes such files.

    Notes
    -----
    LIBSVM counts features from 1, others from 0: if index 0 occurs in any of the files, all of
    them are taken to count from 0, otherwise from 1. Values are read as the nearest float64,
    as Python's `float` does (``inf`` and ``nan`` too), and then rounded to float32.

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
    result: list[Any] = []
    for file in files:
        result += file.arrays(int(n_features or needed), first_index)
    return tuple(result) if one else result


class ParsedText:
    """The rows of one text; from where its indices count is to be decided later."""

    def __init__(self, name: str, expected_size: int) -> None:
        self.name = name
        self.rows = _core.SvmlightRows(min(expected_size, 1 << 28))
        self.least_index, self.largest_index = 2**31 - 1, -1
        self.spellings: dict[float, str] = {}  # of each label, as it is first written

    @classmethod
    def of_file(cls, path: str, n_threads: int) -> Self:
        """Parse a file, decompressed as its name asks for."""
        try:
            with open(path, "rb", buffering=0) as file:
                decompress = DECOMPRESSORS.get(os.path.splitext(path)[1])
                size = os.fstat(file.fileno()).st_size
                parsed = cls(path, size * (12 if decompress else 1))
                with decompress(file) if decompress else file as text, whole(file, path):
                    for chunk, line in parsed_chunks(text, path, n_threads):
                        parsed.append(chunk, line)
        except OSError as error:
            if error.filename is None:
                error.filename = path
            raise
        return parsed

    def append(self, chunk: _core.SvmlightChunk, line: int, *, spelled: bool = False) -> None:
        """Append a chunk that begins after so many lines."""
        if chunk.largest_index > self.largest_index:
            place = chunk.largest_place
            self.largest_index = chunk.largest_index
            self.largest_place = line + place[0], place[1]
        self.least_index = min(self.least_index, chunk.least_index)
        self.rows.append(chunk)
        if spelled:
            for label, row in zip(*np.unique(chunk.labels, return_index=True), strict=True):
                if label not in self.spellings:
                    self.spellings[float(label)] = chunk.spelling(row).decode()

    def check(self, n_features: int | None, first_index: int) -> int:
        """Return how many features there must be; raise ValueError where n_features are fewer."""
        needed = max(self.largest_index + 1 - first_index, 1)
        if n_features is not None and n_features < needed:
            raise ValueError(
                _at(self.name, *self.largest_place)
                + f"index {self.largest_index} (the first being "
                f"{first_index}) needs n_features to be at least {needed}, got {n_features}"
            )
        return needed

    def arrays(self, n_features: int, first_index: int) -> tuple[Any, Any]:
        """X and y; to be asked for once."""
        labels, row_lengths, indices, values = self.rows.finish(first_index == 0)
        if len(values) < 2**31:
            pointers = np.add.accumulate(row_lengths, dtype=np.int32, out=row_lengths)
        else:
            pointers = np.add.accumulate(row_lengths, dtype=np.int64)
        X = sp.csr_array((values, indices, pointers), shape=(len(labels), n_features))
        X.has_canonical_format = True
        return X, labels


# --- text in chunks, and chunks side by side ------------------------------------------------------


def parsed_chunks(
    text: Any, name: str, n_threads: int, *, finite: bool = False
) -> Iterator[tuple[_core.SvmlightChunk, int]]:
    """Yield a text in chunks, each with the number of lines before it; errors name the line."""
    fills: Iterable[Fill] = _decompressed(text, name)
    size = _regular_size(text)
    if size:
        n_pieces = -(-size // CHUNK)
        fills, n_threads = _pieces(text.fileno(), n_pieces), min(n_threads, n_pieces)
    line = 0
    with closing(_filled(fills, n_threads)) as chunks:
        for chunk in chunks:
            if chunk.error:
                raise ValueError(_at(name, line + chunk.error[0], chunk.error[1]) + chunk.error[2])
            if finite and chunk.infinite_place:
                place = chunk.infinite_place
                raise ValueError(_at(name, line + place[0], place[1]) + "the number is not finite")
            yield chunk, line
            line += chunk.n_lines


@contextmanager
def whole(file: Any, name: str) -> Iterator[None]:
    """Refuse a file that became shorter while it was read."""
    size = _regular_size(file)
    yield
    if _regular_size(file) < size:
        raise ValueError(f"{name} became shorter while it was read: rows at its end are missing")


def _regular_size(text: Any) -> int:
    """Bytes of a file that can be read anywhere; 0 for all others."""
    if not isinstance(text, FileIO):
        return 0
    status = os.fstat(text.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _at(name: str, line: int, column: int) -> str:
    return f"{name}, line {line}, column {column}: "


def _pieces(descriptor: int, n_pieces: int) -> Iterator[Fill]:
    """Cut a file that can be read anywhere: each thread reads its own piece."""
    for k in range(n_pieces):
        yield methodcaller("read", descriptor, k * CHUNK, (k + 1) * CHUNK)


def _streamed(file: Any, name: str) -> Iterator[Fill]:
    """Read a file from front to back, and cut it at line ends."""
    parts: list[bytes] = []
    size = 0
    while block := file.read(CHUNK):
        parts.append(block)
        if end := block.rfind(b"\n") + 1:
            yield methodcaller("parse", parts, size + end)
            parts, size = [block[end:]], 0
        size += len(block) - end
        if size > LONGEST_LINE:
            raise ValueError(f"{name} has a line of more than {LONGEST_LINE:,} bytes")
    yield methodcaller("parse", parts, size)


def _decompressed(text: Any, path: str) -> Iterator[Fill]:
    """Do the same with an archive; where it is damaged, what comes before is still parsed."""
    try:
        yield from _streamed(text, path)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # the device's fault, not the archive's
        message = f"{path} is damaged and cannot be decompressed: {error}"

        def refuse(chunk: _core.SvmlightChunk) -> None:
            raise ValueError(message)

        yield refuse


class GzipText:
    """What `gzip.open` reads, a fifth faster: zlib itself knows about headers and check sums."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.packed = b""
        self.member: Any = None  # a file may have several

    def __enter__(self) -> GzipText:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self, size: int) -> bytes:
        """At most size bytes; none only at the end."""
        text = b""
        while not text:
            self.packed = self.packed or self.file.read(BLOCK)
            if self.member is None:
                if not self.packed:
                    break
                self.packed = self.packed.lstrip(b"\0")  # padding
                self.member = zlib.decompressobj(wbits=31) if self.packed else None
                continue
            if not self.packed:
                raise EOFError("it ends too early")
            text = self.member.decompress(self.packed, size)
            if self.member.eof:
                self.packed, self.member = self.member.unused_data, None
            else:
                self.packed = self.member.unconsumed_tail
        return text


def _filled(fills: Iterable[Fill], n_threads: int) -> Generator[_core.SvmlightChunk]:
    """Yield chunks in order, filled on n_threads, of which the calling one is one.

    It fills those itself for which the others have no time. A chunk is used again when the next
    one is asked for.
    """
    ahead = AHEAD * (n_threads - 1)
    pending: deque[tuple[Future[None], _core.SvmlightChunk]] = deque()
    spare: list[_core.SvmlightChunk] = []
    with ThreadPoolExecutor(max(n_threads - 1, 1)) as pool:  # which starts them when needed
        try:
            for fill in fills:
                chunk = spare.pop() if spare else _core.SvmlightChunk()
                waiting = sum(not future.done() for future, _ in pending)
                filled = pool.submit(fill, chunk) if waiting < ahead else _call(fill, chunk)
                pending.append((filled, chunk))
                while pending and (pending[0][0].done() or len(pending) > 4 * n_threads):
                    future, chunk = pending.popleft()
                    future.result()
                    yield chunk
                    spare.append(chunk)
            for future, chunk in pending:
                future.result()
                yield chunk
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _call(fill: Fill, chunk: _core.SvmlightChunk) -> Future[None]:
    """Fill the chunk here and now; an error has to wait for its turn all the same."""
    future: Future[None] = Future()
    try:
        fill(chunk)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(None)
    return future
