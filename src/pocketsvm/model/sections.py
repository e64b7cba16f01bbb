"""Sections: the header of a model file in named parts that are added without a new version.

The header of a model file is::

    {"written_by": "pocketsvm 0.1.0",
     "sections": {"decision": {"required": true, "gamma": 0.5}, ...},
     "arrays": {"decision.vectors": {...}, ...}}

The arrays of a section have names that start with its own name and a dot. `SECTIONS` lists the
sections that this version knows; `file` describes them. A reader that meets an unknown section
refuses the file and names the section if "required" is true; otherwise it ignores the section and
does not read its arrays. So a new part of a model gets a new section: a required one if predictions
are wrong without it, an optional one if not. An existing section never changes its meaning.
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
    "feature_scales": True,
    "training": True,
    "feature_names": False,
    "reservoir": False,
    "integers": False,
    "calibration": True,
    "extra": False,
}

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
