"""Weights of rows: checked, in units of a power of two, and without rows of zero weight."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._sklearn import check_weights
from .checked import CheckedRows

# Weights below this share of the largest count as this share: float32 would make them zero.
LEAST_WEIGHT = 1e-20

Weights = NDArray[np.float64]


def weighted_rows(
    rows: CheckedRows, y: NDArray[Any], sample_weight: Any
) -> tuple[CheckedRows, NDArray[Any], Weights | None, float]:
    """Drop rows of zero weight; return the weights of the others and their unit, too."""
    sample_weight = non_negative(sample_weight, rows)
    if sample_weight is not None and not sample_weight.all():
        rows, y, sample_weight = keep(sample_weight > 0, rows, y, sample_weight)
    weights, sample_weight, unit = in_units(np.ones(1), sample_weight, 0)
    if sample_weight is not None:
        sample_weight = sample_weight * weights
    return rows, y, sample_weight, unit


def non_negative(sample_weight: Any, rows: CheckedRows) -> Weights | None:
    """None or float64 weights, one per row, not negative and not all of them zero."""
    if sample_weight is None:
        return None
    return check_weights(sample_weight, rows.X, dtype=np.float64, ensure_non_negative=True)


def keep(
    kept: NDArray[np.bool_], rows: CheckedRows, y: NDArray[Any], sample_weight: Weights | None
) -> tuple[CheckedRows, NDArray[Any], Weights | None]:
    """Keep some rows, their targets and weights; there must be one."""
    if not kept.any():
        raise ValueError("sample_weight and class_weight leave no row of positive weight.")
    weight = None if sample_weight is None else sample_weight[kept]
    return rows.take(kept), y[kept], weight


def in_units(
    weights: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    codes: NDArray[np.int32] | int,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, float]:
    """Divide the class weights so that no row weighs more than two, and return the divisor.

    Coefficients grow to the number of steps times the weight and are squared in float32. Dividing
    the weights and alpha by the same unit gives the same model, and a power of two does not change
    a bit of it.
    """
    least, most = float(weights.min()), float(weights.max())
    if sample_weight is not None:
        least, most = least * float(sample_weight.min()), most * float(sample_weight.max())
    if not (least > 0.0 and math.isfinite(most)):
        raise ValueError(
            f"class_weight times sample_weight ranges from {least:.3g} to {most:.3g}; "
            "positive weights must stay positive and finite."
        )
    unit = 2.0 ** math.floor(math.log2(most))
    weights = weights / unit
    if sample_weight is not None and least / unit < LEAST_WEIGHT:
        sample_weight = np.maximum(weights[codes] * sample_weight, LEAST_WEIGHT)
        weights = np.ones_like(weights)
    return weights, sample_weight, unit
