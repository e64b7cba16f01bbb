"""The exact SVM of few rows, which all fit into the budget: every row may be a support vector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..backends.hessian import INTERCEPT_CURVATURE, JITTER
from .sample import Sample

Array = NDArray[Any]

# With more rows, the solver of any vectors is faster, and reacts to interrupts.
MOST_ROWS = 1000
# The largest number of steps, which problems that converge do not reach. Steps end if one predicts
# a decrease below half this share of the objective; the last ones gain most digits.
MOST_STEPS = 200
TOLERANCE = 1e-6
# The largest share of the objective that may remain, or that the jitter may add.
LARGEST_ERROR = 5e-4


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

    is_optimal : bool
        Whether it is the optimum with the jitter of other vectors, too, which it does without.
    """

    point: Array
    gradient: Array
    objective: float
    steps: int
    remaining: float
    is_optimal: bool

    @property
    def has_converged(self) -> bool:
        """Whether the last step was predicted to gain next to nothing."""
        return abs(self.remaining) <= LARGEST_ERROR


def solve_exactly(
    vectors: Array, sample: Sample, fit_intercept: bool, n_threads: int
) -> ExactSolution | None:
    """Solve for the coefficients of all rows, given as vectors; None if the core cannot."""
    losses = sample.loss.core
    if losses is None or not losses.separable:
        return None
    rows, bound = sample.rows, sample.loss.largest_curvature
    if sample.is_stiff:
        vectors, rows = vectors.astype(np.float64), rows.precise()
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
    jitter = 0.5 * JITTER * float(np.square(point[:, :-1]).sum())
    is_optimal = jitter <= LARGEST_ERROR * float(objective.sum())
    return ExactSolution(
        point, gradient, float(objective.sum()), int(steps.max()), remaining, is_optimal
    )
