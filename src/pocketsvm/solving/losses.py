"""The losses of the solver, one small type each.

A loss turns the decision values of some rows into values, slopes and curvatures, for rows of weight
one and for all outputs at once. It has the name of the estimators' parameter `loss`, and stands in
`CLASS_LOSSES` or `VALUE_LOSSES`. `class_losses.py` and `value_losses.py` have the types.
"""

from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..data.novelty import NoveltyTargets
from ..data.queries import RankTargets
from ..data.sampling import AnyTargets
from ..data.targets import ValueTargets
from ..training.settings import Choices
from .class_losses import ClassLoss, Hinge, LogLoss, SquaredHinge
from .pairs import PairwiseHinge
from .value_losses import EpsilonInsensitive, Huber, Quantile, SquaredError, ValueLoss

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
    def everywhere(self) -> bool:
        """Whether every row has a slope at the solution, and thus could be a support vector."""
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


KnownToCore = ClassLoss | ValueLoss
"""Losses that the core itself sums over rows, which is faster."""

CLASS_LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss for loss in (Hinge, SquaredHinge, LogLoss)
}
VALUE_LOSSES: dict[str, type[ValueLoss]] = {
    loss.name: loss for loss in (EpsilonInsensitive, SquaredError, Huber, Quantile)
}


def loss_of(targets: AnyTargets, choices: Choices) -> Loss:
    """Return the loss of the targets."""
    if isinstance(targets, NoveltyTargets):  # all rows are of one class, which is +1
        return Hinge(targets.groups(), (0,), choices.hinge_width)
    if isinstance(targets, RankTargets):
        return PairwiseHinge(targets.queries, choices.hinge_width)
    if isinstance(targets, ValueTargets):
        is_quantile = targets.loss == "quantile"
        width = choices.quantile_width if is_quantile else choices.relative_width
        widths = width * targets.spreads()
        return VALUE_LOSSES[targets.loss].of(targets.values, targets.parameters, widths)
    return CLASS_LOSSES[targets.loss].of(targets.codes, targets.positives, choices.hinge_width)
