"""Losses on classes: y is +1 in the rows of an output's positive class, and -1 in all others."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from ..backends.base import ClassFormula
from .row_loss import RowLoss

Array = NDArray[Any]

# Rows with a log loss are near up to this margin, in units of the reach.
LOG_LOSS_WIDTH = 1.5


@dataclass(frozen=True, eq=False)
class ClassLoss(RowLoss):
    """The base of losses that are functions of the margin y f, one output per positive class."""

    codes: Array
    positives: tuple[int, ...]
    width: float

    @classmethod
    def of(cls, codes: Array, positives: list[int], width: float) -> "ClassLoss":
        """Return the loss of these classes."""
        return cls(codes, tuple(positives), width)

    @property
    def n_outputs(self) -> int:
        """The number of decision values of a row."""
        return len(self.positives)

    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""
        return replace(self, codes=self.codes[chosen])

    @property
    def formula(self) -> ClassFormula:
        """The name and the parameters of the loss."""
        return ClassFormula(self.name, self.codes, self.positives, self.width)


@dataclass(frozen=True, eq=False)
class Hinge(ClassLoss):
    """max(0, 1 - y f), with its kink rounded off."""

    name: ClassVar[str] = "hinge"

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        return 1 / (2 * self.width)


@dataclass(frozen=True, eq=False)
class SquaredHinge(ClassLoss):
    """max(0, 1 - y f)^2; the width only tells which rows are near."""

    name: ClassVar[str] = "squared_hinge"
    largest_curvature: ClassVar[float] = 2.0


@dataclass(frozen=True, eq=False)
class LogLoss(ClassLoss):
    """log(1 + exp(-y f)) for two classes; `Softmax` for more."""

    name: ClassVar[str] = "log_loss"
    everywhere: ClassVar[bool] = True
    largest_curvature: ClassVar[float] = 0.25

    @classmethod
    def of(cls, codes: Array, positives: list[int], width: float) -> ClassLoss:
        """Return the loss of these classes."""
        kind = cls if len(positives) == 1 else Softmax
        return kind(codes, tuple(positives), LOG_LOSS_WIDTH)


@dataclass(frozen=True, eq=False)
class Softmax(ClassLoss):
    """log sum_o exp(f_o) - f_y, one loss of all outputs, one output for each class y."""

    name: ClassVar[str] = "softmax"
    coupled: ClassVar[bool] = True
    everywhere: ClassVar[bool] = True
    largest_curvature: ClassVar[float] = 0.5


CLASS_LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss for loss in (Hinge, SquaredHinge, LogLoss)
}
