"""Array files: a JSON header and named arrays in one file, with a checksum.

The layout; numbers are little-endian::

    magic    version  header length  file length  header      arrays                 SHA-256
    8 bytes  uint32   uint32         uint64       UTF-8 JSON  each at a multiple     of all
                                                              of 8 from the first    before it

"arrays" in the header maps the name of each array to its dtype, shape and offset. The arrays follow
each other in this order; zeros fill the space up to the next multiple of 8. No number in a file is
trusted: sizes are checked against the true length of the file before anything is allocated.

This module does not know what the arrays mean; `sections` and `file` describe that.
"""

import hashlib
import json
import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from io import BufferedReader
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._replacing import PathLike, replacing

# The line ending detects a file that was copied as text.
MAGIC = b"PKTSVM\r\n"
VERSION = 3
PREFIX = struct.Struct("<8sIIQ")
ALIGNMENT = 8
CHECKSUM_SIZE = hashlib.sha256().digest_size
# A parsed header takes up to about 25 times its length in memory: long data belong in arrays.
MAX_HEADER = 2**20
# The checksum is computed in chunks of this size, which bounds the memory.
CHUNK = 2**20

DTYPES = ("bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)))
DTYPES += ("float16", "float32", "float64")
MAX_DIMENSIONS = 2

T = TypeVar("T")
Array = NDArray[Any]
# The dtype and shape of an array.
Described = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Entry:
    """What the header says about an array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int = 0

    @property
    def size(self) -> int:
        """The number of bytes; Python's integers cannot overflow."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.offset + self.size


@dataclass(frozen=True)
class Head:
    """What stands before the arrays of a file.

    Attributes
    ----------
    header : dict
        The JSON header, with "arrays".

    entries : dict of str to Entry
        The arrays, by name.

    start : int
        The position of the first array in the file.
    """

    header: dict[str, Any]
    entries: dict[str, Entry]
    start: int


# --- writing ------------------------------------------------------------------------------------


def write_arrays(path: PathLike, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a header and arrays to a file that appears in one step."""
    prefix, text = _encode(header, arrays)
    with replacing(path) as file:
        checksum = hashlib.sha256()
        for part in (prefix, text, *_padded(arrays)):
            checksum.update(part)
            file.write(part)
        file.write(checksum.digest())


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _encode(header: dict[str, Any], arrays: dict[str, Array]) -> tuple[bytes, bytes]:
    """Return the bytes before the arrays: prefix and header."""
    table, offset = {}, 0
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES or array.ndim > MAX_DIMENSIONS:
            raise ValueError(f"a file cannot keep {name!r}, {array.ndim}-D of {array.dtype}.")
        table[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        offset += _aligned(array.nbytes)
    text = json.dumps({**header, "arrays": table}, allow_nan=False).encode()
    text += b" " * (_aligned(PREFIX.size + len(text)) - PREFIX.size - len(text))
    if len(text) > MAX_HEADER:
        raise ValueError(f"its header would be {len(text):,} bytes of at most {MAX_HEADER:,}.")
    length = PREFIX.size + len(text) + offset + CHECKSUM_SIZE
    return PREFIX.pack(MAGIC, VERSION, len(text), length), text


def _padded(arrays: dict[str, Array]) -> Iterator[bytes | memoryview]:
    for array in arrays.values():
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        yield little.reshape(-1).view(np.uint8).data
        yield bytes(_aligned(array.nbytes) - array.nbytes)


# --- reading ------------------------------------------------------------------------------------


def read_head(file: BufferedReader, length: int, max_bytes: int) -> Head:
    """Check a file of this length, including its checksum, and return its head."""
    prefix = file.read(PREFIX.size)
    if not prefix.startswith(MAGIC):
        raise ValueError("it is not a file of pocketsvm.")
    if length < PREFIX.size + CHECKSUM_SIZE:
        raise ValueError(f"it is truncated to {length} bytes.")
    _, file_version, header_length, full_length = PREFIX.unpack(prefix)
    if file_version != VERSION:
        advice = "A newer pocketsvm may read it."
        if file_version < VERSION:
            advice = "No release of pocketsvm wrote such files: train the model again."
        raise ValueError(
            f"it is of version {file_version} of the format, and pocketsvm "
            f"{version('pocketsvm')} reads version {VERSION}. {advice}"
        )
    if full_length != length:
        what = "truncated" if length < full_length else "damaged"
        raise ValueError(f"it is {what}: {length:,} bytes long instead of {full_length:,}.")
    if length > max_bytes:
        raise ValueError(f"it is {length:,} bytes long, more than max_bytes={max_bytes:,}.")
    start = PREFIX.size + header_length
    if header_length > MAX_HEADER or start > length - CHECKSUM_SIZE:
        raise ValueError(f"it claims a header of {header_length:,} bytes.")
    _check_sum(file, length)
    file.seek(PREFIX.size)
    header = _parse(file.read(header_length))
    return Head(header, _entries(header, length - CHECKSUM_SIZE - start), start)


def read_array(file: BufferedReader, start: int, entry: Entry) -> Array:
    """Read an array into new memory."""
    array = np.empty(entry.shape, dtype=entry.dtype.newbyteorder("<"))
    file.seek(start + entry.offset)
    if file.readinto(array.reshape(-1).view(np.uint8).data) != entry.size:
        raise ValueError("it was truncated while it was read.")
    return array.astype(entry.dtype, copy=False)


def take(mapping: Any, name: str, kind: type[T]) -> T:
    """Return a value of a header, which must exist and be of this type; a bool is not a number."""
    if not isinstance(mapping, dict) or name not in mapping:
        raise ValueError(f"its header lacks {name!r}.")
    value: Any = mapping[name]
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{name!r} is {str(value)[:100]!r} in its header, not {kind.__name__}.")
    if isinstance(value, float) and not math.isfinite(value):  # the parser reads 1e999 as infinity
        raise ValueError(f"{name!r} is not finite in its header.")
    result: T = value
    return result


def _check_sum(file: BufferedReader, length: int) -> None:
    file.seek(0)
    checksum, left = hashlib.sha256(), length - CHECKSUM_SIZE
    while left and (chunk := file.read(min(CHUNK, left))):
        checksum.update(chunk)
        left -= len(chunk)
    if left or file.read(CHECKSUM_SIZE) != checksum.digest():
        raise ValueError("its checksum does not match its content: it is damaged.")


def _parse(text: bytes) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) < len(pairs):
            raise ValueError("its header holds a name twice.")
        return result

    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"its header holds {constant}.")

    header: dict[str, Any] = json.loads(
        text.decode(), object_pairs_hook=unique, parse_constant=refuse
    )
    return header


def _entries(header: dict[str, Any], length: int) -> dict[str, Entry]:
    """Check that the arrays fill `length` bytes in their order, without gap or overlap."""
    entries, end = {}, 0
    for name, described in take(header, "arrays", dict).items():
        dtype, shape = take(described, "dtype", str), take(described, "shape", list)
        if dtype not in DTYPES:
            raise ValueError(f"its array {name[:100]!r} is of dtype {dtype[:100]!r}.")
        fits = all(type(n) is int and 0 <= n <= length for n in shape)
        if not fits or len(shape) > MAX_DIMENSIONS:
            raise ValueError(f"its array {name[:100]!r} has the shape {str(shape)[:100]}.")
        entry = Entry(np.dtype(dtype), tuple(shape), take(described, "offset", int))
        if entry.offset != end or entry.end > length:
            raise ValueError(
                f"its array {name[:100]!r} of {entry.size} bytes would start at "
                f"{str(entry.offset)[:100]}, where {end} to {length} are free."
            )
        entries[name] = entry
        end = _aligned(entry.end)
    if end != length:
        raise ValueError(f"its arrays end at byte {end} of {length}.")
    return entries
