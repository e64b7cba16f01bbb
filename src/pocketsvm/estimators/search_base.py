"""What the estimators that find C and gamma share: the course of a search, and its results."""

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._replacing import PathLike
from .._sklearn import StrOptions, check_weights, parameter_names, takes_weights
from ..data.dataset import as_dataset
from ..data.precision import training_rows
from ..data.rows import CheckedRows, check_rows_and_targets
from ..data.scales import TargetWarning
from ..data.targets import ClassTargets, ValueTargets, check_classes
from ..model.model import Model
from ..profile import Profile
from .base import BudgetedMachine
from .folds import Fold, Result, Scorer, evaluate, make_fold, splits
from .race import Board, Candidate, Grid, Race
from .results import cv_results, score_array
from .saving import save_model
from .workers import run_tasks

Array = NDArray[Any]

# Fitted attributes of the plain estimator that its search has, too.
SHARED = (
    *("support_vectors_", "dual_coef_", "intercept_", "classes_", "gamma_", "alpha_"),
    *("n_iter_", "profile_", "n_features_in_", "feature_names_in_"),
)


class BudgetedSearch(BaseEstimator):
    """The base of the estimators that find C and gamma themselves."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: BudgetedMachine._parameter_constraints[name]
            for name in ("budget", "max_iter", "maintenance", "polish", "fit_intercept")
        },
        "Cs": ["array-like", None],
        "gammas": ["array-like", None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _machine: ClassVar[type[BudgetedMachine]]  # the plain estimator
    budget: int
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
        if as_dataset(X) is not None:
            raise TypeError(
                f"{type(self).__name__} needs the rows in memory. For rows on disk, find C and "
                "gamma with a sample of them, or use the command `pocketsvm tune`."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        machine = self._plain(random_state=seed, n_jobs=1)
        rows, y = check_rows_and_targets(copy.copy(self), X, y, reset=True)
        weights = None
        if sample_weight is not None:
            weights = check_weights(
                sample_weight, rows.X, dtype=np.float64, ensure_non_negative=True
            )
        counted, targets = machine._fold_targets(rows, y, weights, None)
        classes = None
        if isinstance(targets, ClassTargets):
            classes = targets.classes
            check_classes(classes, machine.budget)
        grid = self._grid(counted, targets)
        check_consistent_length(rows.X, groups)
        places = splits(self.cv, machine, rows.X, y, groups, seed)

        def part(chosen: Array) -> tuple[CheckedRows, Array, Array | None]:
            return rows.take(chosen), y[chosen], None if weights is None else weights[chosen]

        folds = [
            make_fold(number, machine, part(train), part(test), classes, seed)
            for number, (train, test) in enumerate(places)
        ]
        scorer = weighted_scorer(machine, self.scoring)
        race, best = run_race(machine, grid, folds, scorer, self.n_jobs, self._say, seed)
        found = {"C": best.C, "gamma": best.gamma}
        plain = self._plain(random_state=self.random_state, n_jobs=self.n_jobs, **found)
        plain.fit(X, y, sample_weight=weights)
        self._adopt(plain, race.board, best, len(y))

    def _grid(self, rows: CheckedRows, targets: ClassTargets | ValueTargets) -> Grid:
        """Return the values to begin with. C is in units of the targets."""
        unit = float(targets.spreads().mean()) if isinstance(targets, ValueTargets) else 1.0
        gamma = training_rows(rows, "scale").gamma
        return Grid.of(
            checked_values("gammas", self.gammas), checked_values("Cs", self.Cs), gamma, unit
        )

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _adopt(self, plain: BudgetedMachine, board: Board, best: Candidate, n_rows: int) -> None:
        """Set the fitted attributes in one step: an interrupt leaves no mixture of two fits."""
        tried = {*board.results, *board.screened}
        gammas, Cs = sorted({c.gamma for c in tried}), sorted({c.C for c in tried})
        results = cv_results(board, "C", "gamma", n_rows)
        parameters = {"C": best.C, "gamma": best.gamma}
        shared = {name: getattr(plain, name) for name in SHARED if hasattr(plain, name)}
        kept = {key: value for key, value in vars(self).items() if key not in SHARED}
        self.__dict__ = (
            kept
            | shared
            | {
                "best_estimator_": plain,
                "best_params_": parameters,
                "best_index_": results["params"].index(parameters),
                "best_score_": board.mean(best, range(board.n_folds)),
                "C_": best.C,
                "Cs_": np.array(Cs),
                "gammas_": np.array(gammas),
                "scores_": score_array(board, gammas, Cs),
                "cv_results_": results,
                "n_splits_": board.n_folds,
            }
        )

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the model that was fitted on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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


def weighted_scorer(machine: BudgetedMachine, scoring: Any) -> Scorer:
    """Return the score to maximise; it counts weights if it can."""
    scorer = check_scoring(machine, scoring=scoring)
    weighted = scoring is None or takes_weights(scorer)

    def score(estimator: Any, X: Any, y: Array, weights: Array | None) -> float:
        if weights is None or not weighted:
            return float(scorer(estimator, X, y))
        return float(scorer(estimator, X, y, sample_weight=weights))

    return score


def run_race(
    machine: BudgetedMachine,
    grid: Grid,
    folds: Sequence[Fold],
    scorer: Scorer,
    n_jobs: int | None,
    say: Callable[[str], None],
    seed: int,
    on_task: Callable[[int], None] = lambda _: None,
) -> tuple[Race, Candidate]:
    """Search for the best candidate, on several threads."""
    n_threads = effective_n_jobs(n_jobs)

    def run(fold: Fold, groups: dict[float, list[float]]) -> dict[Candidate, Result]:
        share = max(1, n_threads // len(groups))
        tasks = [
            partial(evaluate, machine, fold, gamma, Cs, scorer, share)
            for gamma, Cs in groups.items()
        ]
        found = run_tasks(tasks, n_threads, lambda: on_task(fold.rows.n_rows))
        return {
            Candidate(gamma, C): result
            for (gamma, Cs), results in zip(groups.items(), found, strict=True)
            for C, result in zip(Cs, results, strict=True)
        }

    race = Race(grid, folds, run, say, seed)
    with warnings.catch_warnings():
        # Extreme candidates may not converge, and their scores show it. The best one is fitted
        # later, where it can warn. A score that is not defined is an error of its own.
        for category in (ConvergenceWarning, TargetWarning, UndefinedMetricWarning):
            warnings.simplefilter("ignore", category)
        best = race.decide(int(machine.budget))
    return race, best
