"""A model in integers: solved for, not only rounded.

Positions are rounded first. Then the coefficients are those that best reproduce the decision values
of the given model on rows, with the integer arithmetic as it is: with rounded rows, rounded vectors
and rounded kernel values. The coefficients are rounded one after the other, and those that are
left make up for the errors of those before (Babai's algorithm).
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from ..model.integers import KERNEL_BITS, LARGEST_T, LIMIT, SHIFTS, IntegerType, Integers
from ..model.model import Model
from ..solving.blas import ONE_BLAS_THREAD
from ..training.settings import CompressionChoices

Array = NDArray[Any]
CHOICES = CompressionChoices()
# Coefficients keep this distance from the limits of int16, because rounding moves them.
LARGEST_COEFFICIENT = 24_000


def in_integers(model: Model, rows: Array, values: Array, dtype: IntegerType) -> Integers:
    """Return a model in integers.

    Parameters
    ----------
    model : Model
        The model; a preparation is not part of the result.

    rows : ndarray of shape (n_rows, n_features)
        Rows after the preparation.

    values : ndarray of shape (n_rows, n_outputs)
        The decision values to reproduce.

    dtype : {"int8", "int16"}
        The type of the vectors.
    """
    scales = np.ones(model.vectors.shape[1])
    if getattr(model, "feature_scales", None) is not None:
        scales = np.asarray(model.feature_scales, dtype=float)
    features = np.flatnonzero(scales)
    scales = scales[features]
    to_t = math.sqrt(model.gamma * math.log2(math.e)) * scales
    vectors = model.vectors[:, features].astype(float)
    low, high = vectors.min(axis=0), vectors.max(axis=0)
    offsets = ((low + high) / 2).astype(np.float32)
    half = to_t * (high - low) / 2
    spread = to_t * np.abs(rows[:, features] - offsets).max(axis=0)
    # A row further from all vectors than this has kernel values of zero anyway.
    reach = min(np.max(np.minimum(half + math.sqrt(LARGEST_T), spread)), 1e30)
    reach = max(float(reach), float(half.max()), 1e-30)
    shift = int(np.clip(math.floor(2 * math.log2(LIMIT / reach)), *SHIFTS))
    unit = 2.0 ** (shift / 2)
    factors = (2 * unit * to_t).astype(np.float32)
    positions = np.clip((vectors - offsets) * to_t * unit, -LIMIT, LIMIT)
    largest = 127 if dtype == "int8" else LIMIT
    steps = np.maximum(np.ceil(np.abs(positions).max(axis=0) / largest), 1)
    most = np.minimum(largest, LIMIT // steps)
    whole = np.clip(np.round(positions / steps), -most, most)
    n_outputs = len(model.intercept)
    empty = Integers(
        features.astype(np.int32),
        offsets,
        factors,
        steps.astype(np.uint16),
        whole.astype(dtype),
        shift,
        np.zeros((len(vectors), n_outputs), dtype=np.int16),
        0,
        np.zeros(n_outputs, dtype=np.int64),
    )
    with ONE_BLAS_THREAD:
        kernel = empty.kernel(empty.rows(rows)) / 2.0**KERNEL_BITS
        return _solved(empty, kernel, values, _weights(model, values))


def _weights(model: Model, values: Array) -> Array:
    """Return the weights of rows: those close to a boundary count most."""
    if model.task not in ("classification", "novelty"):
        return np.ones(len(values))
    if values.shape[1] == 1:
        gap = np.abs(values[:, 0])
    else:
        gap = -np.diff(np.sort(values, axis=1)[:, -2:], axis=1)[:, 0]
        gap = np.abs(gap)
    unit = float(gap.mean()) or 1.0 if model.task == "novelty" else 1.0
    weights: Array = 1 / np.square(1 + gap / unit)
    return weights


def _solved(empty: Integers, kernel: Array, values: Array, weights: Array) -> Integers:
    """Return the integers with the coefficients that reproduce these values best."""
    total = weights.sum()
    mean_k, mean_f = weights @ kernel / total, weights @ values / total
    centred = kernel - mean_k
    gram = (centred * weights[:, None]).T @ centred
    # The errors of kernel values on other rows, by rounding, are as large as half a unit.
    ridge = total * CHOICES.rounding**2 + 1e-12 * np.trace(gram)
    gram.flat[:: len(gram) + 1] += ridge
    right = centred.T @ (weights[:, None] * (values - mean_f))
    root = cholesky(gram)
    best = solve_triangular(root, solve_triangular(root, right, trans="T"))
    largest = float(np.abs(best).max()) or 1.0
    shift = math.floor(math.log2(LARGEST_COEFFICIENT / largest))
    shift = int(np.clip(shift, -KERNEL_BITS, 40 - KERNEL_BITS))
    whole = _rounded(root, best * 2.0**shift)
    intercepts = (mean_f - mean_k @ (whole * 2.0**-shift)) * 2.0 ** (KERNEL_BITS + shift)
    return replace(
        empty,
        coefficients=whole.astype(np.int16),
        coefficient_shift=shift,
        intercepts=np.round(intercepts).astype(np.int64),
    )


def _rounded(root: Array, best: Array) -> Array:
    """Round coefficients one after the other; the next ones make up for the errors."""
    whole = np.zeros_like(best)
    for i in reversed(range(len(best))):
        error = whole[i + 1 :] - best[i + 1 :]
        wanted = best[i] - root[i, i + 1 :] @ error / root[i, i]
        whole[i] = np.clip(np.round(wanted), -LIMIT, LIMIT)
    return whole


def dequantised(model: Model, integers: Integers) -> Model:
    """Return a model in floating point with the vectors and coefficients of the integers."""
    scale = integers.factors.astype(float) / 2
    vectors = model.vectors.copy()
    found = integers.vectors.astype(float) * integers.steps / scale + integers.offsets
    vectors[:, integers.features] = found
    return replace(
        model,
        vectors=vectors,
        dual_coef=np.ascontiguousarray(integers.coefficients.T * 2.0**-integers.coefficient_shift),
        intercept=integers.intercepts * integers.unit,
    )
