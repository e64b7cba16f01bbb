"""A path of regularisation: the coefficients of the same vectors for several values of C.

The path begins with the strongest regularisation. Every further problem differs from the one before
in C alone: it has the same kernel values, and starts from the decision values found before.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ..data.rows import Rows
from ..data.sampling import AnyTargets
from ..model.model import Model
from ..training.settings import Settings
from ..training.state import VectorSet
from .blas import ONE_BLAS_THREAD
from .descent import Solution, minimise, resume
from .problem import Problem
from .solve import Solver, distinct, last_iterate

# Rows that a factor is made of, for each vector. A path compares models: fewer rows than for a
# single model are enough.
ROWS_PER_VECTOR = 8
# Steps for each C end if one gains less than this share of the objective, or after this many.
TOLERANCE = 1e-2
STEPS = 10


def solve_path(
    vectors: VectorSet,
    rows: Rows,
    targets: AnyTargets,
    settings: Settings,
    factors: Sequence[float],
) -> Iterator[Model]:
    """Solve for the coefficients of the same vectors and several values of C.

    Parameters
    ----------
    vectors : VectorSet
        The result of the passes.

    rows : Rows
        The rows.

    targets : Targets
        Their classes or values.

    settings : Settings
        How to train.

    factors : sequence of float
        What the C of the settings is multiplied by, ascending.

    Yields
    ------
    model : Model
        The model of each C. The vectors are the same in all of them; they do not move.
    """
    model = last_iterate(vectors, targets, settings)
    if not len(model.vectors):  # a regression may need no vectors at all
        yield from (model for _ in factors)
        return
    random = np.random.default_rng(vectors.states[0].generator)
    solver = Solver.of(rows, targets, settings, random)
    points = distinct(model.vectors)
    if vectors.profile.merges and settings.choices.fills:
        points = solver.filled(points)
    whole = Problem(points, solver.part, settings.fit_intercept, settings.n_threads)
    solution: Solution | None = None
    for factor in factors:
        problem = copy(whole)
        problem.sample = replace(solver.part, c=solver.part.c * factor)
        with ONE_BLAS_THREAD:
            solution = _solved(problem, solution, random, settings)
        point = solution.place.point
        yield replace(
            model,
            vectors=points,
            dual_coef=point[:, :-1].copy(),
            intercept=targets.offset + point[:, -1],
        )


def _solved(
    problem: Problem, before: Solution | None, random: np.random.Generator, settings: Settings
) -> Solution:
    """Solve a problem, from the solution for a smaller C if there is one."""
    if before is None:
        return minimise(problem, random, settings.choices.factor_tolerance, ROWS_PER_VECTOR)
    decisions = before.place.decisions
    return resume(problem, decisions, random, STEPS, TOLERANCE, ROWS_PER_VECTOR)
