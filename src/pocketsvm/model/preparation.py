"""Scalers of scikit-learn that a model file can keep before its machine, in a `Pipeline`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .container import Array, Entry, take

# Their parameters, beside "copy", which is a matter of memory; and what fit learns.
PARAMETERS = {"StandardScaler": ("with_mean", "with_std"), "MinMaxScaler": ("feature_range",)}
LEARNT = {
    "StandardScaler": ("mean", "var", "scale"),
    "MinMaxScaler": ("min", "scale", "data_min", "data_max", "data_range"),
}
CLASSES = {"StandardScaler": StandardScaler, "MinMaxScaler": MinMaxScaler}
STEPS = ("scale", "svm")


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map of each feature, ``(x - offset) * factor``, applied before the kernel.

    Attributes
    ----------
    offset, factor : ndarray of shape (n_features,)
        As in `sklearn.preprocessing.StandardScaler`: its ``mean_`` and ``1 / scale_``.
    """

    offset: Array
    factor: Array


def scaling_of(scaler: Any) -> Scaling:
    """Return the map of a fitted scaler."""
    return Scaling(*affine(scaler))


def split(estimator: Any) -> tuple[Any, Any]:
    """Return the scaler, or None, and the machine of an estimator that may be a pipeline."""
    if type(estimator) is not Pipeline or len(estimator.steps) != len(STEPS):
        return None, estimator
    (_, scaler), (_, machine) = estimator.steps
    return (scaler, machine) if type(scaler) in CLASSES.values() else (None, estimator)


def join(scaler: Any, machine: Any) -> Any:
    """Put a scaler, unless it is None, before a machine."""
    return machine if scaler is None else Pipeline(list(zip(STEPS, (scaler, machine), strict=True)))


def affine(scaler: Any) -> tuple[Array, Array]:
    """Return offset and factor of ``(x - offset) * factor``, the map of a fitted scaler."""
    check_is_fitted(scaler)
    if getattr(scaler, "clip", False) or scaler.scale_ is None:
        raise ValueError(f"{scaler!r} is not supported; its defaults, and any range, are.")
    scale = np.asarray(scaler.scale_, dtype=np.float64)
    with np.errstate(divide="ignore", over="ignore"):  # of a forged file
        if isinstance(scaler, MinMaxScaler):
            return -np.asarray(scaler.min_, dtype=np.float64) / scale, scale
        return scaler.mean_ if scaler.with_mean else np.zeros_like(scale), 1.0 / scale


def describe(scaler: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays of a fitted scaler that `affine` accepts."""
    kind = type(scaler).__name__
    learnt = {name: getattr(scaler, f"{name}_") for name in LEARNT[kind]}
    parameters = {name: getattr(scaler, name) for name in PARAMETERS[kind]}
    if "feature_range" in parameters:
        parameters["feature_range"] = [float(bound) for bound in parameters["feature_range"]]
    header = {
        "scaler": kind,
        "parameters": parameters,
        "n_rows": int(np.max(scaler.n_samples_seen_)),
    }
    return header, {f"scaling.{name}": values for name, values in learnt.items()}


def expected(
    header: dict[str, Any], entries: dict[str, Entry], n_features: int
) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Check the header; return dtype and shape that the arrays must have."""
    _unfitted(header)
    result = {}
    for name in LEARNT[header["scaler"]]:
        entry = entries.get(f"scaling.{name}")
        single = entry is not None and entry.dtype == np.float32
        result[f"scaling.{name}"] = ("float32" if single else "float64", (n_features,))
    return result


def restore(header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    """Make the fitted scaler of a header and arrays whose shapes have been checked."""
    scaler = _unfitted(header)
    for name in LEARNT[header["scaler"]]:
        setattr(scaler, f"{name}_", arrays[f"scaling.{name}"])
    if not (scaler.scale_ > 0).all():
        raise ValueError("a feature of its scaling has a scale that is not positive.")
    if not all(np.isfinite(values).all() for values in affine(scaler)):
        raise ValueError("a feature of its scaling has a scale out of range.")
    scaler.n_features_in_ = len(scaler.scale_)
    scaler.n_samples_seen_ = np.int64(header["n_rows"])
    return scaler


def _unfitted(header: dict[str, Any]) -> Any:
    kind = take(header, "scaler", str)
    if kind not in CLASSES:
        raise ValueError(f"it scales by {kind[:100]!r}, which this pocketsvm does not know.")
    if not 1 <= take(header, "n_rows", int) < 2**62:
        raise ValueError("the number of rows of its scaling is out of range.")
    parameters = take(header, "parameters", dict)
    if parameters.keys() != set(PARAMETERS[kind]):
        raise ValueError(f"the parameters of its {kind} are {str(sorted(parameters))[:100]}.")
    if "feature_range" in parameters:
        low, high = _pair(take(parameters, "feature_range", list))
        return MinMaxScaler(feature_range=(low, high))
    for name in parameters:
        take(parameters, name, bool)
    return StandardScaler(**parameters)


def _pair(values: list[Any]) -> tuple[float, float]:
    if len(values) != 2 or not all(type(value) in (int, float) for value in values):
        raise ValueError("the range of its scaling is no pair of numbers.")
    low, high = (take({"range": value}, "range", float) for value in values)
    if not low < high:
        raise ValueError("the range of its scaling is empty.")
    return low, high
