"""Models in integers in files: the section "integers"."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .container import Array, Described, Entry, take
from .integers import LIMIT, SHIFTS, Integers
from .sections import Sections
from .strings import shape_of

SECTION = "integers"
PREFIX = f"{SECTION}."
# The dtypes of the arrays, besides that of the vectors, which may be int8 or int16.
DTYPES = {
    "features": "int32",
    "offsets": "float32",
    "factors": "float32",
    "steps": "uint16",
    "coefficients": "int16",
    "intercepts": "int64",
}
# The range of the shift of coefficients, and the largest intercept: sums then fit into 64 bits.
COEFFICIENT_SHIFTS = (-16, 24)
LARGEST_INTERCEPT = 2**62


def describe(integers: Integers) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the values and arrays of the section."""
    values = {"shift": integers.shift, "coefficient_shift": integers.coefficient_shift}
    return values, {name: getattr(integers, name) for name in ("vectors", *DTYPES)}


def expected(sections: Sections, entries: Mapping[str, Entry]) -> dict[str, Described]:
    """Check the values, and return the arrays that the section needs."""
    if SECTION not in sections:
        return {}
    section = sections[SECTION]
    for name, (low, high) in {"shift": SHIFTS, "coefficient_shift": COEFFICIENT_SHIFTS}.items():
        if not low <= take(section, name, int) <= high:
            raise ValueError(f"the {name} of its integers is not between {low} and {high}.")
    n_vectors, n_features = shape_of(entries, "decision.vectors", 2)
    (n_outputs,) = shape_of(entries, "decision.intercept", 1)
    (n_used,) = shape_of(entries, PREFIX + "features", 1)
    dtype = entries[PREFIX + "vectors"].dtype.name if PREFIX + "vectors" in entries else "int16"
    if dtype not in ("int8", "int16") or not 1 <= n_used <= n_features:
        raise ValueError(f"its integers are {dtype} of {n_used} features.")
    shapes = {
        **dict.fromkeys(("features", "offsets", "factors", "steps"), (n_used,)),
        "coefficients": (n_vectors, n_outputs),
        "intercepts": (n_outputs,),
    }
    found: dict[str, Described] = {
        PREFIX + name: (kind, shapes[name]) for name, kind in DTYPES.items()
    }
    return found | {PREFIX + "vectors": (dtype, (n_vectors, n_used))}


def check_values(arrays: Mapping[str, Array]) -> None:
    """Check the numbers of the arrays, so that no sum can overflow."""
    if PREFIX + "vectors" not in arrays:
        return
    features, steps = arrays[PREFIX + "features"], arrays[PREFIX + "steps"].astype(np.int64)
    n_features = arrays["decision.vectors"].shape[1]
    positions = np.abs(arrays[PREFIX + "vectors"].astype(np.int64)) * steps
    intercepts = arrays[PREFIX + "intercepts"]
    if not (
        (np.diff(features) > 0).all()
        and features[0] >= 0
        and features[-1] < n_features
        and (steps >= 1).all()
        and (positions <= LIMIT).all()
        and (arrays[PREFIX + "coefficients"] > -LIMIT - 1).all()
        and (intercepts >= -LARGEST_INTERCEPT).all()
        and (intercepts <= LARGEST_INTERCEPT).all()
    ):
        raise ValueError("the integers of its model are out of range.")


def restore(sections: Sections, arrays: Mapping[str, Array]) -> Integers | None:
    """Return the integers of a file, checked before; None if it has none."""
    if SECTION not in sections:
        return None
    section = sections[SECTION]
    numbers = {name: arrays[PREFIX + name] for name in ("vectors", *DTYPES)}
    return Integers(
        **numbers, shift=section["shift"], coefficient_shift=section["coefficient_shift"]
    )
