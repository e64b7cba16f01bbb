"""The exact SVM of few rows, which all fit into the budget: every row may be a support vector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..backends.hessian import INTERCEPT_CURVATURE
from .sample import Sample

Array = NDArray[Any]

# With more rows, the solver of any vectors is faster, and reacts to interrupts.
MOST_ROWS = 1000
# The largest number of steps. Regressions with a large C need most. Steps end if one predicts a
# decrease below half this share of the objective; the last ones gain most digits.
MOST_STEPS = 200
TOLERANCE = 1e-4
# Coefficients are as large as the weights c. If c times the curvature of the loss is larger than
# this, rounding errors of kernel values in float32 may matter, and the solution is checked.
LARGEST_CURVATURE = 1e4
# The largest share of the objective that may remain, or by which the objective may be wrong.
LARGEST_ERROR = 0.01


@dataclass(frozen=True, eq=False)
class ExactSolution:
    """The solution with all rows as vectors.

    Attributes
    ----------
    point : ndarray of shape (n_outputs, n_rows + 1)
        The coefficients, zero for rows without a loss, and the intercepts.

    gradient : ndarray of shape (n_outputs, n_rows + 1)
        The gradient of the objective.

    objective : float
        The objective.

    steps : int
        The largest number of steps of an output.

    remaining : float
        The share of the objective that the last step was predicted to gain.

    certain : bool
        Whether rounding errors cannot matter.
    """

    point: Array
    gradient: Array
    objective: float
    steps: int
    remaining: float
    certain: bool

    def agrees_with(self, objective: float) -> bool:
        """Tell whether it has converged to a point that has this objective."""
        error = abs(self.objective - objective)
        return abs(self.remaining) <= LARGEST_ERROR and error <= LARGEST_ERROR * abs(objective)


def solve_exactly(
    vectors: Array, sample: Sample, fit_intercept: bool, n_threads: int
) -> ExactSolution | None:
    """Solve for the coefficients of all rows, given as vectors; None if the core cannot."""
    losses = sample.loss.core
    if losses is None or not losses.separable:
        return None
    rows, bound = sample.rows, sample.loss.largest_curvature
    kernel = np.empty((len(vectors), len(vectors)), dtype=vectors.dtype)
    _core.fill_kernel(kernel, vectors, rows.gamma, rows.core, 0, n_threads)
    found = _core.solve_rows(
        losses,
        kernel,
        sample.c,
        sample.tilt,
        fit_intercept,
        bound,
        INTERCEPT_CURVATURE * sample.total_c * bound,
        MOST_STEPS,
        TOLERANCE,
    )
    if found is None:
        return None
    point, gradient, _, objective, predicted, steps = found
    with np.errstate(over="ignore"):
        remaining = float(predicted.sum() / max(objective.sum(), np.finfo(float).tiny))
    certain = sample.c.max() * bound <= LARGEST_CURVATURE and 0 <= remaining <= LARGEST_ERROR
    return ExactSolution(
        point, gradient, float(objective.sum()), int(steps.max()), remaining, bool(certain)
    )
