"""Training rows of novelty detection: they have weights, and neither labels nor values."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .rows import CheckedRows, Rows
from .targets import Targets, Weights, weighted_rows

# Rows whose kernel values give the mean over all pairs of rows.
MOST_PAIRED = 1000


@dataclass(frozen=True, eq=False, kw_only=True)
class NoveltyTargets(Targets):
    """Rows that are all normal, up to a share nu of them.

    Attributes
    ----------
    n_rows : int
        The number of rows.

    nu : float
        The share of the rows, by weight, that may be outliers.
    """

    task: ClassVar[str] = "novelty"
    n_rows: int
    nu: float

    n_problems = 1

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(self.n_rows, dtype=np.int8)

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        return replace(self, n_rows=len(chosen), sample_weight=self._taken(chosen, factors))


def novelty_targets(
    rows: CheckedRows, sample_weight: Any, nu: float, offset: float
) -> tuple[CheckedRows, NoveltyTargets]:
    """Take the weights of checked rows; rows of zero weight are dropped."""
    nothing = np.zeros(rows.n_rows)
    rows, _, weights, unit = weighted_rows(rows, nothing, sample_weight)
    return rows, NoveltyTargets(
        loss="one_class",
        sample_weight=weights,
        weight_unit=unit,
        offset=offset,
        n_rows=rows.n_rows,
        nu=nu,
    )


def mean_kernel(rows: Rows, weights: Weights, random: np.random.RandomState) -> float:
    """Return the weighted mean of the kernel values of all pairs of rows, each with itself too.

    Of many rows, some that are drawn at random represent all.
    """
    n_rows, n_drawn = rows.n_rows, min(rows.n_rows, MOST_PAIRED)
    if n_drawn < n_rows:
        chosen = np.sort(random.choice(n_rows, n_drawn, replace=False))
        rows, weights = rows.take(chosen), weights[chosen]
    vectors = np.ascontiguousarray(rows.dense(), dtype=rows.core.dtype)
    kernel = _core.kernel_block(vectors, rows.gamma, rows.core, 0, n_drawn, 1)
    shares = weights / weights.sum()
    whole, same = float(shares @ kernel @ shares), float(shares @ shares)
    if n_drawn == n_rows:
        return whole
    other = (whole - same) / (1.0 - same)
    return max(other, 0.0) * (1.0 - 1.0 / n_rows) + 1.0 / n_rows


def lower_quantile(values: NDArray[np.float64], weights: Weights, share: float) -> float:
    """Return a number with this share of the weight below it, in the middle of a gap."""
    order = np.argsort(values, kind="stable")
    values, total = values[order], np.cumsum(weights[order])
    rounding = 1e-9 * total[-1]
    n_below = int(np.searchsorted(total, share * total[-1] + rounding, side="right"))
    low, high = values[max(n_below - 1, 0)], values[min(n_below, len(values) - 1)]
    return float(low + (high - low) / 2) if n_below else float(high)
