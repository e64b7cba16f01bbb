"""Operations on the columns of a row, each in C and in ONNX.

An operation takes the name of a row and returns the name of the row that it makes. In C, `code`
writes tables and statements; in ONNX, `graph` adds constants and nodes, for all rows at once.
"""
# ruff: noqa: D102  The docstrings of the methods are those of `Operation`.

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array, vstack

from .quantiles import COEFFICIENTS, LIMIT, NORMAL_QUANTILE, THRESHOLD, WIDTH

Numbers = NDArray[np.float64]
Positions = NDArray[np.int64]
Flags = csr_array[np.bool_, tuple[int, int]]  # (columns, inputs)
SEARCH = """\
/* The last position up to `end` whose value is not above x, or below x if `below` is 1. */
static inline int {name}_search(const {given} *sorted, int begin, int end, {given} x, int below)
{{
    while (begin < end) {{
        const int middle = begin + (end - begin + 1) / 2;
        if (below ? sorted[middle] < x : sorted[middle] <= x)
            begin = middle;
        else
            end = middle - 1;
    }}
    return begin;
}}
"""

SHARE = """\
/* The share at x, by interpolation between n quantiles, which follow -infinity. */
static inline {given} {name}_share(
    const {given} *quantiles, const {given} *shares, int n, {given} x)
{{
    const int up_to = {name}_search(quantiles, 0, n, x, 0);
    const int below = {name}_search(quantiles, 0, n, x, 1);
    const int low = up_to > 0 ? up_to - 1 : 0, high = below < n ? below : n - 1;
    const {given} first = quantiles[1 + low], last = quantiles[1 + high];
    /* Several quantiles may be equal to x: then low and high are the last and the first of them. */
    const {given} part = last > first ? (x - first) / (last - first) : 0.5;
    return shares[low] + part * (shares[high] - shares[low]);
}}
"""


class Code(Protocol):
    """C code of a function that prepares a row; `pocketsvm.model.export.c_code` describes it."""

    name: str

    def write(self, operations: "Sequence[Operation]", row: str) -> str: ...
    def line(self, text: str) -> None: ...
    def table(self, array: NDArray[Any]) -> str: ...
    def each(self, n: int | None, value: str, row: str = "", at: str = "") -> str: ...
    def joined(self, rows: Sequence[str]) -> str: ...
    def number(self, value: float) -> str: ...
    def math(self, function: str) -> str: ...
    def function(self, template: str) -> None: ...


class Graph(Protocol):
    """Nodes of ONNX; `pocketsvm.model.export.onnx` describes them."""

    def write(self, operations: "Sequence[Operation]", rows: str) -> str: ...
    def node(self, operator: str, *inputs: str, **attributes: Any) -> str: ...
    def table(self, array: Any) -> str: ...
    def cast(self, value: str, dtype: DTypeLike) -> str: ...
    def rounded(self, numbers: NDArray[Any]) -> NDArray[Any]: ...


