"""The precision of rows and the value of gamma, decided together."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .checked import CheckedRows, Dtype, Rows
from .chunk import Chunk
from .preparation import Steps, transformed
from .summary import Columns, largest_norm, rounded
from .survey import Survey

# The kernel needs |x - s|^2 and gets it as |x|^2 + |s|^2 - 2 x s, which is fast and cancels: the
# exponent gamma |x - s|^2 carries an absolute error of about gamma max|x|^2 times the unit
# roundoff. These limits hold it near 512 * 2^-24 = 3e-5 in float32, 2^40 * 2^-53 = 1e-4 in float64.
FLOAT32_SPREAD = 512.0
FLOAT64_SPREAD = 2.0**40
# Errors must also be small compared with the exponents, which are tiny if gamma is: at most this
# share of the exponent of two rows, on average. Kernel values near one have an error, too.
LARGEST_ERROR = 2.0**-8
FLOAT32_ROUNDING = 2.0**-24
# Rows that are looked at for their mean distance.
ROWS_FOR_DISTANCE = 1000
# Beyond the first, squared norms in float32 overflow. Beyond the second, sums of the solver do: it
# adds rows in float32 even if kernel values are in float64.
LARGEST_SQUARED_NORM = {"float32": 1e37, "float64": 1e60}
# Sums of the solver lose digits if all values are smaller than this: float32 is precise down to
# 1.2e-38, and other columns may have smaller values than the largest one.
LEAST_VALUE = 1e-35
# Other values of gamma leave float32's range.
FLOAT32_GAMMA = (1e-30, 1e30)
STANDARDISE = "standardise X (sklearn.preprocessing.StandardScaler, or MaxAbsScaler for sparse X)"

# Entries are equal up to rounding if their variance, relative to their squares, is below this.
CONSTANT = 1e-22


def _decided(
    gamma: str | float,
    n_features: int,
    variance: float,
    squared_norm: float,
    squared_distance: float,
    least_dtype: Dtype = "float32",
) -> tuple[Dtype, float]:
    """Return the precision and gamma for rows that are not in memory.

    `variance` is that of all values, `squared_norm` the largest one of a row, and
    `squared_distance` the mean of two rows.
    """
    value = _gamma_as_number(gamma, n_features, lambda: variance, squared_norm)
    if (
        least_dtype == "float32"
        and value
        and _float32_is_enough(value, squared_norm)
        and _float32_tells_rows_apart(value, squared_norm, squared_distance)
    ):
        return "float32", value
    return "float64", _checked_for_float64(value, squared_norm)


def check_size(checked: CheckedRows, survey: Survey | None = None) -> None:
    """Refuse rows that are not zero, but so small that sums of the solver lose their digits.

    The survey is that of all rows if these are only a sample.
    """
    if survey is not None:
        summary = survey.summary
        largest = float(np.maximum(np.abs(summary.least), np.abs(summary.most)).max())
    else:
        # A few rows are enough, unless all of their values are tiny.
        largest = _largest_value(checked.X[:ROWS_FOR_DISTANCE])
        if largest < LEAST_VALUE:
            largest = _largest_value(checked.X)
    if 0 < largest < LEAST_VALUE:
        raise ValueError(
            f"The values of X are too small for the kernel: the largest one, {largest:.3g} without "
            f"its sign, is below {LEAST_VALUE:.0e}, and sums over rows would underflow. Multiply X "
            f"by a constant, or {STANDARDISE}."
        )


def _largest_value(X: Any) -> float:
    """Return the largest absolute value of rows."""
    is_sparse: bool = sp.issparse(X)
    values = X.data if is_sparse else X
    return float(max(values.max(initial=0), -values.min(initial=0)))


def surveyed_rows(
    checked: CheckedRows, survey: Survey, steps: Steps, gamma: str | float, least_dtype: Dtype
) -> Rows:
    """Return a sample in the precision that all rows need, and gamma as a number.

    The summary is that of the prepared rows.
    """
    summary = survey.summary
    n_features, norm = summary.n_features, summary.squared_norm
    variance = summary.variance
    distance = 2.0 * float(rounded(summary.variances.sum()))
    dtype, value = _decided(gamma, n_features, variance, norm, distance, least_dtype)
    is_loose = summary.is_norm_a_bound and survey.scanner is not None
    if is_loose and dtype == "float64" and value * norm > FLOAT32_SPREAD:
        assert survey.scanner is not None
        norm = survey.scanner.scan(LargestNorm(steps))
        dtype, value = _decided(gamma, n_features, variance, norm, distance, least_dtype)
    return Rows(checked, checked.core(dtype), value)


@dataclass(frozen=True)
class LargestNorm:
    """The largest squared norm of prepared rows."""

    steps: Steps

    def __call__(self, chunk: Chunk, first: int) -> float:
        """Return the largest squared norm in a chunk."""
        return largest_norm(transformed(self.steps, chunk.X))

    def merge(self, parts: Sequence[float]) -> float:
        """Return the largest of several norms."""
        return max(parts)


def training_rows(
    checked: CheckedRows, gamma: str | float, *, least_dtype: Dtype = "float32", n_threads: int = 1
) -> Rows:
    """Return the rows in the precision that their kernel values need, and gamma as a number.

    This is the one place that decides the precision. float32 is twice as fast and half as large,
    and it is enough if ``gamma * max|x|^2`` is moderate (see the limits above): standardised data,
    counts, one-hot columns. Offsets such as time stamps, and a gamma that is tiny compared with the
    distances of the rows, need float64. The decision depends on the values alone, not on whether
    they are dense or sparse.
    """
    if least_dtype == "float32":
        core = checked.core("float32")
        squared_norm = core.max_squared_norm(n_threads)
        value = _gamma_as_number(
            gamma, core.n_features, lambda: core.variance(n_threads), squared_norm
        )
        # None: all entries are equal, or differ only in float64.
        if (
            value is not None
            and _float32_is_enough(value, squared_norm)
            and _float32_tells_rows_apart(value, squared_norm, _mean_squared_distance(checked))
        ):
            return Rows(checked, core, value)
    core = checked.core("float64")
    squared_norm = core.max_squared_norm(n_threads)
    value = _gamma_as_number(gamma, core.n_features, lambda: core.variance(n_threads), squared_norm)
    return Rows(checked, core, _checked_for_float64(value, squared_norm))


def _checked_for_float64(value: float | None, squared_norm: float) -> float:
    """Return gamma; refuse rows for which not even float64 is precise enough."""
    if value is None:
        value = 1.0  # as sklearn.svm.SVC does
    if not squared_norm <= LARGEST_SQUARED_NORM["float64"]:
        raise ValueError(
            "The values of X are too large for the kernel: the largest squared norm of a row, "
            f"{squared_norm:.3g}, is above {LARGEST_SQUARED_NORM['float64']:.0e}, and sums over "
            f"rows would overflow. Divide X by a constant, or {STANDARDISE}."
        )
    if not math.isfinite(value):
        raise ValueError(
            "The values of X are too small for the kernel: gamma='scale' is the inverse of their "
            f"variance, which overflows. Multiply X by a constant, or {STANDARDISE}."
        )
    if value * squared_norm > FLOAT64_SPREAD:
        raise ValueError(
            f"The values of X are too large for the kernel: gamma={value:.3g} times the largest "
            f"squared norm of a row, {squared_norm:.3g}, is above 2**40. Even in float64, the "
            "distances between rows would have rounding errors as large as the width of the "
            f"kernel. Subtract large offsets and {STANDARDISE}, or choose a smaller gamma."
        )
    return value


def _float32_is_enough(gamma: float, squared_norm: float) -> bool:
    return (
        gamma * squared_norm <= FLOAT32_SPREAD
        and squared_norm <= LARGEST_SQUARED_NORM["float32"]
        and FLOAT32_GAMMA[0] <= gamma <= FLOAT32_GAMMA[1]
    )


def _float32_tells_rows_apart(gamma: float, squared_norm: float, squared_distance: float) -> bool:
    error = FLOAT32_ROUNDING * max(1.0, gamma * squared_norm)
    # Equal rows, or a single one, need no digits.
    return error <= LARGEST_ERROR * gamma * squared_distance or not squared_distance > 0


def _mean_squared_distance(checked: CheckedRows) -> float:
    """Return the mean squared distance of two rows, estimated on evenly spaced ones."""
    some = checked.X[:: -(-checked.n_rows // ROWS_FOR_DISTANCE)]
    return 2.0 * float(Columns.of_rows(some).variances.sum())


def _gamma_as_number(
    gamma: str | float, n_features: int, variance: Callable[[], float], squared_norm: float
) -> float | None:
    """Resolve "scale" and "auto" as sklearn.svm.SVC does; None: "scale" of equal entries."""
    if gamma == "scale":
        spread = n_features * variance()
        return 1.0 / spread if spread > CONSTANT * squared_norm else None
    if gamma == "auto":
        return 1.0 / n_features
    return float(gamma)
