"""The contract of a loss: what the solver asks of it, for some rows and all outputs at once.

A loss in Python has a name and parameters. The core has the formulas (`native/losses/`).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._cached import cached_property
from ..backends.base import Formula
from ..backends.native import native_losses

Array = NDArray[Any]

# Rows further than this from where the loss begins, in units of its width, are not near.
REACH = 2.0


class Loss(ABC):
    """The loss of some rows. Decision values have the shape (n_rows, n_outputs).

    Attributes
    ----------
    name : str
        The name of the estimators' parameter `loss`, or of the core.

    everywhere : bool
        Whether every row has a slope at the solution, and thus could be a support vector.

    coupled : bool
        Whether a row has one loss of all its decision values, instead of one of each.

    has_pairs : bool
        Whether losses are those of pairs of rows. Then rows of a query belong together, and
        curvatures are only a bound on the second derivative.
    """

    name: ClassVar[str]
    everywhere: ClassVar[bool] = False
    coupled: ClassVar[bool] = False
    has_pairs: ClassVar[bool] = False

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """The number of decision values of a row."""

    @property
    @abstractmethod
    def largest_curvature(self) -> float:
        """A bound on the second derivative in one decision value."""

    @property
    def largest_curvatures(self) -> Array:
        """The bounds of all outputs, which may have kinks of different widths."""
        return np.full(self.n_outputs, self.largest_curvature)

    @property
    def levels(self) -> Array | None:
        """The quantiles that the outputs predict; None if they predict something else."""
        return None

    @property
    def begins(self) -> Array | None:
        """The first row of each query, and the number of rows; None without pairs."""
        return None

    @abstractmethod
    def take(self, chosen: Array | slice) -> Self:
        """Return the loss of the chosen rows."""

    @abstractmethod
    def derivatives(self, decisions: Array, c: Array, n_threads: int) -> tuple[Array, Array, Array]:
        """Return the sums of the losses of rows with the weights c, and their derivatives.

        The sums are one for each output, or one for all if outputs are coupled. The derivatives are
        the weighted slopes and curvatures of each row and output. A curvature is the second
        derivative in one decision value, or a bound on it; if outputs are coupled, a diagonal
        matrix that is a bound on the second derivative.
        """

    @abstractmethod
    def near(self, decisions: Array, reach: float, n_threads: int) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""

    @abstractmethod
    def along(
        self, decisions: Array, change: Array, length: Array, c: Array, n_threads: int
    ) -> tuple[Array, Array]:
        """Return the first and second derivative of the losses along a change, at some lengths."""

    def partners(
        self, chosen: Array, decisions: Array | None, random: np.random.Generator
    ) -> Array:
        """Draw a row that is curved together with each of the chosen ones; None: at any values."""
        raise NotImplementedError(f"{self.name} is a loss of single rows.")

    def curvature_products(self, decisions: Array, curvatures: Array, c: Array) -> Array:
        """Return the second derivative of the weighted losses times the decision values."""
        return curvatures * decisions

    @property
    def core(self) -> _core.RowLosses | None:
        """The loss as the core sums it over rows; None if it does not."""
        return None


class RowLoss(Loss):
    """The base of losses of single rows, which the core sums."""

    @cached_property
    def core(self) -> _core.RowLosses:
        """The loss as the core sees it."""
        return native_losses(self.formula)

    @property
    @abstractmethod
    def formula(self) -> Formula:
        """The name and the parameters of the loss."""

    def derivatives(self, decisions: Array, c: Array, n_threads: int) -> tuple[Array, Array, Array]:
        """Return the sums of the losses of rows with the weights c, and their derivatives."""
        return self.core.derivatives(decisions, c, n_threads)

    def near(self, decisions: Array, reach: float, n_threads: int) -> NDArray[np.bool_]:
        """Tell which rows have a slope, or would have one within `reach` widths of the loss."""
        return self.core.near(decisions, reach, n_threads)

    def along(
        self, decisions: Array, change: Array, length: Array, c: Array, n_threads: int
    ) -> tuple[Array, Array]:
        """Return the first and second derivative of the losses along a change, at some lengths."""
        first, second = self.core.along(decisions, change, length, c, n_threads)
        return first, second
