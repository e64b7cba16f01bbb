"""Candidates, trained and scored on the rows of folds.

`evaluate` scores several values of C at once: the passes are made once, on rows that train in all
folds of a group, and one path of the solver gives the coefficients of every C and fold.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ...model.model import Model
from ...model.prediction import decision_values, log_probabilities
from ...rows.checked import Rows
from ...rows.precision import training_rows
from ...solving.path import Shared, solve_path
from ...solving.solve import last_iterate
from ...training.passes import passes
from ...training.settings import Settings
from ...training.state import VectorSet
from ...training.targets import Targets
from ..base import BudgetedMachine
from .folds import FoldGroup, Held

Array = NDArray[Any]

# Passes of a candidate: at least this many, and enough steps for each vector.
LEAST_PASSES = 4
STEPS_PER_VECTOR = 50
# What decision values are multiplied by to become logits: losses are computed for each.
SLOPES = 2.0 ** np.arange(-2, 7)


@dataclass(frozen=True)
class Scorer:
    """The score to maximise.

    Attributes
    ----------
    score : callable
        Called with an estimator, rows, targets and their weights.

    is_accuracy : bool
        Whether it is the share of rows that are predicted correctly.
    """

    score: Callable[[Any, Any, Array, Array | None], float]
    is_accuracy: bool = False


@dataclass(frozen=True, eq=False)
class Result:
    """The score of a candidate on a fold.

    Attributes
    ----------
    score : float
        The score of all held-out rows.

    parts : ndarray
        The scores of parts of them, which show how far the score is a matter of chance.

    fit_seconds, score_seconds : float
        The time for training and for scoring. Work that candidates share is shared out evenly.

    log_losses : ndarray of shape (n_slopes,) or None
        The log loss of the held-out rows, for each of `SLOPES`; None unless few rows are scored by
        their accuracy, which then depends on chance.
    """

    score: float
    parts: NDArray[np.float64]
    fit_seconds: float
    score_seconds: float
    log_losses: NDArray[np.float64] | None = None


def evaluate(
    machine: BudgetedMachine,
    folds: FoldGroup,
    gamma: float,
    Cs: Sequence[float],
    scorer: Scorer,
    n_threads: int,
) -> list[list[Result]]:
    """Score the candidates of one gamma on each fold of a group, for ascending values of C."""
    begin = time.perf_counter()
    if folds.budget is not None:
        machine = clone(machine).set_params(budget=folds.budget)
    found = _models(machine, folds, gamma, Cs, n_threads)
    seconds = (time.perf_counter() - begin) / (len(folds.held) * len(Cs))
    candidates = [clone(machine).set_params(C=C, gamma=gamma, n_jobs=n_threads) for C in Cs]
    losses = scorer.is_accuracy and folds.has_few_rows
    return [
        list(_results(candidates, models, held, scorer, seconds, n_threads, losses=losses))
        for models, held in zip(found, folds.held, strict=True)
    ]


def _models(
    machine: BudgetedMachine, folds: FoldGroup, gamma: float, Cs: Sequence[float], n_threads: int
) -> list[list[Model]]:
    """Train a model for every fold and C."""
    checked, targets = folds.common()
    rows = training_rows(checked, gamma)

    def settings(C: float) -> Settings:
        candidate = clone(machine).set_params(C=C, gamma=gamma, n_jobs=n_threads)
        found = settings_of(candidate, rows, targets)
        # The rows may be some of those of a fold: lambda is that of the fold.
        return replace(found, alpha=found.alpha * rows.n_rows / folds.n_rows)

    def found(settings: Settings) -> VectorSet:
        return passes(rows, targets, settings, lambda _: False)

    if not machine.polish:
        each = [settings(C) for C in Cs]
        return [
            completed(machine, [last_iterate(found(one), targets, one) for one in each], targets)
        ]
    middle = Cs[len(Cs) // 2]
    shared = settings(middle)
    n_passes = -(-STEPS_PER_VECTOR * shared.budget // rows.n_rows)
    shared = replace(shared, n_passes=min(shared.n_passes, max(n_passes, LEAST_PASSES)))
    factors = [C / middle for C in Cs]
    whole = None
    if folds.training is not None:
        every = Rows(folds.rows, folds.rows.core(rows.core.dtype), rows.gamma)
        whole = Shared(every, folds.targets, folds.n_rows, folds.training)
    models = solve_path(
        found(shared), rows, targets, shared, factors, moves=folds.moves, shared=whole
    )
    return [completed(machine, each, targets) for each in models]


def settings_of(machine: BudgetedMachine, rows: Rows, targets: Targets) -> Settings:
    """Return the settings of a fit on some rows."""
    task, parameters = machine._what(), machine._parameters()
    random = parameters.random_state
    alpha = task.alpha(rows, targets, rows.n_rows, parameters, random, None)
    return task.adapted(parameters.settings(alpha))


def completed(machine: BudgetedMachine, models: Iterable[Model], targets: Targets) -> list[Model]:
    """Return the models with what the task adds to them."""
    task = machine._what()
    return [task.completed(model, targets) for model in models]


def evaluate_budgets(
    machine: BudgetedMachine,
    fold: FoldGroup,
    budgets: Sequence[int],
    scorer: Scorer,
    n_threads: int,
) -> list[Result]:
    """Score descending budgets on a fold, with the C and gamma of the machine.

    The vectors of each budget are merged down to the next one, and solved for again.
    """
    rows = training_rows(fold.rows, machine.gamma)
    vectors: VectorSet | None = None
    results: list[Result] = []
    for budget in budgets:
        begin = time.perf_counter()
        candidate = clone(machine).set_params(budget=budget, n_jobs=n_threads)
        settings = settings_of(candidate, rows, fold.targets)
        settings = replace(settings, alpha=settings.alpha * rows.n_rows / fold.n_rows)
        if vectors is not None:
            settings = replace(settings, n_passes=1)
        vectors = passes(rows, fold.targets, settings, lambda _: False, vectors)
        models = [last_iterate(vectors, fold.targets, settings)]
        if machine.polish:
            (models,) = solve_path(vectors, rows, fold.targets, settings, [1.0], moves=fold.moves)
        models = completed(machine, models, fold.targets)
        seconds = time.perf_counter() - begin
        results += _results([candidate], models, fold.held[0], scorer, seconds, n_threads)
    return results


def _results(
    candidates: Iterable[BudgetedMachine],
    models: Sequence[Model],
    held: Held,
    scorer: Scorer,
    fit_seconds: float,
    n_threads: int,
    *,
    losses: bool = False,
) -> Iterator[Result]:
    """Score models; those of a path have the same vectors, and share their kernel values."""
    begin = time.perf_counter()
    values = _held_values(models, held, n_threads)
    shared = (time.perf_counter() - begin) / len(models)
    for candidate, model, decisions in zip(candidates, models, values, strict=True):
        begin = time.perf_counter()
        candidate._model = model
        score, parts = (_hits if scorer.is_accuracy else _scores)(
            candidate, decisions, held, scorer
        )
        log_losses = _log_losses(decisions, model, held) if losses else None
        seconds = shared + time.perf_counter() - begin
        yield Result(score, np.array(parts), fit_seconds, seconds, log_losses)


def _log_losses(decisions: Array, model: Model, held: Held) -> Array:
    """Return the mean log loss of held-out rows if decision values, times a slope, are logits.

    Only rows of classes that train in the fold count: the decision values of other classes mean
    nothing. Without such rows, there is no mean.
    """
    assert model.classes is not None
    assert held.classes is not None
    weights = np.ones(len(held.y)) if held.weights is None else held.weights
    counted = (weights > 0) & np.isin(held.y, held.classes)
    if not counted.any():
        return np.full(len(SLOPES), np.nan)
    codes = np.searchsorted(model.classes, held.y[counted])[:, None]
    found = (log_probabilities(slope * decisions[counted]) for slope in SLOPES)
    losses = -np.column_stack([np.take_along_axis(each, codes, axis=1) for each in found])
    means: Array = weights[counted] @ losses / weights[counted].sum()
    return means


def _held_values(models: Sequence[Model], held: Held, n_threads: int) -> list[Array]:
    """Return the decision values of the held-out rows, for every model."""
    first = models[0]
    if all(model.vectors is first.vectors for model in models):
        coefficients = np.concatenate([model.dual_coef for model in models])
        intercepts = np.concatenate([model.intercept for model in models])
        values = decision_values(
            first.vectors, coefficients, intercepts, first.gamma, held.rows, n_threads
        )
        return np.split(values, len(models), axis=1)
    return [
        decision_values(m.vectors, m.dual_coef, m.intercept, m.gamma, held.rows, n_threads)
        for m in models
    ]


def _hits(
    candidate: BudgetedMachine, decisions: Array, held: Held, scorer: Scorer
) -> tuple[float, list[float]]:
    """Return the accuracy of the held-out rows, and of parts of them."""
    hits = _predicting(candidate, held.rows.X, decisions).predict(held.rows.X) == held.y
    weights = np.ones(len(hits)) if held.weights is None else held.weights

    def share(some: slice) -> float:
        total = weights[some].sum()
        return float(weights[some] @ hits[some] / total) if total else np.nan

    return share(slice(None)), [share(some) for some in held.parts()]


def _scores(
    candidate: BudgetedMachine, decisions: Array, held: Held, scorer: Scorer
) -> tuple[float, list[float]]:
    """Return the score of the held-out rows, and of parts of them."""

    def score(some: slice) -> float:
        X = held.rows.X[some]
        weights = None if held.weights is None else held.weights[some]
        return scorer.score(_predicting(candidate, X, decisions[some]), X, held.y[some], weights)

    found, parts = score(slice(None)), held.parts()
    try:
        return found, [score(some) for some in parts] if len(parts) > 1 else [found]
    except ValueError:  # some scores need all classes
        return found, [found]


def _predicting(candidate: Any, X: Any, decisions: Array) -> Any:
    """Return a candidate that knows the decision values of these very rows."""
    compute = type(candidate)._decision_values
    known = lambda rows: decisions if rows is X else compute(candidate, rows)  # noqa: E731
    candidate.__dict__["_decision_values"] = known
    return candidate
