"""Labels, target values and weights of training rows, checked and encoded."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .. import _core
from .._sklearn import check_weights
from .rows import CheckedRows

# Weights below this share of the largest count as this share: float32 would make them zero.
LEAST_WEIGHT = 1e-20
# Decision values are summed in float32.
LARGEST_TARGET = 1e30
# Labels are encoded in chunks, so that temporaries stay small.
LABELS_AT_ONCE = 1 << 16
# Booleans, integers and strings are never regression targets.
CERTAIN_CLASSES = "biuU"
# Up to this many classes, a code fits into one byte.
MOST_SMALL_CODES = 127

Weights = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Targets(ABC):
    """What the rows are trained on: rows of positive weight only.

    Attributes
    ----------
    task : str
        What the model is for, as `pocketsvm.model.Model.task`.

    loss : str
        The name of the loss.

    sample_weight : ndarray of shape (n_rows,) or None
        The weights of the rows, in units of `weight_unit`; None means one.

    weight_unit : float
        The unit of the weights, a power of two.

    offset : float or ndarray of shape (n_outputs,)
        The values that decision values start from.
    """

    task: ClassVar[str]
    loss: str
    sample_weight: Weights | None
    weight_unit: float
    offset: float | NDArray[np.float64] = 0.0

    @property
    def group_weight(self) -> Weights:
        """The weight of each group, in units of `weight_unit`."""
        return np.ones(1)

    @abstractmethod
    def groups(self) -> NDArray[np.int8] | NDArray[np.int32]:
        """Return the group of each row; a sample represents all groups."""

    def row_weight(self, divisor: float = 1.0, n_threads: int = 1) -> Weights:
        """Return the whole weight of each row, over a divisor."""
        weights = self.group_weight * self.weight_unit
        return _core.row_weights(self.groups(), weights, self.sample_weight, divisor, n_threads)

    def _taken(self, chosen: NDArray[Any], factors: Weights) -> Weights:
        """Return the weights of the chosen rows, times some factors."""
        return factors if self.sample_weight is None else self.sample_weight[chosen] * factors


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassTargets(Targets):
    """Classes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted labels.

    codes : ndarray of shape (n_rows,)
        The position of each row's label in `classes`; int8, or int32 for many classes.

    class_weight : ndarray of shape (n_classes,)
        The weights of the classes, in units of `weight_unit`.
    """

    task: ClassVar[str] = "classification"
    classes: NDArray[Any]
    codes: NDArray[np.int8] | NDArray[np.int32]
    class_weight: Weights

    @property
    def positives(self) -> list[int]:
        """The class that is +1, for each one-vs-rest problem."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @property
    def n_problems(self) -> int:
        """The number of binary problems."""
        return len(self.positives)

    @property
    def group_weight(self) -> Weights:
        """The weights of the classes, in units of `weight_unit`."""
        return self.class_weight

    def groups(self) -> NDArray[np.int8] | NDArray[np.int32]:
        """Return the class of each row."""
        return self.codes

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, codes=self.codes[chosen], sample_weight=weights)


@dataclass(frozen=True, eq=False, kw_only=True)
class ValueTargets(Targets):
    """Numbers.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_outputs)
        The target values, less the offsets. Outputs for several quantiles have the same targets.

    parameters : tuple of float
        The parameter of the loss for each output: epsilon, or the quantile.

    known_spreads : ndarray of shape (n_outputs,) or None
        The spreads of all targets, if these are only some of them.
    """

    task: ClassVar[str] = "regression"
    values: NDArray[np.float64]
    parameters: tuple[float, ...]
    known_spreads: NDArray[np.float64] | None = None

    @property
    def n_problems(self) -> int:
        """The number of outputs."""
        return len(self.parameters)

    def groups(self) -> NDArray[np.int8]:
        """Return the group of each row: all rows are of one group."""
        return np.zeros(len(self.values), dtype=np.int8)

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, values=self.values[chosen], sample_weight=weights)

    def spreads(self) -> NDArray[np.float64]:
        """Return the median distances from the offsets, or the means where these are zero."""
        if self.known_spreads is not None:
            return self.known_spreads
        distances = np.abs(self.values)
        medians, means = np.median(distances, axis=0), distances.mean(axis=0)
        spreads: NDArray[np.float64] = np.where(medians > 0, medians, means)
        return np.where(spreads > 0, spreads, 1.0)


