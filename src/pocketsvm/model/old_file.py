"""Models on their own: the numbers that decide, and the file that keeps them.

`Model` is what a prediction needs, and all that an export sees. A model file holds more: whatever
training needs to go on. It is an array file (`_array_file.py`), whose header names the estimator,
its parameters and attributes. Nothing in a file is ever executed, and nothing is believed: shapes
are checked against each other before anything is allocated, values before anything uses them.
"""

import math
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, fields
from importlib.metadata import version
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .. import estimators
from .._replacing import PathLike
from ..data.checks import ALPHA_RANGE, FLOAT32_GAMMA
from ..estimators.base import BudgetedMachine
from ..profile import Profile
from . import preparation as _scalers
from .container import DTYPES, Array, Entry, read_array, read_header, take, write_arrays

__all__ = ["Model", "Scaling", "load_model", "read_model", "save_model"]

LARGEST_FILE = 2**31
# What a str costs beside its characters, of up to four bytes.
STR_SIZE, CHARACTER_SIZE = 64, np.dtype("U1").itemsize
# The state that passes continue from, beside its vectors: one entry a vector, then one a problem.
STATE_OF_VECTORS = {"coefficients": "float64", "births": "int64"}
STATE_OF_PROBLEMS = {"bias": "float64", "steps": "int64", "generator": "uint64"}
GENERATOR_WORDS = 4
MOST_STEPS = 2**62
MOST_THREADS = 2**31 - 1

# What an array must be: dtype and shape.
Described = tuple[str, tuple[int, ...]]


