"""The rows that the solver works on: all of them, or a random sample."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from ..data.rows import Rows
from .losses import Loss

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows to solve on.

    Attributes
    ----------
    rows : Rows
        The rows.

    c : ndarray of shape (n_rows,)
        C times the weight of each row.

    loss : Loss
        Their loss.
    """

    rows: Rows
    c: Array
    loss: Loss

    def take(self, chosen: Array) -> "Sample":
        """Copy the chosen rows."""
        return Sample(self.rows.take(chosen), self.c[chosen], self.loss.take(chosen))
