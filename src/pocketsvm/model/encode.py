"""Encoding: a model as the sections of a file."""

import math
from collections.abc import Mapping
from dataclasses import fields
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..profile import Profile
from ..training.state import VectorSet
from .container import DTYPES, Array
from .integers_file import describe as describe_integers
from .model import TASKS, Model, Training
from .reservoir import describe
from .sections import Section
from .strings import pack_strings


def encode(model: Model, extra: Mapping[str, Any]) -> dict[str, Section]:
    """Return the sections of a model, and of what is kept with it.

    Raises ValueError if a file cannot keep a part of it.
    """
    if model.training is None:
        raise ValueError("it does not hold the state of its training.")
    sections = {
        "decision": Section(
            {"gamma": float(model.gamma)},
            {
                "vectors": np.asarray(model.vectors),
                "dual_coef": np.asarray(model.dual_coef, dtype=np.float64),
                "intercept": np.asarray(model.intercept, dtype=np.float64),
            },
        ),
        "training": _training(model.training, model.vectors),
    }
    if _names_its_task(model):
        sections["task"] = Section(_task(model))
    if model.classes is not None:
        sections["classes"] = labels_section(model.classes)
    if model.feature_names is not None:
        names = pack_strings("feature_names", model.feature_names.tolist())
        sections["feature_names"] = Section(arrays=names)
    if model.preparation is not None:
        sections["preparation"] = Section(*model.preparation.describe())
    if model.feature_scales is not None:
        scales = np.asarray(model.feature_scales, dtype=np.float64)
        sections["feature_scales"] = Section(arrays={"values": scales})
    if model.integers is not None:
        sections["integers"] = Section(*describe_integers(model.integers))
    reservoir = model.training.reservoir
    if reservoir is not None and reservoir.rows is not None:
        sections["reservoir"] = describe(reservoir, reservoir.rows, model.classes)
    return sections | extra_section(extra)


def extra_section(extra: Mapping[str, Any]) -> dict[str, Section]:
    """Return the section of what is kept with a model, if there is anything."""
    if not extra:
        return {}
    arrays = {name: value for name, value in extra.items() if isinstance(value, np.ndarray)}
    values = {name: value for name, value in extra.items() if name not in arrays}
    return {"extra": Section({"values": values}, arrays)}


def _names_its_task(model: Model) -> bool:
    """Tell whether a reader of files without tasks would predict something else."""
    default = "regression" if model.classes is None else "classification"
    return (model.task, model.loss) != (default, TASKS[default][0])


def _task(model: Model) -> dict[str, Any]:
    values: dict[str, Any] = {"name": model.task, "loss": model.loss}
    if model.quantile is not None:
        values["quantile"] = np.asarray(model.quantile).tolist()
    return values


def _training(training: Training, vectors: Array) -> Section:
    if not training.estimator:
        raise ValueError("it does not name its estimator; take the model from `to_model()`.")
    state = training.vectors
    parameters = dict(training.parameters)
    if not isinstance(parameters.get("random_state"), Integral):
        parameters["random_state"] = None
    n_state = sum(len(problem.coefficients) for problem in state.states)
    values = {
        "estimator": training.estimator,
        "parameters": {name: _plain(name, value) for name, value in parameters.items()},
        # The parameter may have been lowered since, for the next fit.
        "budget": max(int(parameters["budget"]), len(vectors), n_state),
        "alpha": float(training.alpha),
        "unit_alpha": float(state.unit_alpha),
        "offset": _offset(state),
        "n_iter": int(state.n_passes),
        "profile": _profile(training.profile),
    }
    return Section(values, _state(state, vectors))


def _offset(state: VectorSet) -> float | list[float]:
    """Return a number, which all outputs have, or one for each of several."""
    offsets = np.ravel(state.offset)
    return float(offsets[0]) if len(offsets) == 1 else [float(offset) for offset in offsets]


def _state(state: VectorSet, support_vectors: Array) -> dict[str, Array]:
    states = state.states
    arrays = {
        "sizes": np.array([len(one.coefficients) for one in states], dtype=np.int64),
        "coefficients": np.concatenate([one.coefficients for one in states], dtype=np.float64),
        "births": np.concatenate([one.births for one in states], dtype=np.int64),
        "bias": np.array([one.bias for one in states], dtype=np.float64),
        "steps": np.array([one.steps for one in states], dtype=np.int64),
        "generator": np.array([one.generator for one in states], dtype=np.uint64),
    }
    weights = np.array([one.weight for one in states], dtype=np.float64)
    if not np.array_equal(weights, arrays["steps"]):
        arrays["weight"] = weights
    if not np.array_equal(state.vectors, support_vectors):
        arrays["vectors"] = state.vectors
    return arrays


def _profile(profile: Profile) -> dict[str, Any]:
    """Return the words, and the numbers that are finite; others must not prevent saving a model."""
    # A field may hold a NumPy number, which JSON does not know.
    kinds: dict[str, type[Any]] = {f.name: type(f.default) for f in fields(profile)}
    values = {name: kind(getattr(profile, name)) for name, kind in kinds.items()}
    is_kept = {name: kinds[name] is str or math.isfinite(value) for name, value in values.items()}
    return {name: value for name, value in values.items() if is_kept[name]}


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as JSON; a dict, whose keys are labels, becomes a list of pairs."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {"pairs": [[_plain(name, k), _plain(name, v)] for k, v in value.items()]}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, list | tuple):
        # A reader expects floats.
        return [_plain(name, float(each) if isinstance(each, Real) else each) for each in value]
    raise ValueError(f"a file cannot keep {name}={value!r}.")


def labels_section(labels: Array) -> Section:
    """Return the section of labels."""
    if labels.dtype.name in DTYPES:
        return Section({"kind": "number"}, {"numbers": labels})
    if labels.dtype.kind == "U":
        width = labels.dtype.itemsize // np.dtype("U1").itemsize
        return Section({"kind": "str", "width": width}, pack_strings("classes", labels.tolist()))
    if labels.dtype.kind == "O":
        return Section({"kind": "object"}, pack_strings("classes", labels.tolist()))
    raise ValueError(f"its classes are of dtype {labels.dtype}; numbers and strings can be kept.")
