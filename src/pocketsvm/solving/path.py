"""A path of regularisation: the coefficients of the same vectors for several values of C.

The problem of the middle C is solved first, and the vectors move there, as they do for a single
model. All other problems have the same vectors and kernel values. They differ from their neighbour
in C alone, and start from its solution. Folds of a cross-validation may share all of this: they
differ in the rows that count.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.model import Model
from ..rows.checked import Rows
from ..training.passes import sampled
from ..training.settings import Settings
from ..training.state import VectorSet
from ..training.targets import Targets
from .blas import ONE_BLAS_THREAD
from .coverage import intercept_shifts
from .newton import minimise
from .problem import Place, Problem
from .sample import Sample, sample_of
from .solve import Solver, distinct, last_iterate, placed

Array = NDArray[Any]

# Rows that a factor is made of, for each vector, and factors of the first C. A path compares
# models: less work than for a single model is enough.
ROWS_PER_VECTOR, ROWS_PER_VECTOR_OF_MANY = 4, 16
MOST_FACTORS = 3
# Steps for each C end if one gains less than this share of the objective, or after this many.
TOLERANCE = 5e-2
STEPS = 5
# Models of shared rows start from a rough solution for this many rows for each vector.
START_PER_VECTOR, START_FACTORS = 6, 2
# With at least this many outputs, steps take long: fewer of them tell candidates apart as well.
MANY_OUTPUTS, STEPS_OF_MANY, START_FACTORS_OF_MANY = 5, 4, 1
# The largest number of steps that move the vectors, of a classifier and of a regression.
CLASS_MOVES, VALUE_MOVES = 4, 30


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows of several models with the same vectors.

    Attributes
    ----------
    rows : Rows
        The rows of all models.

    targets : Targets
        Their classes or values.

    n_rows : int
        The number of rows of one model, for which the settings were made.

    counts : sequence of ndarray of shape (n_rows,)
        Which rows count, for each model.
    """

    rows: Rows
    targets: Targets
    n_rows: int
    counts: Sequence[NDArray[np.bool_]]

    def sample(self, settings: Settings) -> Sample:
        """Return the rows as the solver sees them."""
        sample = sample_of(self.rows, self.targets, settings)
        return replace(sample, c=sample.c * (self.rows.n_rows / self.n_rows))


def solve_path(
    vectors: VectorSet,
    rows: Rows,
    targets: Targets,
    settings: Settings,
    factors: Sequence[float],
    *,
    moves: bool,
    shared: Shared | None = None,
) -> list[list[Model]]:
    """Solve for the coefficients of the same vectors and several values of C.

    Parameters
    ----------
    vectors : VectorSet
        The result of the passes.

    rows : Rows
        The rows, on which vectors move.

    targets : Targets
        Their classes or values.

    settings : Settings
        How to train, with the C at which vectors move.

    factors : sequence of float
        What this C is multiplied by, ascending; one of them is 1.

    moves : bool
        Whether the vectors move, if that pays.

    shared : Shared, default=None
        The rows of several models; None means one model, of the rows given.

    Returns
    -------
    models : list of list of Model
        For each model of `shared`, those of each factor. All have the same vectors.
    """
    model = last_iterate(vectors, targets, settings)
    if not len(model.vectors):  # a regression may need no vectors at all
        return [[model for _ in factors] for _ in (shared.counts if shared else [None])]
    choices = replace(settings.choices, class_moves=CLASS_MOVES)
    random = np.random.default_rng(vectors.states[0].generator)
    with ONE_BLAS_THREAD:
        if shared is not None:
            seed = int(random.integers(2**63))
            n_rows = START_PER_VECTOR * settings.budget
            rows, targets = sampled(rows, targets, settings, n_rows, seed, least=0)
        solver = Solver.of(rows, targets, replace(settings, choices=choices), random)
        points = distinct(model.vectors)
        if vectors.profile.merges and choices.fills:
            points = solver.filled(points)
        n_factors = MOST_FACTORS
        if shared is not None:
            many = targets.n_problems >= MANY_OUTPUTS
            n_factors = START_FACTORS_OF_MANY if many else START_FACTORS
        _, answer = solver.solve(
            points,
            np.column_stack([placed(vectors.dual_coef, model.vectors, points), vectors.biases]),
        )
        if moves:
            answer = solver.move(answer)
        sample = solver.part if shared is None else shared.sample(settings)
        problem = Problem(answer.vectors, sample, settings.fit_intercept, settings.n_threads)
        start = problem.place(answer.point)
        if shared is None:
            found = _Path([problem], random).follow([start], factors)
        else:
            path = _Path([_with_weights(problem, rows) for rows in shared.counts], random)
            found = path.follow(path.solved([start] * len(shared.counts), 1.0), factors)
    offset = targets.offset if shared is None else shared.targets.offset
    return [
        [
            replace(
                model,
                vectors=answer.vectors,
                dual_coef=point[:, :-1].copy(),
                intercept=offset + point[:, -1],
            )
            for point in points
        ]
        for points in found
    ]


class _Path:
    """The problems of all models and values of C, which share vectors and kernel values."""

    def __init__(self, problems: Sequence[Problem], random: np.random.Generator) -> None:
        # Each model draws numbers of its own: how many it needs depends on its rows.
        self.models = [
            (problem, np.random.default_rng(int(random.integers(2**63)))) for problem in problems
        ]

    def follow(self, start: Sequence[Place], factors: Sequence[float]) -> list[list[Array]]:
        """Return the point of every model and factor; the places given belong to the factor 1."""
        found: dict[float, Sequence[Place]] = {1.0: start}
        larger = sorted(factor for factor in factors if factor > 1)
        smaller = sorted((factor for factor in factors if factor < 1), reverse=True)
        for way in (larger, smaller):
            places = start
            for factor in way:
                found[factor] = places = self.solved(places, factor)
        return [
            [self._covering(k, found[factor][k].point, factor) for factor in factors]
            for k in range(len(start))
        ]

    def _covering(self, model: int, point: Array, factor: float) -> Array:
        """Shift the intercepts of quantiles as the final fit does."""
        problem, random = self.models[model]
        if problem.sample.loss.levels is None or not problem.fit_intercept:
            return point
        counted = replace(problem.sample, c=problem.sample.c * factor)
        counted = counted.take(np.flatnonzero(counted.c))
        shifted = point.copy()
        shifted[:, -1] += intercept_shifts(
            problem.rows.vectors,
            point,
            counted,
            random,
            problem.n_threads,
            ROWS_PER_VECTOR,
        )
        return shifted

    def solved(self, places: Sequence[Place], factor: float) -> list[Place]:
        """Return the solution of each model for a multiple of C, starting from these places.

        Every model has a factor of its own, because rows that do not count for a model must have no
        part in it.
        """
        found = []
        for (model, random), place in zip(self.models, places, strict=True):
            problem = _with_weights(model, factor)
            found.append(minimise(problem, place, random, TOLERANCE, STEPS).place)
        return found


def _rows_per_vector(n_outputs: int) -> int:
    """Return how many rows a factor is made of, for each vector."""
    return ROWS_PER_VECTOR_OF_MANY if n_outputs >= MANY_OUTPUTS else ROWS_PER_VECTOR


def _with_weights(problem: Problem, factors: Array | float) -> Problem:
    """Return the problem with the weights of rows multiplied by some factors."""
    changed = copy(problem)
    changed.sample = replace(problem.sample, c=problem.sample.c * factors)
    return changed
