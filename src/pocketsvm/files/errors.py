"""What is wrong with a data file, and which option of `Options` may help."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    option : {"header", "label", "drop", "texts", "missing", "ids", "dates", "decimal"}
        The attribute of `Options`.

    column : str or None
        The column to set it to; None leaves the choice to the user.
    """

    advice: str
    option: Literal["header", "label", "drop", "texts", "missing", "ids", "dates", "decimal"]
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
        Options that may help. The error's own message spells them as arguments of `Options`, or of
        `open_dataset` within `hints_for_datasets`.
    """

    def __init__(self, problem: str, *hints: Hint) -> None:
        self.problem = problem
        self.hints = hints
        super().__init__(self.message(_argument))

    def message(self, spell: Callable[[Hint], str | None]) -> str:
        """Return the problem and all advice, with settings as `spell` writes them.

        Where `spell` returns None, there is no such setting, and the advice is left out.
        """
        spelled = [(hint.advice, spell(hint)) for hint in self.hints]
        advice = (text.format(setting) for text, setting in spelled if setting is not None)
        return " ".join([self.problem, *advice])


@contextmanager
def hints_for_datasets() -> Iterator[None]:
    """Give advice in the words of `open_dataset`."""
    try:
        yield
    except DataError as error:
        error.args = (error.message(_dataset_argument),)
        raise


def _dataset_argument(hint: Hint) -> str | None:
    column = "..." if hint.column is None else repr(hint.column)
    return {
        "label": f"open_dataset(..., label={column})",
        "drop": "open_dataset(..., features=[...])",
        "ids": f"open_dataset(..., qid={column})",
        "texts": f"open_dataset(..., one_hot=[{column}])",
        "missing": "open_dataset(..., impute='median')",
        "dates": "open_dataset(..., dates=True)",
    }.get(hint.option)


def _argument(hint: Hint) -> str:
    column = "..." if hint.column is None else repr(hint.column)
    return {
        "header": "Options(header=True) or Options(header=False)",
        "label": f"Options(label={column})",
        "drop": f"Options(drop=[{column}])",
        "ids": f"Options(ids={column}, queries=True)",
        "texts": f"Options(texts=[{column}])",
        "missing": "Options(missing=True)",
        "dates": "Options(dates=True)",
        "decimal": "Options(decimal=',')",
    }[hint.option]
