"""The positions of the support vectors are optimised, too.

With the coefficients solved for, the objective is a function of the positions alone. It is minimal
in the coefficients, so its slope in a vector is the slope for fixed coefficients,

    2 gamma (sum_i w_ij (x_i - v_j)  +  sum_l w_lj (v_l - v_j)),

    w_ij = k_ij sum_o slope_io beta_oj,    w_lj = k_lj sum_o beta_ol beta_oj,

where slope_io is the slope of the loss of row i in output o. L-BFGS makes some steps; each of them
solves for the coefficients again, starting from the decision values of the step before. Only rows
near the margin take part.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..training.settings import Choices
from .conjugate import row_products
from .newton import minimise
from .problem import Iterate, Problem
from .sample import Sample

Array = NDArray[Any]


class Positions:
    """The objective as a function of the vectors: a point is in units of kernel widths.

    Steps end where they gain less than `tolerance` each, a share of the objective.
    """

    def __init__(
        self,
        vectors: Array,
        point: Array,
        sample: Sample,
        fit_intercept: bool,
        backend: Backend,
        random: np.random.Generator,
        choices: Choices,
        tolerance: float,
    ) -> None:
        self.tolerance, self.window = tolerance, choices.move_window
        # L-BFGS compares objectives that differ by little.
        self.precision = max(choices.thorough_tolerance, tolerance / self.window)
        self.sample, self.random, self.start = sample, random, point
        self.fit_intercept, self.backend = fit_intercept, backend
        self.shape, self.dtype, self.gamma = vectors.shape, vectors.dtype, sample.rows.gamma
        # Steps are scaled, for each vector, by the kernel's width over its coefficient, because
        # vectors with small coefficients must move further.
        weight = np.square(point[:, :-1]).sum(axis=0)
        weight = weight / (weight.mean() or 1.0) + choices.move_damping
        self.unit = np.sqrt(2 * self.gamma * weight)[:, None]
        self.X, self.centre = backend.centred(sample.rows, sample.is_sparse)
        self.gain, self.best, self.steps, self.point = 0.0, 0.0, 0, point
        problem = Problem(vectors, sample, fit_intercept, backend)
        iterate = problem.iterate(point)
        self.decisions = iterate.decisions
        losses, slopes, _ = sample.derivatives(iterate.decisions, backend.n_threads)
        penalty = 0.5 * row_products(point[:, :-1], iterate.penalised)
        self.first = float(losses.sum() + penalty.sum()) or 1.0  # no loss: nothing to gain
        gradient = self._gradient(problem, vectors - self.centre, iterate, slopes) / self.unit
        self.slope: Array = (gradient / self.first).ravel()
        self.origin = self.seen = self.position(vectors)

    def position(self, vectors: Array) -> Array:
        """Return the point of the vectors."""
        position: Array = ((vectors - self.centre) * self.unit).ravel()
        return position

    def vectors(self, position: Array) -> Array:
        """Return the vectors of a point."""
        vectors: Array = position.reshape(self.shape) / self.unit + self.centre
        return vectors.astype(self.dtype)

    def follow(self, n_steps: int) -> tuple[Array, Array, int]:
        """Make some steps; return the vectors, their coefficients and the number of steps."""
        objectives = [1.0]

        def is_flat(objective: float) -> bool:
            objectives.append(objective)
            last = objectives[-1 - self.window :]
            # The first step gains most: it must gain as much as some others together.
            is_judged = len(last) == 2 or len(last) > self.window
            return is_judged and last[0] - last[-1] < self.window * self.tolerance

        position, n_made = self.backend.descend(self.look, self.origin, n_steps, is_flat)
        if not np.array_equal(position, self.seen):  # L-BFGS has looked further
            self.look(position)
        return self.vectors(position), self.point, n_made

    def look(self, position: Array) -> tuple[float, Array]:
        """Return the objective at a point, relative to the start, and its gradient."""
        if np.array_equal(position, self.origin):  # its coefficients are known
            self.seen, self.gain, self.point = position, 0.0, self.start
            return 1.0, self.slope
        vectors = self.vectors(position)
        problem = Problem(vectors, self.sample, self.fit_intercept, self.backend)
        iterate = problem.iterate(problem.newton_point(self.decisions, self.random))
        solution = minimise(problem, iterate, self.random, self.precision)
        self.point = solution.iterate.point
        self.steps += solution.steps + 1
        self.seen, self.gain = position, 1.0 - solution.objective / self.first
        if self.gain >= self.best:  # a step that was too long is no point to start from
            self.best, self.decisions = self.gain, solution.iterate.decisions
        found = solution.iterate, solution.derivatives.slopes
        gradient = self._gradient(problem, vectors - self.centre, *found) / self.unit
        return solution.objective / self.first, (gradient / self.first).ravel()

    def _gradient(self, problem: Problem, vectors: Array, iterate: Iterate, slopes: Array) -> Array:
        """Return the slope in the positions, which are given without the centre."""
        beta = iterate.point[:, :-1]
        forces = problem.rows.forces(problem.penalty, self.X, slopes, beta, vectors)
        gradient: Array = 2 * self.gamma * forces
        return gradient
