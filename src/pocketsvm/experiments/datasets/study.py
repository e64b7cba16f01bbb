"""The data of the study: the paper's sets, others beside them, and a generated chequerboard."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler, scale

from ...files.svmlight import load_svmlight
from .files import find
from .generated import chequerboard
from .problems import Problem, available, labelled

CHEQUERED_ROWS, FLIPPED = 100_000, 0.05


class Labelled(NamedTuple):
    """Rows, the labels or values to train with, and those to judge by."""

    X: Any
    y: NDArray[Any]
    truth: NDArray[Any]


@dataclass(frozen=True)
class StudyData:
    """Training rows with the settings to train with; `epsilon` is that of a regression."""

    label: str
    budgets: tuple[int, int]
    C: float
    gamma: float
    make: Callable[[], Labelled]
    epsilon: float | None = None


@dataclass(frozen=True)
class OtherSet:
    """A file beside the paper's; its settings, found by cross-validation, are for scaled rows."""

    label: str
    budgets: tuple[int, int]
    C: float
    gamma: float
    epsilon: float | None = None

    def data(self, path: Path) -> StudyData:
        """Return the data in a file."""
        make = partial(_standardised, path, is_regression=self.epsilon is not None)
        return StudyData(self.label, self.budgets, self.C, self.gamma, make, self.epsilon)


OTHERS = {
    "letter": OtherSet("letter (26 classes)", (104, 520), 100.0, 0.0625),
    "eeg_clean": OtherSet("EEG", (100, 500), 10.0, 0.2857),
    "cpusmall": OtherSet("cpusmall (R²)", (100, 500), 100.0, 0.25 / 12, 0.1),
    "abalone": OtherSet("abalone (R²)", (100, 500), 10.0, 0.25 / 8, 0.1),
}
CHEQUERED = OtherSet("chequerboard", (100, 500), 10.0, 2.0)


def found() -> list[StudyData]:
    """Return the data sets whose files exist, and the generated one."""
    data = [
        StudyData(
            problem.label,
            problem.data_set.budgets,
            problem.data_set.C,
            problem.data_set.gamma,
            partial(_training_rows, problem),
        )
        for problem in available()
    ]
    for name, other in OTHERS.items():
        if (path := find(name)) is not None:
            data.append(other.data(path))
    chequered = CHEQUERED.label, CHEQUERED.budgets, CHEQUERED.C, CHEQUERED.gamma
    return [*data, StudyData(*chequered, _chequered)]


def budgets() -> dict[str, tuple[int, int]]:
    """Return the budgets of all data sets by their labels, in the order of the page."""
    paper = {label: data_set.budgets for label, data_set in labelled().items()}
    return paper | {other.label: other.budgets for other in (*OTHERS.values(), CHEQUERED)}


def _training_rows(problem: Problem) -> Labelled:
    X, y, _, _ = problem.rows
    return Labelled(X, y, y)


def _standardised(path: Path, *, is_regression: bool) -> Labelled:
    X, y = load_svmlight(path)
    y = scale(y) if is_regression else y
    return Labelled(StandardScaler().fit_transform(X.toarray()).astype(np.float32), y, y)


def _chequered() -> Labelled:
    """Return rows of which some labels are flipped; they are judged by the true ones."""
    X, truth = chequerboard(CHEQUERED_ROWS)
    flipped = np.random.default_rng(1).random(len(truth)) < FLIPPED
    return Labelled(X, np.where(flipped, 1 - truth, truth), truth)