class Operation:
    """An operation on the columns of a row."""

    @property
    def needs_double(self) -> bool:
        """Whether rows must be float64 for the results to be right."""
        return False

    def spread(self, reached: Flags) -> Flags:
        """Return with which missing inputs each column is missing, from the same flags before."""
        return reached

    def c(self, code: Code, row: str) -> str:
        """Write the operation in C; return the array that it fills."""
        raise NotImplementedError

    def onnx(self, graph: Graph, rows: str) -> str:
        """Add the operation to a graph; return its output."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Take(Operation):
    """Some of the columns."""

    columns: Positions

    def spread(self, reached: Flags) -> Flags:
        return reached[self.columns]

    def c(self, code: Code, row: str) -> str:
        return code.each(len(self.columns), f"{row}[{code.table(self.columns)}[i]]")

    def onnx(self, graph: Graph, rows: str) -> str:
        return graph.node("Gather", rows, graph.table(self.columns), axis=1)


@dataclass(frozen=True, eq=False)
class Join(Operation):
    """The columns of several branches, one after the other."""

    branches: Sequence[Sequence[Operation]]

    @property
    def needs_double(self) -> bool:
        return any(each.needs_double for branch in self.branches for each in branch)

    def spread(self, reached: Flags) -> Flags:
        return vstack([spread(branch, reached) for branch in self.branches], format="csr")

    def c(self, code: Code, row: str) -> str:
        return code.joined([code.write(branch, row) for branch in self.branches])

    def onnx(self, graph: Graph, rows: str) -> str:
        parts = [graph.write(branch, rows) for branch in self.branches]
        return graph.node("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


@dataclass(frozen=True, eq=False)
class Arithmetic(Operation):
    """Each column plus, minus, times or divided by a number: "Add", "Sub", "Mul", "Div"."""

    operator: str
    values: Numbers

    def c(self, code: Code, row: str) -> str:
        sign = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/"}[self.operator]
        return code.each(len(self.values), f"{row}[i] {sign} {code.table(self.values)}[i]")

    def onnx(self, graph: Graph, rows: str) -> str:
        return graph.node(self.operator, rows, graph.table(self.values))


@dataclass(frozen=True, eq=False)
class Clip(Operation):
    """Numbers limited to a range; missing ones stay missing."""

    low: float
    high: float

    def c(self, code: Code, row: str) -> str:
        low, high = code.number(self.low), code.number(self.high)
        value = f"{row}[i] < {low} ? {low} : {row}[i] > {high} ? {high} : {row}[i]"
        return code.each(None, value, row)

    def onnx(self, graph: Graph, rows: str) -> str:
        low, high = graph.table(np.float64(self.low)), graph.table(np.float64(self.high))
        rows = graph.node("Where", graph.node("Less", rows, low), low, rows)
        return graph.node("Where", graph.node("Greater", rows, high), high, rows)


@dataclass(frozen=True, eq=False)
class Fill(Operation):
    """A value for each missing one."""

    values: Numbers

    def spread(self, reached: Flags) -> Flags:
        return csr_array(reached.shape, dtype=bool)

    def c(self, code: Code, row: str) -> str:
        return code.each(
            len(self.values), f"isnan({row}[i]) ? {code.table(self.values)}[i] : {row}[i]"
        )

    def onnx(self, graph: Graph, rows: str) -> str:
        missing = graph.node("IsNaN", rows)
        return graph.node("Where", missing, graph.table(graph.rounded(self.values)), rows)


@dataclass(frozen=True, eq=False)
class Missing(Operation):
    """Ones where some of the columns are missing."""

    columns: Positions

    def spread(self, reached: Flags) -> Flags:
        return csr_array((len(self.columns), reached.shape[1]), dtype=bool)

    def c(self, code: Code, row: str) -> str:
        return code.each(len(self.columns), f"isnan({row}[{code.table(self.columns)}[i]]) ? 1 : 0")

    def onnx(self, graph: Graph, rows: str) -> str:
        given = graph.node("Gather", rows, graph.table(self.columns), axis=1)
        return graph.cast(graph.node("IsNaN", given), np.float64)


@dataclass(frozen=True, eq=False)
class Indicate(Operation):
    """Ones where a column is equal to a number."""

    sources: Positions
    keys: Numbers

    @property
    def needs_double(self) -> bool:
        return _collide(self.sources, self.keys)

    def spread(self, reached: Flags) -> Flags:
        return csr_array((len(self.sources), reached.shape[1]), dtype=bool)

    def c(self, code: Code, row: str) -> str:
        sources, keys = code.table(self.sources), code.table(self.keys)
        return code.each(len(self.keys), f"{row}[{sources}[i]] == {keys}[i] ? 1 : 0")

    def onnx(self, graph: Graph, rows: str) -> str:
        given = graph.node("Gather", rows, graph.table(self.sources), axis=1)
        equal = graph.node("Equal", given, graph.table(graph.rounded(self.keys)))
        return graph.cast(equal, np.float64)


@dataclass(frozen=True, eq=False)
class LookUp(Operation):
    """A table of keys and values for each column.

    The keys of all columns follow each other, sorted within each column, after a key of -infinity.
    """

    keys: Numbers
    values: Numbers
    begins: Positions
    ends: Positions
    unknown: Numbers
    missing: Numbers

    @property
    def needs_double(self) -> bool:
        return _collide(np.repeat(self.begins, self.ends - self.begins + 1), self.keys)

    @classmethod
    def of(
        cls, tables: Sequence[dict[float, float]], unknown: Numbers, missing: Numbers
    ) -> "LookUp":
        """Return the operation of a table for each column."""
        ordered = [sorted(table.items()) for table in tables]
        joined = [
            pair
            for table, value in zip(ordered, unknown.tolist(), strict=True)
            for pair in [(-np.inf, value), *table]
        ]
        keys, values = np.array(joined, dtype=np.float64).reshape(-1, 2).T
        ends = np.cumsum([len(table) + 1 for table in ordered], dtype=np.int64) - 1
        begins = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
        return cls(keys, values, begins, ends, unknown, missing)

    def spread(self, reached: Flags) -> Flags:
        return csr_array(reached.multiply(np.isnan(self.missing)[:, None]))

    def c(self, code: Code, row: str) -> str:
        code.function(SEARCH)
        keys, values = code.table(self.keys), code.table(self.values)
        begins, ends = code.table(self.begins), code.table(self.ends)
        unknown, missing = code.table(self.unknown), code.table(self.missing)
        search = f"{code.name}_search({keys}, {begins}[i], {ends}[i], {row}[i], 0)"
        found = f"{keys}[at] == {row}[i] ? {values}[at] : {unknown}[i]"
        return code.each(len(self.begins), f"isnan({row}[i]) ? {missing}[i] : {found}", at=search)

    def onnx(self, graph: Graph, rows: str) -> str:
        keys, values = graph.table(graph.rounded(self.keys)), graph.table(self.values)
        at = _search(graph, rows, keys, self.begins, self.ends, "LessOrEqual")
        equal = graph.node("Equal", graph.node("Gather", keys, at), rows)
        known = graph.node("Gather", values, at)
        found = graph.node("Where", equal, known, graph.table(self.unknown))
        missing = graph.node("IsNaN", rows)
        return graph.node("Where", missing, graph.table(self.missing), found)


@dataclass(frozen=True, eq=False)
class Product(Operation):
    """Products with the rows of a matrix (n_outputs, n_inputs)."""

    matrix: Numbers

    def spread(self, reached: Flags) -> Flags:
        return csr_array(np.tile(reached.sum(axis=0) > 0, (len(self.matrix), 1)))

    def c(self, code: Code, row: str) -> str:
        n_outputs, n_inputs = self.matrix.shape
        matrix = code.table(self.matrix.ravel())
        sums = code.each(n_outputs, "0")
        code.line(f"for (int i = 0; i < {n_outputs}; ++i)")
        code.line(f"    for (int k = 0; k < {n_inputs}; ++k)")
        code.line(f"        {sums}[i] += {matrix}[i * {n_inputs} + k] * {row}[k];")
        return sums

    def onnx(self, graph: Graph, rows: str) -> str:
        return graph.node("MatMul", rows, graph.table(self.matrix.T))


@dataclass(frozen=True, eq=False)
class Power(Operation):
    """The transformations of Box and Cox (is_log) and of Yeo and Johnson.

    Both are (exp(p l) - 1) / p, or l if p is 0. Box-Cox has p = lambda and l = log(x). Yeo-Johnson
    has p = lambda and l = log(1 + x) for x >= 0; for x < 0, it is minus the one of -x with
    p = 2 - lambda.
    """

    lambdas: Numbers
    is_log: bool

    def c(self, code: Code, row: str) -> str:
        n, lambdas = len(self.lambdas), code.table(self.lambdas)
        log, log1p, expm1, fabs = (code.math(name) for name in ("log", "log1p", "expm1", "fabs"))
        if self.is_log:
            powers, logs, sign = lambdas, code.each(n, f"{log}({row}[i])"), ""
        else:
            powers = code.each(n, f"{row}[i] < 0 ? 2 - {lambdas}[i] : {lambdas}[i]")
            logs, sign = code.each(n, f"{log1p}({fabs}({row}[i]))"), f"({row}[i] < 0 ? -1 : 1) * "
        general = f"{expm1}({powers}[i] * {logs}[i]) / {powers}[i]"
        return code.each(n, f"{sign}({powers}[i] == 0 ? {logs}[i] : {general})")

    def onnx(self, graph: Graph, rows: str) -> str:
        zero, one, two = (graph.table(np.float64(k)) for k in range(3))
        powers, sign = graph.table(self.lambdas), one
        if self.is_log:
            logs = graph.node("Log", rows)
        else:
            negative = graph.node("Less", rows, zero)
            powers = graph.node("Where", negative, graph.table(2 - self.lambdas), powers)
            sign = graph.node("Where", negative, graph.table(np.float64(-1)), one)
            logs = graph.node("Log", graph.node("Add", graph.node("Abs", rows), one))
        # exp(z) - 1 = tanh(z / 2) (exp(z) + 1), which does not cancel if z is small.
        exponents = graph.node("Mul", powers, logs)
        above = graph.node("Add", graph.node("Exp", exponents), one)
        product = graph.node("Mul", graph.node("Tanh", graph.node("Div", exponents, two)), above)
        is_zero = graph.node("Equal", powers, zero)
        divisor = graph.node("Where", is_zero, one, powers)
        general = graph.node("Div", product, divisor)
        return graph.node("Mul", sign, graph.node("Where", is_zero, logs, general))


@dataclass(frozen=True, eq=False)
class Interpolate(Operation):
    """The share of the training rows that are smaller, by interpolation; as `QuantileTransformer`.

    A number that several quantiles have in common gets the middle of their shares.
    """

    quantiles: Numbers
    references: Numbers
    is_normal: bool

    @property
    def needs_double(self) -> bool:
        return True

    def _tables(self) -> tuple[Numbers, Positions, Positions]:
        """Return the quantiles of all columns, each after -infinity, and where they lie."""
        n_quantiles, n_columns = self.quantiles.shape
        lowest = np.full((1, n_columns), -np.inf)
        begins = np.arange(n_columns, dtype=np.int64) * (n_quantiles + 1)
        return np.concatenate([lowest, self.quantiles]).T.ravel(), begins, begins + n_quantiles

    def c(self, code: Code, row: str) -> str:
        n_quantiles, n_columns = self.quantiles.shape
        code.function(SEARCH)
        code.function(SHARE)
        keys, references = code.table(self._tables()[0]), code.table(self.references)
        column = f"{keys} + i * {n_quantiles + 1}"
        lowest, highest = f"({column})[1]", f"({column})[{n_quantiles}]"
        below, above = f"{row}[i] == {lowest}", f"{row}[i] == {highest}"
        if self.is_normal:
            below, above = f"{row}[i] - {WIDTH} < {lowest}", f"{row}[i] + {WIDTH} > {highest}"
        inside = f"{code.name}_share({column}, {references}, {n_quantiles}, {row}[i])"
        value = code.each(n_columns, f"{below} ? 0 : {above} ? 1 : {inside}")
        if self.is_normal:
            code.function(NORMAL_QUANTILE)
            value = code.each(n_columns, f"{code.name}_normal_quantile({value}[i])")
        return code.each(n_columns, f"isnan({row}[i]) ? {row}[i] : {value}[i]")

    def onnx(self, graph: Graph, rows: str) -> str:
        table, begins, ends = self._tables()
        keys, references = graph.table(table), graph.table(self.references)
        low, high = (
            graph.node("Sub", _search(graph, rows, keys, begins, ends, less), graph.table(begins))
            for less in ("LessOrEqual", "Less")
        )
        low = graph.node("Max", graph.node("Sub", low, graph.table(1)), graph.table(0))
        high = graph.node("Min", high, graph.table(len(self.references) - 1))
        first, final = (
            graph.node("Gather", keys, graph.node("Add", at, graph.table(begins + 1)))
            for at in (low, high)
        )
        one = graph.table(np.float64(1))
        gap = graph.node("Sub", final, first)
        is_gap = graph.node("Greater", gap, graph.table(np.float64(0)))
        share = graph.node("Sub", rows, first)
        share = graph.node("Div", share, graph.node("Where", is_gap, gap, one))
        share = graph.node("Where", is_gap, share, graph.table(np.float64(0.5)))
        start, stop = (graph.node("Gather", references, at) for at in (low, high))
        value = graph.node("Mul", share, graph.node("Sub", stop, start))
        value = self._bounded(graph, rows, graph.node("Add", start, value))
        return graph.node("Where", graph.node("IsNaN", rows), rows, value)

    def _bounded(self, graph: Graph, rows: str, value: str) -> str:
        lowest, highest = graph.table(self.quantiles[0]), graph.table(self.quantiles[-1])
        if self.is_normal:
            margin = graph.table(np.float64(WIDTH))
            below = graph.node("Less", graph.node("Sub", rows, margin), lowest)
            above = graph.node("Greater", graph.node("Add", rows, margin), highest)
        else:
            below = graph.node("Equal", rows, lowest)
            above = graph.node("Equal", rows, highest)
        value = graph.node("Where", above, graph.table(np.float64(1)), value)
        value = graph.node("Where", below, graph.table(np.float64(0)), value)
        return _normal_quantile(graph, value) if self.is_normal else value


def spread(operations: Sequence[Operation], reached: Flags) -> Flags:
    """Return with which missing inputs each column is missing after some operations."""
    for operation in operations:
        reached = operation.spread(reached)
    return reached


def _collide(columns: Positions, keys: Numbers) -> bool:
    """Tell whether keys of a column are equal in float32, such as 2^24 and 2^24 + 1."""
    with np.errstate(over="ignore"):
        rounded = keys.astype(np.float32)
    return len({*zip(columns.tolist(), rounded.tolist(), strict=True)}) < len(keys)


def _search(
    graph: Graph, rows: str, keys: str, begins: Positions, ends: Positions, less: str
) -> str:
    """Return the last position of each column whose key is `less` than the column's value."""
    at, last = graph.table(begins[None, :]), graph.table(ends)
    for k in reversed(range(int((ends - begins).max()).bit_length())):
        further = graph.node("Min", graph.node("Add", at, graph.table(1 << k)), last)
        fits = graph.node(less, graph.node("Gather", keys, further), rows)
        at = graph.node("Where", fits, further, at)
    return at


