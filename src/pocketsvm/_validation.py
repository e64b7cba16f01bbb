"""What comes in: rows, labels, weights and parameters are checked and brought into shape here.

scikit-learn's own validation does most of it, in scikit-learn's words. What is added: the structure
of sparse matrices is checked before compiled code follows their indices, and one rule decides
between float32 and float64 rows (`training_rows`).
"""

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import _check_sample_weight, validate_data

from . import _core

# The kernel needs |x - s|^2 and gets it as |x|^2 + |s|^2 - 2 x s, which is fast and cancels: the
# exponent gamma |x - s|^2 carries an absolute error of about gamma max|x|^2 times the unit
# roundoff. These limits hold it near 512 * 2^-24 = 3e-5 in float32, 2^40 * 2^-53 = 1e-4 in float64.
FLOAT32_SPREAD = 512.0
FLOAT64_SPREAD = 2.0**40
# More than that, the squared norm of a row over the variance of the rows, is a large offset.
LARGEST_OFFSET = 2.0**20
# Beyond these, squared norms overflow, or gamma itself leaves float32's range.
LARGEST_SQUARED_NORM = {"float32": 1e37, "float64": 1e300}
FLOAT32_GAMMA = (1e-30, 1e30)

# Entries whose variance, set against their squares, is below this are equal but for rounding.
CONSTANT = 1e-22

# 1 / alpha scales every coefficient, and decision values are summed up in the rows' precision.
ALPHA_RANGE = (1e-30, 1e30)
# Weights below this share of the largest count as this share: float32 would make them zero.
LEAST_WEIGHT = 1e-20
# The largest coefficient of a model to be continued, in units of the weight of a new row.
COEFFICIENT_RANGE = (1e-15, 1e15)

# Decision values are summed up in float32.
LARGEST_TARGET = 1e30
# A warning where one column is as many times as wide as another, in about as many entries.
SCALES_APART = 1000.0
SAMPLE_FOR_SCALES = 1 << 17

LABELS_AT_ONCE = 1 << 16


# --- rows ---------------------------------------------------------------------------------------


def check_rows(estimator: Any, X: Any, *, reset: bool, y: Any = "no_validation") -> Any:
    """Check X, or X and y, in scikit-learn's way; sparse input comes back as canonical CSR.

    Sets (`reset`) or compares the estimator's `n_features_in_` and `feature_names_in_`.
    """
    if sp.issparse(X):
        X = _safe_to_convert(X)
    checked = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
    )
    if isinstance(checked, tuple):
        return canonical(checked[0]), checked[1]
    return canonical(checked)


def _safe_to_convert(X: Any) -> Any:
    """Make sure that scikit-learn's conversion to CSR of floats follows no broken index."""
    if X.format != "csr":
        check_structure(X)
    elif X.dtype not in (np.float32, np.float64) and X.dtype.kind in "biuf":
        check_structure(X)
        # scipy's astype would sort and sum up the entries of the user's own matrix.
        X = sp.csr_array((X.data.astype(np.float64), X.indices, X.indptr), shape=X.shape)
    return X


