"""Sections: the header of a model file in named parts that are added without a new version.

From version 3 on, the header of a model file is::

    {"written_by": "pocketsvm 0.1.0",
     "sections": {"decision": {"required": true, "gamma": 0.5}, ...},
     "arrays": {"decision.vectors": {...}, ...}}

The arrays of a section have names that start with its own name and a dot. `SECTIONS` lists the
sections that this version knows; `file` describes them. A reader that meets an unknown section
refuses the file and names the section if "required" is true; otherwise it ignores the section and
does not read its arrays. So a new part of a model gets a new section: a required one if predictions
are wrong without it, an optional one if not. An existing section never changes its meaning.

Versions 1 and 2 had one flat header; `open_sections` turns it into sections.
"""

from dataclasses import dataclass, field
from typing import Any

from .container import Array, Entry, Head, take

# Whether a reader that does not know a section must refuse the file.
SECTIONS = {
    "decision": True,
    "task": True,
    "classes": True,
    "preparation": True,
    "training": True,
    "feature_names": False,
    "reservoir": False,
    "calibration": True,
    "extra": False,
}
# The versions that have sections.
FIRST_VERSION = 3
# Where versions 1 and 2 kept what is in the sections now.
OLD_KEYS = {
    "decision": ("gamma",),
    "training": (
        "estimator",
        "parameters",
        "budget",
        "alpha",
        "unit_alpha",
        "offset",
        "n_iter",
        "profile",
    ),
}
OLD_ARRAYS = {
    "support_vectors": "decision.vectors",
    "dual_coef": "decision.dual_coef",
    "intercept": "decision.intercept",
    "classes": "classes.numbers",
}
OLD_PREFIXES = {"state.": "training.", "scaling.": "preparation.0."}

Sections = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Section:
    """A part of a model as a file keeps it: values of JSON, and arrays."""

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)


def pack(sections: dict[str, Section]) -> tuple[Sections, dict[str, Array]]:
    """Return the sections of a header, and the arrays by their names in the file."""
    values = {
        name: {"required": SECTIONS[name], **section.values} for name, section in sections.items()
    }
    arrays = {
        f"{name}.{key}": array
        for name, section in sections.items()
        for key, array in section.arrays.items()
    }
    return values, arrays


def open_sections(head: Head) -> tuple[Sections, dict[str, Entry]]:
    """Return the sections of a file that are known here, and their arrays.

    Raises ValueError if the file needs a section that is not known.
    """
    if head.version < FIRST_VERSION:
        return _old_sections(head), _renamed(head.entries)
    sections = take(head.header, "sections", dict)
    for name in sections:
        is_required = take(take(sections, name, dict), "required", bool)
        if is_required and name not in SECTIONS:
            raise ValueError(
                f"it needs the section {name[:100]!r}, which this pocketsvm does not know. A newer "
                "pocketsvm may read it."
            )
    unknown = sections.keys() - SECTIONS.keys()
    entries = {n: entry for n, entry in head.entries.items() if n.split(".")[0] not in unknown}
    return {name: sections[name] for name in sections.keys() - unknown}, entries


def _old_sections(head: Head) -> Sections:
    """Return the header of version 1 or 2 as sections; what it lacks is missing there, too."""
    header = head.header
    sections: Sections = {
        name: {key: header[key] for key in keys if key in header} for name, keys in OLD_KEYS.items()
    }
    sections["extra"] = {"values": take(header, "extra", dict)}
    if header.get("classes") is not None:
        sections["classes"] = take(header, "classes", dict)
        sections["training"]["offset"] = 0.0
    if "scaling" in header:
        scaling = take(header, "scaling", dict)
        step = {"kind" if key == "scaler" else key: value for key, value in scaling.items()}
        sections["preparation"] = {"steps": [step]}
    if "feature_names.ends" in head.entries:
        sections["feature_names"] = {}
    return sections


def _renamed(entries: dict[str, Entry]) -> dict[str, Entry]:
    """Return the arrays of version 1 or 2 by their names in version 3."""
    renamed = {}
    for old, entry in entries.items():
        name = OLD_ARRAYS.get(old, old)
        for prefix, new_prefix in OLD_PREFIXES.items():
            if old.startswith(prefix):
                name = new_prefix + old.removeprefix(prefix)
        if name in renamed:
            raise ValueError(f"it holds the array {name[:100]!r} twice.")
        renamed[name] = entry
    return renamed
