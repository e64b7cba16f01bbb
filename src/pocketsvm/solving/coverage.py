"""Quantiles that cover the share of rows that was asked for, on rows that were not trained on.

A model lies closer to its training rows than to others. So a quantile that splits the training rows
in the right proportion splits other rows in another one. Some rows therefore do not take part in
the moves of the vectors. Their coefficients are solved for without each fold of these rows, and the
intercepts are shifted such that the right share of the fold lies below each quantile
(cross-conformal prediction).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .newton import minimise
from .problem import Problem
from .sample import Sample

Array = NDArray[Any]

# The share of the rows that is held out of moves, and the largest number of these rows.
HELD_OUT = 0.2
MOST_HELD_OUT = 4096
# The number of folds of these rows.
FOLDS = 8
# Shifts of quantiles that cross each other.
MOST_SHIFTS = 20
# Solved without a fold if a step predicts a decrease below half this share of the objective.
TOLERANCE = 1e-5


def held_out(n_rows: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Draw rows that are held out."""
    n_held = min(int(np.ceil(HELD_OUT * n_rows)), MOST_HELD_OUT)
    held = np.zeros(n_rows, dtype=bool)
    held[random.choice(n_rows, n_held, replace=False)] = True
    return held


def covering(
    vectors: Array,
    point: Array,
    sample: Sample,
    held: NDArray[np.bool_],
    random: np.random.Generator,
    n_threads: int,
    n_folds: int = FOLDS,
) -> tuple[Array, float]:
    """Return the coefficients with shifted intercepts, and the loss of rows held out.

    Without folds, all of these rows are solved for.
    """
    rows = np.flatnonzero(held)
    if n_folds:
        decisions = decisions_without_folds(vectors, point, sample, rows, n_folds, random, n_threads)
        few = sample.take(rows)
    else:
        few = sample.take(rows)
        decisions = Problem(vectors, few, True, n_threads).place(point).decisions
    levels, targets = few.loss.levels, few.loss.targets  # type: ignore[attr-defined]
    shifts = np.zeros(len(levels))
    for _ in range(MOST_SHIFTS):  # a shifted quantile may cross another one: predictions are sorted
        residuals = targets - np.sort(decisions + shifts, axis=1)
        more = [
            conformal_quantile(column, few.c, level)
            for column, level in zip(residuals.T, levels, strict=True)
        ]
        if not np.any(more):
            break
        shifts += more
    residuals = targets - np.sort(decisions + shifts, axis=1)
    losses = np.maximum(levels * residuals, (levels - 1) * residuals)
    shifted = point.copy()
    shifted[:, -1] += shifts
    return shifted, float(few.c @ losses.sum(axis=1))


def decisions_without_folds(
    vectors: Array,
    point: Array,
    sample: Sample,
    rows: Array,
    n_folds: int,
    random: np.random.Generator,
    n_threads: int,
) -> Array:
    """Return the decision values of some rows by models of which each has not seen its fold."""
    whole = Problem(vectors, sample, True, n_threads)
    start = whole.place(point)
    decisions = np.empty((len(rows), len(point)))
    order = random.permutation(len(rows))
    for fold in np.array_split(order, min(n_folds, len(rows))):
        seen = np.ones(sample.n_rows)
        seen[rows[fold]] = 0.0
        problem = Problem(vectors, sample.weighted(seen), True, n_threads, whole.penalty)
        problem.rows = whole.rows  # whose kernel values are known
        solution = minimise(problem, start, random, TOLERANCE, least_steps=1)
        decisions[fold] = solution.place.decisions[rows[fold]]
    return decisions


def conformal_quantile(values: Array, weights: Array, level: float) -> float:
    """Return a number that another value is below with the probability `level`.

    Of m values with equal weights, the k-th smallest one has the probability k / (m + 1).
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(weights[order]) / (weights.sum() + weights.mean())
    return float(np.interp(level, shares, values[order]))
