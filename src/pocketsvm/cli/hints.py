"""Advice of the library, in the flags of the command line."""

import re
import shlex

from ..files import DataError, Hint
from ..rows.scales import ScaleWarning, TargetWarning


def with_hint(problem: BaseException) -> str:
    """Return the message of an error or a warning; its advice names flags, not Python arguments."""
    if isinstance(problem, ScaleWarning):
        return f"{problem} The flag --scale {problem.scale} does the same."
    if isinstance(problem, TargetWarning):
        return f"{problem} The flags are --c and --epsilon; pocketsvm tune finds a good C."
    if isinstance(problem, DataError):
        return problem.message(_flag)
    return in_flags(str(problem))


def in_flags(message: str) -> str:
    """Return a message about a device that names the flag."""
    return re.sub('device="([^"]*)"', r"--device \1", message)


def _flag(hint: Hint) -> str:
    column = "COLUMN" if hint.column is None else shlex.quote(hint.column)
    return {
        "header": "--header or --no-header",
        "label": f"--label {column}",
        "drop": f"--drop {column}",
        "ids": f"--query {column}",
        "texts": f"--one-hot {column}",
        "missing": "--impute mean",
        "dates": "--dates",
        "decimal": "--decimal ,",
    }[hint.option]
