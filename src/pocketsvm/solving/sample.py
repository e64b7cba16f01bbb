"""The rows that the solver works on."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._cached import cached_property
from ..rows.checked import Rows
from ..training.settings import Choices, Settings
from ..training.targets import Targets
from .row_loss import Loss

Array = NDArray[Any]

# Values of at least so many dense rows, or of all, are counted to tell whether they are sparse. The
# features of as many are correlated.
ROWS_TO_COUNT = 2**12
# Kernel values are float64 if C times a weight and the curvature of the loss is larger than this:
# coefficients may be as large as C, and would make more of rounding errors than of the rows.
LARGEST_CURVATURE = 1e4
# Rows count as sparse if this share of their values, or less, is not zero. It changes only time.
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

    tilt : float
        What the objective grows by with the intercept, besides the losses.

    reach : float
        Rows further than this from where the loss begins, in units of its width, are not near.
    """

    rows: Rows
    c: Array
    loss: Loss
    tilt: float = 0.0
    reach: float = Choices.near_reach

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.c)

    @cached_property
    def total_c(self) -> float:
        """The sum of C times the weights."""
        return float(self.c.sum())

    @property
    def is_stiff(self) -> bool:
        """Whether kernel values in float32 are not precise enough for C."""
        return bool(self.c.max() * self.loss.largest_curvature > LARGEST_CURVATURE)

    def take(self, chosen: Array, n_threads: int = 1) -> "Sample":
        """Copy the chosen rows."""
        rows, c, loss = self.rows.take(chosen, n_threads), self.c[chosen], self.loss.take(chosen)
        return replace(self, rows=rows, c=c, loss=loss)

    def weighted(self, factors: Array) -> "Sample":
        """Return the same rows with their weights times some factors."""
        return replace(self, c=self.c * factors)

    def derivatives(self, decisions: Array, n_threads: int) -> tuple[Array, Array, Array]:
        """Return the weighted losses of all rows, and the slope and curvature of each row."""
        return self.loss.derivatives(decisions, self.c, n_threads)

    def along(
        self, decisions: Array, change: Array, length: Array, n_threads: int
    ) -> tuple[Array, Array]:
        """Return the first and second derivative of the losses along a change, at some lengths."""
        return self.loss.along(decisions, change, length, self.c, n_threads)

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
        if checked.structure is not None:
            return float(np.count_nonzero(checked.X.data) / self.rows.n_rows)
        some = checked.X[:: max(1, self.rows.n_rows // ROWS_TO_COUNT)]
        return float(np.count_nonzero(some) / len(some))


def sample_of(
    rows: Rows, targets: Targets, settings: Settings, n_rows: int | None = None
) -> Sample:
    """Return rows as the solver sees them; n_rows is the number of rows for which lambda holds."""
    n_rows = rows.n_rows if n_rows is None else n_rows
    c = targets.row_weight(n_rows * settings.alpha, settings.n_threads)
    tilt = targets.tilt(float(c.sum()))
    choices = settings.choices
    return Sample(rows, c, targets.solver_loss(choices), tilt, choices.near_reach)
