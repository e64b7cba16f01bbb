"""The precision of rows and the value of gamma, decided together."""

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from .. import _core
from .rows import CheckedRows, Dtype, Rows

# The kernel needs |x - s|^2 and gets it as |x|^2 + |s|^2 - 2 x s, which is fast and cancels: the
# exponent gamma |x - s|^2 carries an absolute error of about gamma max|x|^2 times the unit
# roundoff. These limits hold it near 512 * 2^-24 = 3e-5 in float32, 2^40 * 2^-53 = 1e-4 in float64.
FLOAT32_SPREAD = 512.0
FLOAT64_SPREAD = 2.0**40
# An offset is large if the squared norm of a row is this many times the variance of the rows.
LARGEST_OFFSET = 2.0**20
# Beyond these, squared norms overflow, or gamma itself leaves float32's range.
LARGEST_SQUARED_NORM = {"float32": 1e37, "float64": 1e300}
FLOAT32_GAMMA = (1e-30, 1e30)

# Entries are equal up to rounding if their variance, relative to their squares, is below this.
CONSTANT = 1e-22


def training_rows(
    checked: CheckedRows, gamma: str | float, *, least_dtype: Dtype = "float32"
) -> Rows:
    """Return the rows in the precision that their kernel values need, and gamma as a number.

    This is the one place that decides the precision. float32 is twice as fast and half as large,
    and it is enough if ``gamma * max|x|^2`` is moderate (see the limits above): standardised data,
    counts, one-hot columns. Offsets such as time stamps need float64. The decision depends on the
    values alone, not on whether they are dense or sparse.
    """
    if least_dtype == "float32":
        core = checked.core("float32")
        squared_norm = core.max_squared_norm()
        value = _gamma_as_number(gamma, core, squared_norm)
        # None: all entries are equal, or differ only in float64.
        if value is not None and _float32_is_enough(value, squared_norm):
            return Rows(checked, core, value)
    core = checked.core("float64")
    squared_norm = core.max_squared_norm()
    value = _gamma_as_number(gamma, core, squared_norm)
    if value is None:
        value = 1.0  # as sklearn.svm.SVC does
    if not _float64_is_enough(value, squared_norm, checked.X):
        raise ValueError(
            f"The values of X are too large for the kernel: gamma={value:.3g} times the largest "
            f"squared norm of a row, {squared_norm:.3g}, is above 2**40, where rounding errors "
            "exceed the distances between rows even in float64. Subtract large offsets and "
            "standardise X (sklearn.preprocessing.StandardScaler, or MaxAbsScaler for sparse X), "
            "or choose a smaller gamma."
        )
    return Rows(checked, core, value)


def _float32_is_enough(gamma: float, squared_norm: float) -> bool:
    return (
        gamma * squared_norm <= FLOAT32_SPREAD
        and squared_norm <= LARGEST_SQUARED_NORM["float32"]
        and FLOAT32_GAMMA[0] <= gamma <= FLOAT32_GAMMA[1]
    )


def _float64_is_enough(gamma: float, squared_norm: float, X: Any) -> bool:
    if not (squared_norm <= LARGEST_SQUARED_NORM["float64"] and math.isfinite(gamma)):
        return False
    if gamma * squared_norm <= FLOAT64_SPREAD:
        return True
    # Without large offsets, a gamma so large makes the kernel the identity, and that is exact:
    # equal rows are at distance zero to the last bit, and all others are too far apart to matter.
    columns = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0)
    return float(np.sum(columns)) > squared_norm / LARGEST_OFFSET


def _gamma_as_number(gamma: str | float, core: _core.Rows, squared_norm: float) -> float | None:
    """Resolve "scale" and "auto" as sklearn.svm.SVC does; None: "scale" of equal entries."""
    if gamma == "scale":
        spread = core.n_features * core.variance()
        return 1.0 / spread if spread > CONSTANT * squared_norm else None
    if gamma == "auto":
        return 1.0 / core.n_features
    return float(gamma)
