"""A warning about columns of very different scales."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

# Warn if one column is this many times as wide as another.
SCALES_APART = 1000.0
# Entries that are looked at: enough to see the scales, few enough to cost nothing.
SAMPLE_FOR_SCALES = 1 << 17


def warn_about_scales(X: Any) -> None:
    """Warn where some columns are so much wider than others that the kernel sees only those.

    Judged on evenly spaced rows. Both the ranges and the standard deviations have to differ so
    much: rare binary columns have small deviations and the same range, standardised columns with
    outliers large ranges and the same deviation. Constant columns do not count, nor do those with
    few entries that are not zero: a handful of values has no scale.
    """
    n_sampled = max(100, SAMPLE_FOR_SCALES // X.shape[1])
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
    varies = np.flatnonzero((ranges > 0) & (n_entries >= max(10, 0.01 * X.shape[0])))
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
            "kernel's distances are those in the wide columns, and the narrow ones hardly count. "
            "Standardise X: make_pipeline(StandardScaler(), ...), with MaxAbsScaler for sparse X, "
            "or --scale standard on the command line.",
            stacklevel=6,
        )
