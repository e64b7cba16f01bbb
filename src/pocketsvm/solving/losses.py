"""The losses of the solver, one small type each.

A loss is made of ramps max(0, u), with u linear in the decision value. The solver rounds off their
kinks: `width` says how far to either side. A loss has the name that it has in the core
(`_core.class_losses`, `_core.target_losses`), and stands in `CLASS_LOSSES` or `VALUE_LOSSES`.
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
    """The loss of one output: a sum of ramps."""

    @property
    def width(self) -> float:
        """How far the kinks are rounded off, to either side."""
        ...

    def widened(self, times: float) -> Self:
        """Return the same loss with another width."""
        ...

    def take(self, chosen: Array) -> Self:
        """Return the loss of the chosen rows."""
        ...

    def ramps(self, decisions: Array) -> list[tuple[Array, Any]]:
        """Return u of every ramp, and its slope in the decision value."""
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

    def ramps(self, decisions: Array) -> list[tuple[Array, Any]]:
        """Return u of every ramp, and its slope in the decision value."""
        return [(1 - self.labels * decisions, -self.labels)]


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

    def ramps(self, decisions: Array) -> list[tuple[Array, Any]]:
        """Return u of every ramp, and its slope in the decision value."""
        residuals = self.targets - decisions
        return [(residuals - self.epsilon, -1.0), (-residuals - self.epsilon, 1.0)]


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


def rounded_ramp(u: Array, width: float) -> Array:
    """max(0, u), with its kink rounded off over `width` to either side."""
    rounded = (u + width) ** 2 / (4 * width)
    return np.where(np.abs(u) <= width, rounded, np.maximum(u, 0))
