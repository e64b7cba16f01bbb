"""Programs: what a chain of steps does to a row, as a list of operations that exports can write.

Steps are lowered to operations (`operations`), one step after the other. Texts are numbers here: a
column of text holds the position of its text in the list of all texts that are known in it, -1 for
any other text, and NaN for a missing one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .operations import (
    Arithmetic,
    Clip,
    Fill,
    Indicate,
    Interpolate,
    Join,
    LookUp,
    Missing,
    Operation,
    Power,
    Product,
    Take,
)


@dataclass(eq=False)
class Inputs:
    """The columns of rows before the first step, and how the steps use them.

    Several programs for the same rows share one: the numbers of texts are the same for all.

    Attributes
    ----------
    n_inputs : int
        The number of columns.

    codes : dict of int to dict of str to int
        The columns of text, each with the numbers of its texts.

    are_numbers : ndarray of shape (n_inputs,)
        Whether each column is used as a number.
    """

    n_inputs: int
    codes: dict[int, dict[str, int]] = field(default_factory=dict)
    are_numbers: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.are_numbers = np.zeros(self.n_inputs, dtype=bool)

    @property
    def texts(self) -> dict[int, list[str]]:
        """The columns of text, each with the texts that are known."""
        return {column: list(codes) for column, codes in sorted(self.codes.items())}

    def code(self, column: int, text: str) -> int:
        """Return the number of a text; a new one gets the next number."""
        codes = self.codes.setdefault(column, {})
        return codes.setdefault(text, len(codes))

    def check(self) -> None:
        """Refuse steps that take a column as text and as a number."""
        if both := [column for column in self.codes if self.are_numbers[column]]:
            raise ValueError(f"its preparation takes column {min(both)} as text and as a number.")


COMPUTED = -1  # the origin of a column that is none of the inputs


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known about columns.

    Attributes
    ----------
    origin : ndarray of shape (n_columns,)
        The columns of the inputs that they are, if at most missing values have been filled in, or
        COMPUTED.

    missing, exact : ndarray of shape (n_columns,)
        Whether they may have missing values, and whether exports compute the same numbers, without
        rounding.
    """

    origin: NDArray[np.int64]
    missing: NDArray[np.bool_]
    exact: NDArray[np.bool_]

    @classmethod
    def computed(cls, missing: ArrayLike, *, exact: bool) -> Self:
        """Return columns that are none of the inputs; some of them may be missing."""
        may_miss = np.asarray(missing, dtype=bool)
        origin = np.full(len(may_miss), COMPUTED)
        return cls(origin, may_miss, np.full(len(may_miss), exact))

    def taken(self, columns: Any) -> "Columns":
        """Return some of the columns, in this order."""
        return Columns(self.origin[columns], self.missing[columns], self.exact[columns])

    @classmethod
    def joined(cls, parts: "Sequence[Columns]") -> Self:
        """Return the columns of all parts, one after the other."""
        fields = zip(*((each.origin, each.missing, each.exact) for each in parts), strict=True)
        return cls(*map(np.concatenate, fields))


