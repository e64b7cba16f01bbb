"""The list of all data sets: those of the study, and those of the tables.

The study chooses the settings of training (``make study``). A table must not show how good these
settings are on the data with which they were chosen, so no data set is in both lists.

    python -m benchmarks.data_sets

prints the cross-validated scores of C and gamma for the study, from which its settings come.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.preprocessing import StandardScaler, scale

from pocketsvm.paper.datasets import registry
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.generated import susy_like

from .datasets import functions, hard
from .datasets.cases import CASES
from .datasets.flights import FLIGHTS, flights
from .datasets.generated import many_classes, sparse_rows
from .datasets.novelties import NOVELTIES
from .datasets.paper import paper_task
from .datasets.rankings import graded_queries
from .datasets.tasks import Task
from .datasets.tuned import FASHION, TUNED, choose, fashion_mnist

Rows = tuple[Any, NDArray[Any]]
EPSILON = 0.1  # of the tubes of regressions, in standard deviations of the target


@dataclass(frozen=True)
class Made:
    """Rows that a function generates or loads; `source` names it, so that lists can be compared.

    With `most`, no more rows than that are taken, at random.
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any]
    most: int | None = None

    def __call__(self) -> Rows:
        """Return X and y."""
        X, y = self.function(**self.parameters)
        chosen = np.random.default_rng(0).permutation(len(y))[: self.most]
        return (X, y) if self.most is None else (X[chosen], y[chosen])

    @property
    def source(self) -> str:
        """The function; with its seed if each seed has a distribution of its own."""
        name = self.function.__name__
        if self.function is datasets.make_classification:
            return f"{name}, seed {self.parameters['random_state']}"
        return name


@dataclass(frozen=True)
class Sample:
    """Some training rows of a task of `TASKS`; None if its files are missing."""

    task: str
    n_rows: int

    def __call__(self) -> Rows | None:
        """Return X and y."""
        task = TASKS[self.task]()
        if task is None:
            return None
        X, y, *_ = task.some(self.n_rows, 1).rows
        y = y.astype(int) if task.epsilon is None else y
        return X if isinstance(X, np.ndarray) else X.toarray(), y

    @property
    def source(self) -> str:
        """The name of the task."""
        return self.task


def made(function: Callable[..., Any], n_samples: int, **parameters: Any) -> Made:
    """Return generated rows, with seed 0 if none is given."""
    return Made(function, {"n_samples": n_samples, "random_state": 0, **parameters})


def bundled(function: Callable[..., Any], most: int | None = None) -> Made:
    """Return rows that come with scikit-learn."""
    return Made(function, {"return_X_y": True}, most)


# --- the study ------------------------------------------------------------------------------------

STUDY_ROWS, FEW = 8000, 2000
BUDGETS, BUDGETS_OF_FEW = (100, 500), (20, 100)


@dataclass(frozen=True)
class StudySet:
    """Rows with the settings to train with, found by cross-validation on standardised columns.

    `gamma` is in units of one over the number of features. `epsilon` is given for regressions.
    With `scales`, feature scales are learnt from the rows, too. With `nu`, the rows of the first
    class train a model of normal rows, and all classes are held out.
    """

    label: str
    rows: Made
    C: float
    gamma: float
    epsilon: float | None = None
    scales: bool = False
    nu: float | None = None

    def task(self) -> Task:
        """Return standardised columns, and standardised targets of a regression."""
        X, y = self.rows()
        X = StandardScaler().fit_transform(X).astype(np.float32)
        y = y.astype(int) if self.epsilon is None else scale(y)
        gamma = self.gamma / X.shape[1]
        return Task(self.label, TrainTest(X, y, X[:0], y[:0]), self.C, gamma, self.epsilon)

    @property
    def budgets(self) -> tuple[int, int]:
        """The smaller and the larger budget."""
        return BUDGETS if self.rows.parameters.get("n_samples", 0) > FEW else BUDGETS_OF_FEW


