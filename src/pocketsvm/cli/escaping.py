"""Text from files, made safe to print: a terminal obeys control characters."""

import re

# Control characters, separators of lines, characters that reverse the direction of the text, and
# surrogates, which cannot be printed.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_CONTROLS_BEYOND_ASCII = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str) -> str:
    """Return a text, such as a label, with control characters as backslash escapes."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def escaped_lines(text: str) -> str:
    """Return a text of several lines with other control characters as backslash escapes."""
    return "\n".join(map(escaped, text.split("\n")))


def escaped_json(text: str) -> str:
    """Return JSON with the same value, which holds control characters only between values."""
    return _CONTROLS_BEYOND_ASCII.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
