"""Runs candidates on threads: tells callbacks and the user, and keeps results."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning

from ..estimators.base import BudgetedMachine
from ..rows.scales import ScaleWarning, TargetWarning
from ..rows.survey import AtHand
from ..solving.feature_scales import learned_scales
from .candidates import Result, evaluate, weighted_scorer
from .checkpoints import Course
from .folds import Fold
from .race import Pair
from .workers import run_tasks


class Running:
    """Runs candidates on threads, and tells callbacks, checkpoints and the user.

    Parameters
    ----------
    search : BudgetedSVCCV or BudgetedSVRCV
        The search.

    task : callback context
        The task of its fit.

    course : Course
        Keeps the results.

    X : ndarray or CSR matrix
        The rows that candidates are compared on.

    n_outputs : int
        The number of outputs of a model.
    """

    def __init__(self, search: Any, task: Any, course: Course, X: Any, n_outputs: int) -> None:
        self.search, self.task, self.course = search, task, course
        self.X, self.n_outputs = X, n_outputs
        self.n_threads = effective_n_jobs(search.n_jobs)

    def __call__(
        self, machine: BudgetedMachine, message: str, pairs: Sequence[Pair]
    ) -> list[Result]:
        """Score candidates on folds."""
        fitted, most = [], int(machine.budget)
        for candidate, fold in pairs:
            budget = max(round(fold.share * most), min(most, 2 * self.n_outputs))
            values = {"C": candidate.C, "gamma": candidate.gamma, "budget": budget}
            each = clone(machine).set_params(**values)
            if fold.share < 1.0:
                each._choices = machine._choices.for_share(fold.share)
            fitted.append((each, fold))
        return self.scored(message, fitted)

    def scored(self, message: str, fitted: Sequence[tuple[BudgetedMachine, Fold]]) -> list[Result]:
        """Score estimators on folds; results that a checkpoint has kept are not found again."""
        search, course = self.search, self.course
        if search.verbose:
            print(f"[{type(search).__name__}] {message}")
        known = {k: course.known(*each) for k, each in enumerate(fitted)}
        missing = [k for k, result in known.items() if result is None]
        task = self.task.subcontext(
            task_name=message, max_subtasks=len(missing), sequential_subtasks=False
        )
        task.call_on_fit_task_begin(estimator=search, X=self.X)
        each = [
            task.subcontext(
                task_name="candidate-split-evaluation", task_id=k
            ).call_on_fit_task_begin(estimator=search)
            for k in missing
        ]

        def on_end(place: int, result: Result) -> None:
            machine, fold = fitted[missing[place]]
            course.keep(machine, fold, result)
            each[place].call_on_fit_task_end(estimator=search, metadata={"n_rows": len(fold.train)})

        tasks = [
            partial(
                evaluate,
                fitted[k][0].set_params(n_jobs=share),
                fitted[k][1],
                weighted_scorer(fitted[k][0], search.scoring),
            )
            for k, share in zip(missing, shares(len(missing), self.n_threads), strict=True)
        ]
        with quiet():
            found: list[Result] = run_tasks(tasks, self.n_threads, on_end)
        known |= dict(zip(missing, found, strict=True))
        task.call_on_fit_task_end(estimator=search, X=self.X)
        return [result for result in known.values() if result is not None]

    def with_scales(self, machine: BudgetedMachine, folds: Sequence[Fold]) -> list[Fold]:
        """Return the folds with the feature scales that are learnt from their training rows."""
        if self.search.verbose:
            print(f"[{type(self.search).__name__}] feature scales")
        tasks = [partial(_learnt, machine, fold) for fold in folds]
        found = run_tasks(tasks, self.n_threads, lambda *_: None)
        return [replace(fold, scales=each) for fold, each in zip(folds, found, strict=True)]

    def sizes(self, machine: BudgetedMachine, folds: Sequence[Fold]) -> dict[str, Any]:
        """Return the smallest budget whose score is within one standard error of the best."""
        budgets = [int(machine.budget)]
        while budgets[-1] // 2 >= 2 * self.n_outputs:
            budgets.append(budgets[-1] // 2)
        budgets.reverse()
        scores = np.array(
            [
                [
                    result.score
                    for result in self.scored(
                        f"budget {budget}",
                        [(clone(machine).set_params(budget=budget), fold) for fold in folds],
                    )
                ]
                for budget in budgets
            ]
        )
        means = scores.mean(axis=1)
        best = int(np.nanargmax(means))
        error = scores[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
        chosen = int(np.flatnonzero(means >= means[best] - error)[0])
        return {
            "budget_": budgets[chosen],
            "budgets_": np.array(budgets),
            "budget_scores_": scores,
            "best_score_": float(means[chosen]),
        }


def _learnt(machine: BudgetedMachine, fold: Fold) -> NDArray[np.float64] | None:
    """Return feature scales that are learnt from the training rows of a fold."""
    training, _ = fold.parts()
    found, parameters = AtHand(training.rows, training.y, training.weights), machine._parameters()
    parameters = replace(parameters, choices=parameters.choices.for_folds())
    rows, targets = machine._what().targets(found, parameters, None)
    return learned_scales(rows, targets, parameters, auto=False).scales


def shares(n_tasks: int, n_threads: int) -> list[int]:
    """Return the threads of each task; the last ones share those that would have nothing to do."""
    n_last = n_tasks % n_threads
    return [1] * (n_tasks - n_last) + [n_threads // n_last for _ in range(n_last)]


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the warnings of candidates.

    Extreme candidates may not converge, and their scores show it. The best one is fitted later,
    where it can warn. A score that is not defined is an error of its own.
    """
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, ScaleWarning, TargetWarning, UndefinedMetricWarning):
            warnings.simplefilter("ignore", category)
        yield