def class_targets(
    rows: CheckedRows,
    y: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    loss: str,
    classes: NDArray[Any] | None = None,
) -> tuple[CheckedRows, ClassTargets]:
    """Encode checked labels; rows of zero weight are dropped.

    If `classes` is None, the classes are those of the remaining rows.
    """
    sample_weight = non_negative(sample_weight, rows)
    if sample_weight is not None and not sample_weight.all():
        rows, y, sample_weight = _keep(sample_weight > 0, rows, y, sample_weight)
    found = find_classes(y) if classes is None else classes
    weights = class_weights(class_weight, found, y, sample_weight)
    if not weights.all():
        counted = weights > 0
        rows, y, sample_weight = _keep(~np.isin(y, found[~counted]), rows, y, sample_weight)
        if classes is None:
            found, weights = found[counted], weights[counted]
        else:
            weights[~counted] = 1.0  # no row of these classes is left
    codes = encode_labels(y, found, certain=classes is None)
    weights, sample_weight, unit = _in_units(weights, sample_weight, codes)
    return rows, ClassTargets(
        loss=loss,
        sample_weight=sample_weight,
        weight_unit=unit,
        classes=found,
        codes=codes,
        class_weight=weights,
    )


def value_targets(
    rows: CheckedRows,
    y: NDArray[Any],
    sample_weight: Any,
    loss: str,
    parameters: tuple[float, ...],
    offset: float | NDArray[np.float64] | None = None,
) -> tuple[CheckedRows, ValueTargets]:
    """Take checked numbers, of shape (n_rows,) or (n_rows, n_outputs).

    There is one parameter of the loss for each output, and outputs share a target of shape
    (n_rows,). Rows of zero weight are dropped. If `offset` is None, it is the median of the
    remaining targets, or their quantiles if these are predicted.
    """
    rows, y, sample_weight, unit = weighted_rows(rows, y, sample_weight)
    columns = y.astype(np.float64, copy=False).reshape(len(y), -1)
    check_targets(float(np.abs(columns).max()))
    columns = np.broadcast_to(columns, (len(y), len(parameters)))
    if offset is None:
        shares = parameters if loss == "quantile" else (0.5,) * len(parameters)
        offset = np.array(
            [
                np.quantile(column, share, weights=sample_weight, method="inverted_cdf")
                for column, share in zip(columns.T, shares, strict=True)
            ]
        )
        offset = offset if len(offset) > 1 else float(offset[0])
    return rows, ValueTargets(
        loss=loss,
        sample_weight=sample_weight,
        weight_unit=unit,
        offset=offset,
        values=columns - offset,
        parameters=parameters,
    )


def weighted_rows(
    rows: CheckedRows, y: NDArray[Any], sample_weight: Any
) -> tuple[CheckedRows, NDArray[Any], Weights | None, float]:
    """Drop rows of zero weight; return the weights of the others and their unit, too."""
    sample_weight = non_negative(sample_weight, rows)
    if sample_weight is not None and not sample_weight.all():
        rows, y, sample_weight = _keep(sample_weight > 0, rows, y, sample_weight)
    weights, sample_weight, unit = _in_units(np.ones(1), sample_weight, 0)
    if sample_weight is not None:
        sample_weight = sample_weight * weights
    return rows, y, sample_weight, unit


def check_outputs(n_outputs: int, budget: int, n_before: int | None) -> None:
    """Refuse fewer than two vectors an output, and other outputs than a continued model has."""
    if n_before is not None and n_before != n_outputs:
        raise ValueError(
            f"This call continues a model with n_outputs={n_before}, but the targets y and "
            f"quantile give {n_outputs}. Fit with warm_start=False to start anew."
        )
    if n_outputs > 1 and budget < 2 * n_outputs:
        raise ValueError(
            f"budget={budget} is too small for {n_outputs} outputs: the support vectors are shared "
            f"out evenly and an output needs two, so budget must be at least {2 * n_outputs}."
        )


def check_targets(largest: float) -> None:
    """Refuse targets that decision values cannot reach."""
    if largest > LARGEST_TARGET:
        raise ValueError(
            f"The targets y are as large as {largest:.3g}; they must stay below "
            f"{LARGEST_TARGET:g}. Scale them."
        )