def _normal_quantile(graph: Graph, shares: str) -> str:
    """Add the algorithm of `quantiles`."""

    def number(value: float) -> str:
        return graph.table(np.float64(value))

    one = number(1)
    shares = graph.node("Max", graph.node("Min", shares, number(1 - LIMIT)), number(LIMIT))
    centred = graph.node("Sub", shares, number(0.5))
    squares = graph.node("Sub", number(THRESHOLD**2), graph.node("Mul", centred, centred))
    smaller = graph.node("Min", shares, graph.node("Sub", one, shares))
    roots = graph.node("Sqrt", graph.node("Neg", graph.node("Log", smaller)))
    tails = graph.node("Sub", roots, number(1.6))
    results = []
    for argument, (above, below) in zip((squares, tails), COEFFICIENTS, strict=True):
        parts = []
        for coefficients in (above, below):
            value = number(coefficients[-1])
            for coefficient in reversed(coefficients[:-1]):
                value = graph.node("Mul", value, argument)
                value = graph.node("Add", value, number(coefficient))
            parts.append(value)
        results.append(graph.node("Div", *parts))
    middle = graph.node("Mul", centred, results[0])
    negative = graph.node("Less", centred, number(0))
    tail = graph.node("Where", negative, graph.node("Neg", results[1]), results[1])
    is_middle = graph.node("LessOrEqual", graph.node("Abs", centred), number(THRESHOLD))
    return graph.node("Where", is_middle, middle, tail)
