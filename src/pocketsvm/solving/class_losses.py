"""Losses on classes: y is +1 in the rows of an output's positive class, and -1 in all others."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from .. import _core
from .ramps import ramp, ramp_derivatives
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

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        near: NDArray[np.bool_] = self._margins(decisions).min(axis=1) < 1 + reach * self.width
        return near

    def _core(self) -> _core.RowLosses:
        """Return the loss as the core sees it."""
        return _core.RowLosses.classes(self.name, self.codes, list(self.positives), self.width)

    def _positive(self) -> tuple[Array, Array]:
        """Return the rows and outputs where y is +1: at most one output of a row."""
        if self.n_outputs == 1:
            rows = np.flatnonzero(self.codes == self.positives[0])
            return rows, np.zeros_like(rows)
        return np.arange(len(self.codes)), self.codes

    def _margins(self, decisions: Array) -> Array:
        """Return y f."""
        return self._signed(-decisions)

    def _signed(self, slopes: Array) -> Array:
        """Turn slopes in the margin, less their sign, into slopes in the decision values."""
        slopes[self._positive()] *= -1
        return slopes


@dataclass(frozen=True, eq=False)
class Hinge(ClassLoss):
    """max(0, 1 - y f), with its kink rounded off."""

    name: ClassVar[str] = "hinge"

    @property
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""
        return 1 / (2 * self.width)

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row and output."""
        return ramp(1 - self._margins(decisions), self.width)

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slopes and curvatures of each row's loss in its decision values."""
        slopes, curvatures = ramp_derivatives(1 - self._margins(decisions), self.width)
        return self._signed(slopes), curvatures


@dataclass(frozen=True, eq=False)
class SquaredHinge(ClassLoss):
    """max(0, 1 - y f)^2; the width only tells which rows are near."""

    name: ClassVar[str] = "squared_hinge"
    largest_curvature: ClassVar[float] = 2.0

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row and output."""
        values: Array = np.square(np.maximum(1 - self._margins(decisions), 0))
        return values

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slopes and curvatures of each row's loss in its decision values."""
        excess = np.maximum(1 - self._margins(decisions), 0)
        return self._signed(2 * excess), 2.0 * (excess > 0)


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

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row."""
        values: Array = np.logaddexp(0, -self._margins(decisions))
        return values

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slope and curvature of each row's loss in its decision value."""
        share = expit(-self._margins(decisions))
        return self._signed(share.copy()), share * (1 - share)

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have more than a small slope."""
        near: NDArray[np.bool_] = self._margins(decisions)[:, 0] < reach * self.width
        return near


@dataclass(frozen=True, eq=False)
class Softmax(ClassLoss):
    """log sum_o exp(f_o) - f_y, one loss of all outputs, one output for each class y."""

    name: ClassVar[str] = "softmax"
    coupled: ClassVar[bool] = True
    everywhere: ClassVar[bool] = True
    largest_curvature: ClassVar[float] = 0.5

    def values(self, decisions: Array) -> Array:
        """Return the loss of each row, in one column."""
        own = decisions[self._positive()]
        values: Array = (logsumexp(decisions, axis=1) - own)[:, None]
        return values

    def derivatives(self, decisions: Array) -> tuple[Array, Array]:
        """Return the slopes, and a diagonal bound on the second derivative diag(p) - p p'."""
        shares = np.exp(decisions - logsumexp(decisions, axis=1, keepdims=True))
        slopes = shares.copy()
        slopes[self._positive()] -= 1
        return slopes, 2 * shares * (1 - shares)

    def near(self, decisions: Array, reach: float) -> NDArray[np.bool_]:
        """Tell which rows have more than a small slope."""
        near: NDArray[np.bool_] = self.values(decisions)[:, 0] > np.logaddexp(
            0, -reach * self.width
        )
        return near


CLASS_LOSSES: dict[str, type[ClassLoss]] = {
    loss.name: loss for loss in (Hinge, SquaredHinge, LogLoss)
}
