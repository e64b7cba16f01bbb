"""Lists of strings as arrays of a file: their bytes in UTF-8, and where each string ends."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from .container import Array, Described, Entry

# The memory of a str beside its characters, and of a character.
STR_SIZE, CHARACTER_SIZE = 64, np.dtype("U1").itemsize


def pack_strings(name: str, strings: list[Any]) -> dict[str, Array]:
    """Return the arrays "ends" and "bytes" of some strings; `name` is for messages."""
    for string in strings:
        if not isinstance(string, str):
            raise ValueError(f"{string!r} among its {name} is not a string.")
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        "ends": np.cumsum([len(string) for string in encoded], dtype=np.int64),
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
    }


def expected_strings(
    prefix: str, entries: Mapping[str, Entry]
) -> tuple[dict[str, Described], int, int]:
    """Return the arrays that strings need, the number of strings, and the bytes they take."""
    (n_strings,) = shape_of(entries, f"{prefix}ends", 1)
    (n_bytes,) = shape_of(entries, f"{prefix}bytes", 1)
    expected: dict[str, Described] = {
        f"{prefix}ends": ("int64", (n_strings,)),
        f"{prefix}bytes": ("uint8", (n_bytes,)),
    }
    return expected, n_strings, n_strings * STR_SIZE + n_bytes * CHARACTER_SIZE


def unpack_strings(name: str, prefix: str, arrays: Mapping[str, Array]) -> list[str]:
    """Return the strings of two arrays whose shapes have been checked."""
    text = arrays[f"{prefix}bytes"].tobytes()
    bounds = [0, *arrays[f"{prefix}ends"].tolist()]
    if bounds[-1] != len(text) or any(begin > end for begin, end in pairwise(bounds)):
        raise ValueError(f"its {name} do not fit the bytes that spell them.")
    return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]


def object_array(strings: list[str]) -> Array:
    """Return strings as an array of objects."""
    return np.array(strings, dtype=object)


def shape_of(entries: Mapping[str, Entry], name: str, n_dimensions: int) -> tuple[int, ...]:
    """Return the shape of an array that must exist and have so many dimensions."""
    if name not in entries or len(entries[name].shape) != n_dimensions:
        raise ValueError(f"it lacks the array {name!r}, or that is not {n_dimensions}-D.")
    return entries[name].shape
