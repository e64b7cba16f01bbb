"""An extension of Griffe: the API pages show docstrings as they are meant.

Griffe reads the type of a parameter as Python code. Types such as ``array-like`` and
``{"scale", "auto"} or float`` are none: they would lose quotes, words and hyphens, and their first
word would be shown as the default value. It reads "See Also" as one paragraph, but it is a list.
"""

import re
from typing import Any

from griffe import Extension, Object

ENTRY = re.compile(r"^(\w[\w, ]*) : (.+)$", flags=re.MULTILINE)
DEFAULT = re.compile(r"(.*?), default=(.*)")


SEE_ALSO = re.compile(r"^([\w., ]+) : ", flags=re.MULTILINE)


class WrittenDocstrings(Extension):
    """Replaces the types and default values of parsed docstrings by what is written."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change what Griffe reads in another way."""
        if obj.is_alias or obj.docstring is None:
            return
        types = written_types(obj.docstring.value)
        for section in obj.docstring.parsed:
            if section.title == "See Also":
                section.value.contents = SEE_ALSO.sub(r"- `\1`: ", section.value.contents)
            for entry in section.value if isinstance(section.value, list) else ():
                if (name := getattr(entry, "name", "")) in types:
                    entry.annotation, default = types[name]
                    if hasattr(entry, "value"):
                        entry.value = default


def written_types(docstring: str) -> dict[str, tuple[str, str | None]]:
    """Return the type and the default value of every entry, by name."""
    found: dict[str, tuple[str, str | None]] = {}
    for names, text in ENTRY.findall(docstring):
        text = " ".join(text.split())
        parts = DEFAULT.fullmatch(text)
        kind, default = (text, None) if parts is None else parts.groups()
        found |= {name.strip(): (kind, default) for name in names.split(",")}
    return found
