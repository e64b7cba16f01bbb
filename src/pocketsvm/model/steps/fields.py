"""Fields: what a fitted transformer has learnt, as values and arrays of a model file.

A field checks what a file says about it before any array is read. The sizes of arrays are given by
names: "inputs" is the number of columns before the step, and another name is bound to the size of
the first array that has it.
"""

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..container import Array, Described, Entry, take
from ..strings import expected_strings, object_array, pack_strings, shape_of, unpack_strings

Header = dict[str, Any]
Sizes = MutableMapping[str, int]
Expected = tuple[dict[str, Described], int]

# The memory of a value in lists and tables, beside its text.
VALUE_SIZE = 512


class Field(Protocol):
    """Something that a transformer has learnt."""

    @property
    def when(self) -> tuple[str, ...]:
        """The parameters of which one must be true; the field always exists if there are none."""

    def pack(self, name: str, value: Any) -> tuple[Header, dict[str, Array]]:
        """Return the values and the arrays that a file keeps."""

    def expected(
        self, name: str, header: Header, prefix: str, entries: Mapping[str, Entry], sizes: Sizes
    ) -> Expected:
        """Return the arrays that must exist, and the bytes that they take besides."""

    def unpack(self, name: str, header: Header, prefix: str, arrays: Mapping[str, Array]) -> Any:
        """Return the value of a field whose arrays have the right shapes."""


@dataclass(frozen=True)
class Numbers:
    """An array of numbers; if its dtype is not allowed, the first one that is takes its place."""

    shape: tuple[str, ...] = ("inputs",)
    dtypes: tuple[str, ...] = ("float64", "float32")
    when: tuple[str, ...] = ()
    optional: bool = False

    def pack(self, name: str, value: Any) -> tuple[Header, dict[str, Array]]:
        """Return no values and one array."""
        if self.optional and value is None:
            return {}, {}
        array = np.asarray(value)
        return {}, {
            name: array if array.dtype.name in self.dtypes else array.astype(self.dtypes[0])
        }

    def expected(
        self, name: str, header: Header, prefix: str, entries: Mapping[str, Entry], sizes: Sizes
    ) -> Expected:
        """Return the array that must exist."""
        at = prefix + name
        if self.optional and at not in entries:
            return {}, 0
        if not all(size in sizes for size in self.shape):
            for size, n in zip(self.shape, shape_of(entries, at, len(self.shape)), strict=True):
                sizes.setdefault(size, n)
        dtype = entries[at].dtype.name if at in entries else ""
        dtype = dtype if dtype in self.dtypes else self.dtypes[0]
        return {at: (dtype, tuple(sizes[size] for size in self.shape))}, 0

    def unpack(self, name: str, header: Header, prefix: str, arrays: Mapping[str, Array]) -> Any:
        """Return the array."""
        return arrays.get(prefix + name)


@dataclass(frozen=True)
class Scalar:
    """A number in a range."""

    kind: type[int] | type[float]
    low: float
    high: float
    when: tuple[str, ...] = ()
    optional: bool = False

    def pack(self, name: str, value: Any) -> tuple[Header, dict[str, Array]]:
        """Return one value; of several, which columns with missing values give, the largest."""
        if self.optional and value is None:
            return {}, {}
        return {name: self.kind(np.max(value))}, {}

    def expected(
        self, name: str, header: Header, prefix: str, entries: Mapping[str, Entry], sizes: Sizes
    ) -> Expected:
        """Check the value; there is no array."""
        if self.optional and name not in header:
            return {}, 0
        if not self.low <= take(header, name, self.kind) <= self.high:
            raise ValueError(f"{name!r} is out of range in a step of its preparation.")
        return {}, 0

    def unpack(self, name: str, header: Header, prefix: str, arrays: Mapping[str, Array]) -> Any:
        """Return the value."""
        return header.get(name)


@dataclass(frozen=True)
class Values:
    """A list of texts and numbers, such as categories: "values" in the header tells which.

    "text" has the arrays ends and bytes, "number" an array of the field's name, and "mixed" all of
    them and is_text.
    """

    size: str = "inputs"
    when: tuple[str, ...] = ()

    def pack(self, name: str, value: Any) -> tuple[Header, dict[str, Array]]:
        """Return what the values are, and their arrays."""
        values = value.tolist() if isinstance(value, np.ndarray) else list(value)
        texts = [each for each in values if isinstance(each, str)]
        given = getattr(value, "dtype", None)
        dtype = given if given in (np.float32, np.float64) else np.float64
        numbers = np.array([each for each in values if not isinstance(each, str)], dtype=dtype)
        if not texts:
            return {"values": "number"}, {name: numbers}
        if len(texts) == len(values):
            return {"values": "text"}, pack_strings(name, texts)
        is_text = np.array([isinstance(each, str) for each in values])
        return {"values": "mixed"}, pack_strings(name, texts) | {name: numbers, "is_text": is_text}

    def expected(
        self, name: str, header: Header, prefix: str, entries: Mapping[str, Entry], sizes: Sizes
    ) -> Expected:
        """Return the arrays that must exist, and the bytes of the texts."""
        values = take(header, "values", str)
        if values not in ("text", "number", "mixed"):
            raise ValueError(f"a step of its preparation has values of the kind {values[:100]!r}.")
        found: dict[str, Described] = {}
        n_values = n_bytes = 0
        if values != "number":
            found, n_values, n_bytes = expected_strings(prefix, entries)
        if values != "text":
            (n_numbers,) = shape_of(entries, prefix + name, 1)
            single = entries[prefix + name].dtype == np.float32
            found[prefix + name] = ("float32" if single else "float64", (n_numbers,))
            n_values += n_numbers
        if values == "mixed":
            found[f"{prefix}is_text"] = ("bool", (n_values,))
        if n_values != sizes.setdefault(self.size, n_values):
            raise ValueError(
                f"a step of its preparation has {n_values} values for {sizes[self.size]} columns."
            )
        return found, n_bytes + n_values * VALUE_SIZE

    def unpack(self, name: str, header: Header, prefix: str, arrays: Mapping[str, Array]) -> Any:
        """Return the values as an array, of objects if there are texts."""
        if header["values"] == "number":
            return arrays[prefix + name]
        texts = unpack_strings(name, prefix, arrays)
        if header["values"] == "text":
            return object_array(texts)
        is_text = arrays[f"{prefix}is_text"].view(np.uint8) != 0
        if np.count_nonzero(is_text) != len(texts):
            raise ValueError("a step of its preparation does not tell which values are texts.")
        result = np.empty(len(is_text), dtype=object)
        result[is_text] = texts
        result[~is_text] = arrays[prefix + name].tolist()
        return result
