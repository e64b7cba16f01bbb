"""Errors of data files: their hints name arguments in Python, and flags on the command line."""

import pickle

import pytest

from pocketsvm.cli.hints import with_hint
from pocketsvm.files import DataError, Hint

HEADER = Hint("Say whether it is a header: {}.", "header")
LABEL = Hint("If it is in this one, use {}.", "label", "petal {width}")
DROP = Hint("Leave columns out: {}.", "drop")


@pytest.mark.parametrize(
    ("hints", "in_python", "as_flags"),
    [
        ([], "", ""),
        (
            [HEADER],
            " Say whether it is a header: Options(header=True) or Options(header=False).",
            " Say whether it is a header: --header or --no-header.",
        ),
        (
            [LABEL, DROP],
            " If it is in this one, use Options(label='petal {width}')."
            " Leave columns out: Options(drop=[...]).",
            " If it is in this one, use --label 'petal {width}'. Leave columns out: --drop COLUMN.",
        ),
    ],
)
def test_hints_are_spelled_for_the_reader(hints, in_python, as_flags):
    error = DataError("rows.csv is wrong.", *hints)
    assert str(error) == f"rows.csv is wrong.{in_python}"
    assert with_hint(error) == f"rows.csv is wrong.{as_flags}"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.problem, copy.hints) == (str(error), error.problem, error.hints)


def test_errors_of_other_kinds_keep_their_message():
    assert with_hint(OSError("broken")) == "broken"
