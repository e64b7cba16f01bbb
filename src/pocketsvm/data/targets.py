"""Checked labels, targets and weights."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._sklearn import check_weights

# 1 / alpha scales every coefficient, and decision values are summed up in the rows' precision.
ALPHA_RANGE = (1e-30, 1e30)
# Weights below this share of the largest count as this share: float32 would make them zero.
LEAST_WEIGHT = 1e-20
# The largest coefficient of a model to be continued, in units of the weight of a new row.
COEFFICIENT_RANGE = (1e-15, 1e15)

# Decision values are summed up in float32.
LARGEST_TARGET = 1e30
LABELS_AT_ONCE = 1 << 16


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
    return check_weights(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


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
