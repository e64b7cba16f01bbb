"""The losses of the solver, one small type each.

A loss turns the decision values of some rows into values, slopes and curvatures, for rows of weight
one and for all outputs at once. It has the name that it has in the core (`_core.class_losses`,
`_core.target_losses`), and stands in `CLASS_LOSSES` or `VALUE_LOSSES`.

The losses of support vector machines are made of ramps max(0, u), with u linear in the decision
value. The solver rounds off their kinks, `width` to either side:

    ramp(u) = 0 for u < -width,   (u + width)^2 / (4 width) in between,   u for u > width.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.novelty import NoveltyTargets
from ..data.queries import RankTargets
from ..data.sampling import AnyTargets
from ..data.targets import ValueTargets
from ..training.settings import Choices
from .pairs import PairwiseHinge

Array = NDArray[Any]

# Rows further than this from where the loss begins, in units of its width, do not move vectors.
REACH = 2.0


class Loss(Protocol):
    """The loss of some rows. Decision values have the shape (n_rows, n_outputs)."""

    @property
    def n_outputs(self) -> int:
        """The number of decision values of a row."""
        ...

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        ...

    @property
    def coupled(self) -> bool:
        """Whether a row has one loss of all its decision values, instead of one of each."""
        ...

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""
        ...

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row, one for every output; one column if outputs are coupled."""
        ...

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slopes and curvatures of each row's loss in its decision values.

        The curvature is the second derivative in one decision value, or a bound on it; if outputs
        are coupled, a diagonal matrix that is a bound on the second derivative.
        """
        ...

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        ...


@runtime_checkable
class MadeOfRamps(Protocol):
    """A loss made of ramps only: the core itself sums it over rows, which is faster."""

    def ramps(self) -> _core.RampLosses:
        """Return the loss as the core sees it."""
        ...

    @property
    def width(self) -> float:
        """How far kinks are rounded off."""
        ...


@dataclass(frozen=True, eq=False)
class Hinge:
    """max(0, 1 - y f) for one output per positive class: y is +1 in its rows, -1 in all others."""

    name: ClassVar[str] = "hinge"
    coupled: ClassVar[bool] = False
    codes: Array
    positives: tuple[int, ...]
    width: float

    @classmethod
    def of(cls, codes: Array, positives: list[int], width: float) -> Self:
        """Return the loss of these classes."""
        return cls(codes, tuple(positives), width)

    @property
    def n_outputs(self) -> int:
        """The number of decision values of a row."""
        return len(self.positives)

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        return 1 / (2 * self.width)

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, codes=self.codes[chosen])

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row and output."""
        return ramp(self._excess(decisions), self.width)

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slopes and curvatures of each row's loss in its decision values."""
        slopes, curvatures = ramp_derivatives(self._excess(decisions), self.width)
        slopes[self._positive()] *= -1
        return slopes, curvatures

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        near: NDArray[np.bool_] = self._excess(decisions).max(axis=1) > -reach * self.width
        return near

    def ramps(self) -> _core.RampLosses:
        """Return the loss as the core sees it."""
        return _core.RampLosses.classes(self.codes, list(self.positives), self.width)

    def _positive(self) -> tuple[Array, Array]:
        """Return the rows and outputs where y is +1: at most one output of a row."""
        if self.n_outputs == 1:
            rows = np.flatnonzero(self.codes == self.positives[0])
            return rows, np.zeros_like(rows)
        return np.arange(len(self.codes)), self.codes

    def _excess(self, decisions: Array) -> Array:
        """Return 1 - y f."""
        positive = self._positive()
        excess: Array = 1 + decisions
        excess[positive] = 1 - decisions[positive]
        return excess


@dataclass(frozen=True, eq=False)
class EpsilonInsensitive:
    """max(0, |y - f| - epsilon) for targets y: a ramp above the tube and one below."""

    name: ClassVar[str] = "epsilon_insensitive"
    targets: Array
    epsilon: float
    width: float

    n_outputs: ClassVar[int] = 1
    coupled: ClassVar[bool] = False

    @classmethod
    def of(cls, targets: Array, parameter: float, width: float) -> Self:
        """Return the loss of these targets; the parameter is epsilon."""
        return cls(targets, parameter, width)

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        n_ramps = 2 if self.epsilon < self.width else 1  # that can bend at the same value
        return n_ramps / (2 * self.width)

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, targets=self.targets[chosen])

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row."""
        above, below = self._excess(decisions)
        return ramp(above, self.width) + ramp(below, self.width)

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slope and curvature of each row's loss in its decision value."""
        above, below = (ramp_derivatives(u, self.width) for u in self._excess(decisions))
        return below[0] - above[0], below[1] + above[1]

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        above, below = self._excess(decisions)
        near: NDArray[np.bool_] = np.maximum(above, below)[:, 0] > -reach * self.width
        return near

    def ramps(self) -> _core.RampLosses:
        """Return the loss as the core sees it."""
        return _core.RampLosses.values(self.targets[:, None], self.epsilon, [1], [1], self.width)

    def _excess(self, decisions: Array) -> tuple[Array, Array]:
        """Return how far targets are above the tube, and how far below it."""
        residuals = self.targets[:, None] - decisions
        return residuals - self.epsilon, -residuals - self.epsilon


CLASS_LOSSES = {loss.name: loss for loss in (Hinge,)}
VALUE_LOSSES = {loss.name: loss for loss in (EpsilonInsensitive,)}


def loss_of(targets: AnyTargets, choices: Choices) -> Loss:
    """Return the loss of the targets."""
    if isinstance(targets, NoveltyTargets):  # all rows are of one class, which is +1
        return Hinge(targets.groups(), (0,), choices.hinge_width)
    if isinstance(targets, RankTargets):
        return PairwiseHinge(targets.queries, choices.hinge_width)
    if isinstance(targets, ValueTargets):
        width = choices.relative_width * targets.spread()
        return VALUE_LOSSES[targets.loss].of(targets.values, targets.parameter, width)
    return CLASS_LOSSES[targets.loss].of(targets.codes, targets.positives, choices.hinge_width)


def ramp(u: Array, width: float) -> Array:
    """Return max(0, u), with its kink rounded off over `width` to either side."""
    slope = _ramp_slope(u, width)
    values: Array = width * slope * slope + np.maximum(u - width, 0)
    return values


def ramp_derivatives(u: Array, width: float) -> tuple[Array, Array]:
    """Return the slope and the curvature of the rounded ramp."""
    slope = _ramp_slope(u, width)
    curvature: Array = ((slope > 0) & (slope < 1)) / (2 * width)
    return slope, curvature


def _ramp_slope(u: Array, width: float) -> Array:
    slope: Array = (u + width) / (2 * width)
    np.clip(slope, 0, 1, out=slope)
    return slope
