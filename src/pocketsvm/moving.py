"""Moving: polished support vectors go where they serve best.

With the coefficients solved for (`polish`), the objective is a function of the vectors alone. As it
is least in the coefficients, its slope in a vector is the one with the coefficients held fixed,

    2 gamma beta_j (sum_i slope_i k_ij (x_i - v_j)  +  sum_l beta_l k_lj (v_l - v_j)),

with slope_i that of the loss of row i, and all outputs summed up. L-BFGS makes some steps downhill,
each of which solves for the coefficients anew, from those of the step before.
"""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from .polish import ONE_BLAS_THREAD, Array, Kernel, Problem, Sample, Solution, polish

# Downhill until a step gains less than this share of the objective.
TOLERANCE = 1e-5
# Small problems, which need it most and where it costs least, may take more steps: as many as see
# this many kernel values, within these limits.
VALUES_OF_ALL_STEPS = 2**25
LIMITS_OF_STEPS = (20, 200)
# Steps are made on a random sample of the rows: so many that there are at most this many kernel
# values, and products of them with features.
MOST_VALUES = 2**22
MOST_PRODUCTS = 2**29
# Fewer rows a vector than this do not tell where it belongs: then the vectors stay.
LEAST_ROWS = 4


def move(
    vectors: Array,
    solutions: list[Solution],
    gamma: float,
    sample: Sample,
    fit_intercept: bool,
    n_threads: int,
    random: np.random.Generator,
) -> tuple[Array, list[Solution]]:
    """Move polished vectors, and polish them again.

    Parameters
    ----------
    vectors : array of shape (n_sv, n_features)
        The support vectors, of the dtype of the rows; all outputs share them.

    solutions : list of Solution
        What `polish` has found for them.

    gamma : float
        The kernel's coefficient.

    sample : Sample
        The rows that were polished on.

    fit_intercept : bool
        Whether the intercept is solved for.

    n_threads : int
        Threads; the bits do not depend on them.

    random : Generator
        Chooses among very many rows.

    Returns
    -------
    vectors : array of shape (n_sv, n_features)
        The vectors, where they are now.

    solutions : list of Solution
        Their coefficients. The objective is not above the one before.
    """
    n_vectors, n_features = vectors.shape
    n_rows = min(MOST_VALUES // n_vectors, MOST_PRODUCTS // (n_features * max(n_vectors, 32)))
    if min(n_rows, len(sample.c)) < LEAST_ROWS * n_vectors:
        return vectors, solutions
    sampled = sample.thin(n_rows, random)
    start = [(solution.coefficients, solution.intercept) for solution in solutions]
    with ONE_BLAS_THREAD:
        path = Path(vectors, start, gamma, sampled, fit_intercept, n_threads)
        found = minimize(
            path.look,
            path.position(vectors),
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": _most_steps(len(sampled.c) * n_vectors),
                "ftol": TOLERANCE,
                "gtol": 0.0,
            },
        )
    moved = path.vectors(found.x)
    better = polish(moved, path.start, gamma, sample, fit_intercept, n_threads)
    if not _objective(better) < _objective(solutions):
        return vectors, solutions
    return moved, [
        replace(
            new, objective_before=old.objective_before, steps=old.steps + path.steps[k] + new.steps
        )
        for k, (old, new) in enumerate(zip(solutions, better, strict=True))
    ]


def _most_steps(n_values: int) -> int:
    return int(np.clip(VALUES_OF_ALL_STEPS // n_values, *LIMITS_OF_STEPS))


def _objective(solutions: list[Solution]) -> float:
    return sum(solution.objective_after for solution in solutions)


class Path:
    """The way downhill. All vectors are one point, in units of the kernel's width."""

    def __init__(
        self,
        vectors: Array,
        start: list[tuple[Array, float]],
        gamma: float,
        sample: Sample,
        fit_intercept: bool,
        n_threads: int,
    ) -> None:
        self.start, self.steps, self.objective = start, [0] * len(start), 0.0
        self.gamma, self.sample = gamma, sample
        self.fit_intercept, self.n_threads = fit_intercept, n_threads
        self.shape, self.dtype = vectors.shape, vectors.dtype
        self.unit = np.sqrt(2 * gamma)
        self.centre = vectors.mean(axis=0, dtype=np.float64)

    def position(self, vectors: Array) -> Array:
        """Return the point that stands for the vectors."""
        return ((vectors - self.centre) * self.unit).ravel()

    def vectors(self, position: Array) -> Array:
        """Return the vectors that a point stands for."""
        return (position.reshape(self.shape) / self.unit + self.centre).astype(self.dtype)

    def look(self, position: Array) -> tuple[float, Array]:
        """Return the objective at a point, as a share of that at the start, and its gradient."""
        vectors = self.vectors(position)
        kernel = Kernel(vectors, self.gamma, self.sample.rows, self.n_threads)
        objective, gradient = 0.0, np.zeros(self.shape)
        for k, loss in enumerate(self.sample.losses):
            problem = Problem(kernel, loss, self.sample.c, self.fit_intercept)
            solution = problem.descend(*self.start[k])
            self.start[k] = solution.coefficients, solution.intercept
            self.steps[k] += solution.steps
            objective += solution.objective_after
            gradient += self._gradient(problem, vectors - self.centre, *self.start[k])
        self.objective = self.objective or objective or 1.0  # all within the tube: nothing to gain
        return objective / self.objective, (gradient / (self.unit * self.objective)).ravel()

    def _gradient(self, problem: Problem, vectors: Array, beta: Array, intercept: float) -> Array:
        kernel = problem.kernel
        slope, _ = problem.slopes(kernel.decide(beta, intercept))

        def of_chunk(chunk: slice) -> tuple[Array, Array]:
            weights = kernel.rows[chunk] * slope[chunk][:, None]
            return weights.sum(axis=0), weights.T @ self._centred(chunk)

        among = kernel.penalty * beta  # its diagonal, JITTER too, cancels below
        total, pull = among.sum(axis=1), among @ vectors
        for weight, product in kernel.each(of_chunk):
            total += weight
            pull += product
        return 2 * self.gamma * beta[:, None] * (pull - total[:, None] * vectors)

    def _centred(self, chunk: slice) -> Array:
        """Rows of the sample, dense."""
        rows = self.sample.X[chunk]
        rows = rows.toarray() if sp.issparse(rows) else rows
        return np.array(rows, dtype=self.dtype, order="C") - self.centre
