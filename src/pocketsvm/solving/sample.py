"""The rows that the solver works on: all of them, or a random sample."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from .losses import Loss

Array = NDArray[Any]

# Kernel values are kept in memory as float32, up to this many bytes. More rows than that are
# subsampled. (At a budget of 500 these are 134,217 rows, 268 for each unknown.)
LARGEST_BLOCK = 2**28


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows to solve on.

    Attributes
    ----------
    rows : Rows
        The rows.

    c : ndarray of shape (n_rows,)
        C times the weight of each row.

    losses : list of Loss
        One per output.
    """

    rows: Rows
    c: Array
    losses: list[Loss]

    def take(self, chosen: Array) -> "Sample":
        """Copy the chosen rows."""
        losses = [loss.take(chosen) for loss in self.losses]
        return Sample(self.rows.take(chosen), self.c[chosen], losses)

    def thin(self, n_rows: int, random: np.random.Generator) -> "Sample":
        """Draw rows that represent all of them; return the sample itself if it has no more."""
        n_all = len(self.c)
        if n_rows >= n_all:
            return self
        thinned = self.take(np.sort(random.choice(n_all, n_rows, replace=False)))
        return replace(thinned, c=thinned.c * (n_all / n_rows))


def sample_size(n_rows: int, n_vectors: int) -> int:
    """Return the number of rows to solve on."""
    return min(n_rows, max(1, LARGEST_BLOCK // (4 * max(1, n_vectors))))
