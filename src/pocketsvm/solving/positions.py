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
from scipy.optimize import OptimizeResult, minimize

from ..backends.base import Backend
from .newton import minimise
from .problem import Place, Problem, row_products
from .sample import Sample

Array = NDArray[Any]

# Steps are scaled, for each vector, by the kernel's width over its coefficient, because vectors
# with small coefficients must move further. This share of the mean square coefficient is added, so
# that the scale stays bounded.
DAMPING = 0.1
# The most steps for the coefficients after each step of the vectors, and the share of the objective
# below which they end: L-BFGS compares objectives that differ by little.
SOLVER_STEPS = 30
SOLVER_TOLERANCE = 1e-4
# Pairs of steps and changes of the slope that L-BFGS keeps.
MEMORY = 10
# The length of the first step, in kernel widths. L-BFGS finds the lengths of the others itself.
FIRST_STEP = 0.1
# It is tried at these lengths, until one of them gains something.
FIRST_LENGTHS = 1.0, 0.25, 0.05
# Steps are judged by the gain of this many in a row, because a single one may gain little.
WINDOW = 5
# The first step gains most. Vectors stay if it gains less than so many times what each step must
# gain.
FIRST_GAINS = 4


class Positions:
    """The objective as a function of the vectors: a point is in units of the first step."""

    def __init__(
        self,
        vectors: Array,
        point: Array,
        sample: Sample,
        fit_intercept: bool,
        backend: Backend,
        random: np.random.Generator,
    ) -> None:
        self.sample, self.random, self.start = sample, random, vectors
        self.fit_intercept, self.backend = fit_intercept, backend
        self.shape, self.dtype, self.gamma = vectors.shape, vectors.dtype, sample.rows.gamma
        weight = np.square(point[:, :-1]).sum(axis=0)
        weight = weight / (weight.mean() or 1.0) + DAMPING
        self.unit = np.sqrt(2 * self.gamma * weight)[:, None] / FIRST_STEP
        self.X, self.centre = backend.centred(sample.rows, sample.is_sparse)
        self.gain, self.best, self.steps, self.point = 0.0, 0.0, 0, point
        problem = Problem(vectors, sample, fit_intercept, backend)
        place = problem.place(point)
        self.decisions = place.decisions
        losses, slopes, _ = sample.bends(place.decisions, backend.n_threads)
        penalty = 0.5 * row_products(point[:, :-1], place.penalised)
        self.first = float(losses.sum() + penalty.sum()) or 1.0  # no loss: nothing to gain
        gradient = self._gradient(problem, vectors - self.centre, place, slopes) / self.unit
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

    def follow(self, n_steps: int, tolerance: float) -> tuple[Array, Array, int]:
        """Make some steps, until they gain less than `tolerance` each.

        Returns the vectors, their coefficients and the number of steps; `pays` tells whether they
        gained enough.
        """
        unit = self.slope / (float(np.linalg.norm(self.slope)) or 1.0)
        for length in FIRST_LENGTHS:
            self.look(self.origin - length * unit)
            if self.gain > 0:
                break
        if not self.pays(tolerance):
            return self.vectors(self.seen), self.point, 1
        objectives = [1.0]

        def stop_if_flat(intermediate_result: OptimizeResult) -> None:
            objectives.append(intermediate_result.fun)
            n_made = len(objectives) - 1
            if n_made >= WINDOW and objectives[-1 - WINDOW] - objectives[-1] < WINDOW * tolerance:
                raise StopIteration

        found = minimize(
            self.look,
            self.origin,
            jac=True,
            method="L-BFGS-B",
            callback=stop_if_flat,
            options={"maxiter": n_steps, "ftol": 0.0, "gtol": 0.0, "maxcor": MEMORY},
        )
        if not np.array_equal(found.x, self.seen):  # L-BFGS has looked further
            self.look(found.x)
        return self.vectors(found.x), self.point, int(found.nit)

    def pays(self, tolerance: float) -> bool:
        """Return whether the steps gain more than a few times what each of them must gain."""
        return self.gain >= FIRST_GAINS * tolerance

    def look(self, position: Array) -> tuple[float, Array]:
        """Return the objective at a point, relative to the start, and its gradient."""
        if np.array_equal(position, self.origin):  # its coefficients are known
            return 1.0, self.slope
        vectors = self.vectors(position)
        problem = Problem(vectors, self.sample, self.fit_intercept, self.backend)
        place = problem.place(problem.newton_point(self.decisions, self.random))
        solution = minimise(problem, place, self.random, SOLVER_TOLERANCE, SOLVER_STEPS)
        self.point = solution.place.point
        self.steps += solution.steps + 1
        self.seen, self.gain = position, 1.0 - solution.objective / self.first
        if self.gain >= self.best:  # a step that was too long is no place to start from
            self.best, self.decisions = self.gain, solution.place.decisions
        found = solution.place, solution.bends.slopes
        gradient = self._gradient(problem, vectors - self.centre, *found) / self.unit
        return solution.objective / self.first, (gradient / self.first).ravel()

    def _gradient(self, problem: Problem, vectors: Array, place: Place, slopes: Array) -> Array:
        """Return the slope in the positions, which are given without the centre."""
        beta = place.point[:, :-1]
        total, pull = problem.penalty.forces(beta, vectors)
        problem.rows.add_forces(self.X, slopes, beta, total, pull)
        gradient: Array = 2 * self.gamma * (pull - total[:, None] * vectors)
        return gradient