def non_negative(sample_weight: Any, rows: CheckedRows) -> Weights | None:
    """None or float64 weights, one per row, not negative and not all of them zero."""
    if sample_weight is None:
        return None
    return check_weights(sample_weight, rows.X, dtype=np.float64, ensure_non_negative=True)


def _keep(
    kept: NDArray[np.bool_], rows: CheckedRows, y: NDArray[Any], sample_weight: Weights | None
) -> tuple[CheckedRows, NDArray[Any], Weights | None]:
    if not kept.any():
        raise ValueError("sample_weight and class_weight leave no row of positive weight.")
    weight = None if sample_weight is None else sample_weight[kept]
    return rows.take(kept), y[kept], weight


def find_classes(y: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted labels in y; refuse a regression target."""
    if y.dtype.kind == "O":
        check_classification_targets(y)  # mixed types cannot be sorted by np.unique
    classes = _few_integers(y)
    if classes is None:
        parts = [np.unique(labels) for labels in _chunks(y)]
        classes = parts[0] if len(parts) == 1 else np.unique(np.concatenate(parts))
    if classes.dtype.kind not in CERTAIN_CLASSES:
        # Three of each: labels that are all different would pass for a regression target.
        check_classification_targets(np.repeat(classes, 3))
    return classes


def _chunks(y: NDArray[Any]) -> list[NDArray[Any]]:
    return [y[start : start + LABELS_AT_ONCE] for start in range(0, len(y), LABELS_AT_ONCE)]


def _few_integers(y: NDArray[Any]) -> NDArray[Any] | None:
    """Return the sorted labels if they are integers in a small range, which need no sorting."""
    if y.dtype.kind not in "iu":
        return None
    least, most = int(y.min()), int(y.max())
    if most - least >= LABELS_AT_ONCE or max(-least, most) > np.iinfo(np.int32).max:
        return None
    occurs = np.zeros(most - least + 1, dtype=bool)
    for labels in _chunks(y):
        places = labels.astype(np.intp)
        places -= least
        occurs[places] = True
        if occurs.all():
            break
    return (np.flatnonzero(occurs) + least).astype(y.dtype)


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


def encode_labels(y: NDArray[Any], classes: NDArray[Any], *, certain: bool = False) -> NDArray[Any]:
    """Position of each label in the sorted classes, without temporaries of y's length.

    `certain` says that there are no other labels.
    """
    two = len(classes) == 2 and y.dtype == classes.dtype
    if two and certain:
        return np.asarray(y == classes[1], dtype=bool).view(np.int8)
    codes = np.empty(len(y), dtype=np.int8 if len(classes) <= MOST_SMALL_CODES else np.int32)
    for start in range(0, len(y), LABELS_AT_ONCE):
        labels = y[start : start + LABELS_AT_ONCE]
        found, unknown = (_either if two else _searched)(labels, classes)
        if unknown.any():
            label = labels[unknown].tolist()[0]
            raise ValueError(f"y holds the label {label!r}, which is not in classes {classes!r}.")
        codes[start : start + LABELS_AT_ONCE] = found
    return codes


def _either(labels: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Tell which labels are the second one of two classes, and which are neither."""
    found = labels == classes[1]
    return found, ~found & (labels != classes[0])


def _searched(labels: NDArray[Any], classes: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the position of each label in the classes, and whether it is unknown."""
    try:
        found = np.searchsorted(classes, labels)
    except TypeError:
        raise ValueError(f"y holds labels of another type than classes {classes!r}.") from None
    found[found == len(classes)] = 0
    return found, classes[found] != labels


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    y: NDArray[Any],
    sample_weight: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """One non-negative, finite weight a class."""
    if class_weight is None:
        return np.ones(len(classes))
    known = classes.tolist()
    if isinstance(class_weight, dict) and set(class_weight) <= set(known):
        # scikit-learn would take labels such as "01" for integers.
        weights = np.array([class_weight.get(label, 1.0) for label in known], dtype=np.float64)
    else:
        balanced = class_weight == "balanced"
        weights = compute_class_weight(
            class_weight,
            classes=classes,
            y=y if balanced else classes,
            sample_weight=sample_weight if balanced else None,
        ).astype(np.float64, copy=False)
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