# --- what decides -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map of each feature, ``(x - offset) * factor``, made before the kernel.

    Attributes
    ----------
    offset, factor : ndarray of shape (n_features,)
        As `sklearn.preprocessing.StandardScaler` has them: its ``mean_`` and ``1 / scale_``.
    """

    offset: Array
    factor: Array


@dataclass(frozen=True, eq=False)
class Model:
    """The decision function of a fitted machine, and nothing else of it.

    ``f_o(x) = sum_j dual_coef[o, j] exp(-gamma |x - vectors[j]|^2) + intercept[o]``

    Attributes
    ----------
    vectors : ndarray of shape (n_sv, n_features)
        The support vectors, float32 or float64: the precision in which rows are to be given.

    dual_coef : ndarray of shape (n_outputs, n_sv)
        Their coefficients.

    intercept : ndarray of shape (n_outputs,)
        The constants.

    gamma : float
        The kernel coefficient.

    classes : ndarray of shape (n_classes,) or None
        The labels: with two, a positive value means the second; with more, the largest value wins.
        None for regression.

    feature_names : ndarray of shape (n_features,) or None
        The names of the features, where they have any.

    scaling : Scaling or None
        What is done to rows before the kernel sees them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model import Model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = Model.of(BudgetedSVC(budget=10, random_state=0).fit(X, y))
    >>> model.vectors.shape, model.dual_coef.shape, model.classes
    ((10, 2), (1, 10), array([0, 1]))
    """

    vectors: Array
    dual_coef: Array
    intercept: Array
    gamma: float
    classes: Array | None = None
    feature_names: Array | None = None
    scaling: Scaling | None = None

    @classmethod
    def of(cls, estimator: Any) -> "Model":
        """Take the decision function out of a fitted estimator; a Model comes back as it is.

        Parameters
        ----------
        estimator : BudgetedSVC, BudgetedSVR, Pipeline or Model
            The fitted estimator; a pipeline of a StandardScaler or MinMaxScaler and one is a model
            with scaling.

        Returns
        -------
        model : Model
            Its arrays, not copied.
        """
        if isinstance(estimator, cls):
            return estimator
        scaler, estimator = _scalers.split(estimator)
        if not isinstance(estimator, BudgetedMachine):
            raise TypeError(
                f"Expected a fitted estimator of pocketsvm, got {type(estimator).__name__}."
            )
        check_is_fitted(estimator)
        return cls(
            vectors=estimator.support_vectors_,
            dual_coef=estimator.dual_coef_,
            intercept=estimator.intercept_,
            gamma=float(estimator.gamma_),
            classes=getattr(estimator, "classes_", None),
            feature_names=getattr(scaler or estimator, "feature_names_in_", None),
            scaling=None if scaler is None else Scaling(*_scalers.affine(scaler)),
        )


# --- save and load ------------------------------------------------------------------------------


def save_model(estimator: Any, path: PathLike, *, extra: dict[str, Any] | None = None) -> None:
    """Write a fitted estimator to a model file.

    The file appears, or replaces the one before, in one step once it is complete: whatever goes
    wrong, there is never half a model.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The fitted estimator, of exactly a class of this package; or a pipeline of a fitted
        StandardScaler or MinMaxScaler and such a one.

    path : str or path-like
        The file. Any ending will do; ours is ``.psvm``.

    extra : dict, default=None
        More to keep with the model, for `read_model`: numeric arrays, and values of JSON.

    See Also
    --------
    load_model : The way back.

    Notes
    -----
    The file keeps all constructor parameters, the decision function, the labels and feature names,
    the profile, and the state that `partial_fit` and `warm_start` continue from, random numbers
    included. A `random_state` that is not an int or None, and callbacks, are not kept. Merged
    support vectors are no training rows: there are no indices (``support_``) to keep.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model import load_model, save_model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "moons.psvm")
    ...     save_model(clf, path)
    ...     twin = load_model(path)
    >>> bool((twin.decision_function(X) == clf.decision_function(X)).all())
    True
    """
    scaler, machine = _scalers.split(estimator)
    if _class_named(type(machine).__name__) is not type(machine):
        raise TypeError(
            f"Only the estimators of pocketsvm themselves can be saved, got {type(estimator)!r}."
        )
    for step in (scaler, machine):
        if step is not None:
            check_is_fitted(step)
    try:
        header, arrays = _describe(machine, scaler, extra or {})
        # What is written can be read: the same checks, the same words.
        entries = {name: Entry.of(array) for name, array in arrays.items()}
        _restore(header, entries, lambda name: arrays[name])
        # Readers of version 1 know no scaling.
        write_arrays(path, header, arrays, file_version=1 if scaler is None else 2)
    except ValueError as error:
        raise ValueError(f"This {type(estimator).__name__} cannot be saved: {error}") from error


def load_model(path: PathLike, *, max_bytes: int = LARGEST_FILE) -> Any:
    """Read a fitted estimator from a model file.

    Parameters
    ----------
    path : str or path-like
        The file, written by the estimator's `save`.

    max_bytes : int, default=2**31
        The most bytes that the file, and the model in memory, may have.

    Returns
    -------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator as it was saved: same parameters, same bits in its decisions, and further
        passes continue from it as they would have from the original. A model with scaling comes as
        a pipeline of the steps "scale" and "svm".

    Raises
    ------
    FileNotFoundError
        Where there is no such file.

    ValueError
        Where the file is not a model file, is damaged, is of a newer version, or does not describe
        a model. It names the file and what is wrong with it. Nothing in the file is executed: it
        may come from anyone.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm.estimators import BudgetedSVC
    >>> from pocketsvm.model import load_model, save_model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "moons.psvm")
    ...     save_model(BudgetedSVC(budget=10, random_state=0).fit(X[:200], y[:200]), path)
    ...     clf = load_model(path)
    >>> clf
    BudgetedSVC(budget=10, random_state=0)
    >>> clf.partial_fit(X[200:], y[200:]).score(X, y) > 0.8
    True
    """
    return read_model(path, max_bytes=max_bytes)[0]


def read_model(path: PathLike, *, max_bytes: int = LARGEST_FILE) -> tuple[Any, dict[str, Any]]:
    """Read a model file with what was kept beside the model.

    Parameters
    ----------
    path : str or path-like
        The file.

    max_bytes : int, default=2**31
        The most bytes that the file, and the model in memory, may have.

    Returns
    -------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator as it was saved.

    extra : dict
        The `extra` of `save_model`.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would block, a device never end
        raise ValueError(f"{os.fspath(path)} cannot be loaded: it is not a regular file.")
    with open(path, "rb") as file:
        length = os.fstat(file.fileno()).st_size
        try:
            header, entries, start = read_header(file, length, max_bytes)
            return _restore(
                header,
                entries,
                lambda name: read_array(file, start, entries[name]),
                max_bytes - length,
            )
        # All checks raise ValueError. The others are what Python says to a header nested too deep,
        # or to an integer too large for a float.
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)} cannot be loaded: {error}") from error


