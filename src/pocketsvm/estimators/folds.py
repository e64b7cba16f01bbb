"""The folds of a cross-validation, and the scores of candidates on them.

The rows of a fold are checked, prepared and encoded once for all candidates. `evaluate` scores
several values of C at once: the passes are made once, on the training rows of the fold alone, and
one path of the solver gives the coefficients of every C.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from ..data.precision import training_rows
from ..data.rows import CheckedRows
from ..data.sampling import draw
from ..data.targets import ClassTargets, ValueTargets
from ..model.model import Model
from ..model.prediction import decision_values
from ..solving.path import solve_path
from ..solving.solve import last_iterate
from ..training.passes import passes
from ..training.settings import Settings
from ..training.state import VectorSet
from .base import BudgetedMachine

Array = NDArray[Any]
# Called with an estimator, rows, targets and their weights.
Scorer = Callable[[Any, Any, Array, Array | None], float]

# Candidates are compared on at most this many training rows for each vector, or this many in all.
ROWS_PER_VECTOR = 128
LEAST_SAMPLE = 20_000
# More rows than these do not tell candidates apart any better.
MOST_HELD = 100_000
# Passes of a candidate: at least this many, and enough steps for each vector.
LEAST_PASSES = 4
STEPS_PER_VECTOR = 50
# Held-out rows are scored in this many parts, too, of at least this many rows.
MOST_PARTS = 8
ROWS_PER_PART = 50


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and held-out rows.

    Attributes
    ----------
    number : int
        Its place among the folds, from zero.

    rows : CheckedRows
        The training rows, or a sample of them.

    targets : ClassTargets or ValueTargets
        Their targets.

    n_rows : int
        The number of training rows that `rows` stand for.

    moves : bool
        Whether the vectors of candidates move, if that pays.

    held : CheckedRows
        The held-out rows.

    y : ndarray
        Their targets.

    weights : ndarray or None
        Their weights.
    """

    number: int
    rows: CheckedRows
    targets: ClassTargets | ValueTargets
    n_rows: int
    held: CheckedRows
    y: Array
    weights: Array | None
    moves: bool = True

    def few(self, n_rows: int, seed: int) -> "Fold":
        """Return the fold with a sample of its training rows, which stand for themselves.

        Vectors do not move: with few rows, they would fit the noise.
        """
        rows, targets = some_rows(self.rows, self.targets, n_rows, seed)
        return replace(self, rows=rows, targets=targets, n_rows=rows.n_rows, moves=False)

    def parts(self) -> list[Array]:
        """Cut the held-out rows into parts, each of which is spread over all of them."""
        n_held = self.held.n_rows
        n_parts = max(1, min(MOST_PARTS, n_held // ROWS_PER_PART))
        return [np.arange(k, n_held, n_parts) for k in range(n_parts)]


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
    """

    score: float
    parts: NDArray[np.float64]
    fit_seconds: float
    score_seconds: float


def splits(
    cv: Any, machine: BudgetedMachine, X: Any, y: Array, groups: Any, seed: int
) -> list[tuple[Array, Array]]:
    """Return the positions of the training rows and the held-out rows of every fold.

    A number means so many shuffled folds, stratified for classification.
    """
    if isinstance(cv, int | np.integer) or cv is None:
        folds = StratifiedKFold if is_classifier(machine) else KFold
        splitter = folds(5 if cv is None else int(cv), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, y, classifier=is_classifier(machine))
    found = [(np.asarray(train), np.asarray(test)) for train, test in splitter.split(X, y, groups)]
    if not found:
        raise ValueError(f"cv={cv!r} gives no folds.")
    for number, (train, test) in enumerate(found):
        if not len(train) or not len(test):
            part = "training" if not len(train) else "held-out"
            raise ValueError(f"Fold {number + 1} of cv={cv!r} has no {part} rows.")
    return found


def make_fold(
    number: int,
    machine: BudgetedMachine,
    training: tuple[CheckedRows, Array, Array | None],
    held: tuple[CheckedRows, Array, Array | None],
    classes: Array | None,
    seed: int,
) -> Fold:
    """Return a fold of rows, targets and weights; `classes` are those of all rows."""
    if classes is not None:
        _, y, weights = training
        _check_classes(number, machine, y if weights is None else y[weights > 0], classes)
    rows, targets = machine._fold_targets(*training, classes)
    n_rows = rows.n_rows
    most = max(ROWS_PER_VECTOR * int(machine.budget), LEAST_SAMPLE)
    rows, targets = some_rows(rows, targets, most, seed)
    return Fold(number, rows, targets, n_rows, *_some_held(held, seed))


def _check_classes(number: int, machine: BudgetedMachine, y: Array, classes: Array) -> None:
    """Refuse training rows of one class; several classes may lack one of them."""
    found = np.isin(classes, y)
    if found.sum() < 2:
        raise ValueError(
            f"All training rows of fold {number + 1} belong to the class "
            f"{classes[found].tolist()[0]!r}. Each fold needs two classes or more: use another "
            "`cv`, such as StratifiedKFold or StratifiedGroupKFold with shuffle=True."
        )
    if not found.all() and getattr(machine, "class_weight", None) == "balanced":
        raise ValueError(
            "class_weight='balanced' needs all classes in every fold, but the training rows of "
            f"fold {number + 1} have none of {classes[~found].tolist()}. Use fewer folds, or give "
            "the weights."
        )


def some_rows(rows: CheckedRows, targets: Any, n_rows: int, seed: int) -> tuple[CheckedRows, Any]:
    """Draw a sample of rows that represents all of them, if there are more than this many."""
    if rows.n_rows <= n_rows:
        return rows, targets
    least = n_rows // (8 * targets.n_problems)
    chosen, factors = draw(targets.groups(), targets.row_weight(), n_rows, least, seed)
    return rows.take(chosen), targets.take(chosen, factors)


def _some_held(
    held: tuple[CheckedRows, Array, Array | None], seed: int
) -> tuple[CheckedRows, Array, Array | None]:
    rows, y, weights = held
    if rows.n_rows <= MOST_HELD:
        return held
    chosen = np.random.default_rng(seed).choice(rows.n_rows, MOST_HELD, replace=False)
    chosen.sort()
    return rows.take(chosen), y[chosen], None if weights is None else weights[chosen]


# --- candidates -----------------------------------------------------------------------------------


def evaluate(
    machine: BudgetedMachine,
    fold: Fold,
    gamma: float,
    Cs: Sequence[float],
    scorer: Scorer,
    n_threads: int,
) -> list[Result]:
    """Score the candidates of one gamma on a fold, for ascending values of C."""
    begin = time.perf_counter()
    models = _models(machine, fold, gamma, Cs, n_threads)
    fit_seconds = (time.perf_counter() - begin) / len(models)
    candidates = [clone(machine).set_params(C=C, gamma=gamma, n_jobs=n_threads) for C in Cs]
    return list(_results(candidates, models, fold, scorer, fit_seconds, n_threads))


def _models(
    machine: BudgetedMachine, fold: Fold, gamma: float, Cs: Sequence[float], n_threads: int
) -> list[Model]:
    """Train a model for every C."""
    rows = training_rows(fold.rows, gamma)

    def settings(C: float) -> Settings:
        candidate = clone(machine).set_params(C=C, gamma=gamma, n_jobs=n_threads)
        found: Settings = candidate._settings(rows, fold.targets, stream=False)
        # The rows may be a sample: lambda is that of all rows.
        return replace(found, alpha=found.alpha * rows.n_rows / fold.n_rows)

    def found(settings: Settings) -> VectorSet:
        return passes(rows, fold.targets, settings, lambda _: False)

    if not machine.polish:
        each = [settings(C) for C in Cs]
        models = [last_iterate(found(one), fold.targets, one) for one in each]
        return [machine._completed(model, rows, fold.targets, False) for model in models]
    middle = Cs[len(Cs) // 2]
    shared = settings(middle)
    n_passes = -(-STEPS_PER_VECTOR * shared.budget // rows.n_rows)
    shared = replace(shared, n_passes=min(shared.n_passes, max(n_passes, LEAST_PASSES)))
    factors = [C / middle for C in Cs]
    models = solve_path(found(shared), rows, fold.targets, shared, factors, moves=fold.moves)
    return [machine._completed(model, rows, fold.targets, False) for model in models]


def evaluate_budgets(
    machine: BudgetedMachine,
    fold: Fold,
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
        settings: Settings = candidate._settings(rows, fold.targets, stream=False)
        settings = replace(settings, alpha=settings.alpha * rows.n_rows / fold.n_rows)
        if vectors is not None:
            settings = replace(settings, n_passes=1)
        vectors = passes(rows, fold.targets, settings, lambda _: False, vectors)
        models = [last_iterate(vectors, fold.targets, settings)]
        if machine.polish:
            models = solve_path(vectors, rows, fold.targets, settings, [1.0], moves=fold.moves)
        models = [machine._completed(model, rows, fold.targets, False) for model in models]
        seconds = time.perf_counter() - begin
        results += _results([candidate], models, fold, scorer, seconds, n_threads)
    return results


def _results(
    candidates: Iterable[BudgetedMachine],
    models: Sequence[Model],
    fold: Fold,
    scorer: Scorer,
    fit_seconds: float,
    n_threads: int,
) -> Iterator[Result]:
    """Score models; those of a path have the same vectors, and share their kernel values."""
    begin = time.perf_counter()
    values = _held_values(models, fold, n_threads)
    shared = (time.perf_counter() - begin) / len(models)
    for candidate, model, decisions in zip(candidates, models, values, strict=True):
        begin = time.perf_counter()
        candidate._adopt(model)
        score = _score(candidate, decisions, fold, scorer, None)
        parts = [score]
        if len(cuts := fold.parts()) > 1:
            try:
                parts = [_score(candidate, decisions, fold, scorer, cut) for cut in cuts]
            except ValueError:  # some scores need all classes
                parts = [score]
        seconds = shared + time.perf_counter() - begin
        yield Result(score, np.array(parts), fit_seconds, seconds)


def _held_values(models: Sequence[Model], fold: Fold, n_threads: int) -> list[Array]:
    """Return the decision values of the held-out rows, for every model."""
    first = models[0]
    if all(model.vectors is first.vectors for model in models):
        coefficients = np.concatenate([model.dual_coef for model in models])
        intercepts = np.concatenate([model.intercept for model in models])
        values = decision_values(
            first.vectors, coefficients, intercepts, first.gamma, fold.held, n_threads
        )
        return np.split(values, len(models), axis=1)
    return [
        decision_values(m.vectors, m.dual_coef, m.intercept, m.gamma, fold.held, n_threads)
        for m in models
    ]


def _score(
    candidate: BudgetedMachine, decisions: Array, fold: Fold, scorer: Scorer, cut: Array | None
) -> float:
    """Return the score of the held-out rows, or of a part of them."""
    X, y, weights = fold.held.X, fold.y, fold.weights
    if cut is not None:
        X, y, decisions = X[cut], y[cut], decisions[cut]
        weights = None if weights is None else weights[cut]
    compute = type(candidate)._decision_values
    # A scorer asks for the decision values of these very rows: they are known already.
    known = lambda rows: decisions if rows is X else compute(candidate, rows)  # noqa: E731
    candidate.__dict__["_decision_values"] = known
    return float(scorer(candidate, X, y, weights))
