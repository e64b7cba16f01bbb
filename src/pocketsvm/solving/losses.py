"""The losses of the solver, one small type each.

A loss turns the decision values of some rows into values, slopes and curvatures, one each per row
of weight one. It has the name that it has in the core (`_core.class_losses`,
`_core.target_losses`), and stands in `CLASS_LOSSES` or `VALUE_LOSSES`.

The losses of support vector machines are made of ramps max(0, u), with u linear in the decision
value. The solver rounds off their kinks, `width` to either side:

    ramp(u) = 0 for u < -width,   (u + width)^2 / (4 width) in between,   u for u > width.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..data.targets import ClassTargets, ValueTargets

Array = NDArray[Any]

# The width of a hinge, in units of the margin.
HINGE_WIDTH = 0.5
# The width of a loss on target values, as a share of the spread of the targets.
RELATIVE_WIDTH = 0.1


class Loss(Protocol):
    """The loss of some rows, for one output."""

    @property
    def width(self) -> float:
        """The scale of the loss: how far its kinks are rounded off, to either side."""
        ...

    def widened(self, times: float) -> Self:
        """Return the same loss with another width."""
        ...

    def take(self, chosen: Array) -> Self:
        """Return the loss of the chosen rows."""
        ...

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row."""
        ...

    def slopes(self, decisions: Array) -> Array:
        """Return the first derivative of the loss in the decision value, of each row."""
        ...

    def curvatures(self, decisions: Array) -> Array:
        """Return the second derivative of the loss in the decision value, of each row."""
        ...

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths."""
        ...


@dataclass(frozen=True, eq=False)
class Hinge:
    """max(0, 1 - y f) for labels y of -1 and +1."""

    name: ClassVar[str] = "hinge"
    labels: Array
    width: float = HINGE_WIDTH

    @classmethod
    def of(cls, labels: Array) -> Self:
        """Return the loss of these labels."""
        return cls(labels)

    def widened(self, times: float) -> Self:
        """Return the same loss with another width."""
        return replace(self, width=times * self.width)

    def take(self, chosen: Array) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, labels=self.labels[chosen])

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row."""
        return ramp(1 - self.labels * decisions, self.width)

    def slopes(self, decisions: Array) -> Array:
        """Return the first derivative of the loss in the decision value, of each row."""
        slopes: Array = -self.labels * ramp_slope(1 - self.labels * decisions, self.width)
        return slopes

    def curvatures(self, decisions: Array) -> Array:
        """Return the second derivative of the loss in the decision value, of each row."""
        return ramp_curvature(1 - self.labels * decisions, self.width)

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths."""
        near: NDArray[np.bool_] = 1 - self.labels * decisions > -reach * self.width
        return near


@dataclass(frozen=True, eq=False)
class EpsilonInsensitive:
    """max(0, |y - f| - epsilon) for targets y: a ramp above the tube and one below."""

    name: ClassVar[str] = "epsilon_insensitive"
    targets: Array
    epsilon: float
    width: float

    @classmethod
    def of(cls, targets: Array, parameter: float, width: float) -> Self:
        """Return the loss of these targets; the parameter is epsilon."""
        return cls(targets, parameter, width)

    def widened(self, times: float) -> Self:
        """Return the same loss with another width."""
        return replace(self, width=times * self.width)

    def take(self, chosen: Array) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, targets=self.targets[chosen])

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row."""
        above, below = self._excess(decisions)
        return ramp(above, self.width) + ramp(below, self.width)

    def slopes(self, decisions: Array) -> Array:
        """Return the first derivative of the loss in the decision value, of each row."""
        above, below = self._excess(decisions)
        return ramp_slope(below, self.width) - ramp_slope(above, self.width)

    def curvatures(self, decisions: Array) -> Array:
        """Return the second derivative of the loss in the decision value, of each row."""
        above, below = self._excess(decisions)
        return ramp_curvature(above, self.width) + ramp_curvature(below, self.width)

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths."""
        above, below = self._excess(decisions)
        near: NDArray[np.bool_] = np.maximum(above, below) > -reach * self.width
        return near

    def _excess(self, decisions: Array) -> tuple[Array, Array]:
        """Return how far targets are above the tube, and how far below it."""
        residuals = self.targets - decisions
        return residuals - self.epsilon, -residuals - self.epsilon


CLASS_LOSSES = {loss.name: loss for loss in (Hinge,)}
VALUE_LOSSES = {loss.name: loss for loss in (EpsilonInsensitive,)}


def losses_of(targets: ClassTargets | ValueTargets) -> list[Loss]:
    """Return the loss of every output."""
    if isinstance(targets, ValueTargets):
        width = RELATIVE_WIDTH * targets.spread()
        return [VALUE_LOSSES[targets.loss].of(targets.values, targets.parameter, width)]
    positive, negative = np.int8(1), np.int8(-1)
    labels = [np.where(targets.codes == k, positive, negative) for k in targets.positives]
    return [CLASS_LOSSES[targets.loss].of(signs) for signs in labels]


def ramp(u: Array, width: float) -> Array:
    """Return max(0, u), with its kink rounded off over `width` to either side."""
    rounded = (u + width) ** 2 / (4 * width)
    return np.where(np.abs(u) <= width, rounded, np.maximum(u, 0))


def ramp_slope(u: Array, width: float) -> Array:
    """Return the slope of the rounded ramp."""
    slope: Array = np.clip((u + width) / (2 * width), 0, 1)
    return slope


def ramp_curvature(u: Array, width: float) -> Array:
    """Return the curvature of the rounded ramp."""
    curvature: Array = (np.abs(u) <= width) / (2 * width)
    return curvature