def _restore(
    header: dict[str, Any],
    entries: dict[str, Entry],
    read: Callable[[str], Array],
    free_bytes: float = math.inf,
) -> tuple[Any, dict[str, Any]]:
    """Check everything, sizes first, and only then read; return the estimator and the extra."""
    estimator = _estimator_of(header)
    beside = _check_shapes(estimator, header, entries)
    if beside > free_bytes:
        raise ValueError(
            f"with its names and its state it takes {beside:,} bytes more in memory, "
            f"{beside - free_bytes:,} more than max_bytes allows."
        )
    arrays = {name: read(name) for name in entries}
    _check_values(arrays)
    estimator.__dict__.update(_attributes(header, arrays))
    estimator = _scalers.join(_scaler(header, arrays), estimator)
    if "feature_names.ends" in arrays:
        names = np.array(_strings("feature_names", arrays), dtype=object)
        getattr(estimator, "steps", [("", estimator)])[0][1].feature_names_in_ = names
    kept = {name: array for name, array in arrays.items() if name.startswith("extra.")}
    return estimator, header["extra"] | {name[6:]: array for name, array in kept.items()}


# --- an estimator as header and arrays ----------------------------------------------------------


def _class_named(name: str) -> Any:
    cls = getattr(estimators, name, None) if name in estimators.__all__ else None
    is_machine = isinstance(cls, type) and issubclass(cls, BudgetedMachine)
    return cls if is_machine else None


def _describe(
    estimator: Any, scaler: Any, extra: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Array]]:
    model, states = Model.of(_scalers.join(scaler, estimator)), estimator._states
    arrays = {
        "support_vectors": np.asarray(model.vectors),
        "dual_coef": np.asarray(model.dual_coef, dtype=np.float64),
        "intercept": np.asarray(model.intercept, dtype=np.float64),
        **_describe_states(states, model.vectors),
    }
    kind = None
    if model.classes is not None:
        kind, labels = _describe_labels(model.classes)
        arrays |= labels
    if model.feature_names is not None:
        arrays |= _describe_strings("feature_names", model.feature_names.tolist())
    scaling = None
    if scaler is not None:
        scaling, learnt = _scalers.describe(scaler)
        arrays |= learnt
    arrays |= {f"extra.{name}": a for name, a in extra.items() if isinstance(a, np.ndarray)}
    n_state = len(arrays["state.coefficients"])
    header = {
        "written_by": f"pocketsvm {version('pocketsvm')}",
        "estimator": type(estimator).__name__,
        "parameters": _describe_parameters(estimator),
        # The parameter may have been lowered since, for the next fit.
        "budget": max(int(estimator.budget), len(model.vectors), n_state),
        "gamma": model.gamma,
        "alpha": float(estimator.alpha_),
        "unit_alpha": float(estimator._unit_alpha),
        "n_iter": int(estimator.n_iter_),
        "classes": kind,
        "profile": _describe_profile(estimator.profile_),
        "extra": {name: v for name, v in extra.items() if not isinstance(v, np.ndarray)},
    }
    if model.classes is None:
        header["offset"] = float(estimator._offset)
    if scaling is not None:
        header["scaling"] = scaling
    return header, arrays


def _describe_states(states: list[dict[str, Any]], support_vectors: Array) -> dict[str, Array]:
    known = {"vectors", *STATE_OF_VECTORS, *STATE_OF_PROBLEMS}
    for state in states:
        if state.keys() != known:
            raise ValueError(f"its state has the entries {sorted(state)}, not {sorted(known)}.")
    sizes = [len(state["coefficients"]) for state in states]
    arrays = {"state.sizes": np.array(sizes, dtype=np.int64)}
    vectors = np.concatenate([state["vectors"] for state in states])
    if not np.array_equal(vectors, support_vectors):
        arrays["state.vectors"] = vectors
    for name, dtype in STATE_OF_VECTORS.items():
        arrays[f"state.{name}"] = np.concatenate([state[name] for state in states], dtype=dtype)
    for name, dtype in STATE_OF_PROBLEMS.items():
        arrays[f"state.{name}"] = np.array([state[name] for state in states], dtype=dtype)
    return arrays


def _describe_parameters(estimator: Any) -> dict[str, Any]:
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["random_state"], Integral):
        parameters["random_state"] = None
    return {name: _plain(name, value) for name, value in parameters.items()}


def _describe_profile(profile: Profile) -> dict[str, Any]:
    """Return its fields as JSON; one that is not finite is no reason not to keep the model."""
    values = {f.name: type(f.default)(getattr(profile, f.name)) for f in fields(profile)}
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _plain(name: str, value: Any) -> Any:
    """Turn a parameter into JSON; a dict, whose keys are labels, becomes a list of pairs."""
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
    raise ValueError(f"a file cannot keep {name}={value!r}.")


