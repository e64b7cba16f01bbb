"""Labels: which classes there are, their weights, and the code of each label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

# Labels are encoded in chunks, so that temporaries stay small.
LABELS_AT_ONCE = 1 << 16
# Booleans, integers and strings are never regression targets.
CERTAIN_CLASSES = "biuU"
# Up to this many classes, a code fits into one byte.
MOST_SMALL_CODES = 127


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
        return np.asarray(y == classes[1:], dtype=bool).view(np.int8)
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
    # Compared with arrays: NumPy takes the zero characters off the end of a single text.
    found = labels == classes[1:]
    return found, ~found & (labels != classes[:1])


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
