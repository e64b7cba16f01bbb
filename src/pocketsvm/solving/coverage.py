"""Quantiles that cover the share of rows that was asked for, on rows that were not trained on.

A model lies closer to its training rows than to others. So a quantile that splits the training rows
in the right proportion splits other rows in another one. Vectors therefore move without some of the
rows. These rows, or all rows if no vector has moved, are split into folds, and the coefficients are
solved for without each fold. The intercepts are shifted such that the right share of the rows lies
below the quantiles of the models that have not seen them (cross-conformal prediction).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from .newton import minimise
from .problem import Iterate, Problem
from .sample import Sample

Array = NDArray[Any]

# The share of the rows that is held out of moves. They are at least so many, because the shifts of
# fewer rows vary much, but at most a third of the rows. The folds have at most so many rows.
HELD_OUT = 0.2
LEAST_HELD_OUT, MOST_HELD_OUT = 200, 4096
# The number of folds of these rows. The closer the number of vectors is to the number of rows, the
# more a model changes without a fold, and the smaller folds are: this share of the difference.
LEAST_FOLDS, MOST_FOLDS = 8, 20
FOLD_SHARE = 1 / 32
# Solved, with all rows and without a fold, if a step predicts a decrease below half this share of
# the objective.
TOLERANCE = 1e-5


def held_out(n_rows: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Draw rows that are held out."""
    least = min(LEAST_HELD_OUT, n_rows // 3)
    n_held = int(np.clip(np.ceil(HELD_OUT * n_rows), least, MOST_HELD_OUT))
    return with_others(np.zeros(n_rows, dtype=bool), n_held, random)


def with_others(
    chosen: NDArray[np.bool_], n_chosen: int, random: np.random.Generator
) -> NDArray[np.bool_]:
    """Draw more rows, until so many are chosen."""
    others = np.flatnonzero(~chosen)
    chosen = chosen.copy()
    chosen[random.choice(others, n_chosen - np.count_nonzero(chosen), replace=False)] = True
    return chosen


def covering(
    vectors: Array,
    point: Array,
    sample: Sample,
    held: NDArray[np.bool_],
    random: np.random.Generator,
    backend: Backend,
    *,
    have_moved: bool,
    are_folds_solved: bool = True,
) -> tuple[Array, float]:
    """Return the coefficients with shifted intercepts, and the loss of the rows held out.

    If no vector has moved, the other rows tell as much as those held out, and are calibrated on,
    too. If there are very many rows, no fold changes the coefficients, and none is solved without.
    """
    calibrated = held
    if not have_moved:
        calibrated = with_others(held, min(sample.n_rows, MOST_HELD_OUT), random)
    problem, rows = Problem(vectors, sample, True, backend), np.flatnonzero(calibrated)
    iterate, few = problem.iterate(point), sample.take(rows)
    levels, targets = sample.loss.levels, sample.loss.targets  # type: ignore[attr-defined]
    assert levels is not None

    def quantiles(residuals: Array, weights: Array) -> Array:
        columns = zip(residuals.T, levels, strict=True)
        return np.array([conformal_quantile(column, weights, level) for column, level in columns])

    if are_folds_solved:  # all solutions are equally accurate
        iterate = minimise(problem, iterate, random, TOLERANCE).iterate
    seen = targets - iterate.decisions
    unseen = seen[rows]
    if are_folds_solved:
        unseen = targets[rows] - decisions_without_folds(problem, iterate, rows, random)
    shifts = quantiles(unseen, few.c)
    if not have_moved:  # then these rows are like all rows: what their choice adds cancels
        shifts += quantiles(seen, sample.c) - quantiles(seen[rows], few.c)
    unseen, c = (unseen - shifts)[held[rows]], few.c[held[rows]]
    losses = np.maximum(levels * unseen, (levels - 1) * unseen)
    shifted = iterate.point.copy()
    shifted[:, -1] += shifts
    return shifted, float(c @ losses.sum(axis=1))


def decisions_without_folds(
    problem: Problem, iterate: Iterate, rows: Array, random: np.random.Generator
) -> Array:
    """Return the decision values of some rows by models of which each has not seen its fold.

    The iterate is the solution with all rows.
    """
    vectors, sample = problem.rows.vectors, problem.sample
    decisions = np.empty((len(rows), len(iterate.point)))
    for fold in folds_of(len(rows), sample.n_rows - len(vectors), random):
        seen = np.ones(sample.n_rows)
        seen[rows[fold]] = 0.0
        others = Problem(vectors, sample.weighted(seen), True, problem.backend, problem.penalty)
        others.rows = problem.rows  # whose kernel values are known
        solution = minimise(others, iterate, random, TOLERANCE, least_steps=1)
        decisions[fold] = solution.iterate.decisions[rows[fold]]
    return decisions


def folds_of(n_rows: int, surplus: int, random: np.random.Generator) -> list[Array]:
    """Split rows into folds; `surplus` is how many more rows than vectors there are in all."""
    n_folds = int(np.clip(n_rows / max(FOLD_SHARE * surplus, 1), LEAST_FOLDS, MOST_FOLDS))
    return np.array_split(random.permutation(n_rows), min(n_folds, n_rows))


def conformal_quantile(values: Array, weights: Array, level: float) -> float:
    """Return a number that another value is below with the probability `level`.

    Of m values with equal weights, the k-th smallest one has the probability k / (m + 1).
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
    return float(np.interp(level, shares, values[order]))
