"""C code of operations: tables and statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..container import Array
from ..steps.operations import Operation

# The maximum length of lines of tables.
COLUMNS = 100


@dataclass(frozen=True)
class Table:
    """A constant table, and the bytes that it takes."""

    text: str
    size: int


class Code:
    """The body of a function that prepares a row.

    Parameters
    ----------
    name : str
        The prefix of functions.

    prefix : str
        The prefix of tables.

    given : dtype
        The precision of the row.

    n_inputs : int
        The length of the row, whose name is x.
    """

    def __init__(self, name: str, prefix: str, given: np.dtype[Any], n_inputs: int) -> None:
        self.name, self.prefix, self.given = name, prefix, given
        self.real = real_name(given)
        self.lines: list[str] = []
        self.tables: list[Table] = []
        self.functions: dict[str, None] = {}  # ordered, each once
        self.sizes = {"x": n_inputs}

    def write(self, operations: Sequence[Operation], row: str) -> str:
        """Write operations on a row; return the array with the result."""
        for operation in operations:
            row = operation.c(self, row)
        return row

    def line(self, text: str) -> None:
        """Add a line."""
        self.lines.append(f"    {text}")

    def table(self, array: NDArray[Any]) -> str:
        """Add a table; return its name."""
        kind = "int" if array.dtype.kind in "iu" else self.real
        with np.errstate(over="ignore"):
            cast = array.astype(np.int32 if kind == "int" else self.given)
        if kind != "int" and (np.isinf(cast) & np.isfinite(array)).any():
            raise ValueError(f"The numbers of this preparation are too large for {self.given}.")
        name = f"{self.prefix}_table_{len(self.tables)}"
        text = braces(literals(cast))
        declaration = f"static const {kind} {name}[{len(cast)}]"
        self.tables.append(Table(f"{declaration} = {text};\n\n", cast.nbytes))
        return name

    def each(self, n: int | None, value: str, row: str = "", at: str = "") -> str:
        """Fill a new array with the values of an expression of i; return its name.

        There are n values, or as many as `row` has; `at` is an integer that the expression uses.
        """
        size = self.sizes[row] if n is None else n
        name = self._array(size)
        loop = f"for (int i = 0; i < {size}; ++i)"
        if at:
            self.line(f"{loop} {{")
            self.line(f"    const int at = {at};")
            self.line(f"    {name}[i] = {value};")
            self.line("}")
        else:
            self.line(f"{loop} {name}[i] = {value};")
        return name

    def joined(self, rows: Sequence[str]) -> str:
        """Copy arrays into a new one, one after the other; return its name."""
        name, begin = self._array(sum(self.sizes[row] for row in rows)), 0
        for row in rows:
            self.line(
                f"for (int i = 0; i < {self.sizes[row]}; ++i) {name}[{begin} + i] = {row}[i];"
            )
            begin += self.sizes[row]
        return name

    def number(self, value: float) -> str:
        """Return a number as a literal."""
        return literals(np.array([value], dtype=self.given))[0]

    def math(self, function: str) -> str:
        """Return the name of a function of the standard library."""
        return function + "f" * (self.real == "float")

    def function(self, template: str) -> None:
        """Add a function before this one."""
        self.functions[template] = None

    def _array(self, size: int) -> str:
        name = f"v{len(self.sizes)}"
        self.sizes[name] = size
        self.line(f"{self.real} {name}[{size}];")
        return name


def real_name(dtype: np.dtype[Any]) -> str:
    """Return the type of C."""
    return "float" if dtype == np.float32 else "double"


def literals(numbers: Array) -> list[str]:
    """Write numbers with the fewest digits that keep all bits: 0.1f, 1e-05f."""
    suffix = "f" if numbers.dtype == np.float32 else ""
    special = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}
    return [special.get(str(number), f"{number!s}{suffix}") for number in numbers]


def braces(items: list[str]) -> str:
    """Write a list in braces, in lines."""
    lines, line = [], "{"
    for item in items:
        if len(line) > 1 and len(line) + len(item) + 2 > COLUMNS:
            lines.append(line.rstrip())
            line = " "
        line += f"{item}, "
    return "\n".join([*lines, line.removesuffix(", ") + "}"])
