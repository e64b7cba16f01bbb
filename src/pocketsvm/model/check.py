"""Checks: sections and arrays of a file that may come from anyone.

`check_shapes` runs before any array is read, `check_values` before any value is used. What they let
through, `decode` can turn into a model that predicts finite numbers and can be trained further.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from ..rows.precision import FLOAT32_GAMMA
from ..training.regularisation import ALPHA_RANGE
from .container import Array, Described, Entry, take
from .integers_file import check_values as check_integers
from .integers_file import expected as expected_of_integers
from .model import TASKS
from .preparation import expected as expected_of_steps
from .reservoir import expected as expected_of_rows
from .sections import Sections
from .strings import CHARACTER_SIZE, expected_strings, shape_of

# The state that passes continue from, besides its vectors: one entry per vector, one per problem.
STATE_OF_VECTORS = {"coefficients": "float64", "births": "int64"}
STATE_OF_PROBLEMS = {"sizes": "int64", "bias": "float64", "steps": "int64"}
GENERATOR_WORDS = 4
# The largest count in a file: further passes add to the number of steps, which is an int64.
MAX_STEPS = 2**62
# The largest target (`tasks/regression.py`): with a larger offset, further passes would overflow.
LARGEST_OFFSET = 1e30
# The largest relative rounding error of the weight of all rows.
WEIGHT_ERROR = 1e-6


# --- before anything is read --------------------------------------------------------------------


def check_shapes(sections: Sections, entries: Mapping[str, Entry]) -> int:
    """Check sections and shapes; return the bytes that the model takes besides the arrays."""
    decision, training = take(sections, "decision", dict), take(sections, "training", dict)
    gamma = _positive(decision, "gamma")
    _check_training(training)
    n_vectors, n_features = shape_of(entries, "decision.vectors", 2)
    (n_state,) = shape_of(entries, "training.coefficients", 1)
    budget = training["budget"]
    # A regression whose targets lie close together has no vectors.
    if not (n_vectors <= budget and n_state <= budget and n_features >= 1):
        raise ValueError(
            f"it claims {n_vectors} support vectors of {n_features} features, and {n_state} in "
            f"training, with a budget of {str(budget)[:100]}."
        )
    labels, n_classes, label_bytes = check_labels(sections, entries)
    _check_task(task_of(sections), n_classes)
    steps, n_inputs, step_bytes = _check_preparation(sections, entries, n_features)
    names, name_bytes = _check_names(sections, entries, n_inputs)
    n_outputs = n_classes if n_classes > 2 else 1
    if task_of(sections)["name"] == "regression":
        n_outputs = _check_outputs(task_of(sections), training, entries)
    else:
        take(training, "offset", float)
    reservoir, reservoir_bytes = _check_reservoir(sections, entries, n_features, n_outputs)
    dtype = _check_precision(entries["decision.vectors"].dtype, gamma)
    expected = {
        "decision.vectors": (dtype.name, (n_vectors, n_features)),
        "decision.dual_coef": ("float64", (n_outputs, n_vectors)),
        "decision.intercept": ("float64", (n_outputs,)),
        **{f"training.{name}": (kind, (n_state,)) for name, kind in STATE_OF_VECTORS.items()},
        **{f"training.{name}": (kind, (n_outputs,)) for name, kind in STATE_OF_PROBLEMS.items()},
        "training.generator": ("uint64", (n_outputs, GENERATOR_WORDS)),
        **labels,
        **names,
        **steps,
        **reservoir,
    }
    if "feature_scales" in sections:
        expected["feature_scales.values"] = ("float64", (n_features,))
    if "training.weight" in entries:  # otherwise, all rows count the same
        expected["training.weight"] = ("float64", (n_outputs,))
    if "training.vectors" in entries or n_state != n_vectors:
        expected["training.vectors"] = (dtype.name, (n_state, n_features))
    expected |= expected_of_integers(sections, entries)
    compare(expected, entries)
    state_bytes = n_state * n_features * dtype.itemsize
    return label_bytes + name_bytes + step_bytes + state_bytes + reservoir_bytes


def _positive(section: dict[str, Any], name: str) -> float:
    value: float = take(section, name, float)
    if not value > 0:
        raise ValueError(f"its {name} is not positive.")
    return value


def _check_training(training: dict[str, Any]) -> None:
    take(training, "estimator", str)
    take(training, "parameters", dict)
    take(training, "budget", int)
    take(training, "profile", dict)
    _positive(training, "alpha")
    if not ALPHA_RANGE[0] <= take(training, "unit_alpha", float) <= ALPHA_RANGE[1]:
        raise ValueError("its unit_alpha is out of range.")
    if take(training, "n_iter", int) < 0:
        raise ValueError("its n_iter is negative.")


def task_of(sections: Sections) -> dict[str, Any]:
    """Return the section "task", or what it would be in a file that does not have it."""
    name = "classification" if "classes" in sections else "regression"
    return sections.get("task", {"name": name, "loss": TASKS[name][0]})


def _check_task(task: dict[str, Any], n_classes: int) -> None:
    name, loss = take(task, "name", str), take(task, "loss", str)
    if loss not in TASKS.get(name, ()):
        raise ValueError(
            f"it is for {name[:100]!r} with the loss {loss[:100]!r}, which this pocketsvm does not "
            "know. A newer pocketsvm may read it."
        )
    if (name == "classification") != (n_classes > 0):
        raise ValueError(f"it is for {name} and has {n_classes} classes.")
    if (loss == "quantile") != ("quantile" in task):
        raise ValueError(f"its loss {loss!r} does not go with its quantiles.")
    if loss == "quantile":
        check_quantiles(task["quantile"])


def _check_outputs(
    task: dict[str, Any], training: dict[str, Any], entries: Mapping[str, Entry]
) -> int:
    """Return the number of outputs of a regression: one for each target or quantile."""
    (n_outputs,) = shape_of(entries, "decision.intercept", 1)
    quantile = task.get("quantile")
    if n_outputs < 1 or (isinstance(quantile, list) and len(quantile) != n_outputs):
        raise ValueError(f"it has {n_outputs} outputs for the quantiles {str(quantile)[:100]}.")
    offset = training.get("offset")
    if not isinstance(offset, list):
        offset = [take(training, "offset", float)] * n_outputs
    if len(offset) != n_outputs or not all(_is_offset(each) for each in offset):
        raise ValueError(
            f"its offset {str(offset)[:100]} is not {n_outputs} numbers up to {LARGEST_OFFSET:g}."
        )
    return n_outputs


def _is_offset(value: Any) -> bool:
    return isinstance(value, float) and abs(value) <= LARGEST_OFFSET


def check_quantiles(quantile: Any) -> None:
    """Refuse what is not a number in (0, 1) or an increasing list of them."""
    found = quantile if isinstance(quantile, list | tuple) else [quantile]
    if not all(isinstance(q, float) and 0 < q < 1 for q in found):
        raise ValueError(f"its quantiles {str(quantile)[:100]} do not lie between 0 and 1.")
    if not found or not all(a < b for a, b in pairwise(found)):
        raise ValueError(f"its quantiles {str(quantile)[:100]} do not increase.")


def _check_precision(dtype: np.dtype[Any], gamma: float) -> np.dtype[Any]:
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"its support vectors are of dtype {dtype}.")
    if dtype == np.float32 and not FLOAT32_GAMMA[0] <= gamma <= FLOAT32_GAMMA[1]:
        raise ValueError(f"its gamma={gamma} is out of range.")
    return dtype


def check_labels(
    sections: Sections, entries: Mapping[str, Entry]
) -> tuple[dict[str, Described], int, int]:
    """Return the arrays that the labels need, the number of labels, and the bytes they take."""
    if "classes" not in sections:
        return {}, 0, 0
    kind = take(sections["classes"], "kind", str)
    if kind == "number":
        n_labels, n_bytes = *shape_of(entries, "classes.numbers", 1), 0
        dtype = entries["classes.numbers"].dtype.name
        expected: dict[str, Described] = {"classes.numbers": (dtype, (n_labels,))}
    elif kind in ("str", "object"):
        expected, n_labels, n_bytes = expected_strings("classes.", entries)
    else:
        raise ValueError(f"its classes are of the unknown kind {kind[:100]!r}.")
    if kind == "str":
        n_bytes += n_labels * CHARACTER_SIZE * max(0, take(sections["classes"], "width", int))
    if n_labels < 2:
        raise ValueError(f"it has {n_labels} classes.")
    return expected, n_labels, n_bytes


def _check_names(
    sections: Sections, entries: Mapping[str, Entry], n_features: int
) -> tuple[dict[str, Described], int]:
    """Return the arrays that the feature names need, and the bytes they take."""
    if "feature_names" not in sections:
        return {}, 0
    expected, n_names, n_bytes = expected_strings("feature_names.", entries)
    if n_names != n_features:
        raise ValueError(f"it has {n_names} feature names for {n_features} features.")
    return expected, n_bytes


def _check_preparation(
    sections: Sections, entries: Mapping[str, Entry], n_features: int
) -> tuple[dict[str, Described], int, int]:
    """Return the arrays that the steps need, the features of rows before them, and the bytes."""
    if "preparation" not in sections:
        return {}, n_features, 0
    return expected_of_steps(sections["preparation"], "preparation.", entries, n_features)


def _check_reservoir(
    sections: Sections, entries: Mapping[str, Entry], n_features: int, n_outputs: int
) -> tuple[dict[str, Described], int]:
    """Return the arrays that the rows of a stream need, and the bytes they take."""
    if "reservoir" not in sections:
        return {}, 0
    section, classes = sections["reservoir"], sections.get("classes")
    if not 0 <= take(section, "n_seen", int) <= MAX_STEPS:
        raise ValueError("the number of rows of its stream is out of range.")
    expected, n_rows = expected_of_rows(section, entries, n_features, n_outputs, classes is None)
    width = max(1, classes["width"]) if classes and classes["kind"] == "str" else 2
    return expected, n_rows * width * CHARACTER_SIZE


def compare(expected: dict[str, Described], entries: Mapping[str, Entry]) -> None:
    """Refuse arrays that are not those that are expected, besides extra ones."""
    found = {n: (e.dtype.name, e.shape) for n, e in entries.items() if not n.startswith("extra.")}
    for name in sorted(expected.keys() | found.keys()):
        if found.get(name) != expected.get(name):
            raise ValueError(
                f"its array {name[:100]!r} is {_say(found.get(name))}, "
                f"but {_say(expected.get(name))} is expected."
            )


def _say(described: Described | None) -> str:
    return "none" if described is None else f"{described[0]} of shape {described[1]}"


# --- before anything is used --------------------------------------------------------------------


def check_values(arrays: Mapping[str, Array]) -> None:
    """Check the numbers in arrays whose shapes have been checked."""
    for name, array in arrays.items():
        # min and max return NaN if there is one, and they need no memory.
        is_real = array.dtype.kind == "f" and array.size
        if is_real and not (np.isfinite(array.min()) and np.isfinite(array.max())):
            raise ValueError(f"its array {name[:100]!r} holds a number that is not finite.")
    scales = arrays.get("feature_scales.values")
    if scales is not None and not ((scales >= 0).all() and scales.any()):
        raise ValueError("its feature scales are negative, or all of them are zero.")
    for name in ("decision.vectors", "training.vectors"):
        if name in arrays:
            _check_norms(name, arrays[name])
    _check_sums(arrays)
    _check_state(arrays)
    check_integers(arrays)


def _check_norms(name: str, vectors: Array) -> None:
    with np.errstate(over="ignore"):
        if not np.isfinite(np.einsum("ij,ij->i", vectors, vectors)).all():
            raise ValueError(f"its array {name!r} holds a vector whose squared norm overflows.")


def _check_sums(arrays: Mapping[str, Array]) -> None:
    """Check that decision values, which are summed in the precision of the vectors, are finite."""
    with np.errstate(over="ignore"):
        sums = np.abs(arrays["decision.dual_coef"]).sum(axis=1)
        largest = sums + np.abs(arrays["decision.intercept"])
    if not (largest < np.finfo(arrays["decision.vectors"].dtype).max).all():
        raise ValueError("its coefficients are so large that decision values overflow.")


def _check_state(arrays: Mapping[str, Array]) -> None:
    sizes, steps = arrays["training.sizes"], arrays["training.steps"]
    births, coefficients = arrays["training.births"], arrays["training.coefficients"]
    n_state = len(coefficients)
    if not ((sizes >= 0) & (sizes <= n_state)).all() or sum(sizes.tolist()) != n_state:
        raise ValueError(f"its numbers of vectors per problem do not sum up to {n_state}.")
    if not ((steps >= 1) & (steps <= MAX_STEPS)).all():
        raise ValueError("its numbers of steps are out of range.")
    if not ((births >= 0) & (births <= np.repeat(steps, sizes))).all():
        raise ValueError("its vectors were not found in the steps that were made.")
    weights = arrays.get("training.weight", steps)
    # Rounding may take a weight above the number of steps, by much less than that.
    if not ((weights >= 1) & (weights <= steps * (1 + WEIGHT_ERROR))).all():
        raise ValueError("the weights of the rows seen so far are out of range.")
    if not coefficients.all():
        raise ValueError("a coefficient of its state is zero.")
    # The generator would never leave a state of zeros, and shuffling would never end.
    if not arrays["training.generator"].any(axis=1).all():
        raise ValueError("the state of its random numbers is all zeros.")
