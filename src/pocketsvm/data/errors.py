"""What is wrong with a data file, and which option of `Options` may help."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Hint:
    """Advice to set one of the options of a data file.

    Attributes
    ----------
    advice : str
        One sentence, with ``{}`` in place of the setting: Python and the command line spell
        settings in different ways.

    option : {"header", "label", "drop", "texts", "missing"}
        The attribute of `Options`.

    column : str or None
        The column to set it to; None leaves the choice to the user.
    """

    advice: str
    option: Literal["header", "label", "drop", "texts", "missing"]
    column: str | None = None


class DataError(ValueError):
    """A data file that cannot be used as it is.

    Parameters
    ----------
    problem : str
        What is wrong, and where.

    *hints : Hint
        Options that may help.

    Attributes
    ----------
    problem : str
        What is wrong, and where.

    hints : tuple of Hint
        Options that may help. The error's own message spells them as arguments of `Options`.
    """

    def __init__(self, problem: str, *hints: Hint) -> None:
        self.problem = problem
        self.hints = hints
        super().__init__(self.message(_argument))

    def message(self, spell: Callable[[Hint], str]) -> str:
        """Return the problem and all advice, with settings as `spell` writes them."""
        advice = (hint.advice.format(spell(hint)) for hint in self.hints)
        return " ".join([self.problem, *advice])


def _argument(hint: Hint) -> str:
    if hint.option == "header":
        return "Options(header=True) or Options(header=False)"
    if hint.option == "missing":
        return "Options(missing=True)"
    column = "..." if hint.column is None else repr(hint.column)
    return (
        f"Options(label={column})"
        if hint.option == "label"
        else f"Options({hint.option}=[{column}])"
    )
