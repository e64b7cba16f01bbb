"""What the estimators that find C and gamma share: the course of a search, and its results."""

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..._replacing import PathLike
from ..._sklearn import StrOptions, parameter_names, takes_weights
from ...fit import plan_of
from ...model.model import Model
from ...profile import Profile
from ...rows.checked import CheckedRows, check_rows_and_targets
from ...rows.opening import as_dataset
from ...rows.precision import training_rows
from ...rows.scales import TargetWarning
from ...rows.survey import survey
from ...rows.weights import non_negative
from ...training.targets import Targets
from ..base import BudgetedMachine, check_alone
from ..saving import save_model
from .board import Board
from .candidates import Scorer, evaluate, evaluate_budgets
from .folds import FoldGroup, check_folds, make_groups, splits, targets_of
from .grid import Candidate, Grid
from .race import Found, Race
from .results import cv_results, joined, score_array
from .workers import run_tasks

Array = NDArray[Any]

# With budget="auto": the largest budget, the smallest one, and the rows for each vector.
LARGEST_BUDGET, LEAST_BUDGET, ROWS_PER_VECTOR = 500, 8, 4
# Fitted attributes of the plain estimator that its search has, too.
SHARED = (
    *("support_vectors_", "dual_coef_", "intercept_", "classes_", "gamma_", "alpha_"),
    *("n_iter_", "profile_", "n_features_in_", "feature_names_in_"),
)


class Search(NamedTuple):
    """A search of C and gamma that has ended: what was tried, and the best of it."""

    choice: dict[str, Any]  # the parameters that differ from those of other searches
    machine: BudgetedMachine
    folds: list[FoldGroup]
    board: Board
    best: Candidate

    @property
    def score(self) -> float:
        """The mean score of the best candidate."""
        return self.board.mean(self.best, range(self.board.n_folds))