def study_made(function: Callable[..., Any], **parameters: Any) -> Made:
    """Return generated rows of the study; no table has its seeds."""
    return made(function, STUDY_ROWS, **{"random_state": 1, **parameters})


def moons_in_noise(n_samples: int, random_state: int) -> Rows:
    """Return moons, and one uniform row for four of them, which is of the second class."""
    random = np.random.default_rng(random_state)
    X, _ = datasets.make_moons(n_samples, noise=0.1, random_state=random_state)
    is_noise = np.arange(n_samples) % 5 == 0
    X[is_noise] = random.uniform(X.min(axis=0), X.max(axis=0), (np.count_nonzero(is_noise), 2))
    return X, is_noise.astype(int)


CLUSTERS = {"n_features": 20, "n_informative": 8, "n_clusters_per_class": 4, "flip_y": 0.1}
SIX = {"n_features": 15, "n_informative": 10, "n_classes": 6, "class_sep": 1.5, "random_state": 2}
SHELLS = {"n_features": 6, "n_classes": 3}

STUDY = (
    StudySet("moons", study_made(datasets.make_moons, noise=0.3), 10, 4),
    StudySet("circles", study_made(datasets.make_circles, noise=0.2, factor=0.6), 1, 0.25),
    StudySet("shells", study_made(datasets.make_gaussian_quantiles, **SHELLS), 100, 0.25),
    StudySet("ten normal variables", study_made(datasets.make_hastie_10_2), 100, 0.25, scales=True),
    StudySet("clusters", study_made(datasets.make_classification, **CLUSTERS), 1, 1, scales=True),
    StudySet("six classes", study_made(datasets.make_classification, **SIX), 1, 1, scales=True),
    StudySet("breast cancer", bundled(datasets.load_breast_cancer), 10, 0.25, scales=True),
    StudySet(
        "Friedman 1 (R²)",
        study_made(datasets.make_friedman1, noise=1),
        100,
        0.25,
        EPSILON,
        scales=True,
    ),
    StudySet(
        "Friedman 2 (R²)",
        study_made(datasets.make_friedman2, noise=100),
        10,
        0.25,
        EPSILON,
        scales=True,
    ),
    StudySet("Friedman 3 (R²)", study_made(datasets.make_friedman3, noise=0.1), 100, 1, EPSILON),
    StudySet("diabetes (R²)", bundled(datasets.load_diabetes), 1, 0.25, EPSILON, scales=True),
    StudySet("novelties (AUC)", study_made(moons_in_noise), 1, 1, nu=0.1),
)
STUDY_CASES = CASES  # further rows of the study, each difficult in one respect

# --- the tables -----------------------------------------------------------------------------------

NOISY_MOONS = "moons, 20 columns of noise"


def noisy_moons() -> Task:
    """Return moons among columns of noise.

    The study has moons without such columns, and no feature scales are learnt from them.
    """
    X, y = datasets.make_moons(10_000, noise=0.2, random_state=7)
    noise = np.random.default_rng(5).standard_normal((len(X), 20))
    X = StandardScaler().fit_transform(np.hstack([X, noise])).astype(np.float32)
    half = len(X) // 2
    rows = TrainTest(X[:half], y[:half], X[half:], y[half:])
    return Task(NOISY_MOONS, rows, 1.0, 1 / X.shape[1])


# Data sets with training and test rows; real ones if their files exist.
TASKS: dict[str, Callable[[], Task | None]] = {
    **{data_set.name: partial(paper_task, data_set.name) for data_set in registry.DATA_SETS},
    **{data_set.label: data_set.load for data_set in TUNED},
    FASHION: fashion_mnist,
    FLIGHTS: flights,
    NOISY_MOONS: noisy_moons,
}
# Functions that generate rows of any number, and tasks.
GENERATORS = (
    *(susy_like, many_classes, sparse_rows, graded_queries, *NOVELTIES.values()),
    *(hard.letter_like, hard.chequerboard, hard.rare_class, hard.unequal_classes),
    *(hard.weighted_rows, hard.text_rows, hard.heavy_tails),
)
SMALL = 600  # rows of small data sets: with more of them, they would take most of the time
NOISE = 0.1  # of smooth functions, in standard deviations of their values
CLASSES = {"n_features": 10, "n_informative": 5}
FOUR = {"n_classes": 4, "class_sep": 0.8, "flip_y": 0.05}

