"""Hints about data files, spelled as flags of the command line."""

import shlex

from ..data import DataError, Hint


def with_hint(error: BaseException) -> str:
    """Return the message of an error, whose advice names flags instead of Python arguments."""
    return error.message(_flag) if isinstance(error, DataError) else str(error)


def _flag(hint: Hint) -> str:
    if hint.option == "header":
        return "--header or --no-header"
    return f"--{hint.option} {'COLUMN' if hint.column is None else shlex.quote(hint.column)}"