class BudgetedSearch(BaseEstimator):
    """The base of the estimators that find C and gamma themselves."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: BudgetedMachine._parameter_constraints[name]
            for name in ("max_iter", "maintenance", "polish", "fit_intercept")
        },
        "budget": [
            *BudgetedMachine._parameter_constraints["budget"],
            StrOptions({"auto"}),
        ],
        "Cs": ["array-like", None],
        "gammas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _machine: ClassVar[type[BudgetedMachine]]  # the plain estimator
    budget: int | str
    Cs: Sequence[float] | None
    gammas: Sequence[float] | None
    cv: Any
    scoring: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    support_vectors_: NDArray[np.floating[Any]]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    C_: float
    loss_: str
    gamma_: float
    alpha_: float
    n_iter_: int
    profile_: Profile
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    best_estimator_: Any
    best_params_: dict[str, float]
    best_score_: float
    best_index_: int
    cv_results_: dict[str, Any]
    Cs_: NDArray[np.float64]
    gammas_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    n_splits_: int
    budget_: int
    budgets_: NDArray[np.int64]
    budget_scores_: NDArray[np.float64]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _plain(self, **parameters: Any) -> BudgetedMachine:
        """Return the plain estimator with the parameters of this one, and some others."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in parameter_names(self._machine) if name in own}
        return self._machine(**shared | parameters)

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Search, fit the winner on all rows and set the attributes in one step."""
        dataset = as_dataset(X)
        if dataset is not None:
            X, y, sample_weight = self._drawn(dataset, y, sample_weight, groups)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows, y = check_rows_and_targets(copy.copy(self), X, y, reset=True)
        budget = self.budget
        if budget == "auto":
            budget = min(LARGEST_BUDGET, max(rows.n_rows // ROWS_PER_VECTOR, LEAST_BUDGET))
        weights = non_negative(sample_weight, rows)
        check_consistent_length(rows.X, groups)
        machine = self._plain(budget=budget, random_state=seed, n_jobs=1)
        counted, targets = targets_of(machine, rows, y, weights, None)
        classes = targets.classes
        grid = self._grid(counted, targets)
        places = splits(self.cv, machine, rows.X, y, groups, seed)
        check_folds(machine, places, y, weights, classes, self.scoring)
        scorer = weighted_scorer(machine, self.scoring)

        def part(chosen: Array) -> tuple[CheckedRows, Array, Array | None]:
            return rows.take(chosen), y[chosen], None if weights is None else weights[chosen]

        searches = []
        choices = self._choices(targets)
        for choice in choices:
            machine = clone(machine).set_params(**choice)
            folds = make_groups(machine, places, part, classes, seed)
            try:
                race, best = run_race(machine, grid, folds, scorer, self.n_jobs, self._say, seed)
            except NeedsProbabilitiesError:
                if choice is choices[-1]:
                    raise
                continue
            searches.append(Search(choice, machine, folds, race.board, best))
        winner = max(searches, key=lambda each: each.score)  # the first one among equals
        found: dict[str, Any] = {"C": winner.best.C, "gamma": winner.best.gamma} | winner.choice
        sizes: dict[str, Any] = {"budget_": int(machine.budget)}
        if self.budget == "auto":
            sizes = self._sizes(winner.machine.set_params(**found), winner.folds, scorer)
            found["budget"] = sizes["budget_"]
        common = {"random_state": self.random_state, "n_jobs": self.n_jobs}
        plain = self._plain(**common, **{"budget": machine.budget} | found)
        if dataset is None:
            plain.fit(X, y, sample_weight=weights)
        else:
            plain.fit(dataset, None)
        self._adopt(plain, searches, winner, found, sizes, len(y))

    def _drawn(self, dataset: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Any, Any, Any]:
        """Return the sample of a fit, on which candidates are compared."""
        if groups is not None:
            raise ValueError("A data set has no groups: leave them out.")
        check_alone(y=y, sample_weight=sample_weight)
        size = LARGEST_BUDGET if self.budget == "auto" else self.budget
        machine = self._plain(budget=size)
        needs, plan = machine._what().needs, plan_of(machine._parameters())
        with dataset.opened(needs) as source:
            found = survey(source, needs, plan, dataset.preparing)
        if found.survey is None:
            return found.rows.X, found.y, found.weight
        weights = found.survey.weights * (found.survey.n_rows / found.rows.n_rows)
        return found.rows.X, found.y, weights

    def _choices(self, targets: Targets) -> list[dict[str, Any]]:
        """Return the parameters besides C and gamma that are compared, the first by default."""
        return [{}]

    def _sizes(
        self, machine: BudgetedMachine, groups: Sequence[FoldGroup], scorer: Scorer
    ) -> dict[str, Any]:
        """Return the smallest budget whose score is within one standard error of the best."""
        folds = [group.single(k) for group in groups for k in range(len(group.held))]
        n_outputs = folds[0].targets.n_problems
        budgets = [int(machine.budget)]
        while budgets[-1] // 2 >= max(LEAST_BUDGET, 2 * n_outputs):
            budgets.append(budgets[-1] // 2)
        self._say(f"budgets: {', '.join(map(str, budgets))}")
        n_threads = effective_n_jobs(self.n_jobs)
        share = max(1, n_threads // len(folds))
        tasks = [partial(evaluate_budgets, machine, fold, budgets, scorer, share) for fold in folds]
        with quiet():
            found = run_tasks(tasks, n_threads, lambda: None)
        scores = np.array([[result.score for result in results] for results in found]).T[::-1]
        means = scores.mean(axis=1)
        best = int(np.nanargmax(means))
        error = scores[best].std(ddof=1) / np.sqrt(len(folds)) if len(folds) > 1 else 0.0
        chosen = int(np.flatnonzero(means >= means[best] - error)[0])
        return {
            "budget_": budgets[::-1][chosen],
            "budgets_": np.array(budgets[::-1]),
            "budget_scores_": scores,
            "best_score_": float(means[chosen]),
        }

    def _grid(self, rows: CheckedRows, targets: Targets) -> Grid:
        """Return the values to begin with. C is in units of the targets."""
        unit = targets.unit_of_c
        gamma = training_rows(rows, "scale").gamma
        return Grid.of(
            checked_values("gammas", self.gammas), checked_values("Cs", self.Cs), gamma, unit
        )

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _adopt(
        self,
        plain: BudgetedMachine,
        searches: "Sequence[Search]",
        winner: "Search",
        parameters: dict[str, Any],
        sizes: dict[str, Any],
        n_rows: int,
    ) -> None:
        """Set the fitted attributes in one step: an interrupt leaves no mixture of two fits."""
        board, best = winner.board, winner.best
        tried = {*board.results, *board.screened}
        gammas, Cs = sorted({c.gamma for c in tried}), sorted({c.C for c in tried})
        results = joined(
            [cv_results(each.board, "C", "gamma", n_rows, each.choice) for each in searches]
        )
        chosen = {"C": best.C, "gamma": best.gamma} | winner.choice
        shared = {name: getattr(plain, name) for name in SHARED if hasattr(plain, name)}
        dropped = (*SHARED, "budgets_", "budget_scores_")
        kept = {key: value for key, value in vars(self).items() if key not in dropped}
        self.__dict__ = (
            kept
            | shared
            | {
                "best_estimator_": plain,
                "best_params_": parameters,
                "best_index_": results["params"].index(chosen),
                "best_score_": winner.score,
                "C_": best.C,
                "loss_": plain.loss,
                "Cs_": np.array(Cs),
                "gammas_": np.array(gammas),
                "scores_": score_array(board, gammas, Cs),
                "cv_results_": results,
                "n_splits_": board.n_folds,
            }
            | sizes
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the model that was fitted on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        predicted : ndarray of shape (n_samples,)
            The predicted labels or target values.
        """
        check_is_fitted(self)
        predicted: NDArray[Any] = self.best_estimator_.predict(X)
        return predicted

    def to_model(self) -> Model:
        """Return the fitted model, that of ``best_estimator_``.

        Returns
        -------
        model : pocketsvm.model.Model
            The model; its arrays are not copied.
        """
        check_is_fitted(self)
        model: Model = self.best_estimator_.to_model()
        return model

    def save(self, path: PathLike) -> None:
        """Write the model to a file; `pocketsvm.load_model` returns ``best_estimator_``.

        Parameters
        ----------
        path : str or path-like
            The file. It appears, or replaces an existing one, in one step once it is complete.
        """
        check_is_fitted(self)
        save_model(self.best_estimator_, path)