def _describe_labels(labels: Array) -> tuple[dict[str, Any], dict[str, Array]]:
    if labels.dtype.name in DTYPES:
        return {"kind": "number"}, {"classes": labels}
    if labels.dtype.kind == "U":
        kind = {"kind": "str", "width": labels.dtype.itemsize // CHARACTER_SIZE}
        return kind, _describe_strings("classes", labels.tolist())
    if labels.dtype.kind == "O":
        return {"kind": "object"}, _describe_strings("classes", labels.tolist())
    raise ValueError(f"its classes are of dtype {labels.dtype}; numbers and strings can be kept.")


def _describe_strings(name: str, strings: list[Any]) -> dict[str, Array]:
    for string in strings:
        if not isinstance(string, str):
            raise ValueError(f"{string!r} among its {name} is not a string.")
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    return {
        f"{name}.ends": np.cumsum([len(string) for string in encoded], dtype=np.int64),
        f"{name}.bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
    }


# --- checks before anything is read -------------------------------------------------------------


def _estimator_of(header: dict[str, Any]) -> Any:
    """Make a new estimator of the parameters in the header, which are checked as in a fit."""
    name = take(header, "estimator", str)
    cls = _class_named(name)
    if cls is None:
        raise ValueError(f"it holds a {name[:100]!r}, which this pocketsvm does not know.")
    parameters = take(header, "parameters", dict)
    for unknown in parameters.keys() - set(cls._get_param_names()):
        raise ValueError(f"its parameter {unknown[:100]!r} is not known to this pocketsvm.")
    estimator = cls(**{key: _parameter(value) for key, value in parameters.items()})
    estimator._validate_params()
    if not abs(estimator.n_jobs or 0) <= MOST_THREADS:
        raise ValueError(f"its n_jobs={str(estimator.n_jobs)[:100]} is out of range.")
    return estimator


def _parameter(value: Any) -> Any:
    if isinstance(value, dict):
        pairs = take(value, "pairs", list)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError("a dict among its parameters is not made of pairs.")
        return {_parameter(key): _parameter(weight) for key, weight in pairs}
    if isinstance(value, list) or (isinstance(value, int | float) and not math.isfinite(value)):
        raise ValueError(f"{str(value)[:100]} is no value of a parameter.")
    return value


def _check_shapes(estimator: Any, header: dict[str, Any], entries: dict[str, Entry]) -> int:
    """Check header and entries; return the bytes that the model takes beside the arrays."""
    _check_numbers(header)
    n_vectors, n_features = _shape(entries, "support_vectors", 2)
    (n_state,) = _shape(entries, "state.coefficients", 1)
    budget = take(header, "budget", int)
    # A regression whose targets lie close together has no vectors.
    if not (n_vectors <= budget and n_state <= budget and n_features >= 1):
        raise ValueError(
            f"it claims {n_vectors} support vectors of {n_features} features, and {n_state} in "
            f"training, with a budget of {str(budget)[:100]}."
        )
    labels, n_classes, label_bytes = _check_labels(header, entries)
    names, n_names, name_bytes = _check_strings("feature_names", entries)
    if names and n_names != n_features:
        raise ValueError(f"it has {n_names} feature names for {n_features} features.")
    n_outputs = n_classes if n_classes > 2 else 1
    dtype = _check_precision(entries["support_vectors"].dtype, header["gamma"])
    expected = {
        "support_vectors": (dtype.name, (n_vectors, n_features)),
        "dual_coef": ("float64", (n_outputs, n_vectors)),
        "intercept": ("float64", (n_outputs,)),
        "state.sizes": ("int64", (n_outputs,)),
        **{f"state.{name}": (kind, (n_state,)) for name, kind in STATE_OF_VECTORS.items()},
        **{f"state.{name}": (kind, (n_outputs,)) for name, kind in STATE_OF_PROBLEMS.items()},
        "state.generator": ("uint64", (n_outputs, GENERATOR_WORDS)),
        **labels,
        **names,
    }
    if "scaling" in header:
        expected |= _scalers.expected(header["scaling"], entries, n_features)
    if "state.vectors" in entries or n_state != n_vectors:
        expected["state.vectors"] = (dtype.name, (n_state, n_features))
    _compare(expected, entries)
    if is_classifier(estimator) != (n_classes > 0):
        raise ValueError(f"it is a {type(estimator).__name__} with {n_classes} classes.")
    return label_bytes + name_bytes + n_state * n_features * dtype.itemsize


def _compare(expected: dict[str, Described], entries: dict[str, Entry]) -> None:
    found = {n: (e.dtype.name, e.shape) for n, e in entries.items() if not n.startswith("extra.")}
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            raise ValueError(
                f"its array {name[:100]!r} is {_say(found.get(name))}, "
                f"where {_say(expected.get(name))} is due."
            )


def _say(described: Described | None) -> str:
    return "none" if described is None else f"{described[0]} of shape {described[1]}"


def _shape(entries: dict[str, Entry], name: str, n_dimensions: int) -> tuple[int, ...]:
    if name not in entries or len(entries[name].shape) != n_dimensions:
        raise ValueError(f"it lacks the array {name!r}, or that is not {n_dimensions}-D.")
    return entries[name].shape


def _check_numbers(header: dict[str, Any]) -> None:
    for name in ("gamma", "alpha"):
        if not take(header, name, float) > 0:
            raise ValueError(f"its {name} is not positive.")
    if not ALPHA_RANGE[0] <= take(header, "unit_alpha", float) <= ALPHA_RANGE[1]:
        raise ValueError("its unit_alpha is out of range.")
    if take(header, "n_iter", int) < 0:
        raise ValueError("its n_iter is negative.")
    take(header, "extra", dict)
    _profile(header)


def _check_precision(dtype: np.dtype, gamma: float) -> np.dtype:
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"its support vectors are of dtype {dtype}.")
    if dtype == np.float32 and not FLOAT32_GAMMA[0] <= gamma <= FLOAT32_GAMMA[1]:
        raise ValueError(f"its gamma={gamma} is out of range.")
    return dtype


