"""What a chain of preparation does to each column, in one form for all exports.

Imputation, one-hot encoding and scaling treat every column on its own, so each column that the
kernel receives comes from one input column.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """The columns that the kernel receives, each as a function of one input column.

    Output j is ``(v - offset[j]) * factor[j]``. If the input ``x[source[j]]`` is missing, v is
    ``fill[j]``. Otherwise it is the input, or for a category 1 if the input equals it, else 0.

    Attributes
    ----------
    n_inputs : int
        The number of input columns.

    source : ndarray of shape (n_outputs,)
        The input column of each output.

    category : list
        The text or number that an output indicates; None if the output is the number itself.

    fill : list
        What stands for a missing input: a number, or a text before it is encoded. None if nothing
        does.

    offset, factor : ndarray of shape (n_outputs,)
        The scaling.
    """

    n_inputs: int
    source: NDArray[np.intp]
    category: list[Any]
    fill: list[Any]
    offset: Numbers
    factor: Numbers

    @classmethod
    def identity(cls, n_inputs: int) -> Self:
        """Return the map that changes nothing."""
        nothing: list[Any] = [None] * n_inputs
        source = np.arange(n_inputs)
        return cls(n_inputs, source, nothing, nothing, np.zeros(n_inputs), np.ones(n_inputs))

    @property
    def n_outputs(self) -> int:
        """The number of columns that the kernel receives."""
        return len(self.source)

    @property
    def is_scaling(self) -> bool:
        """Whether the map only scales: every column stays where it is."""
        return (
            np.array_equal(self.source, np.arange(self.n_inputs))
            and not any(each is not None for each in self.category)
            and not any(each is not None for each in self.fill)
        )

    @property
    def texts(self) -> dict[int, list[str]]:
        """The input columns that hold text, each with the texts that are known."""
        return {source: list(codes) for source, codes in self._text_codes().items()}

    def _text_codes(self) -> dict[int, dict[str, int]]:
        found: dict[int, dict[str, int]] = {}
        for source, category in zip(self.source.tolist(), self.category, strict=True):
            if isinstance(category, str):
                codes = found.setdefault(source, {})
                codes.setdefault(category, len(codes))
        return dict(sorted(found.items()))

    @property
    def indicates(self) -> NDArray[np.bool_]:
        """Whether each output indicates a category."""
        return np.array([each is not None for each in self.category], dtype=bool)

    def codes(self) -> Numbers:
        """Return the categories as numbers: texts are positions in `texts`, others are zero."""
        texts = self._text_codes()
        codes = [
            texts[source][each] if isinstance(each, str) else each or 0.0
            for source, each in zip(self.source.tolist(), self.category, strict=True)
        ]
        return np.array(codes, dtype=np.float64)

    def fills(self) -> Numbers:
        """Return the numbers that stand for missing inputs; NaN if none does."""
        return np.array([np.nan if each is None else each for each in self.fill], dtype=np.float64)

    @property
    def fills_all(self) -> bool:
        """Whether a value stands for every missing input."""
        return all(each is not None for each in self.fill)

    def take(self, columns: Sequence[int]) -> Self:
        """Return some of the outputs."""
        return replace(
            self,
            source=self.source[list(columns)],
            category=[self.category[k] for k in columns],
            fill=[self.fill[k] for k in columns],
            offset=self.offset[list(columns)],
            factor=self.factor[list(columns)],
        )

    @classmethod
    def joined(cls, n_inputs: int, maps: "Sequence[ColumnMap]") -> Self:
        """Return the outputs of several maps of the same inputs, one after the other."""
        return cls(
            n_inputs,
            np.concatenate([each.source for each in maps]),
            [category for each in maps for category in each.category],
            [fill for each in maps for fill in each.fill],
            np.concatenate([each.offset for each in maps]),
            np.concatenate([each.factor for each in maps]),
        )

    def scaled(self, offset: Numbers, factor: Numbers) -> Self:
        """Scale the outputs: ``(output - offset) * factor``."""
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the result
            return replace(
                self, offset=self.offset + offset / self.factor, factor=self.factor * factor
            )

    def filled(self, values: Sequence[Any]) -> Self:
        """Fill in missing outputs, each with its value."""
        fill = [
            old if old is not None else new if isinstance(new, str) else offset + new / factor
            for old, new, offset, factor in zip(
                self.fill, values, self.offset.tolist(), self.factor.tolist(), strict=True
            )
        ]
        return replace(self, fill=fill)

    def encoded(self, categories: Sequence[Sequence[Any]]) -> Self:
        """Replace each output by one indicator per category; a missing input has none."""
        if any(each is not None for each in self.category) or self.is_scaled:
            raise ValueError("a OneHotEncoder must come before a scaler or another OneHotEncoder.")
        source: list[int] = []
        category: list[Any] = []
        fill: list[Any] = []
        for k, known in enumerate(categories):
            source += [int(self.source[k])] * len(known)
            category += known
            fill += [float(self.fill[k] == each) for each in known]
        n = len(source)
        return type(self)(
            self.n_inputs, np.array(source, np.intp), category, fill, np.zeros(n), np.ones(n)
        )

    @property
    def is_scaled(self) -> bool:
        """Whether an output is scaled."""
        return bool(self.offset.any() or (self.factor != 1).any())
