"""A warning about columns of very different scales."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

# Warn if one column is this many times as wide as another.
SCALES_APART = 1000.0
# Entries that are looked at, in at least so many rows: enough to see the scales, few enough to
# cost nothing.
SAMPLE_FOR_SCALES = 1 << 17
LEAST_ROWS = 100
# A column counts if it has this many entries that are not zero, and this share of the rows: fewer
# values have no scale.
LEAST_ENTRIES = 10
LEAST_SHARE = 0.01


class ScaleWarning(UserWarning):
    """Columns have very different scales."""


def warn_about_scales(X: Any) -> None:
    """Warn if some columns are so much wider than others that the kernel sees only those.

    The columns are compared on evenly spaced rows. Both the ranges and the standard deviations must
    differ: rare binary columns have small deviations but the same range, and standardised columns
    with outliers have large ranges but the same deviation. Constant columns do not count, nor do
    columns with few entries that are not zero.
    """
    n_sampled = max(LEAST_ROWS, SAMPLE_FOR_SCALES // X.shape[1])
    X = X[:: -(-X.shape[0] // n_sampled)]
    is_sparse: bool = sp.issparse(X)
    if is_sparse:
        least, most = min_max_axis(X, axis=0)
        deviations = np.sqrt(mean_variance_axis(X, axis=0)[1])
        n_entries = np.bincount(X.indices, minlength=X.shape[1])
    else:
        least, most = X.min(axis=0), X.max(axis=0)
        with np.errstate(over="ignore", under="ignore"):
            deviations = X.std(axis=0, dtype=np.float64)
        n_entries = np.count_nonzero(X, axis=0)
    ranges = np.subtract(most, least, dtype=np.float64)
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
        warnings.warn(
            f"The columns of X differ in scale: column {varies[wide]} ranges over "
            f"{ranges[wide]:.3g}, column {varies[narrow]} over {ranges[narrow]:.3g}. The "
            "distances of the kernel depend on the wide columns, and the narrow ones hardly count. "
            "Standardise X: make_pipeline(StandardScaler(), ...), with MaxAbsScaler for sparse X.",
            ScaleWarning,
            stacklevel=6,
        )
