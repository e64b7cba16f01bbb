"""Quantiles that cover the share of rows that was asked for, on rows that were not trained on.

A model lies closer to its training rows than to others. So a quantile that splits the training rows
in the right proportion splits other rows in another one. The model without a row i, evaluated at
this row, shows by how much. One Newton step gives it:

    f_i + c_i s_i h_i / (1 - c_i b_i h_i),    h_i = a_i' H^-1 a_i,

where a_i holds the kernel values of the row and a one for the intercept, s_i and b_i are the slope
and the curvature of its loss, and H is the second derivative of the objective. The intercept is
then shifted such that the right share of the rows lies below these values.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Backend
from .problem import Problem
from .sample import Sample

Array = NDArray[Any]

# If there are more rows for each vector, a random sample of them tells how far rows shift.
ROWS_PER_VECTOR = 16
# The least curvature of the intercept, as a share of the largest possible: if few rows bend, the
# model without a row would otherwise lie arbitrarily far away.
LEAST_CURVATURE = 0.1
# The curvature of a row is at most this share of the sum, so that the model without it exists.
LARGEST_SHARE = 0.95


def intercept_shifts(
    vectors: Array,
    point: Array,
    sample: Sample,
    random: np.random.Generator,
    backend: Backend,
    rows_per_vector: int = ROWS_PER_VECTOR,
) -> Array:
    """Return what is added to the intercept of each quantile."""
    levels, targets = sample.loss.levels, sample.loss.targets  # type: ignore[attr-defined]
    assert levels is not None
    decisions = Problem(vectors, sample, True, backend).place(point).decisions
    few, scale = sample, 1.0
    chosen: Array | slice = slice(None)
    if len(sample.c) > (n_few := rows_per_vector * len(vectors)):
        chosen = np.sort(random.choice(len(sample.c), n_few, replace=False))
        few = sample.take(chosen)
        scale = float(sample.c.sum() / few.c.sum())
    without = without_each_row(vectors, few, scale, decisions[chosen], backend)

    def quantiles(values: Array, weights: Array) -> Array:
        found = [
            np.quantile(column, level, weights=weights, method="inverted_cdf")
            for column, level in zip(values.T, levels, strict=True)
        ]
        return np.array(found)

    shifts = quantiles(targets[chosen] - without, few.c)
    if few is not sample:  # what the choice of rows adds by chance cancels
        residuals = targets - decisions
        shifts += quantiles(residuals, sample.c) - quantiles(residuals[chosen], few.c)
    return shifts


def without_each_row(
    vectors: Array, sample: Sample, scale: float, decisions: Array, backend: Backend
) -> Array:
    """Return the decision values of each row by the model without it.

    The rows stand for `scale` times as many.
    """
    problem = Problem(vectors, sample, True, backend)
    _, slopes, bends = sample.bends(decisions, backend.n_threads)
    least = LEAST_CURVATURE * scale * sample.c.sum() * sample.loss.largest_curvature

    without = decisions.copy()
    for k in range(sample.loss.n_outputs):
        pulls, curvatures = slopes[:, k], np.ascontiguousarray(bends[:, k])
        hessian = problem.row_hessian(scale * curvatures)
        factor = problem.penalty.factor(hessian, least, fit_intercept=True)
        for at, kernel in problem.rows.blocks():
            leverages = factor.leverages(kernel)
            share = np.minimum(curvatures[at] * leverages, LARGEST_SHARE)
            without[at, k] += pulls[at] * leverages / (1 - share)
    return without
