"""Calibrated models in files: the section "calibration", which holds the members' sections.

The section has the names of `Calibrated`, and "members", a list of the sections of each member; the
arrays of member k are "calibration.<k>.<section>.<name>". The labels are in the section "classes".
"""

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from .calibrated import METHODS, Calibrated
from .check import check_labels, compare
from .check import check_shapes as check_shapes_of_model
from .check import check_values as check_values_of_model
from .container import Array, Entry, take
from .decode import decode as decode_model
from .decode import decode_labels, extra_of
from .encode import encode as encode_model
from .encode import extra_section, labels_section
from .sections import Section, Sections, pack

SECTION = "calibration"
PREFIX = f"{SECTION}."
# More folds than anybody uses.
MAX_MEMBERS = 1000

T = TypeVar("T")


def encode(model: Calibrated, extra: Mapping[str, Any]) -> dict[str, Section]:
    """Return the sections of a calibrated model, and of what is kept with it."""
    arrays: dict[str, Array] = {"slopes": model.slopes, "offsets": model.offsets}
    members = []
    for k, member in enumerate(model.members):
        values, found = pack(encode_model(member, {}))
        members.append(values)
        arrays |= {f"{k}.{name}": array for name, array in found.items()}
    section: dict[str, Any] = {
        "method": model.method,
        "parameters": model.parameters,
        "is_frozen": model.is_frozen,
        "n_outer": model.n_outer,
        "members": members,
    }
    return {
        SECTION: Section(section, arrays),
        "classes": labels_section(model.classes),
        **extra_section(extra),
    }


def check_shapes(sections: Sections, entries: Mapping[str, Entry]) -> int:
    """Check sections and shapes; return the bytes that the model takes besides the arrays."""
    section = sections[SECTION]
    members = take(section, "members", list)
    if not 1 <= len(members) <= MAX_MEMBERS:
        raise ValueError(f"it calibrates {len(members)} models; 1 to {MAX_MEMBERS} are known.")
    if take(section, "method", str) not in METHODS:
        raise ValueError(
            f"its calibration is {section['method'][:100]!r}, which this pocketsvm does not know."
        )
    _check_parameters(section)
    take(sections, "classes", dict)
    expected, n_classes, n_bytes = check_labels(sections, entries)
    n_outputs = n_classes if n_classes > 2 else 1
    for k, member in enumerate(members):
        found = _of_member(entries, k)
        if not isinstance(member, dict) or SECTION in member or "classes" not in member:
            raise ValueError("a model that it calibrates is not a classification.")
        n_bytes += check_shapes_of_model(member, found)
        if found["decision.dual_coef"].shape[0] != n_outputs:
            raise ValueError("the models that it calibrates have different numbers of classes.")
        expected |= {f"{PREFIX}{k}.{n}": (e.dtype.name, e.shape) for n, e in found.items()}
    n_calibrators = n_outputs if section["method"] == "sigmoid" else 1
    for name in ("slopes", "offsets"):
        expected[PREFIX + name] = ("float64", (len(members), n_calibrators))
    compare(expected, entries)
    return n_bytes


def check_values(arrays: Mapping[str, Array], n_members: int) -> None:
    """Check the numbers in arrays whose shapes have been checked."""
    for name in ("slopes", "offsets"):
        if not np.isfinite(arrays[PREFIX + name]).all():
            raise ValueError(f"its {name} of the calibration are not finite.")
    for k in range(n_members):
        check_values_of_model(_of_member(arrays, k))


def decode(sections: Sections, arrays: Mapping[str, Array]) -> tuple[Calibrated, dict[str, Any]]:
    """Return the calibrated model, and what is kept with it."""
    section = sections[SECTION]
    members = tuple(
        decode_model(member, _of_member(arrays, k))[0]
        for k, member in enumerate(section["members"])
    )
    first = members[0]
    n_steps = len(first.preparation.steps) if first.preparation else 0
    if not 0 <= section["n_outer"] <= n_steps:
        raise ValueError(f"its calibration follows {section['n_outer']} of {n_steps} steps.")
    for member in members:
        if member.n_inputs != first.n_inputs:
            raise ValueError("the models that it calibrates take different numbers of features.")
    calibrated = Calibrated(
        members,
        decode_labels(sections["classes"], arrays),
        section["method"],
        arrays[f"{PREFIX}slopes"],
        arrays[f"{PREFIX}offsets"],
        section["parameters"],
        section["is_frozen"],
        section["n_outer"],
    )
    calibrated.check()
    return calibrated, extra_of(sections, arrays)


def _check_parameters(section: dict[str, Any]) -> None:
    parameters = take(section, "parameters", dict)
    if parameters.keys() != {"ensemble", "cv", "n_jobs"}:
        raise ValueError(f"the parameters of its calibration are {str(sorted(parameters))[:100]}.")
    if parameters["ensemble"] != "auto":
        take(parameters, "ensemble", bool)
    for name in ("cv", "n_jobs"):
        if parameters[name] is not None:
            take(parameters, name, int)
    take(section, "is_frozen", bool)
    take(section, "n_outer", int)


def _of_member(named: Mapping[str, T], k: int) -> dict[str, T]:
    """Return the arrays of a member, by the names that they have in its sections."""
    prefix = f"{PREFIX}{k}."
    return {n.removeprefix(prefix): each for n, each in named.items() if n.startswith(prefix)}