def canonical(X: Any) -> Any:
    """X itself where it is dense or CSR with strictly increasing indices, else such a copy."""
    if not sp.issparse(X):
        return X
    check_structure(X)
    if _csr_rows(X, X.dtype) is not None:
        return X
    # Fresh arrays in a fresh matrix: neither the user's entries nor scipy's cached flags, which
    # may be stale, are touched or trusted.
    X = sp.csr_array((X.data.copy(), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    X.sum_duplicates()
    return X


def check_structure(X: Any) -> None:
    """Raise ValueError where the index arrays of a sparse matrix point outside of it.

    scipy's `check_format` asks the same but rewrites the matrix as it goes.
    """
    if X.format == "coo":
        for name, size, index in zip(("row", "col"), X.shape, X.coords, strict=True):
            _check_indices(f"X.{name}", index, size)
        return
    if X.format not in ("csr", "csc", "bsr"):
        return  # lists, dictionaries and diagonals hold no index that compiled code would follow
    n_rows, n_columns = X.shape
    if X.format == "csc":
        n_rows, n_columns = n_columns, n_rows
    elif X.format == "bsr":
        n_rows, n_columns = n_rows // X.blocksize[0], n_columns // X.blocksize[1]
    _check_index_pointer(X.indptr, n_rows, min(len(X.indices), len(X.data)))
    _check_indices("X.indices", X.indices, n_columns)


def _check_index_pointer(indptr: NDArray[Any], n_rows: int, n_entries: int) -> None:
    if len(indptr) != n_rows + 1:
        raise ValueError(f"X.indptr must have {n_rows + 1} entries, got {len(indptr)}.")
    if indptr[0] != 0:
        raise ValueError(f"X.indptr must start with 0, got {indptr[0]}.")
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        i = falls[0]
        raise ValueError(
            f"X.indptr must not decrease, but it falls from {indptr[i]} to {indptr[i + 1]} "
            f"at position {i + 1}."
        )
    if indptr[-1] > n_entries:
        raise ValueError(
            f"X.indptr ends at {indptr[-1]}, but X.indices and X.data hold {n_entries} entries."
        )


def _check_indices(name: str, indices: NDArray[Any], size: int) -> None:
    outside = np.flatnonzero((indices < 0) | (indices >= size))
    if outside.size:
        i = outside[0]
        raise ValueError(f"{name} must lie in [0, {size}), got {indices[i]} at position {i}.")


def as_rows(X: Any, dtype: Any) -> _core.Rows:
    """View X as native rows of this dtype; a copy only where dtype or memory order need one."""
    # A value beyond float32 becomes infinite, and the squared norm tells of it.
    with np.errstate(over="ignore"):
        if not sp.issparse(X):
            return _core.Rows.dense(np.ascontiguousarray(X, dtype=dtype))
        rows = _csr_rows(X, dtype)
    if rows is None:
        raise ValueError("The indices of each row of X must be strictly increasing.")
    return rows


def _csr_rows(X: Any, dtype: Any) -> _core.Rows | None:
    """View CSR as native rows; None where the indices of a row are not strictly increasing."""
    return _core.Rows.csr(
        np.ascontiguousarray(X.data, dtype=dtype),
        np.ascontiguousarray(X.indices),
        np.ascontiguousarray(X.indptr),
        X.shape[1],
    )


def warn_about_scales(X: Any) -> None:
    """Warn where some columns are so much wider than others that the kernel sees only those.

    Judged on evenly spaced rows. Both the ranges and the standard deviations have to differ so
    much: rare binary columns have small deviations and the same range, standardised columns with
    outliers large ranges and the same deviation. Constant columns do not count, nor do those with
    few entries that are not zero: a handful of values has no scale.
    """
    n_sampled = max(100, SAMPLE_FOR_SCALES // X.shape[1])
    X = X[:: -(-X.shape[0] // n_sampled)]
    if sp.issparse(X):
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


def training_rows(
    X: Any, gamma: str | float, *, least_dtype: Any = np.float32
) -> tuple[_core.Rows, float]:
    """Return the rows in the precision that their kernel values need, and gamma as a number.

    The one place where the precision is decided. float32 is twice as fast and half as large, and
    it is enough where ``gamma * max|x|^2`` is moderate (see the limits above): standardised data,
    counts, one-hot columns. Offsets such as time stamps take float64, up to where even that
    cannot tell the rows apart. The answer depends on the values alone, not on whether they came
    dense or sparse.
    """
    if np.dtype(least_dtype) == np.float32:
        rows = as_rows(X, np.float32)
        squared_norm = rows.max_squared_norm()
        value = gamma_as_number(gamma, rows, squared_norm)
        # None: all entries are equal, or differ only in float64.
        if value is not None and _float32_is_enough(value, squared_norm):
            return rows, value
    rows = as_rows(X, np.float64)
    squared_norm = rows.max_squared_norm()
    value = gamma_as_number(gamma, rows, squared_norm)
    if value is None:
        value = 1.0  # as sklearn.svm.SVC does
    if not _float64_is_enough(value, squared_norm, X):
        raise ValueError(
            f"The values of X are too large for the kernel: gamma={value:.3g} times the largest "
            f"squared norm of a row, {squared_norm:.3g}, is above 2**40, where rounding errors "
            "swamp the distances between rows even in float64. Subtract large offsets and "
            "standardise X (sklearn.preprocessing.StandardScaler, or MaxAbsScaler for sparse X), "
            "or choose a smaller gamma."
        )
    return rows, value


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
    # equal rows are at distance zero to the last bit, all others too far apart to matter.
    columns = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0)
    return float(np.sum(columns)) > squared_norm / LARGEST_OFFSET


def gamma_as_number(gamma: str | float, rows: _core.Rows, squared_norm: float) -> float | None:
    """Resolve "scale" and "auto" as sklearn.svm.SVC does; None: "scale" of equal entries."""
    if gamma == "scale":
        spread = rows.n_features * rows.variance()
        return 1.0 / spread if spread > CONSTANT * squared_norm else None
    if gamma == "auto":
        return 1.0 / rows.n_features
    return float(gamma)


def decision_values(
    vectors: NDArray[Any],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    gamma: float,
    X: Any,
    n_threads: int,
) -> NDArray[np.float64]:
    """Decision values (n_rows, n_outputs), in the precision of the vectors.

    Rows so large that their squares overflow are far from every vector; the core knows.
    """
    rows = as_rows(X, vectors.dtype)
    return _core.decide(vectors, coefficients, intercepts, gamma, rows, n_threads)


# --- targets and weights ------------------------------------------------------------------------


@dataclass(kw_only=True)
class TrainingRows:
    """Checked training data: rows of positive weight, their targets, their weights."""

    X: Any
    y: NDArray[Any]
    sample_weight: NDArray[np.float64] | None
    weight_unit: float
    offset: float = 0.0  # what decision values begin from

    @property
    def n_problems(self) -> int:
        """How many trainers the rows need."""
        return 1


@dataclass(kw_only=True)
class LabelledRows(TrainingRows):
    """Rows with classes."""

    classes: NDArray[Any]
    codes: NDArray[Any]  # int8, or int32 for many classes
    class_weight: NDArray[np.float64]  # in units of weight_unit

    @property
    def positives(self) -> list[int]:
        """The class that is +1, for each one-vs-rest problem."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @property
    def n_problems(self) -> int:
        return len(self.positives)

    @property
    def learnt(self) -> dict[str, Any]:
        """What the model is to remember of them."""
        return {"classes_": self.classes}

    def row_weight(self) -> NDArray[np.float64]:
        """Return the whole weight of each row."""
        weight = self.class_weight[self.codes] * self.weight_unit
        return weight if self.sample_weight is None else weight * self.sample_weight


@dataclass(kw_only=True)
class TargetRows(TrainingRows):
    """Rows with numbers, which are held less the offset; weights are in units of weight_unit."""

    @property
    def learnt(self) -> dict[str, Any]:
        """What the model is to remember of them."""
        return {"_offset": self.offset}

    def row_weight(self) -> NDArray[np.float64]:
        """Return the whole weight of each row."""
        weight = np.full(len(self.y), self.weight_unit)
        return weight if self.sample_weight is None else weight * self.sample_weight

    def spread(self) -> float:
        """Return the median distance from the offset, or the mean where that is zero."""
        distance = np.abs(self.y)
        return float(np.median(distance) or distance.mean() or 1.0)


def labelled_rows(
    X: Any,
    y: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    classes: NDArray[Any] | None = None,
) -> LabelledRows:
    """Encode checked labels and leave out rows of zero weight, as if they were not there.

    classes None means those of the rows that are left.
    """
    sample_weight = check_sample_weight(sample_weight, X)
    if sample_weight is not None and not sample_weight.all():
        X, y, sample_weight = _keep(sample_weight > 0, X, y, sample_weight)
    found = find_classes(y) if classes is None else classes
    weights = class_weights(class_weight, found, y, sample_weight)
    if not weights.all():
        counted = weights > 0
        X, y, sample_weight = _keep(~np.isin(y, found[~counted]), X, y, sample_weight)
        if classes is None:
            found, weights = found[counted], weights[counted]
        else:
            weights[~counted] = 1.0  # no row is left that it would weigh
    codes = encode_labels(y, found)
    weights, sample_weight, unit = _in_units(weights, sample_weight, codes)
    return LabelledRows(
        X=X,
        y=y,
        sample_weight=sample_weight,
        weight_unit=unit,
        classes=found,
        codes=codes,
        class_weight=weights,
    )


def target_rows(
    X: Any, y: NDArray[Any], sample_weight: Any, offset: float | None = None
) -> TargetRows:
    """Take checked numbers and leave out rows of zero weight, as if they were not there.

    offset None means their median.
    """
    y = y.astype(np.float64, copy=False)
    sample_weight = check_sample_weight(sample_weight, X)
    if sample_weight is not None and not sample_weight.all():
        X, y, sample_weight = _keep(sample_weight > 0, X, y, sample_weight)
    weights, sample_weight, unit = _in_units(np.ones(1), sample_weight, 0)
    if sample_weight is not None:
        sample_weight = sample_weight * weights
    if offset is None:
        offset = float(np.quantile(y, 0.5, weights=sample_weight, method="inverted_cdf"))
    largest = float(np.abs(y).max())
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"The targets y are as large as {largest:.3g}; they must stay below "
            f"{LARGEST_TARGET:g}. Scale them."
        )
    return TargetRows(
        X=X, y=y - offset, sample_weight=sample_weight, weight_unit=unit, offset=offset
    )


def _keep(kept: NDArray[np.bool_], X: Any, y: NDArray[Any], sample_weight: Any) -> tuple:
    if not kept.any():
        raise ValueError("sample_weight and class_weight leave no row of positive weight.")
    return X[kept], y[kept], None if sample_weight is None else sample_weight[kept]


def find_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels in y; refuse a regression target."""
    if y.dtype.kind == "O":
        check_classification_targets(y)  # mixed types cannot be sorted: speak before np.unique
    chunks = range(0, len(y), LABELS_AT_ONCE)
    parts = [np.unique(y[start : start + LABELS_AT_ONCE]) for start in chunks]
    classes = np.unique(np.concatenate(parts))
    # Three of each: labels that are all different would pass for a regression target.
    check_classification_targets(np.repeat(classes, 3))
    return classes


def check_classes(classes: NDArray[Any], budget: int) -> None:
    """Refuse fewer than two classes, and a budget of fewer than two vectors a problem."""
    n_classes = len(classes)
    if n_classes < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {n_classes} class")
    if n_classes > 2 and budget < 2 * n_classes:
        raise ValueError(
            f"budget={budget} is too small for {n_classes} classes: the support vectors are shared "
            f"out evenly and a class needs two, so budget must be at least {2 * n_classes}."
        )


def encode_labels(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Position of each label in the sorted classes, without temporaries of y's length."""
    codes = np.empty(len(y), dtype=np.int8 if len(classes) < 128 else np.int32)
    for start in range(0, len(y), LABELS_AT_ONCE):
        labels = y[start : start + LABELS_AT_ONCE]
        try:
            found = np.searchsorted(classes, labels)
        except TypeError:
            raise ValueError(f"y holds labels of another type than classes {classes!r}.") from None
        found[found == len(classes)] = 0
        unknown = classes[found] != labels
        if unknown.any():
            label = labels[unknown].tolist()[0]
            raise ValueError(f"y holds the label {label!r}, which is not in classes {classes!r}.")
        codes[start : start + LABELS_AT_ONCE] = found
    return codes


def check_sample_weight(sample_weight: Any, X: Any) -> NDArray[np.float64] | None:
    """None or non-negative float64 weights, one a row, not all of them zero."""
    if sample_weight is None:
        return None
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """One non-negative, finite weight a class."""
    if class_weight is None:
        return np.ones(len(classes))
    labels = y if class_weight == "balanced" else classes
    weights = compute_class_weight(
        class_weight,
        classes=classes,
        y=labels,
        sample_weight=sample_weight if class_weight == "balanced" else None,
    )
    weights = np.asarray(weights, dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            f"The weights in class_weight must be finite and not negative, got {class_weight!r}."
        )
    return weights


def _in_units(
    weights: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    codes: NDArray[np.int32] | int,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, float]:
    """Divide the class weights so that no row weighs more than two, and return the divisor.

    Coefficients grow to the number of steps times the weight, and are squared, in float32. Weights
    divided by a unit and alpha divided by it, too, make the same model, and a power of two does
    not change a bit of it.
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


def check_alpha(alpha: float, weight_unit: float, origin: str) -> None:
    """Refuse a regularisation with which decision values would leave float32."""
    if not ALPHA_RANGE[0] <= alpha / weight_unit <= ALPHA_RANGE[1]:
        weights = "" if weight_unit == 1.0 else f" for weights of about {weight_unit:.3g}"
        raise ValueError(
            f"{origin} makes the regularisation alpha={alpha:.3g}{weights}; for weights of about "
            f"one it must lie in [{ALPHA_RANGE[0]:g}, {ALPHA_RANGE[1]:g}]."
        )


def check_continuation(largest_coefficient: float) -> None:
    """Refuse a change of alpha or weights so large that the old model and new rows cannot mix."""
    low, high = COEFFICIENT_RANGE
    if not low <= largest_coefficient <= high:
        raise ValueError(
            "alpha or the weights differ too much from those of the model to be continued: its "
            f"largest coefficient would be {largest_coefficient:.3g} times that of a new row. "
            "Fit with warm_start=False."
        )