def _check_labels(
    header: dict[str, Any], entries: dict[str, Entry]
) -> tuple[dict[str, Described], int, int]:
    """Return the arrays that the labels need, the number of labels, and the bytes they take."""
    if header.get("classes") is None:
        return {}, 0, 0
    kind = take(header["classes"], "kind", str)
    if kind == "number":
        n_labels, n_bytes = *_shape(entries, "classes", 1), 0
        expected: dict[str, Described] = {"classes": (entries["classes"].dtype.name, (n_labels,))}
    elif kind in ("str", "object"):
        expected, n_labels, n_bytes = _check_strings("classes", entries)
    else:
        raise ValueError(f"its classes are of the unknown kind {kind[:100]!r}.")
    if kind == "str":
        n_bytes += n_labels * CHARACTER_SIZE * max(0, take(header["classes"], "width", int))
    if n_labels < 2:
        raise ValueError(f"it has {n_labels} classes.")
    return expected, n_labels, n_bytes


def _check_strings(name: str, entries: dict[str, Entry]) -> tuple[dict[str, Described], int, int]:
    """Return the arrays that strings need, if there are any, their number, and the bytes."""
    if f"{name}.ends" not in entries:
        return {}, 0, 0
    (n_strings,) = _shape(entries, f"{name}.ends", 1)
    (n_bytes,) = _shape(entries, f"{name}.bytes", 1)
    expected: dict[str, Described] = {
        f"{name}.ends": ("int64", (n_strings,)),
        f"{name}.bytes": ("uint8", (n_bytes,)),
    }
    return expected, n_strings, n_strings * STR_SIZE + n_bytes * CHARACTER_SIZE


# --- checks before anything is used -------------------------------------------------------------


def _check_values(arrays: dict[str, Array]) -> None:
    for name, array in arrays.items():
        # min and max pass a NaN on and need no memory.
        is_real = array.dtype.kind == "f" and array.size
        if is_real and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise ValueError(f"its array {name[:100]!r} holds a number that is not finite.")
    for name in ("support_vectors", "state.vectors"):
        if name in arrays:
            _check_norms(name, arrays[name])
    _check_sums(arrays)
    _check_state(arrays)


def _check_norms(name: str, vectors: Array) -> None:
    with np.errstate(over="ignore"):
        if not np.isfinite(np.einsum("ij,ij->i", vectors, vectors)).all():
            raise ValueError(f"its array {name!r} holds a vector whose squared norm overflows.")