@dataclass(eq=False)
class Program:
    """Operations on the columns of a row.

    Attributes
    ----------
    inputs : Inputs
        The columns before the first step.

    columns : Columns
        The columns after the operations.

    operations : list of Operation
        What is done to the row.

    refusal : str
        Why exports cannot write the program; empty if they can.
    """

    inputs: Inputs
    columns: Columns
    operations: list[Operation] = field(default_factory=list)
    refusal: str = ""

    @classmethod
    def of(cls, n_inputs: int, inputs: Inputs | None = None) -> Self:
        """Return the program that changes nothing."""
        every = np.ones(n_inputs, dtype=bool)
        return cls(inputs or Inputs(n_inputs), Columns(np.arange(n_inputs), every, every))

    @property
    def n_outputs(self) -> int:
        """The number of columns."""
        return len(self.columns.origin)

    @property
    def takes_missing(self) -> bool:
        """Whether a row may have missing values."""
        return not self.columns.missing.any()

    @property
    def needs_double(self) -> bool:
        """Whether rows and columns must be float64 for the results to be right."""
        return any(operation.needs_double for operation in self.operations)

    def finish(self) -> None:
        """Say that the columns left are numbers; refuse columns that are texts as well."""
        self._use_numbers()
        self.inputs.check()

    # --- operations ---

    def compute(self, operator: str, values: ArrayLike) -> None:
        """Add, subtract, multiply or divide ("Add", "Sub", "Mul", "Div") by one number each."""
        self._map(Arithmetic(operator, np.asarray(values, dtype=np.float64)))

    def clip(self, low: float, high: float) -> None:
        """Limit all columns to a range."""
        self._map(Clip(low, high))

    def power(self, lambdas: ArrayLike, is_log: bool) -> None:
        """Transform by Box-Cox if is_log, else by Yeo-Johnson."""
        self._map(Power(np.asarray(lambdas, dtype=np.float64), is_log))

    def interpolate(self, quantiles: ArrayLike, references: ArrayLike, is_normal: bool) -> None:
        """Replace each number by the share of smaller ones, or by the normal quantile of it."""
        tables = np.asarray(quantiles, dtype=np.float64), np.asarray(references, dtype=np.float64)
        self._map(Interpolate(*tables, is_normal))

    def product(self, matrix: ArrayLike) -> None:
        """Multiply rows by a matrix (n_outputs, n_inputs)."""
        operation = Product(np.asarray(matrix, dtype=np.float64))
        self._map(operation)
        missing = np.full(len(operation.matrix), not self.takes_missing)
        self.columns = Columns.computed(missing, exact=False)

    def take(self, columns: Sequence[int]) -> None:
        """Keep some of the columns, in this order."""
        taken = np.array(columns, dtype=np.int64)
        self.columns = self.columns.taken(taken)
        self.operations.append(Take(taken))

    def fill(self, values: Sequence[Any]) -> None:
        """Fill in missing values: numbers, or texts in columns that are encoded later."""
        numbers = [
            float(self._code(k, value) if isinstance(value, str) else value)
            for k, value in enumerate(values)
        ]
        self.operations.append(Fill(np.array(numbers)))
        self.columns = replace(self.columns, missing=np.zeros(self.n_outputs, dtype=bool))

    def indicate_missing(self, columns: Sequence[int]) -> None:
        """Replace the columns by ones where some of them are missing, else zeros."""
        self.operations.append(Missing(np.array(columns, dtype=np.int64)))
        self.columns = Columns.computed(np.zeros(len(columns)), exact=True)

    def look_up(
        self, tables: Sequence[dict[Any, float]], unknown: ArrayLike, missing: ArrayLike
    ) -> None:
        """Replace the keys of each column's table by their values.

        Other values become `unknown`, and missing ones `missing`; each is one number per column.
        """
        self.operations.append(
            LookUp.of(
                [self._keys(k, table) for k, table in enumerate(tables)],
                np.asarray(unknown, dtype=np.float64),
                np.asarray(missing, dtype=np.float64),
            )
        )
        self.columns = Columns.computed(np.isnan(unknown) | np.isnan(missing), exact=True)

    def indicate(self, sources: Sequence[int], keys: Sequence[Any]) -> None:
        """Make columns that are 1 where a column is equal to a key, else 0."""
        codes = [
            next(iter(self._keys(k, {key: 0.0}))) for k, key in zip(sources, keys, strict=True)
        ]
        self.operations.append(Indicate(np.array(sources, dtype=np.int64), np.array(codes)))
        self.columns = Columns.computed(np.zeros(len(codes)), exact=True)

    def join(self, branches: Sequence[tuple[Sequence[int], Callable[["Program"], None]]]) -> None:
        """Make columns by several branches, each of which starts with some of the columns."""
        parts = []
        for columns, lower in branches:
            part = replace(self, operations=[])
            if list(columns) != [*range(self.n_outputs)]:
                part.take(columns)
            lower(part)
            parts.append(part)
        self.operations.append(Join([part.operations for part in parts]))
        self.columns = Columns.joined([part.columns for part in parts])
        self.refusal = next((part.refusal for part in parts if part.refusal), "")

    # --- texts ---

    def _keys(self, column: int, table: dict[Any, float]) -> dict[float, float]:
        """Return a table whose keys are numbers: texts become the numbers of the inputs."""
        if any(isinstance(key, str) for key in table):
            return {float(self._code(column, key)): value for key, value in table.items()}
        if (origin := self.columns.origin[column]) != COMPUTED:
            self.inputs.are_numbers[origin] = True
        if not self.columns.exact[column]:
            self.refusal = (
                "an encoder looks up numbers that an earlier step has computed, which rounding may "
                "change. Put encoders before scalers, or encode texts"
            )
        return {float(key): value for key, value in table.items()}

    def _code(self, column: int, text: str) -> int:
        if (origin := int(self.columns.origin[column])) == COMPUTED:
            raise ValueError("its preparation looks for texts in a column that is not text.")
        return self.inputs.code(origin, text)

    def _use_numbers(self) -> None:
        origin = self.columns.origin
        self.inputs.are_numbers[origin[origin != COMPUTED]] = True

    def _map(self, operation: Operation) -> None:
        """Add an operation on numbers."""
        self._use_numbers()
        self.operations.append(operation)
        self.columns = Columns.computed(self.columns.missing, exact=False)
