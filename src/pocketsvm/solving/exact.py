"""The exact SVM of few rows, which all fit into the budget: every row may be a support vector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .descent import MOST_STEPS, TOLERANCE, predicted_share
from .factor import INTERCEPT_CURVATURE
from .losses import KnownToCore
from .sample import Sample

Array = NDArray[Any]

# Coefficients are as large as the weights c. With larger ones, the rounding errors of kernel values
# in float32 would matter, and the general solver keeps the coefficients small.
LARGEST_C = 1e4


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
    """

    point: Array
    gradient: Array
    objective: float
    steps: int
    remaining: float


def solve_exactly(
    vectors: Array, sample: Sample, fit_intercept: bool, n_threads: int
) -> ExactSolution | None:
    """Solve for the coefficients of all rows, given as vectors; None if the core cannot."""
    losses = sample.loss.core() if isinstance(sample.loss, KnownToCore) else None
    if losses is None or not losses.separable or sample.c.max() > LARGEST_C:
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
    remaining = predicted_share(predicted, objective)
    return ExactSolution(point, gradient, float(objective.sum()), int(steps.max()), remaining)