SMALL_CLASSIFICATIONS: dict[str, Made | Sample] = {
    "iris": bundled(datasets.load_iris),
    "wine": bundled(datasets.load_wine),
    "digits": bundled(datasets.load_digits, SMALL),
    "two classes": made(datasets.make_classification, SMALL, **CLASSES),
    "four classes": made(datasets.make_classification, SMALL, **CLASSES, **FOUR),
    **{name: Sample(name, SMALL) for name in ("ADULT", "PHISHING", "SUSY", "eeg", "magic04")},
}
SMALL_REGRESSIONS: dict[str, Made | Sample] = {
    **{name: Sample(name, SMALL) for name in ("cpusmall", "abalone", "cadata")},
    "linear, sparse": made(datasets.make_sparse_uncorrelated, SMALL),
    "Swiss roll": made(datasets.make_swiss_roll, SMALL, noise=0.5),
    "S curve": made(datasets.make_s_curve, SMALL, noise=0.1),
    "borehole": made(functions.borehole, SMALL, noise=NOISE),
    "piston": made(functions.piston, SMALL, noise=NOISE),
    "Ishigami": made(functions.ishigami, SMALL, noise=NOISE),
    "waves": made(functions.waves, SMALL, noise=NOISE),
}
# The benchmark of few rows fits the first ones, and tests on others.
FEW_ROWS, FEW_TEST_ROWS = 400, 4000
_FEW_SAMPLES = ("letter", "eeg", "magic04", "cpusmall", "abalone")
FEW_ROWS_SETS: dict[str, Made | Sample] = {
    "20 columns": made(datasets.make_classification, FEW_ROWS + FEW_TEST_ROWS, n_features=20),
    "blobs": made(datasets.make_blobs, FEW_ROWS + FEW_TEST_ROWS, centers=4, cluster_std=2.0),
    "digits": bundled(datasets.load_digits),
    "waves": made(functions.waves, FEW_ROWS + FEW_TEST_ROWS, noise=NOISE),
    **{name: Sample(name, FEW_ROWS + FEW_TEST_ROWS) for name in _FEW_SAMPLES},
}
SMOOTH_ROWS = 16_000  # of which a benchmark draws training rows, and the others are test rows
SMOOTH: dict[str, Made] = {
    "borehole": made(functions.borehole, SMOOTH_ROWS, noise=NOISE),
    "piston": made(functions.piston, SMOOTH_ROWS, noise=NOISE),
    "Ishigami": made(functions.ishigami, SMOOTH_ROWS, noise=NOISE),
}
TABLES = (SMALL_CLASSIFICATIONS, SMALL_REGRESSIONS, FEW_ROWS_SETS, SMOOTH)


def study_sources() -> set[str]:
    """Return where the rows of the study come from, beside its cases."""
    return {data_set.rows.source for data_set in STUDY}


def table_sources() -> set[str]:
    """Return where the rows of the tables come from."""
    generators = {function.__name__ for function in GENERATORS}
    return {*TASKS, *generators, *(rows.source for table in TABLES for rows in table.values())}


def main() -> None:
    """Print the grid of every data set of the study, the best setting first."""
    for data_set in STUDY:
        print(data_set.label)
        for C, gamma, score in choose(data_set.task().some(FEW, 0)):
            print(f"  C = {C:g}, gamma = {gamma:g} / d: {score:.4f}", flush=True)


if __name__ == "__main__":
    main()
