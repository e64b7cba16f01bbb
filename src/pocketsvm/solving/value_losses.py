"""Losses on target values: one target for every output."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..backends.base import ValueFormula
from .row_loss import RowLoss

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ValueLoss(RowLoss):
    """The base of losses on targets (n_rows, n_outputs).

    Each output has a parameter of the loss, and a width over which kinks are rounded off.
    """

    everywhere: ClassVar[bool] = True
    targets: Array
    parameters: Array
    widths: Array

    @classmethod
    def of(cls, targets: Array, parameters: Any, widths: Any) -> Self:
        """Return the loss of these targets."""
        return cls(targets, np.asarray(parameters, dtype=float), np.asarray(widths, dtype=float))

    @property
    def n_outputs(self) -> int:
        """The number of decision values of a row."""
        return len(self.parameters)

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, targets=self.targets[chosen])


@dataclass(frozen=True, eq=False)
class Tube(ValueLoss):
    """down max(0, y - epsilon - f) + up max(0, f - y - epsilon), with their kinks rounded off."""

    @property
    def epsilon(self) -> float:
        """The half width of the tube."""
        return 0.0

    @property
    def down(self) -> Array:
        """The factors of rows above their decision value, one for each output."""
        return np.ones(self.n_outputs)

    @property
    def up(self) -> Array:
        """The factors of rows below their decision value, one for each output."""
        return np.ones(self.n_outputs)

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        return float(self.largest_curvatures.max())

    @property
    def largest_curvatures(self) -> Array:
        """The bounds of all outputs, which may have kinks of different widths."""
        together = self.epsilon < self.widths  # both kinks can be curved at the same value
        factors = np.where(together, self.down + self.up, np.maximum(self.down, self.up))
        bounds: Array = factors / (2 * self.widths)
        return bounds

    @property
    def formula(self) -> ValueFormula:
        """The name and the parameters of the loss."""
        return ValueFormula("tube", self.targets, self.epsilon, self.down, self.up, self.widths)


@dataclass(frozen=True, eq=False)
class EpsilonInsensitive(Tube):
    """max(0, |y - f| - epsilon): a ramp above the tube and one below."""

    name: ClassVar[str] = "epsilon_insensitive"
    everywhere: ClassVar[bool] = False

    @property
    def epsilon(self) -> float:
        """The half width of the tube."""
        return float(self.parameters[0])


@dataclass(frozen=True, eq=False)
class Quantile(Tube):
    """The pinball loss: q (y - f) for targets above f, (1 - q) (f - y) for those below."""

    name: ClassVar[str] = "quantile"

    @property
    def levels(self) -> Array:
        """The quantiles that the outputs predict."""
        return self.parameters

    @property
    def down(self) -> Array:
        """The factors of rows above their decision value, one for each output."""
        return self.parameters

    @property
    def up(self) -> Array:
        """The factors of rows below their decision value, one for each output."""
        return 1 - self.parameters


@dataclass(frozen=True, eq=False)
class Huber(ValueLoss):
    """(y - f)^2 / 2 where |y - f| is at most epsilon, and a line beyond."""

    name: ClassVar[str] = "huber"
    largest_curvature: ClassVar[float] = 1.0

    @property
    def epsilon(self) -> float:
        """The largest slope."""
        return float(self.parameters[0])

    @property
    def formula(self) -> ValueFormula:
        """The name and the parameters of the loss."""
        ones = np.ones(self.n_outputs)
        return ValueFormula("huber", self.targets, self.epsilon, ones, ones, ones)


@dataclass(frozen=True, eq=False)
class SquaredError(Huber):
    """(y - f)^2 / 2, the error squared."""

    name: ClassVar[str] = "squared_error"

    @property
    def epsilon(self) -> float:
        """The largest slope: none."""
        return float("inf")


VALUE_LOSSES: dict[str, type[ValueLoss]] = {
    loss.name: loss for loss in (EpsilonInsensitive, SquaredError, Huber, Quantile)
}