def checked_values(name: str, values: Any) -> Sequence[float] | None:
    """Return the values of a parameter as floats; they must be positive and finite."""
    if values is None:
        return None
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 1 or not len(found) or not (np.isfinite(found) & (found > 0)).all():
        raise ValueError(
            f"{name} must be a list of positive numbers, or None for the default, got {values!r}."
        )
    floats: list[float] = found.tolist()
    return floats


class NeedsProbabilitiesError(ValueError):
    """The score needs probabilities, which the model does not have."""


def weighted_scorer(machine: BudgetedMachine, scoring: Any) -> Scorer:
    """Return the score to maximise; it counts weights if it can."""
    scorer = check_scoring(machine, scoring=scoring)
    weighted = scoring is None or takes_weights(scorer)
    is_accuracy = is_classifier(machine) and scoring in (None, "accuracy")

    def score(estimator: Any, X: Any, y: Array, weights: Array | None) -> float:
        counted = {} if weights is None or not weighted else {"sample_weight": weights}
        try:
            return float(scorer(estimator, X, y, **counted))
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise NeedsProbabilitiesError(
                f"scoring={scoring!r} needs probabilities, which only loss='log_loss' gives."
            ) from error

    return Scorer(score, is_accuracy)


def run_race(
    machine: BudgetedMachine,
    grid: Grid,
    folds: Sequence[FoldGroup],
    scorer: Scorer,
    n_jobs: int | None,
    say: Callable[[str], None],
    seed: int,
    on_task: Callable[[FoldGroup, float], None] = lambda *_: None,
) -> tuple[Race, Candidate]:
    """Search for the best candidate, on several threads.

    `say` is called with a line of text for each round, and `on_task` with the fold and the share of
    the search that is done, whenever the candidates of one gamma have been scored on a fold.
    """
    n_threads = effective_n_jobs(n_jobs)

    def run(group: FoldGroup, Cs_of: dict[float, list[float]]) -> Found:
        tasks = [
            partial(evaluate, machine, group, gamma, Cs, scorer, share)
            for (gamma, Cs), share in zip(Cs_of.items(), shares(len(Cs_of), n_threads), strict=True)
        ]

        def on_end() -> None:
            race.task_ended()
            on_task(group, race.progress)

        found = run_tasks(tasks, n_threads, on_end)
        return {
            (Candidate(gamma, C), fold): result
            for (gamma, Cs), each in zip(Cs_of.items(), found, strict=True)
            for fold, results in zip(group.numbers, each, strict=True)
            for C, result in zip(Cs, results, strict=True)
        }

    race = Race(grid, folds, run, say, seed)
    with quiet():
        best = race.decide(int(machine.budget))
    return race, best


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
        for category in (ConvergenceWarning, TargetWarning, UndefinedMetricWarning):
            warnings.simplefilter("ignore", category)
        yield
