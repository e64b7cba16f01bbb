"""Moving: polished support vectors go where they serve best.

With the coefficients solved for (`polish`), the objective is a function of the vectors alone. As it
is least in the coefficients, its slope in a vector is the one with the coefficients held fixed,

    2 gamma beta_j (sum_i slope_i k_ij (x_i - v_j)  +  sum_l beta_l k_lj (v_l - v_j)),

with slope_i that of the loss of row i, and all outputs summed up. L-BFGS makes some steps downhill,
each of which solves for the coefficients anew, from those of the step before. Only rows that have a
loss, or are close to one, are looked at on the way.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from .newton import ONE_BLAS_THREAD, Array, Kernel, Problem, Sample, Solution, polish

# Rows further than this from where the loss begins, in units of its width, are left out.
REACH = 2.0
# Where vectors are moved frugally, the unit of length of each is the kernel's width over its
# coefficient, to the square of which this share of the mean square is added: one of little weight
# has far to go.
DAMPING = 0.1
# Newton steps for the coefficients, in each step.
MOST_NEWTON_STEPS = 20
# At most this many kernel values, and products of them with features, are seen in a step.
MOST_VALUES = 2**22
MOST_PRODUCTS = 2**29
# Where vectors are moved frugally, they stay if there would be more of those than this.
MOST_FRUGAL_VALUES = 2**20
MOST_FRUGAL_PRODUCTS = 2**27
# What solving for the coefficients adds to the cost of a kernel value, for each output and vector.
SOLVING = 0.03
# Fewer rows a vector than this do not tell where it belongs: then the vectors stay.
LEAST_ROWS = 4


@dataclass(frozen=True)
class Effort:
    """What moving may cost."""

    tolerance: float  # downhill until a step gains less than this share of the objective
    limits: tuple[int, int]  # of the number of steps
    values: int  # kernel values of all steps together, within these limits
    frugal: bool  # whether the vectors stay where this does not do for all rows and some steps

    @classmethod
    def for_labels(cls, values: int) -> "Effort":
        """Return that of a classifier, whose passes leave little to gain."""
        return cls(tolerance=2e-3, limits=(10, 20), values=values, frugal=True)

    def steps(self, n_rows: int, n_vectors: int, n_outputs: int) -> int:
        """Return how many steps are made on so many rows."""
        cost = n_rows * n_vectors * (1 + SOLVING * n_outputs * n_vectors)
        steps = int(self.values / cost)
        least, most = self.limits
        return 0 if self.frugal and steps < least else min(max(steps, least), most)


# The passes of a regression leave much: small problems, where it costs least, may take many steps.
FOR_TARGETS = Effort(tolerance=1e-5, limits=(20, 200), values=2**28, frugal=False)


def move(
    vectors: Array,
    solutions: list[Solution],
    gamma: float,
    sample: Sample,
    fit_intercept: bool,
    n_threads: int,
    random: np.random.Generator,
    effort: Effort = FOR_TARGETS,
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

    effort : Effort
        What it may cost.

    Returns
    -------
    vectors : array of shape (n_sv, n_features)
        The vectors, where they are now.

    solutions : list of Solution
        Their coefficients. The objective is not above the one before.
    """
    n_vectors, n_features = vectors.shape
    n_rows = min(MOST_VALUES // n_vectors, MOST_PRODUCTS // (n_features * max(n_vectors, 32)))
    near = np.flatnonzero(_reached(sample, solutions))
    if min(n_rows, len(sample.c)) < LEAST_ROWS * n_vectors or not len(near):
        return vectors, solutions
    if n_rows < min(len(near), n_features):  # a sample that any vectors could be made to fit
        return vectors, solutions
    n_steps = effort.steps(min(n_rows, len(near)), n_vectors, len(solutions))
    n_values = len(near) * n_vectors
    too_many = n_values > MOST_FRUGAL_VALUES or n_values * n_features > MOST_FRUGAL_PRODUCTS
    if effort.frugal and (too_many or len(near) > n_rows or not n_steps):
        return vectors, solutions
    sampled = _sampled(sample, near, n_rows, random)
    start = [(solution.coefficients, solution.intercept) for solution in solutions]
    with ONE_BLAS_THREAD:
        path = Path(vectors, start, gamma, sampled, fit_intercept, n_threads, effort.frugal)
        found = minimize(
            path.look,
            path.position(vectors),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": n_steps, "ftol": effort.tolerance, "gtol": 0.0},
        )
    moved = path.vectors(found.x)
    better = polish(moved, path.start, gamma, sample, fit_intercept, n_threads)
    if not _objective(better) < _objective(solutions):
        return vectors, solutions
    return moved, [
        replace(
            new,
            objective_before=old.objective_before,
            steps=old.steps + path.steps[k] + new.steps,
            moves=found.nit,
        )
        for k, (old, new) in enumerate(zip(solutions, better, strict=True))
    ]


def _reached(sample: Sample, solutions: list[Solution]) -> Array:
    """Which rows have a loss in some output, or are close to one."""
    reached = np.zeros(len(sample.c), dtype=bool)
    for loss, solution in zip(sample.losses, solutions, strict=True):
        for u, _ in loss.ramps(solution.decisions):
            reached |= u > -REACH * loss.width
    return reached


def _sampled(sample: Sample, near: Array, n_rows: int, random: np.random.Generator) -> Sample:
    """Choose so many of the near rows that stand for all of them; no others are copied."""
    drawn = near
    if len(near) > n_rows:
        drawn = near[np.sort(random.choice(len(near), n_rows, replace=False))]
    sampled = sample.take(drawn)
    return replace(sampled, c=sampled.c * (len(near) / len(drawn)))


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
        weighted: bool = False,
    ) -> None:
        self.start, self.steps, self.objective = start, [0] * len(start), 0.0
        self.gamma, self.sample = gamma, sample
        self.fit_intercept, self.n_threads = fit_intercept, n_threads
        self.shape, self.dtype = vectors.shape, vectors.dtype
        self.unit = np.full((len(vectors), 1), np.sqrt(2 * gamma))
        if weighted:
            widths = [2 * loss.width for loss in sample.losses]
            betas = [beta / width for (beta, _), width in zip(start, widths, strict=True)]
            weight = np.sum(np.square(betas), axis=0)
            self.unit[:, 0] *= np.sqrt(weight + DAMPING * (weight.mean() or 1.0))
        self.centre = vectors.mean(axis=0, dtype=np.float64)
        rows = sample.X.toarray() if sp.issparse(sample.X) else sample.X
        self.rows = np.array(rows - self.centre, dtype=self.dtype, order="C")

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
            solution = problem.descend(*self.start[k], MOST_NEWTON_STEPS)
            self.start[k] = solution.coefficients, solution.intercept
            self.steps[k] += solution.steps
            objective += solution.objective_after
            gradient += self._gradient(problem, vectors - self.centre, solution)
        self.objective = self.objective or objective or 1.0  # all within the tube: nothing to gain
        return objective / self.objective, (gradient / self.unit / self.objective).ravel()

    def _gradient(self, problem: Problem, vectors: Array, solution: Solution) -> Array:
        kernel, beta = problem.kernel, solution.coefficients
        slope, _ = problem.slopes(solution.decisions)
        counted = np.flatnonzero(slope)

        def of_chunk(chunk: slice) -> tuple[Array, Array]:
            rows = counted[chunk]
            weights = kernel.rows[rows] * slope[rows, None].astype(np.float32)
            return weights.sum(axis=0), weights.T @ self.rows[rows]

        among = kernel.penalty * beta  # its diagonal, JITTER too, cancels below
        total, pull = among.sum(axis=1), among @ vectors
        for weight, product in kernel.each(of_chunk, len(counted)):
            total += weight
            pull += product
        return 2 * self.gamma * beta[:, None] * (pull - total[:, None] * vectors)
