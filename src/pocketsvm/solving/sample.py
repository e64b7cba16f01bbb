"""The rows that the solver works on: all of them, or a random sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from .losses import Loss

Array = NDArray[Any]

# Rows count as sparse if this share of their values, or less, is not zero.
SPARSE = 0.1


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

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.rows.checked.n_features

    @property
    def is_sparse(self) -> bool:
        """Whether most values are zero, in whatever layout they are stored."""
        return self.mean_values() <= SPARSE * self.n_features

    def mean_values(self) -> float:
        """Return the mean number of values of a row that are not zero."""
        checked = self.rows.checked
        stored = checked.X if checked.structure is None else checked.X.data
        return np.count_nonzero(stored) / checked.n_rows
