"""Newton's method for the coefficients of fixed support vectors.

The last iterate of stochastic gradient descent is noisy, but the support vectors that it has found
are good. With them fixed, the SVM's own problem has one unknown per vector, and the intercept:

    minimise over beta, b    1/2 beta' (K + JITTER I) beta  +  sum_i c_i loss_i(k_i beta + b),

where K holds the kernel values among the vectors, k_i those of row i, c_i is C times the weight of
the row. `losses.py` rounds off the kinks of the losses.

The problem is convex and piecewise quadratic. Newton's method with a line search solves it in a few
steps. Each step needs the kernel values once, and updates the second derivative by the rows that
entered or left the rounded part of the loss.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .blas import ONE_BLAS_THREAD
from .kernel import JITTER, Kernel
from .losses import Loss
from .sample import Sample

Array = NDArray[Any]

# Newton steps from one starting point; problems that need more are rarely solvable in float32.
MAX_STEPS = 50
# Converged if a Newton step predicts a decrease below this share of the objective.
TOLERANCE = 1e-5
# A line search ends if the slope is this share of the initial slope, or after this many trials.
FLAT = 0.05
MAX_TRIALS = 10
# Below this share, a step that does not reach its predicted decrease is limited by float32.
ROUNDING = 1e-3
# A line search accepts a step that reaches this share of the predicted decrease (Armijo's rule),
# and gives up below the shortest step.
SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 1e-6
# A secant step stays this far from the ends of its bracket, so that the bracket shrinks.
BRACKET_MARGIN = 0.1
# The widths of the continuation from a distant start, in units of the loss's own width.
CONTINUATION_WIDTHS = (256.0, 64.0, 16.0, 4.0)
# The curvature of the intercept if no row is on the rounded part, as a share of the largest.
INTERCEPT_CURVATURE = 1e-6
# The first ridge for a matrix that rounding has made indefinite, relative to its diagonal, and the
# factor from one ridge to the next.
FIRST_RIDGE, NEXT_RIDGE = 1e-14, 100
# If the curvatures of all rows add up to more than this, the rounding errors of subtracting them
# would exceed JITTER: then the second derivative is computed from scratch in each step.
MOST_BENT = 0.001 * JITTER / np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Solution:
    """The coefficients and intercept of one output, and how they were reached."""

    coefficients: Array
    intercept: float
    decisions: Array  # one per row
    steps: int
    objective_before: float
    objective_after: float
    gradient_norm: float  # relative to the sum of the row weights c_i
    converged: bool
    moves: int = 0  # steps of the vectors, see moving.py


def polish(
    vectors: Array,
    start: list[tuple[Array, float]],
    sample: Sample,
    fit_intercept: bool,
    n_threads: int,
) -> list[Solution]:
    """Solve for the coefficients and the intercept of every output.

    Parameters
    ----------
    vectors : array of shape (n_sv, n_features)
        The support vectors, of the dtype of the rows; all outputs share them.

    start : list of (coefficients, intercept)
        The starting point of each output.

    sample : Sample
        The rows to solve on, at most `sample_size` of them.

    fit_intercept : bool
        Whether the intercept is solved for (without penalty) or stays zero.

    n_threads : int
        Threads; the bits of the solutions do not depend on them.
    """
    with ONE_BLAS_THREAD:
        kernel = Kernel(vectors, sample.rows, n_threads)
        return [
            Problem(kernel, loss, sample.c, fit_intercept).solve(coefficients, intercept)
            for loss, (coefficients, intercept) in zip(sample.losses, start, strict=True)
        ]


def distinct(vectors: Array, coefficients: Array) -> tuple[Array, Array]:
    """Join equal vectors; their coefficients (n_outputs, n_sv) are summed."""
    # Compared as bytes, which is faster than axis=0; adding zero turns a negative zero into zero.
    rows = np.ascontiguousarray(vectors + vectors.dtype.type(0))
    keys = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()
    _, first, position = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(vectors):
        return vectors, coefficients
    order = np.argsort(first)
    joined = np.zeros((len(coefficients), len(first)))
    np.add.at(joined.T, position, coefficients.T)
    return vectors[first[order]], joined[:, order]


class Problem:
    """The restricted SVM problem of one output: a loss and the weights c of the rows."""

    def __init__(self, kernel: Kernel, loss: Loss, c: Array, fit_intercept: bool) -> None:
        self.kernel, self.loss, self.c = kernel, loss, c
        self.fit_intercept = fit_intercept

    def objective(self, beta: Array, decisions: Array) -> float:
        """Return the objective where the coefficients give these decision values."""
        losses = self.loss.values(decisions)
        return float(0.5 * beta @ self.kernel.penalty @ beta + self.c @ losses)

    def slopes(self, decisions: Array) -> Array:
        """Return the slope of the weighted loss of every row."""
        return self.loss.slopes(decisions) * self.c

    def curvatures(self, decisions: Array) -> Array:
        """Return the curvature of the weighted loss of every row."""
        return self.loss.curvatures(decisions) * self.c

    def gradient(self, beta: Array, slope: Array) -> Array:
        """Return the gradient in (beta, b) if the rows have these slopes."""
        gradient = np.append(self.kernel.penalty @ beta, slope.sum())
        counted = np.flatnonzero(slope)

        def of_chunk(chunk: slice) -> Array:
            rows = counted[chunk]
            return slope[rows] @ self.kernel.rows[rows].astype(np.float64)

        for pull in self.kernel.each(of_chunk, len(counted)):
            gradient[:-1] += pull
        return gradient

    def without_rows(self) -> Array:
        """Return the second derivative in (beta, b) if no row has a curvature."""
        return np.pad(self.kernel.penalty, (0, 1))

    def update(self, hessian: Array, change: Array) -> None:
        """Update the second derivative for a change of the curvatures."""
        factors = np.sqrt(np.abs(change))
        hessian += self.outer(np.flatnonzero(change > 0), factors)
        hessian -= self.outer(np.flatnonzero(change < 0), factors)

    def outer(self, chosen: Array, factors: Array) -> Array:
        """Sum the outer products of the chosen rows, with a one appended, times their factors."""
        n = self.kernel.rows.shape[1]

        def of_chunk(chunk: slice) -> Array:
            rows = np.ones((len(chosen[chunk]), n + 1))
            rows[:, :n] = self.kernel.rows[chosen[chunk]]
            rows *= factors[chosen[chunk], None]
            return rows.T @ rows

        return sum(self.kernel.each(of_chunk, len(chosen)), np.zeros((n + 1, n + 1)))

    def newton_step(self, gradient: Array, hessian: Array) -> Array:
        """Return the change of (beta, b) that minimises the quadratic model."""
        n = len(gradient) - 1
        if not self.fit_intercept:
            return np.append(_solve(hessian[:n, :n], -gradient[:n]), 0.0)
        # If no row is on the rounded part, the intercept has no curvature: a little is added.
        held = hessian.copy()
        held[n, n] += INTERCEPT_CURVATURE * self.c.sum() / (2 * self.loss.width)
        return _solve(held, -gradient)

    def slope_along(
        self, beta: Array, decisions: Array, step: Array, change: Array, length: float
    ) -> float:
        """Return the slope of the objective along the step, at this length."""
        slopes = self.slopes(decisions + length * change)
        penalty = step[:-1] @ self.kernel.penalty @ (beta + length * step[:-1])
        return float(penalty + slopes @ change)

    def line_search(
        self, beta: Array, decisions: Array, step: Array, change: Array, slope: float
    ) -> tuple[float, float]:
        """Find the minimum of the objective along the step.

        Returns the length of the step, halved until it reaches the sufficient decrease, and the
        objective there. The objective is convex along the step, so a secant between a point where
        it falls and one where it rises comes close to the minimum in a few trials.
        """
        start, length = self.objective(beta, decisions), 1.0
        falling, rising = (0.0, slope), None
        for _ in range(MAX_TRIALS):
            found = self.slope_along(beta, decisions, step, change, length)
            if abs(found) <= -FLAT * slope:
                break
            if found < 0:
                falling = length, found
            else:
                rising = length, found
            if rising is None:
                length *= 2
            else:
                share = falling[1] / (falling[1] - rising[1])
                length = falling[0] + min(max(share, BRACKET_MARGIN), 1 - BRACKET_MARGIN) * (
                    rising[0] - falling[0]
                )
        while True:
            value = self.objective(beta + length * step[:-1], decisions + length * change)
            if value <= start + SUFFICIENT_DECREASE * length * slope or not length >= SHORTEST_STEP:
                return length, value
            length /= 2

    def solve(self, beta: Array, intercept: float) -> Solution:
        """Newton's method from the given coefficients; no step makes the objective larger."""
        solution = self.descend(beta, intercept)
        if solution.converged:
            return solution
        # From a distant start, and with a large C every start is, wider smoothing converges first.
        before, steps = solution.objective_before, solution.steps
        for start in dict.fromkeys((intercept, 0.0)):
            at = np.zeros_like(beta), start
            for times in (*CONTINUATION_WIDTHS, 1.0):
                wide = self.loss.widened(times)
                found = Problem(self.kernel, wide, self.c, self.fit_intercept).descend(*at)
                at, steps = (found.coefficients, found.intercept), steps + found.steps
            if found.objective_after < solution.objective_after:
                solution = found
        return replace(solution, objective_before=before, steps=steps)

    def descend(self, beta: Array, intercept: float, most_steps: int = MAX_STEPS) -> Solution:
        """Newton's method from one starting point."""
        decisions = self.kernel.decide(beta, intercept)
        before = value = self.objective(beta, decisions)
        steps, converged, gradient = 0, False, np.zeros(1)
        hessian, known = self.without_rows(), np.zeros(len(self.c))
        while steps < min(most_steps, MAX_STEPS):
            gradient = self.gradient(beta, self.slopes(decisions))
            curvatures = self.curvatures(decisions)
            many = np.count_nonzero(curvatures - known) > np.count_nonzero(curvatures)
            if many or hessian[-1, -1] > MOST_BENT:  # the last entry is the sum over all rows
                hessian, known = self.without_rows(), np.zeros(len(self.c))
            self.update(hessian, curvatures - known)
            known = curvatures
            step = self.newton_step(gradient, hessian)
            predicted = float(gradient @ step)
            converged = -predicted <= TOLERANCE * value
            if converged:
                break
            change = self.kernel.decide(step[:-1], step[-1])
            length, found = self.line_search(beta, decisions, step, change, predicted)
            if not found < value:  # only rounding errors are left
                converged = -predicted <= ROUNDING * value
                break
            value = found
            beta, intercept = beta + length * step[:-1], intercept + length * step[-1]
            decisions += length * change
            steps += 1
        size = float(np.linalg.norm(gradient) / self.c.sum())
        return Solution(beta, float(intercept), decisions, steps, before, value, size, converged)


def _solve(matrix: Array, right: Array) -> Array:
    """Solve a positive definite system; a ridge is added if rounding has made it indefinite."""
    diagonal = np.diag_indices_from(matrix)
    ridge = 0.0
    while True:
        try:
            return cho_solve(cho_factor(matrix, check_finite=False), right, check_finite=False)
        except LinAlgError:
            if not np.isfinite(matrix[diagonal]).all():
                return np.zeros_like(right)
            ridge = max(NEXT_RIDGE * ridge, FIRST_RIDGE * float(np.mean(matrix[diagonal])))
            matrix = matrix.copy()
            matrix[diagonal] += ridge
