"""Decoding: the sections and arrays of a file, checked before, as a model."""

import math
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from ..profile import Profile
from ..training.state import PassState, VectorSet
from .check import MAX_STEPS, task_of
from .container import Array, take
from .integers_file import restore as restore_integers
from .model import Model, Training
from .preparation import Preparation
from .reservoir import restore
from .sections import Sections
from .strings import object_array, unpack_strings


def decode(sections: Sections, arrays: Mapping[str, Array]) -> tuple[Model, dict[str, Any]]:
    """Return the model, and what is kept with it.

    Shapes and numbers must have been checked (`check`); labels and parameters are checked here.
    """
    names = sections.get("feature_names")
    task = task_of(sections)
    classes = decode_labels(sections["classes"], arrays) if "classes" in sections else None
    model = Model(
        vectors=arrays["decision.vectors"],
        dual_coef=arrays["decision.dual_coef"],
        intercept=arrays["decision.intercept"],
        gamma=float(sections["decision"]["gamma"]),
        classes=classes,
        feature_names=None
        if names is None
        else object_array(unpack_strings("feature_names", "feature_names.", arrays)),
        preparation=_preparation(sections, arrays),
        training=_training(sections, arrays, classes),
        feature_scales=arrays.get("feature_scales.values"),
        integers=restore_integers(sections, arrays),
        task=task["name"],
        loss=task["loss"],
        quantile=_quantile(task.get("quantile")),
    )
    return model, extra_of(sections, arrays)


def _quantile(found: Any) -> float | tuple[float, ...] | None:
    return tuple(found) if isinstance(found, list) else found


def _training(sections: Sections, arrays: Mapping[str, Array], classes: Array | None) -> Training:
    values = sections["training"]
    profile = _profile(values["profile"])
    vectors = VectorSet(
        states=_states(arrays),
        gamma=float(sections["decision"]["gamma"]),
        unit_alpha=float(values["unit_alpha"]),
        offset=_offset(values["offset"]),
        n_passes=values["n_iter"],
        profile=profile,
    )
    parameters = {name: _parameter(value) for name, value in values["parameters"].items()}
    reservoir = None
    if "reservoir" in sections:
        n_features = arrays["decision.vectors"].shape[1]
        reservoir = restore(sections["reservoir"], arrays, classes, n_features)
    alpha = float(values["alpha"])
    return Training(vectors, alpha, profile, values["estimator"], parameters, reservoir)


def _offset(found: float | list[float]) -> float | Array:
    return np.array(found) if isinstance(found, list) else float(found)


def _preparation(sections: Sections, arrays: Mapping[str, Array]) -> Preparation | None:
    if not sections.get("preparation", {"steps": []})["steps"]:
        return None
    n_features = arrays["decision.vectors"].shape[1]
    return Preparation.restore(sections["preparation"], "preparation.", arrays, n_features)


def _states(arrays: Mapping[str, Array]) -> tuple[PassState, ...]:
    vectors = arrays.get("training.vectors", arrays["decision.vectors"])
    weights = arrays.get("training.weight", arrays["training.steps"])
    ends = np.cumsum(arrays["training.sizes"]).tolist()
    return tuple(
        PassState(
            vectors=vectors[begin:end].copy(),
            coefficients=arrays["training.coefficients"][begin:end].copy(),
            births=arrays["training.births"][begin:end].copy(),
            bias=float(arrays["training.bias"][k]),
            steps=int(arrays["training.steps"][k]),
            weight=float(weights[k]),
            generator=arrays["training.generator"][k].copy(),
        )
        for k, (begin, end) in enumerate(pairwise([0, *ends]))
    )


def _profile(found: dict[str, Any]) -> Profile:
    """Return the profile; unknown fields are ignored, missing ones take their default."""
    kinds: dict[str, type[Any]] = {f.name: type(f.default) for f in fields(Profile)}
    known = {name: take(found, name, kind) for name, kind in kinds.items() if name in found}
    for name, number in known.items():
        if isinstance(number, int) and not 0 <= number <= MAX_STEPS:
            raise ValueError(
                f"{name!r} is {str(number)[:100]} in its profile, which is out of range."
            )
    return Profile(**known)


def _parameter(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = take(value, "pairs", list)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError("a dict among its parameters is not made of pairs.")
        return {_parameter(key): _parameter(weight) for key, weight in pairs}
    if isinstance(value, list) and value and all(isinstance(each, float) for each in value):
        return value  # quantiles or feature scales; the estimator checks them
    if isinstance(value, list) or (isinstance(value, int | float) and not math.isfinite(value)):
        raise ValueError(f"{str(value)[:100]} is not a value of a parameter.")
    return value


def decode_labels(values: dict[str, Any], arrays: Mapping[str, Array]) -> Array:
    """Return the labels of a classification."""
    if values["kind"] == "number":
        return _check_sorted(arrays["classes.numbers"])
    strings = unpack_strings("classes", "classes.", arrays)
    if values["kind"] == "object":
        return _check_sorted(object_array(strings))
    if max(map(len, strings)) > values["width"]:
        raise ValueError(f"its classes are longer than {values['width']} characters.")
    return _check_sorted(np.array(strings, dtype=f"U{values['width']}"))


def _check_sorted(labels: Array) -> Array:
    bits = labels.view(np.uint8) if labels.dtype == bool else labels
    if not (bits[1:] > bits[:-1]).all() or (labels.dtype == bool and bits.max() > 1):
        raise ValueError("its classes are not sorted, or not unique.")
    return labels


def extra_of(sections: Sections, arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return what is kept with a model."""
    values: dict[str, Any] = take(sections.get("extra", {"values": {}}), "values", dict)
    kept = {name: array for name, array in arrays.items() if name.startswith("extra.")}
    return values | {name.removeprefix("extra."): array for name, array in kept.items()}
