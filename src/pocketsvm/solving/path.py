"""A path of regularisation: the coefficients of the same vectors for several values of C.

The problem of the middle C is solved first, and the vectors move there, as they do for a single
model. All other problems have the same vectors and kernel values, and differ from their neighbour
in C alone: they start from its decision values.
"""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.rows import Rows
from ..data.sampling import AnyTargets
from ..model.model import Model
from ..training.settings import Settings
from ..training.state import VectorSet
from .blas import ONE_BLAS_THREAD
from .descent import resume
from .problem import Problem
from .solve import Solver, distinct, last_iterate

Array = NDArray[Any]

# Rows that a factor is made of, for each vector. A path compares models: fewer rows than for a
# single model are enough.
ROWS_PER_VECTOR = 8
# Steps for each C end if one gains less than this share of the objective, or after this many.
TOLERANCE = 1e-2
STEPS = 10
# The largest number of steps that move the vectors, of a classifier and of a regression.
CLASS_MOVES, VALUE_MOVES = 8, 30


def solve_path(
    vectors: VectorSet,
    rows: Rows,
    targets: AnyTargets,
    settings: Settings,
    factors: Sequence[float],
    *,
    moves: bool,
) -> list[Model]:
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
        How to train, with the C at which vectors move.

    factors : sequence of float
        What this C is multiplied by, ascending.

    moves : bool
        Whether the vectors move, if that pays.

    Returns
    -------
    models : list of Model
        The model of each factor. They have the same vectors.
    """
    model = last_iterate(vectors, targets, settings)
    if not len(model.vectors):  # a regression may need no vectors at all
        return [model for _ in factors]
    choices = replace(settings.choices, class_moves=CLASS_MOVES, value_moves=VALUE_MOVES)
    random = np.random.default_rng(vectors.states[0].generator)
    with ONE_BLAS_THREAD:
        solver = Solver.of(rows, targets, replace(settings, choices=choices), random)
        points = distinct(model.vectors)
        if vectors.profile.merges and choices.fills:
            points = solver.filled(points)
        answer = solver.solve(points, ROWS_PER_VECTOR)
        if moves:
            answer = solver.move(answer)
        problem = Problem(answer.vectors, solver.part, settings.fit_intercept, settings.n_threads)
        found = _along(problem, answer.point, factors, random)
    return [
        replace(
            model,
            vectors=answer.vectors,
            dual_coef=point[:, :-1].copy(),
            intercept=targets.offset + point[:, -1],
        )
        for point in found
    ]


def _along(
    whole: Problem, point: Array, factors: Sequence[float], random: np.random.Generator
) -> list[Array]:
    """Return the point of every factor; the one given belongs to the factor 1."""
    start = whole.place(point).decisions
    found = {1.0: point}
    larger = sorted(factor for factor in factors if factor > 1)
    smaller = sorted((factor for factor in factors if factor < 1), reverse=True)
    for way in (larger, smaller):
        decisions = start
        for factor in way:
            problem = copy(whole)
            problem.sample = replace(whole.sample, c=whole.sample.c * factor)
            place = resume(problem, decisions, random, STEPS, TOLERANCE, ROWS_PER_VECTOR).place
            found[factor], decisions = place.point, place.decisions
    return [found[factor] for factor in factors]