def _check_sums(arrays: dict[str, Array]) -> None:
    """Decision values are summed up in the precision of the vectors."""
    with np.errstate(over="ignore"):
        largest = np.abs(arrays["dual_coef"]).sum(axis=1) + np.abs(arrays["intercept"])
    if not (largest < np.finfo(arrays["support_vectors"].dtype).max).all():
        raise ValueError("its coefficients are so large that decision values overflow.")


def _check_state(arrays: dict[str, Array]) -> None:
    sizes, steps = arrays["state.sizes"], arrays["state.steps"]
    births, coefficients = arrays["state.births"], arrays["state.coefficients"]
    n_state = len(coefficients)
    if not ((sizes >= 0) & (sizes <= n_state)).all() or sum(sizes.tolist()) != n_state:
        raise ValueError(f"its numbers of vectors a problem do not sum up to {n_state}.")
    if not ((steps >= 1) & (steps <= MOST_STEPS)).all():
        raise ValueError("its numbers of steps are out of range.")
    if not ((births >= 0) & (births <= np.repeat(steps, sizes))).all():
        raise ValueError("its vectors were not found in the steps that were made.")
    if not coefficients.all():
        raise ValueError("a coefficient of its state is zero.")
    # From all zeros, the generator would never leave them, and a shuffle never end.
    if not arrays["state.generator"].any(axis=1).all():
        raise ValueError("the state of its random numbers is all zeros.")


def _check_sorted(labels: Array) -> Array:
    bits = labels.view(np.uint8) if labels.dtype == bool else labels
    if not (bits[1:] > bits[:-1]).all() or (labels.dtype == bool and bits.max() > 1):
        raise ValueError("its classes are not sorted, or not unique.")
    return labels


# --- the way back -------------------------------------------------------------------------------


def _attributes(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Return what fit had set."""
    attributes = {
        "support_vectors_": arrays["support_vectors"],
        "dual_coef_": arrays["dual_coef"],
        "intercept_": arrays["intercept"],
        "gamma_": float(header["gamma"]),
        "alpha_": float(header["alpha"]),
        "n_iter_": header["n_iter"],
        "n_features_in_": arrays["support_vectors"].shape[1],
        "profile_": _profile(header),
        "_states": _states(arrays),
        "_unit_alpha": float(header["unit_alpha"]),
    }
    if header.get("classes") is None:
        attributes["_offset"] = take(header, "offset", float)
    else:
        attributes["classes_"] = _check_sorted(_labels(header["classes"], arrays))
    return attributes


def _scaler(header: dict[str, Any], arrays: dict[str, Array]) -> Any:
    return _scalers.restore(header["scaling"], arrays) if "scaling" in header else None


def _profile(header: dict[str, Any]) -> Profile:
    """Restore the profile; fields not known here are left out, missing ones take their default."""
    found = take(header, "profile", dict)
    known = [field for field in fields(Profile) if field.name in found]
    return Profile(**{f.name: take(found, f.name, type(f.default)) for f in known})


def _states(arrays: dict[str, Array]) -> list[dict[str, Any]]:
    vectors = arrays.get("state.vectors", arrays["support_vectors"])
    ends = np.cumsum(arrays["state.sizes"]).tolist()
    return [
        {
            "vectors": vectors[begin:end].copy(),
            **{name: arrays[f"state.{name}"][begin:end].copy() for name in STATE_OF_VECTORS},
            "bias": float(arrays["state.bias"][k]),
            "steps": int(arrays["state.steps"][k]),
            "generator": arrays["state.generator"][k].copy(),
        }
        for k, (begin, end) in enumerate(pairwise([0, *ends]))
    ]


def _labels(kind: dict[str, Any], arrays: dict[str, Array]) -> Array:
    if kind["kind"] == "number":
        return arrays["classes"]
    strings = _strings("classes", arrays)
    if kind["kind"] == "object":
        return np.array(strings, dtype=object)
    if max(map(len, strings)) > kind["width"]:
        raise ValueError(f"its classes are longer than {kind['width']} characters.")
    return np.array(strings, dtype=f"U{kind['width']}")


def _strings(name: str, arrays: dict[str, Array]) -> list[str]:
    text = arrays[f"{name}.bytes"].tobytes()
    bounds = [0, *arrays[f"{name}.ends"].tolist()]
    if bounds[-1] != len(text) or any(begin > end for begin, end in pairwise(bounds)):
        raise ValueError(f"its {name} do not fit the bytes that spell them.")
    return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
