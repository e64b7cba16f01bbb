"""Warnings about scales: columns, offsets, outliers, and the targets of a regression."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._warnings import warn
from .summary import Columns, Summary

# Warn if one column is this many times as wide as another.
SCALES_APART = 1000.0
# Warn if offsets, or outliers, make the variance so many times as large: gamma="scale" becomes too
# small by this factor.
OFFSET_SHARE = 100.0
OUTLIER_SHARE = 10.0
# An outlier is this many standard deviations of the other values away from their median.
FAR_OUT = 100.0
# The values between these quantiles have no outliers; so many deviations of a normal distribution
# lie between them.
MOST_VALUES = (0.01, 0.99)
DEVIATIONS = 4.65
# A column has no outliers unless this share of its values lie this close to their mean, as a share
# of its range. Quantiles take longer than this check.
NEAR_MEAN = (0.97, 0.12)
# Warn if the spread of the targets is this many times C.
TARGETS_BEYOND = 30.0
# Entries that are looked at, in at least so many rows: enough to see the scales, few enough to
# cost nothing.
SAMPLE_FOR_SCALES = 1 << 17
LEAST_ROWS = 100
# Wider sparse rows are not searched for outliers, which needs a dense sample.
MOST_DENSE_COLUMNS = 1000
# A column counts if it has this many entries that are not zero, and this share of the rows: fewer
# values have no scale.
LEAST_ENTRIES = 10
LEAST_SHARE = 0.01
# Sparse rows whose norms differ by less than this share were normalised, as TF-IDF rows are.
NORMALISED = 0.01
# Rows nearly equal their mean if its squared norm is this share of theirs.
MEAN_SHARE = 0.9

# The scalers that help; messages have "{scaler}" where the user is told how to use one.
STANDARD, ROBUST = "StandardScaler()", "RobustScaler(unit_variance=True)"

Numbers = NDArray[np.float64]


class TargetWarning(UserWarning):
    """C is small, or epsilon large, compared with the targets of a regression."""


class ScaleWarning(UserWarning):
    """Columns have very different scales, large offsets or outliers.

    Attributes
    ----------
    scale : {"standard", "robust"}
        The scaling that helps.
    """

    def __init__(self, message: str, scale: str) -> None:
        super().__init__(message)
        self.scale = scale


def warn_about_scales(
    X: Any, gamma: Any, summary: Summary | None = None, scaling: str = "make_pipeline({}, ...)"
) -> None:
    """Warn if some columns, or values, keep the kernel from seeing the others.

    The summary is that of all rows if X is only a sample of them, and `scaling` is how such rows
    are scaled. Columns are compared on evenly spaced rows. Sparse rows that were normalised, such
    as TF-IDF rows, have the scales that they should have. Offsets and outliers matter only if
    gamma="scale" depends on them.
    """
    n_sampled = max(LEAST_ROWS, SAMPLE_FOR_SCALES // X.shape[1])
    sample = X[:: -(-X.shape[0] // n_sampled)]
    if _is_normalised(sample):
        return
    columns = Columns.of_rows(sample)
    found = [*_different_scales(sample, columns)]
    if gamma == "scale":
        found = found or [*_large_offset(columns)]
        found += _outliers(X, sample, columns, summary)
    for message, scaler in found:
        text = message.replace("{scaler}", scaling.format(scaler))
        warn(ScaleWarning(text, "robust" if scaler == ROBUST else "standard"))


def warn_about_targets(spread: float, origin: str, C: float, name: str = "C") -> None:
    """Warn if the targets of a regression spread so far that C limits the model.

    No row can change the model by more than C, so the values of the model cannot follow the
    targets. `spread` is the median distance of the targets from the origin: their median, or zero
    without an intercept. `name` tells what the bound is made of.
    """
    if spread > TARGETS_BEYOND * C:
        warn(
            f"{name}={C:g} is small for these targets, whose median distance from {origin} is "
            f"{spread:.3g}: the model can hardly follow them. Use a C of about this size or more, "
            "and an epsilon in the units of the targets; or scale the targets: "
            "TransformedTargetRegressor(..., transformer=StandardScaler()).",
            TargetWarning,
        )


def warn_about_epsilon(targets: Numbers, epsilon: float, *, fit_intercept: bool) -> None:
    """Warn if a constant is within epsilon of all targets of an output, so that none has a loss."""
    low, high = targets.min(axis=0), targets.max(axis=0)
    reach = (high - low) / 2 if fit_intercept else np.maximum(high, -low)
    constant = (reach > 0) & (reach <= epsilon)
    if constant.any():
        name = "these targets" if len(reach) == 1 else f"the targets {np.flatnonzero(constant)}"
        middle = "the middle of their range" if fit_intercept else "zero"
        warn(
            f"epsilon={epsilon:g} is so large for {name} that none has a loss: they differ from "
            f"{middle} by at most {reach[constant].max():.3g}, and the model is constant. Use a "
            "smaller epsilon, in the units of the targets.",
            TargetWarning,
        )


def _is_normalised(X: Any) -> bool:
    """Whether all sparse rows have the same Euclidean or absolute norm, unless they are empty.

    Rows that nearly equal their mean do not count: a large offset gives them the same norm.
    """
    is_sparse: bool = sp.issparse(X)
    if not is_sparse:
        return False
    X = X[:: max(1, X.shape[0] // LEAST_ROWS)]
    squares = X.multiply(X).sum(axis=1)
    if np.square(X.mean(axis=0)).sum() > MEAN_SHARE * squares.mean():
        return False
    for norms in (np.sqrt(squares), abs(X).sum(axis=1)):
        norms = np.asarray(norms)[np.asarray(norms) > 0]
        if norms.size and norms.max() <= (1 + NORMALISED) * norms.min():
            return True
    return False


def _range(X: Any) -> tuple[Numbers, Numbers]:
    """Return the smallest and largest values of the columns."""
    return X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)


def _extremes(X: Any) -> tuple[Numbers, Numbers]:
    """Return the largest and smallest entries of sparse rows in their columns, else zero."""
    least, most = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    if X.nnz:
        lowest, highest = X.data.argmin(), X.data.argmax()
        least[X.indices[lowest]] = min(X.data[lowest], 0)
        most[X.indices[highest]] = max(X.data[highest], 0)
    return least, most


def _different_scales(X: Any, columns: Columns) -> Iterator[tuple[str, str]]:
    """Describe columns that are much wider than others, and name the scaler that helps.

    Both the ranges and the standard deviations must differ: rare binary columns have small
    deviations but the same range, and standardised columns with outliers have large ranges but the
    same deviation. Constant columns, and columns with few entries that are not zero, do not count.
    """
    ranges, deviations = columns.most - columns.least, np.sqrt(columns.variances)
    varying = deviations[ranges > 0]
    if not varying.size or varying.max() <= SCALES_APART * varying.min():
        return
    is_sparse: bool = sp.issparse(X)
    n_entries = (
        np.bincount(X.indices, minlength=X.shape[1]) if is_sparse else np.count_nonzero(X, axis=0)
    )
    varies = np.flatnonzero(
        (ranges > 0) & (n_entries >= max(LEAST_ENTRIES, LEAST_SHARE * X.shape[0]))
    )
    if not varies.size:
        return
    ranges, deviations = ranges[varies], deviations[varies]
    if deviations.max() <= SCALES_APART * deviations.min():
        return
    wide, narrow = ranges.argmax(), ranges.argmin()
    if ranges[wide] > SCALES_APART * ranges[narrow]:
        yield (
            f"The columns of X differ in scale: column {varies[wide]} (counted from 0) ranges over "
            f"{ranges[wide]:.3g}, column {varies[narrow]} over {ranges[narrow]:.3g}. The "
            "distances of the kernel depend on the wide columns, and the narrow ones hardly count. "
            "Standardise X: {scaler}, with MaxAbsScaler for sparse X.",
            STANDARD,
        )


def _large_offset(columns: Columns) -> Iterator[tuple[str, str]]:
    """Describe a column whose offset makes the variance of all entries very large."""
    means, variances = columns.mean, columns.variances
    with np.errstate(over="ignore", invalid="ignore"):
        within, between = variances.mean(), means.var()
        if not (within > 0 and between > OFFSET_SHARE * within):
            return
    # Of the two means in the middle the smaller one: two columns are equally far from their median.
    middle = means[np.abs(means).argsort()[(len(means) - 1) // 2]]
    k = np.abs(means - middle).argmax()
    yield (
        f"Column {k} (counted from 0) of X has a large offset: its mean is {means[k]:.3g} and its "
        f"standard deviation {np.sqrt(variances[k]):.3g}, while another column has the mean "
        f"{middle:.3g}. The offset makes the variance of X, and with it gamma='scale', wrong by a "
        f"factor of {between / within:.2g}. Standardise X: "
        "{scaler}, or give gamma a number.",
        STANDARD,
    )


def _outliers(
    X: Any, sample: Any, columns: Columns, summary: Summary | None
) -> Iterator[tuple[str, str]]:
    """Describe a column in which a few values make the variance very large."""
    is_sparse: bool = sp.issparse(X)
    if is_sparse and X.shape[1] > MOST_DENSE_COLUMNS:
        return
    if is_sparse:
        # Ranges of sparse columns would need a copy of X: only its extreme entries are looked at.
        values, (least, most) = sample[::4].toarray(), _extremes(X)
        if summary is not None:
            least, most = summary.least, summary.most
        looked_at = np.arange(X.shape[1])
    else:
        least, most = _range(X) if len(X) > len(sample) else (columns.least, columns.most)
        if summary is not None:
            least, most = summary.least, summary.most
        share, distance = NEAR_MEAN
        near = np.abs(sample - columns.mean) <= distance * (most - least)
        looked_at = np.flatnonzero(near.sum(axis=0) >= share * len(sample))
        values, least, most = sample[:, looked_at], least[looked_at], most[looked_at]
    if not looked_at.size:
        return
    low, middle, high = np.quantile(values, (MOST_VALUES[0], 0.5, MOST_VALUES[1]), axis=0)
    spread = (high - low) / DEVIATIONS
    distance = np.maximum(most - middle, middle - least)
    # Rare flags and words are no outliers: most values of their columns are the same.
    varied = np.mean(values == middle, axis=0) <= 0.5
    candidates = np.flatnonzero(varied & (spread > 0) & (distance > FAR_OUT * spread))
    if not candidates.size:
        return
    k = candidates[(distance[candidates] / spread[candidates]).argmax()]
    number = looked_at[k]
    if summary is not None:
        squares = summary.variances[number] + (summary.mean[number] - middle[k]) ** 2
    else:
        column = X.data[X.indices == number] if is_sparse else X[:, number]
        squares = np.square(column - middle[k], dtype=np.float64).sum() / X.shape[0]
    if squares > OUTLIER_SHARE * spread[k] ** 2:
        far = most[k] if most[k] - middle[k] >= middle[k] - least[k] else least[k]
        yield (
            "A few values of X lie far outside the rest: in column "
            f"{number} (counted from 0), most values lie between {low[k]:.3g} and {high[k]:.3g}, "
            f"but one is {far:.3g}. They determine the variance of X, and with it "
            "gamma='scale', which becomes too small for the other rows. "
            "Leave out these rows if they are wrong, or use "
            "{scaler} with gamma='auto'.",
            ROBUST,
        )
