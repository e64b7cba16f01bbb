"""Files as streams of bytes: compressed ones are decompressed, damaged ones are refused.

The first bytes of a file tell whether it is compressed, whatever its name.
"""

import bz2
import io
import lzma
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import DataError

GZIP_BLOCK = 1 << 16  # compressed bytes read at once: one system call per few hundred kB of text
GZIP_WBITS = 31  # tells zlib to expect a gzip header and check sum, with the largest window
MAX_HEAD = 1 << 26  # bytes read ahead at most: a file of binary data may have no line ends


class Stream(Protocol):
    """Anything whose bytes can be read from front to back."""

    def read(self, size: int, /) -> bytes:
        """Return at most size bytes; none only at the end."""


class GzipText:
    """What `gzip.open` reads, a fifth faster: zlib itself handles headers and check sums."""

    def __init__(self, file: Stream) -> None:
        self.file = file
        self.packed = b""
        self.member: Any = None  # a decompressor; a file may have several members

    def read(self, size: int, /) -> bytes:
        """Return at most size bytes; none only at the end."""
        text = b""
        while not text:
            self.packed = self.packed or self.file.read(GZIP_BLOCK)
            if self.member is None:
                if not self.packed:
                    break
                self.packed = self.packed.lstrip(b"\0")  # padding
                self.member = zlib.decompressobj(GZIP_WBITS) if self.packed else None
                continue
            if not self.packed:
                raise EOFError("it ends too early")
            text = self.member.decompress(self.packed, size)
            if self.member.eof:
                self.packed, self.member = self.member.unused_data, None
            else:
                self.packed = self.member.unconsumed_tail
        return text


@dataclass(frozen=True)
class _Codec:
    suffix: str
    magic: bytes  # the first bytes of every file
    decompress: Callable[[Any], Stream]


CODECS = (
    _Codec(".gz", b"\x1f\x8b", GzipText),
    _Codec(".bz2", b"BZh", bz2.open),
    _Codec(".xz", b"\xfd7zXZ\x00", lzma.open),
)
SUFFIXES = tuple(codec.suffix for codec in CODECS)
MAGIC_SIZE = max(len(codec.magic) for codec in CODECS)


def decompressed(file: Stream) -> Stream:
    """Return a stream of what the file holds; it needs no closing, only the file does.

    A regular file that is not compressed is returned as it is.
    """
    file, head = peeked(file, MAGIC_SIZE)
    for codec in CODECS:
        if head.startswith(codec.magic):
            return codec.decompress(file)
    return file


def peeked(stream: Stream, n_bytes: int, n_lines: int = 0) -> tuple[Stream, bytes]:
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
    if isinstance(stream, io.FileIO) and _is_regular(stream):
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
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{name} is damaged and cannot be decompressed: {error}") from error
    except OSError as error:
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


def regular_size(file: Any) -> int:
    """Return the bytes of a file that can be read at any position; 0 for every other stream."""
    if not isinstance(file, io.FileIO) or not _is_regular(file):
        return 0
    return os.fstat(file.fileno()).st_size


def _is_regular(file: io.FileIO) -> bool:
    return stat.S_ISREG(os.fstat(file.fileno()).st_mode)
