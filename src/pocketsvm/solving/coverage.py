"""Quantiles that cover the share of rows that was asked for, on rows that were not trained on.

A model lies closer to its training rows than to others. So a quantile that splits the training rows
in the right proportion splits other rows in another one. Vectors therefore move without some of the
rows. These rows, or all rows if no vector has moved, are split into folds, and the coefficients are
solved for without each fold. The intercepts are shifted such that the right share of the rows lies
below the quantiles of the models that have not seen them (cross-conformal prediction).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from ..training.settings import Choices
from .newton import minimise
from .problem import Iterate, Problem
from .sample import Sample

Array = NDArray[Any]


def held_out(n_rows: int, choices: Choices, random: np.random.Generator) -> NDArray[np.bool_]:
    """Draw rows that are held out: a larger share of few rows, but at most a third."""
    n_held = max(choices.held_share * n_rows, min(choices.held_rows, n_rows // 3))
    chosen = np.zeros(n_rows, dtype=bool)
    chosen[random.choice(n_rows, math.ceil(n_held), replace=False)] = True
    return chosen


def covering(
    vectors: Array,
    point: Array,
    sample: Sample,
    held: NDArray[np.bool_],
    random: np.random.Generator,
    backend: Backend,
    choices: Choices,
    *,
    have_moved: bool,
    are_folds_solved: bool = True,
) -> tuple[Array, float]:
    """Return the coefficients with shifted intercepts, and the loss of the rows held out.

    If no vector has moved, all rows tell as much as those held out, and are calibrated on. If there
    are very many rows, leaving out a fold hardly changes the coefficients, so they are not solved
    for again.
    """
    calibrated = held if have_moved else np.ones_like(held)
    problem, rows = Problem(vectors, sample, True, backend), np.flatnonzero(calibrated)
    iterate, few = problem.iterate(point), sample.take(rows)
    levels, targets = sample.loss.levels, sample.loss.targets  # type: ignore[attr-defined]
    assert levels is not None

    def quantiles(residuals: Array, weights: Array) -> Array:
        columns = zip(residuals.T, levels, strict=True)
        return np.array([conformal_quantile(column, weights, level) for column, level in columns])

    if are_folds_solved:  # all solutions are equally accurate
        iterate = minimise(problem, iterate, random, choices.thorough_tolerance).iterate
    unseen = (targets - iterate.decisions)[rows]
    if are_folds_solved:
        unseen = targets[rows] - decisions_without_folds(problem, iterate, rows, random, choices)
    shifts = quantiles(unseen, few.c)
    unseen, c = (unseen - shifts)[held[rows]], few.c[held[rows]]
    losses = np.maximum(levels * unseen, (levels - 1) * unseen)
    shifted = iterate.point.copy()
    shifted[:, -1] += shifts
    return shifted, float(c @ losses.sum(axis=1))


def decisions_without_folds(
    problem: Problem, iterate: Iterate, rows: Array, random: np.random.Generator, choices: Choices
) -> Array:
    """Return the decision values of some rows by models of which each has not seen its fold.

    The iterate is the solution with all rows.
    """
    vectors, sample = problem.rows.vectors, problem.sample
    decisions = np.empty((len(rows), len(iterate.point)))
    for fold in folds_of(len(rows), choices.held_parts, random):
        seen = np.ones(sample.n_rows)
        seen[rows[fold]] = 0.0
        others = Problem(vectors, sample.weighted(seen), True, problem.backend, problem.penalty)
        others.rows = problem.rows  # whose kernel values are known
        solution = minimise(others, iterate, random, choices.thorough_tolerance, least_steps=1)
        decisions[fold] = solution.iterate.decisions[rows[fold]]
    return decisions


def folds_of(n_rows: int, n_folds: int, random: np.random.Generator) -> list[Array]:
    """Split rows into folds, which differ in size by at most one row."""
    return np.array_split(random.permutation(n_rows), min(n_folds, n_rows))


def conformal_quantile(values: Array, weights: Array, level: float) -> float:
    """Return a number that another value is below with the probability `level`.

    Of m values with equal weights, the k-th smallest one has the probability k / (m + 1).
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
    return float(np.interp(level, shares, values[order]))
