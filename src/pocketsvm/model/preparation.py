"""Preparation: the steps that are applied to rows before the kernel.

A model has a chain of steps, `Model.preparation`; today it is empty or one `Scaling`. In
scikit-learn, the same chain is a `Pipeline` of fitted transformers and a machine, which `split`
takes apart and `join` puts together. `describe`, `expected` and `restore` keep a step in a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .container import Array, Described, Entry, take

CLASSES = {"StandardScaler": StandardScaler, "MinMaxScaler": MinMaxScaler}
# The parameters that change the map; "copy", which only saves memory, is not kept.
PARAMETERS = {"StandardScaler": ("with_mean", "with_std"), "MinMaxScaler": ("feature_range",)}
LEARNT = {
    "StandardScaler": ("mean", "var", "scale"),
    "MinMaxScaler": ("min", "scale", "data_min", "data_max", "data_range"),
}
# scikit-learn counts rows in int64 and adds to this number when a scaler is continued.
MAX_ROWS = 2**62
STEPS = ("scale", "svm")


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map of each feature, ``(x - offset) * factor``, applied before the kernel.

    Attributes
    ----------
    offset, factor : ndarray of shape (n_features,)
        As in `sklearn.preprocessing.StandardScaler`: its ``mean_`` and ``1 / scale_``.

    scaler : StandardScaler or MinMaxScaler
        The fitted scaler that has this map; a file keeps it.
    """

    offset: NDArray[np.float64]
    factor: NDArray[np.float64]
    scaler: Any

    @classmethod
    def of(cls, scaler: Any) -> Self:
        """Return the map of a fitted scaler.

        Parameters
        ----------
        scaler : StandardScaler or MinMaxScaler
            The fitted scaler. It must scale, and must not clip.

        Returns
        -------
        scaling : Scaling
            The map.
        """
        check_is_fitted(scaler)
        if getattr(scaler, "clip", False) or scaler.scale_ is None:
            raise ValueError(f"{scaler!r} is not supported; its defaults, and any range, are.")
        scale = np.asarray(scaler.scale_, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):  # a forged file may hold any scale
            if isinstance(scaler, MinMaxScaler):
                return cls(-np.asarray(scaler.min_, dtype=np.float64) / scale, scale, scaler)
            offset = scaler.mean_ if scaler.with_mean else np.zeros_like(scale)
            return cls(offset, 1.0 / scale, scaler)


def split(estimator: Any) -> tuple[Any, Any]:
    """Return the scaler, or None, and the machine of an estimator that may be a pipeline."""
    if type(estimator) is not Pipeline or len(estimator.steps) != len(STEPS):
        return None, estimator
    (_, scaler), (_, machine) = estimator.steps
    return (scaler, machine) if type(scaler) in CLASSES.values() else (None, estimator)


def join(scaler: Any, machine: Any) -> Any:
    """Return a pipeline of a scaler and a machine, or the machine if the scaler is None."""
    return machine if scaler is None else Pipeline(list(zip(STEPS, (scaler, machine), strict=True)))


# --- steps in files -----------------------------------------------------------------------------


def describe(step: Scaling) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a step."""
    scaler = step.scaler
    kind = type(scaler).__name__
    parameters = {name: getattr(scaler, name) for name in PARAMETERS[kind]}
    if "feature_range" in parameters:
        parameters["feature_range"] = [float(bound) for bound in parameters["feature_range"]]
    n_rows = int(np.max(scaler.n_samples_seen_))
    header = {"kind": kind, "parameters": parameters, "n_rows": n_rows}
    return header, {name: getattr(scaler, f"{name}_") for name in LEARNT[kind]}


def expected(
    header: Any, prefix: str, entries: Mapping[str, Entry], n_features: int
) -> dict[str, Described]:
    """Check the header of a step; return the dtype and shape that its arrays must have."""
    _unfitted(header)
    result: dict[str, Described] = {}
    for name in LEARNT[header["kind"]]:
        entry = entries.get(prefix + name)
        single = entry is not None and entry.dtype == np.float32
        result[prefix + name] = ("float32" if single else "float64", (n_features,))
    return result


def restore(header: dict[str, Any], prefix: str, arrays: Mapping[str, Array]) -> Scaling:
    """Return the step of a header and arrays whose shapes have been checked."""
    scaler = _unfitted(header)
    for name in LEARNT[header["kind"]]:
        setattr(scaler, f"{name}_", arrays[prefix + name])
    scaler.n_features_in_ = len(scaler.scale_)
    scaler.n_samples_seen_ = np.int64(header["n_rows"])
    if not (scaler.scale_ > 0).all():
        raise ValueError("a feature of its scaling has a scale that is not positive.")
    scaling = Scaling.of(scaler)
    if not (np.isfinite(scaling.offset).all() and np.isfinite(scaling.factor).all()):
        raise ValueError("a feature of its scaling has a scale out of range.")
    return scaling


def _unfitted(header: Any) -> Any:
    """Check the header of a step; return its transformer without what it has learnt."""
    kind = take(header, "kind", str)
    if kind not in CLASSES:
        raise ValueError(
            f"its preparation has a {kind[:100]!r}, which this pocketsvm does not know."
        )
    if not 1 <= take(header, "n_rows", int) < MAX_ROWS:
        raise ValueError("the number of rows of its scaling is out of range.")
    parameters = take(header, "parameters", dict)
    if parameters.keys() != set(PARAMETERS[kind]):
        raise ValueError(f"the parameters of its {kind} are {str(sorted(parameters))[:100]}.")
    if "feature_range" in parameters:
        return MinMaxScaler(feature_range=_pair(take(parameters, "feature_range", list)))
    for name in parameters:
        take(parameters, name, bool)
    return StandardScaler(**parameters)


def _pair(values: list[Any]) -> tuple[float, float]:
    if len(values) != 2 or not all(type(value) in (int, float) for value in values):
        raise ValueError("the range of its scaling is not a pair of numbers.")
    low, high = (take({"range": value}, "range", float) for value in values)
    if not low < high:
        raise ValueError("the range of its scaling is empty.")
    return low, high
