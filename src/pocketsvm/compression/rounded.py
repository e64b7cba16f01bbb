"""A model in integers: solved for, not only rounded.

Positions are rounded first. Then the coefficients are those that best reproduce the decision values
of the given model on rows, with the integer arithmetic as it is: with rounded rows, rounded vectors
and rounded kernel values. The coefficients are rounded one after the other, and those that are
left make up for the errors of those before (Babai's algorithm).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from sklearn.metrics.pairwise import rbf_kernel

from ..model.integers import KERNEL_BITS, LARGEST_T, LIMIT, SHIFTS, Integers, IntegerType
from ..model.integers_file import COEFFICIENT_SHIFTS, LARGEST_INTERCEPT
from ..model.model import Model
from ..solving.blas import ONE_BLAS_THREAD
from ..training.settings import COMPRESSION_CHOICES as CHOICES

Array = NDArray[Any]
# Coefficients keep this distance from the limits of int16, because rounding moves them.
LARGEST_COEFFICIENT = 24_000
# What is added to the diagonal of the problem, as a share of its trace.
LEAST_RIDGE = 1e-12


def in_integers(model: Model, rows: Array, values: Array, dtype: IntegerType) -> Integers:
    """Return a model in integers.

    Parameters
    ----------
    model : Model
        The model; what is done to rows before the kernel is not part of the result.

    rows : ndarray of shape (n_rows, n_features)
        Rows as the kernel sees them.

    values : ndarray of shape (n_rows, n_outputs)
        The decision values to reproduce.

    dtype : {"int8", "int16"}
        The type of the vectors.
    """
    weights = _weights(model, values)
    with ONE_BLAS_THREAD:
        solved = [_in_range(model, rows, values, weights, dtype, q) for q in CHOICES.ranges]
    return min(solved, key=lambda each: each[1])[0]


def _in_range(
    model: Model, rows: Array, values: Array, weights: Array, dtype: IntegerType, quantile: float
) -> tuple[Integers, float]:
    """Return a model in integers whose range is given by quantiles, and its squared error.

    A few vectors far from all others would make the steps of all others large; those outside the
    range move to its end.
    """
    features = counted_features(model)
    to_t = math.sqrt(model.gamma * math.log2(math.e))
    vectors = model.vectors[:, features].astype(float)
    low, high = np.quantile(vectors, (quantile, 1 - quantile), axis=0)
    offsets = ((low + high) / 2).astype(np.float32)
    half = to_t * (high - low) / 2
    spread = to_t * np.abs(rows[:, features] - offsets).max(axis=0)
    # A row further from all vectors than this has kernel values of zero anyway.
    reach = min(np.max(np.minimum(half + math.sqrt(LARGEST_T), spread)), 1e30)
    reach = max(float(reach), float(half.max()), 1e-30)
    shift = int(np.clip(math.floor(2 * math.log2(LIMIT / reach)), *SHIFTS))
    unit = 2.0 ** (shift / 2)
    factors = np.full(len(features), 2 * unit * to_t, dtype=np.float32)
    positions = np.clip((vectors - offsets) * to_t * unit, -LIMIT, LIMIT)
    largest = 127 if dtype == "int8" else LIMIT
    steps = np.maximum(np.ceil(half * unit / largest), 1)
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
    kernel = empty.kernel(empty.rows(rows)) / 2.0**KERNEL_BITS
    found = _solved(empty, kernel, values, weights)
    coefficients = found.coefficients * 2.0**-found.coefficient_shift
    errors = kernel @ coefficients + found.intercepts * found.unit - values
    return found, float(weights @ np.square(errors).sum(axis=1))


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


def in_halves(model: Model, rows: Array, values: Array) -> Model:
    """Return a model whose vectors and coefficients are numbers of float16."""
    with np.errstate(over="ignore"):
        vectors = model.vectors.astype(np.float16)
    if not np.isfinite(vectors).all():
        raise ValueError("The vectors of this model are too large for float16; standardise X.")
    vectors = vectors.astype(np.float32)
    with ONE_BLAS_THREAD:
        kernel = rbf_kernel(rows.astype(float), vectors.astype(float), gamma=model.gamma)
        least = _Squares.of(kernel, values, _weights(model, values), 0.0)
        coefficients = least.rounded(least.best, np.float16)
    if not np.isfinite(coefficients).all():
        raise ValueError("The coefficients of this model are too large for float16.")
    return replace(
        model,
        vectors=vectors,
        dual_coef=np.ascontiguousarray(coefficients.T),
        intercept=least.intercepts(coefficients),
    )


def counted_features(model: Model) -> Array:
    """Return the positions of the features whose scale is not zero."""
    if model.feature_scales is None:
        return np.arange(model.vectors.shape[1])
    return np.flatnonzero(model.feature_scales)


def _solved(empty: Integers, kernel: Array, values: Array, weights: Array) -> Integers:
    """Return the integers with the coefficients that reproduce these values best."""
    least = _Squares.of(kernel, values, weights, CHOICES.rounding)
    largest = float(np.abs(least.best).max()) or 1.0
    shift = math.floor(math.log2(LARGEST_COEFFICIENT / largest))
    if shift < COEFFICIENT_SHIFTS[0]:
        raise ValueError(f"Coefficients of {largest:.3g} are too large for {empty.dtype}.")
    shift = min(shift, COEFFICIENT_SHIFTS[1])
    whole = least.rounded(least.best * 2.0**shift, np.int16)
    intercepts = least.intercepts(whole * 2.0**-shift) * 2.0 ** (KERNEL_BITS + shift)
    if not (np.abs(intercepts) < LARGEST_INTERCEPT).all():
        raise ValueError(f"The intercepts of this model are too large for {empty.dtype}.")
    return replace(
        empty,
        coefficients=whole.astype(np.int16),
        coefficient_shift=shift,
        intercepts=np.round(intercepts).astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class _Squares:
    """A problem of least squares, the coefficients that solve it, and those after rounding."""

    best: Array  # (n_vectors, n_outputs)
    root: Array  # the upper Cholesky factor of the matrix of the problem
    mean_kernel: Array
    mean_value: Array

    @classmethod
    def of(cls, kernel: Array, values: Array, weights: Array, error: float) -> "_Squares":
        """Solve for coefficients, penalised for errors of kernel values as large as this."""
        total = weights.sum()
        mean_k, mean_f = weights @ kernel / total, weights @ values / total
        centred = kernel - mean_k
        gram = (centred * weights[:, None]).T @ centred
        ridge = total * error**2 + LEAST_RIDGE * max(np.trace(gram), 1e-300)
        gram.flat[:: len(gram) + 1] += ridge
        right = centred.T @ (weights[:, None] * (values - mean_f))
        root = cholesky(gram)
        best = solve_triangular(root, solve_triangular(root, right, trans="T"))
        return cls(best, root, mean_k, mean_f)

    def rounded(self, best: Array, dtype: Any) -> Array:
        """Round coefficients one after the other; the next ones make up for the errors."""
        whole = np.zeros_like(best)
        for i in reversed(range(len(best))):
            error = whole[i + 1 :] - best[i + 1 :]
            wanted = best[i] - self.root[i, i + 1 :] @ error / self.root[i, i]
            if dtype == np.int16:
                wanted = np.clip(np.round(wanted), -LIMIT, LIMIT)
            with np.errstate(over="ignore"):
                whole[i] = wanted.astype(dtype)
        return whole

    def intercepts(self, coefficients: Array) -> Array:
        """Return the best intercepts for these coefficients."""
        found: Array = self.mean_value - self.mean_kernel @ coefficients
        return found


def dequantised(model: Model, integers: Integers) -> Model:
    """Return a model that holds integers, and in floating point what they stand for."""
    scale = integers.factors.astype(float) / 2
    vectors = model.vectors.copy()
    found = integers.vectors.astype(float) * integers.steps / scale + integers.offsets
    vectors[:, integers.features] = found
    return replace(
        model,
        vectors=vectors,
        dual_coef=np.ascontiguousarray(integers.coefficients.T * 2.0**-integers.coefficient_shift),
        intercept=integers.intercepts * integers.unit,
        integers=integers,
    )
