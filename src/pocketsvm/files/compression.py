"""Files as streams of bytes: compressed ones are decompressed, damaged ones are refused.

The first bytes of a file tell whether it is compressed, whatever its name.
"""

import bz2
import gzip
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Protocol

from .errors import DataError
from .remote import is_remote, is_url

MAX_HEAD = 1 << 24  # bytes read ahead at most: a file of binary data may have no line ends


class Stream(Protocol):
    """Anything whose bytes can be read from front to back."""

    def read(self, size: int, /) -> bytes:
        """Return at most size bytes; none only at the end."""


def _open_zstd(file: Any) -> Stream:
    """Decompress Zstandard, which Python's library has only from 3.14 on, with pyarrow."""
    if find_spec("pyarrow") is None:
        raise ImportError("reading .zst files needs pyarrow: pip install 'pocketsvm[data]'")
    import pyarrow as pa

    stream: Stream = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")
    return stream


def _open_zip(file: Any) -> Stream:
    """Open the only member of a ZIP archive."""
    if not is_seekable(file):
        raise DataError("it is a ZIP archive, which can be read from a file, but not from a pipe.")
    try:
        archive = zipfile.ZipFile(file)
        members = [each for each in archive.infolist() if not each.is_dir()]
        if len(members) != 1:
            raise DataError(
                f"it is a ZIP archive of {len(members)} files, and one is expected: unpack it."
            )
        return archive.open(members[0])
    except (RuntimeError, NotImplementedError) as error:  # encrypted, or a rare method
        raise DataError(f"it is a ZIP archive that cannot be read: {error}.") from error


@dataclass(frozen=True)
class _Codec:
    suffix: str
    magic: bytes  # the first bytes of every file
    decompress: Callable[[Any], Stream]


CODECS = (
    _Codec(".gz", b"\x1f\x8b", gzip.open),
    _Codec(".bz2", b"BZh", bz2.open),
    _Codec(".xz", b"\xfd7zXZ\x00", lzma.open),
    _Codec(".zst", b"\x28\xb5\x2f\xfd", _open_zstd),
    _Codec(".zip", b"PK\x03\x04", _open_zip),
)
# Files that are no data files, by their first bytes.
REFUSED = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive; unpack it",
    b"Rar!": "a RAR archive; unpack it",
    b"\x04\x22\x4d\x18": "compressed with LZ4; unpack it",
    b"\x1f\x9d": "compressed with compress (.Z); unpack it",
    b"\x93NUMPY": "a NumPy array; load it in Python, or save it as CSV",
    b"\x89HDF": "an HDF5 file; save its table as CSV or Parquet",
    b"ARROW1": "an Arrow (Feather) file; save its table as Parquet",
    b"PKTSVM": "a model file of pocketsvm, where a data file is expected",
}
SUFFIXES = tuple(codec.suffix for codec in CODECS)
MAGIC_SIZE = max(map(len, [*(codec.magic for codec in CODECS), *REFUSED]))


def without_suffix(path: str) -> str:
    """Return the name of a file without the ending that says how it is compressed."""
    return path[: path.rindex(".")] if path.lower().endswith(SUFFIXES) else path


def decompressed(file: Stream) -> Stream:
    """Return a stream of what the file holds; it needs no closing, only the file does.

    A regular file that is not compressed is returned as it is.
    """
    file, head = peeked(file, MAGIC_SIZE)
    for codec in CODECS:
        if head.startswith(codec.magic):
            return codec.decompress(file)
    for magic, description in REFUSED.items():
        if head.startswith(magic):
            raise DataError(f"it is {description}.")
    return file


def peeked(stream: Any, n_bytes: int, n_lines: int = 0) -> tuple[Stream, bytes]:
    """Read at least so many bytes and lines, if there are; return them and the whole stream."""
    parts: list[bytes] = []
    n_read = n_ends = 0
    while (n_read < n_bytes or n_ends < n_lines) and n_read < MAX_HEAD:
        if not (block := stream.read(n_bytes)):
            break
        parts.append(block)
        n_read += len(block)
        n_ends += block.count(b"\n")
    head = b"".join(parts)
    if is_seekable(stream):
        stream.seek(0)
        return stream, head
    return _Rewound(head, stream), head


class _Rewound(io.RawIOBase):
    """A stream whose first bytes were read before, and are given again."""

    def __init__(self, head: bytes, stream: Stream) -> None:
        self.head = head
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.head[: len(buffer)] or self.stream.read(len(buffer))
        self.head = self.head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Make errors name the file; a damaged archive is a `DataError`."""
    try:
        yield
    except DataError as error:
        if name in error.problem:
            raise
        raise DataError(f"{name} cannot be read: {error.problem}", *error.hints) from error
    except (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise DataError(f"{name} is damaged and cannot be decompressed: {error}") from error
    except OSError as error:
        if error.errno is None and is_url(name):
            raise DataError(f"{name} cannot be read: {error}") from error
        if error.errno is None:  # a library refuses the content; the device works
            raise DataError(f"{name} is damaged: {error}") from error
        raise OSError(error.errno, os.strerror(error.errno), name) from error


@contextmanager
def whole(file: Any, name: str) -> Iterator[None]:
    """Refuse a file that becomes shorter while it is read."""
    size = regular_size(file)
    yield
    if regular_size(file) < size:
        raise DataError(f"{name} became shorter while it was read: rows at its end are missing")


def is_seekable(stream: Any) -> bool:
    """Whether a stream is a file that can be read at any position."""
    return is_remote(stream) or (isinstance(stream, io.FileIO) and _is_regular(stream))


def regular_size(file: Any) -> int:
    """Return the bytes of a file of this machine that can be read at any position, else 0."""
    if not isinstance(file, io.FileIO) or not _is_regular(file):
        return 0
    return os.fstat(file.fileno()).st_size


def _is_regular(file: io.FileIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
