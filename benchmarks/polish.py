"""The default fit beside the paper's setting: CPU time, its parts, and test accuracy.

    make bench ARGS="--only polish --data ijcnn --budget 500"

measures one data set and budget, and stores nothing.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pocketsvm import BudgetedSVC
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.toolkit.measure import Timed, one_thread
from pocketsvm.paper.toolkit.tables import Table

from . import exact
from .datasets.paper import available
from .measure import fastest

BUDGETS: dict[str, tuple[int, ...]] = {
    "ADULT": (100, 500),
    "IJCNN": (100, 500),
    "WEB": (100, 500),
    "SUSY": (100, 500),
    "PHISHING": (100, 500),
    "SKIN": (100, 200, 500),
}
PAPER: dict[str, Any] = {
    "maintenance": "merge",
    "polish": False,
    "fit_intercept": False,
    "max_iter": 20,
}
ROUNDS, QUICK_ROUNDS = 3, 1


def measure(
    quick: bool, data: Sequence[str] | None = None, budgets: Sequence[int] = ()
) -> list[Table]:
    """Return one table: a line for each data set and budget.

    Parameters
    ----------
    quick : bool
        Whether few rows are measured once.

    data : sequence of str, default=None
        The names of data sets in the paper; None means all.

    budgets : sequence of int
        The budgets; those of `BUDGETS` if there are none.
    """
    table = Table(
        "polish",
        "The default fit beside the passes of the paper, CPU time on one thread",
        {
            "data": ("data", ""),
            "budget": ("B", ",d"),
            "paper": ("paper's setting, s", ",.3f"),
            "fit": ("default fit, s", ",.3f"),
            "ratio": ("relative", ".2f"),
            "passes": ("share of passes", ".0%"),
            "moves": ("moves", ",d"),
            "steps": ("solver steps", ",d"),
            "paper_accuracy": ("paper's setting, %", ".2f"),
            "accuracy": ("default, %", ".2f"),
            "intel": ("SVC (intelex), s", ",.3f"),
            "intel_accuracy": ("SVC (intelex), %", ".2f"),
        },
        "The paper's C and gamma, seed 0; the fastest of "
        f"{QUICK_ROUNDS if quick else ROUNDS} interleaved fits. The paper's setting: "
        f"{', '.join(f'{name}={value!r}' for name, value in PAPER.items())}. The share of the "
        "passes in the default fit is that of its wall-clock time. scikit-learn-intelex is also "
        "given sparse rows as dense ones, and the faster fit counts; it is measured if it is "
        "installed.",
        progress=True,
    )
    problems = {problem.data_set.name: problem for problem in available(quick, data or BUDGETS)}
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name in (name for name in BUDGETS if name in problems):
            _add_budgets(table, problems[name], tuple(budgets) or BUDGETS[name], quick)
    return [table]


def _add_budgets(table: Table, problem: Problem, budgets: Iterable[int], quick: bool) -> None:
    X, y, *_ = problem.rows
    calls: dict[Any, Callable[[], Any]] = {}
    for budget in budgets:
        new = partial(BudgetedSVC, budget, **problem.setting, random_state=0)
        new(**PAPER).fit(X[:1000], y[:1000])  # builds the tables before the measurement
        calls["paper", budget] = partial(new(**PAPER).fit, X, y)
        calls["default", budget] = partial(new().fit, X, y)
    layouts = exact.layouts(problem.rows) if exact.HAS_INTEL else []
    for position, layout in enumerate(layouts):
        calls["intel", position] = partial(exact.intel_svc(problem).fit, layout.X, layout.y)
    runs = fastest(calls, QUICK_ROUNDS if quick else ROUNDS, math.inf, process_time)
    intel = _best(runs, layouts)
    for budget in budgets:
        _add_line(table, problem, budget, runs, intel)


def _add_line(
    table: Table, problem: Problem, budget: int, runs: dict[Any, Timed[Any]], intel: dict[str, Any]
) -> None:
    paper, default = runs["paper", budget], runs["default", budget]
    profile = default.value.profile_
    table.add(
        data=problem.label,
        budget=budget,
        paper=paper.seconds,
        fit=default.seconds,
        ratio=default.seconds / paper.seconds,
        passes=profile.seconds_total / (profile.seconds_total + profile.seconds_polish),
        moves=profile.moves,
        steps=profile.solver_steps,
        paper_accuracy=_accuracy(paper.value, problem.rows),
        accuracy=_accuracy(default.value, problem.rows),
        **intel,
    )


def _best(runs: dict[Any, Timed[Any]], layouts: Sequence[TrainTest]) -> dict[str, Any]:
    """Return the time and the accuracy of scikit-learn-intelex for the faster layout."""
    if not layouts:
        return {}
    k = min(range(len(layouts)), key=lambda k: runs["intel", k].seconds)
    run = runs["intel", k]
    return {"intel": run.seconds, "intel_accuracy": _accuracy(run.value, layouts[k])}


def _accuracy(model: Any, rows: TrainTest) -> float:
    return 100 * float(np.mean(model.predict(rows.X_test) == rows.y_test))
