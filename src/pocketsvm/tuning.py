"""Tuning: the best C, gamma and budget by cross-validation.

`tune` runs a race of candidates that share work, or one of scikit-learn's searches over a default
grid, with a plan for successive halving (`rounds`), and returns the fitted search. `ScoreMap` holds
the scores that displays and the command line show.
"""

import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import floor, log
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    ParameterGrid,
    StratifiedKFold,
)
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from .data.precision import training_rows
from .data.rows import check_rows
from .data.scales import TargetWarning
from .estimators import BudgetedSVC, BudgetedSVR
from .estimators.base import BudgetedMachine
from .estimators.searching.pipeline import RaceSearchCV
from .estimators.searching.workers import raise_in

__all__ = [
    "DEFAULT_CS",
    "SEARCHES",
    "Round",
    "ScoreMap",
    "default_gammas",
    "last_step",
    "parameter_name",
    "rounds",
    "tune",
    "written",
]

SEARCHES = ("race", "halving", "grid")
# C begins where LIBSVM's guide begins, with factors of 16 instead of 4. It ends at 2^11 instead of
# 2^15: polishing with larger values takes more time than all others together and rarely scores
# better.
DEFAULT_CS = tuple(2.0**k for k in range(-5, 12, 4))
# A good gamma depends on the scale of the data: its powers of two, around "scale", a factor of four
# apart.
GAMMA_STEPS = range(-6, 5, 2)
# Each round keeps one in three candidates and takes three times as many rows.
FACTOR = 3
# With more halvings the first round would see less than one row in a hundred.
MAX_HALVINGS = 4
# Scores on fewer rows are too noisy to compare candidates.
MIN_ROWS = 1000
# With fewer rows per support vector the budget hardly matters.
MIN_ROWS_PER_VECTOR = 4
# Each fold needs some rows of the rarest class.
MIN_ROWS_OF_RAREST = 5
# Colors begin at this quantile of the scores, so that they distinguish good scores.
LOWEST_COLOR = 0.25


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    C: Sequence[float] | None = None,
    gamma: Sequence[float] | None = None,
    budget: Sequence[int] | None = None,
    search: str = "race",
    cv: Any = 5,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
    n_jobs: int | None = -1,
    random_state: int = 0,
    callbacks: Iterable[Any] = (),
) -> Any:
    """Search for the best C, gamma and budget by cross-validation.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator, or a pipeline that ends in one. It is cloned and keeps its other parameters.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    y : array-like of shape (n_samples,)
        The labels or target values.

    C : sequence of float, default=None
        Values to try. None means 2^-4, 2^-1, 2^2, 2^5 and 2^8 for a race (in units of the targets
        for a regression), and others where they may be better; 2^-5, 2^-1, 2^3, 2^7 and 2^11 for
        the other searches.

    gamma : sequence of float, default=None
        Values to try. None means six powers of two, a factor of four apart, from 1/64 to 16 times
        the value of "scale" for these rows; a race tries others where they may be better.

    budget : sequence of int, default=None
        Values to try. None keeps the budget of the estimator. A larger budget rarely scores worse:
        look at `pocketsvm.plots.BudgetDisplay` instead of searching for a budget.

    search : {"race", "halving", "grid"}, default="race"
        "race" is the search of `pocketsvm.BudgetedSVCCV`: candidates share their support vectors
        and kernel values, and those that cannot win are dropped. It fits the first steps of a
        pipeline once for each fold. "grid" fits every candidate on all rows. "halving" begins with
        few rows and keeps the best third of the candidates for three times as many rows, until all
        rows are used; if there are too few rows for that, it is the same as "grid". See `rounds`.

    cv : int, splitter or iterable, default=5
        The folds of the cross-validation. A number means so many shuffled folds, stratified for
        classification.

    scoring : str or callable, default=None
        The score to maximize, as in `sklearn.model_selection.GridSearchCV`. None means accuracy,
        or R2 for regression.

    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, for training the estimator and, in a race, for scores.

    groups : array-like of shape (n_samples,), default=None
        The group of each row, for a splitter that uses groups.

    n_jobs : int, default=-1
        The number of fits that run in parallel, in threads of this process: training releases the
        GIL, and the rows are not copied. -1 means all processors. The result does not depend on
        it. The best candidate is fitted with the estimator's own `n_jobs`.

    random_state : int, default=0
        The seed of the folds, and of the rows that each round of halving uses.

    callbacks : iterable of callbacks, default=()
        Callbacks of scikit-learn for the search, such as `sklearn.callback.ProgressBar`.

    Returns
    -------
    search : GridSearchCV or HalvingGridSearchCV
        The fitted search, with ``best_params_``, ``best_score_`` and ``cv_results_``. Its
        ``best_estimator_`` is the best candidate, fitted on all rows. A race is a subclass of
        GridSearchCV.

    See Also
    --------
    pocketsvm.plots.TuningDisplay : The scores as a picture.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.tuning import tune
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> search = tune(BudgetedSVC(budget=30, random_state=0), X, y, C=[1, 100], gamma=[0.01, 1.0])
    >>> search.best_params_["gamma"], bool(search.best_score_ > 0.95)
    (1.0, True)
    """
    if search not in SEARCHES:
        raise ValueError(f"search must be one of {', '.join(map(repr, SEARCHES))}, got {search!r}.")
    machine = last_step(estimator)
    if not isinstance(machine, BudgetedSVC | BudgetedSVR):
        raise TypeError(f"tune searches for BudgetedSVC and BudgetedSVR, got {machine!r}.")
    if machine.alpha is not None:
        raise ValueError("alpha takes the place of C, which is searched for: leave alpha at None.")
    if search == "race":
        names = {"C": C, "gamma": gamma} | ({} if budget is None else {"budget": budget})
        given = {parameter_name(estimator, name): values for name, values in names.items()}
        race = RaceSearchCV(
            clone(estimator),
            given,
            scoring=scoring,
            n_jobs=n_jobs,
            cv=cv,
            random_state=random_state,
        )
        race.set_callbacks(*callbacks)
        return race.fit(X, y, sample_weight=sample_weight, groups=groups)
    X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
    weights = {}
    if sample_weight is not None:
        weights = {parameter_name(estimator, "sample_weight"): sample_weight}
    grid = {
        parameter_name(estimator, "C"): list(DEFAULT_CS if C is None else C),
        parameter_name(estimator, "gamma"): list(
            default_gammas(estimator, X, y) if gamma is None else gamma
        ),
    }
    if budget is not None:
        grid[parameter_name(estimator, "budget")] = list(budget)
    watch, candidate = _Watch(), clone(estimator)
    last_step(candidate).set_params(n_jobs=1).set_callbacks(watch)
    settings = {"scoring": scoring, "n_jobs": n_jobs, "refit": False, "error_score": "raise"}
    searching = _make_search(search, candidate, grid, y, cv, random_state, settings)
    searching.set_callbacks(watch, *callbacks)
    with parallel_config(backend="threading"), warnings.catch_warnings(), watch.ended():
        # Extreme candidates may not converge, and their scores show it. The best candidate is
        # fitted later, where it can warn.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", TargetWarning)
        searching.fit(X, y, groups=groups, **weights)
    last_step(candidate).set_params(n_jobs=last_step(estimator).n_jobs).set_callbacks()
    searching.set_params(refit=True).set_callbacks(*callbacks)
    if not np.isfinite(searching.best_score_):
        raise ValueError(f"No candidate has a finite score by {scoring!r}: choose another one.")
    searching.best_estimator_ = (
        clone(estimator).set_params(**searching.best_params_).fit(X, y, **weights)
    )
    return searching


def _make_search(
    kind: str,
    candidate: Any,
    grid: dict[str, list[Any]],
    y: Any,
    cv: Any,
    random_state: int,
    settings: dict[str, Any],
) -> Any:
    """Return scikit-learn's search over the grid, not fitted yet."""
    classifies = is_classifier(candidate)
    folds = cv
    if isinstance(cv, int | np.integer):
        kind_of_folds = StratifiedKFold if classifies else KFold
        folds = kind_of_folds(cv, shuffle=True, random_state=random_state)
    if kind == "grid":
        return GridSearchCV(candidate, grid, cv=folds, **settings)
    budgets = grid.get(parameter_name(candidate, "budget"), [last_step(candidate).budget])
    plan = rounds(
        len(ParameterGrid(grid)),
        len(y),
        largest_budget=max(budgets),
        n_rarest=min(np.unique(y, return_counts=True)[1]) if classifies else None,
        cv=folds.get_n_splits() if hasattr(folds, "n_splits") else 5,
    )
    return HalvingGridSearchCV(
        candidate,
        grid,
        cv=folds,
        **settings,
        factor=FACTOR,
        min_resources=plan[0].n_rows,
        random_state=random_state,
        return_train_score=False,
    )


class _SearchIsOver(Exception):  # noqa: N818
    """Ends the fits of an interrupted search; nobody sees it but the search's own threads."""


class _Watch:
    """A callback on all fits of a search, which ends them if the search is interrupted.

    No thread may outlive the search, because Python cannot stop threads in native code. An
    exception ends a fit, because one whose callback only stops the passes would still be polished.
    """

    def __init__(self) -> None:
        self.is_over = False
        self.threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._fitting: set[int] = set()  # threads in a fit, where an exception may be raised

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit: remember its thread."""
        with self._lock:
            self.threads.add(threading.current_thread())
            self._fitting.add(threading.get_ident())

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit, also one that has failed."""
        with self._lock:
            self._fitting.discard(threading.get_ident())

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """End the fit if the search is over."""
        if self.is_over:
            raise _SearchIsOver

    on_fit_task_end = on_fit_task_begin

    @contextmanager
    def ended(self) -> Iterator[None]:
        """On an exception, end every fit and wait for its thread."""
        try:
            yield
        except BaseException:
            with self._lock:
                self.is_over = True
                for thread_id in self._fitting - {threading.get_ident()}:
                    raise_in(thread_id, _SearchIsOver)
            for thread in self.threads - {threading.current_thread()}:
                thread.join()
            raise


def default_gammas(estimator: Any, X: Any, y: Any = None) -> list[float]:
    """Return six powers of two around the value of "scale" for the rows that the kernel receives.

    If the estimator has gamma="auto", they are around this value.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator to tune. The first steps of a pipeline are cloned and fitted, to transform
        the rows.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    y : array-like of shape (n_samples,), default=None
        The labels or target values, for first steps that need them.

    Returns
    -------
    gammas : list of float
        From about 1/64 to about 16 times "scale", a factor of four apart.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.tuning import default_gammas
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> default_gammas(BudgetedSVC(), X)
    [0.00390625, 0.015625, 0.0625, 0.25, 1.0, 4.0]
    """
    machine = last_step(estimator)
    if machine is not estimator:
        X = clone(estimator[:-1]).fit_transform(X, y)
    centre = "auto" if machine.gamma == "auto" else "scale"
    gamma = training_rows(check_rows(clone(machine), X, reset=True), centre).gamma
    nearest = round(log(gamma, 2))
    return [2.0 ** (nearest + step) for step in GAMMA_STEPS]


# --- rounds of successive halving -----------------------------------------------------------------


class Round(NamedTuple):
    """One round of a search: the number of candidates and of the rows they are scored on."""

    n_candidates: int
    n_rows: int


def rounds(
    n_candidates: int,
    n_rows: int,
    *,
    largest_budget: int,
    n_rarest: int | None = None,
    cv: int = 5,
) -> list[Round]:
    """Plan the rounds of successive halving.

    The last round has all rows. The first has at least 1,000 rows, four rows per support vector of
    the budget (with fewer the budget would hardly matter), and five rows of the rarest class per
    fold.

    Parameters
    ----------
    n_candidates, n_rows : int
        The numbers of candidates and of rows.

    largest_budget : int
        The largest budget among the candidates.

    n_rarest : int, default=None
        The number of rows of the rarest class; None for regression.

    cv : int, default=5
        The number of folds of the cross-validation.

    Returns
    -------
    rounds : list of Round
        The rounds; only one if there are too few rows to begin with a part of them.

    Examples
    --------
    >>> from pocketsvm.tuning import rounds
    >>> for n_candidates, n_rows in rounds(30, 100_000, largest_budget=500):
    ...     print(n_candidates, n_rows)
    30 3703
    10 11109
    4 33327
    2 99981
    """
    least = max(MIN_ROWS, MIN_ROWS_PER_VECTOR * largest_budget)
    if n_rarest is not None:
        least = max(least, -(-MIN_ROWS_OF_RAREST * cv * n_rows // n_rarest))
    growth = max(n_rows / least, 1.0)
    halvings = min(floor(log(n_candidates, FACTOR)), floor(log(growth, FACTOR)), MAX_HALVINGS)
    first = n_rows // FACTOR**halvings
    return [Round(-(-n_candidates // FACTOR**k), first * FACTOR**k) for k in range(halvings + 1)]


# --- scores ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScoreMap:
    """The scores of a search over C and gamma.

    Attributes
    ----------
    C : list of float
        The values of C, ascending.

    gamma : list of float or str
        The values of gamma, ascending.

    scores : ndarray of shape (n_gammas, n_Cs)
        The mean score of the folds, or NaN if no candidate of the cell could be fitted. If a cell
        has several candidates (such as budgets), its score is the best one among those that were
        scored on most rows.

    n_rows : ndarray of shape (n_gammas, n_Cs)
        The number of rows, training and test together, that each score is based on; 0 if the
        search always used all rows.

    best : tuple of two int
        The cell of the best candidate.

    best_score : float
        The score of the best candidate.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.tuning import ScoreMap, tune
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=20, random_state=0)
    >>> found = ScoreMap.of(tune(clf, X, y, C=[0.1, 1.0, 10.0], gamma=[0.01, 1.0]))
    >>> found.scores.shape, found.gamma[found.best[0]]
    ((2, 3), 1.0)
    """

    C: list[Any]
    gamma: list[Any]
    scores: NDArray[np.float64]
    n_rows: NDArray[np.intp]
    best: tuple[int, int]
    best_score: float

    @property
    def is_final(self) -> NDArray[np.bool_]:
        """Which cells were scored in the last round, on the largest number of rows."""
        return np.asarray(self.n_rows == self.n_rows.max())

    @property
    def low(self) -> float:
        """The score at which colors begin: the lower quartile."""
        return float(np.nanquantile(self.scores, LOWEST_COLOR))

    @classmethod
    def of(cls, search: Any) -> "ScoreMap":
        """Return the scores of a fitted search.

        Parameters
        ----------
        search : GridSearchCV, HalvingGridSearchCV or similar
            The search, over C or gamma or both, of an estimator of pocketsvm or a pipeline that
            ends in one.

        Returns
        -------
        score_map : ScoreMap
            The scores.
        """
        check_is_fitted(search, "cv_results_")
        machine = last_step(search.estimator)
        c_name, gamma_name = (parameter_name(search.estimator, name) for name in ("C", "gamma"))
        results = search.cv_results_
        if not any(c_name in each or gamma_name in each for each in results["params"]):
            raise ValueError("The search has neither C nor gamma among its parameters.")

        def values(candidate: dict[str, Any]) -> tuple[Any, Any]:
            return candidate.get(c_name, machine.C), candidate.get(gamma_name, machine.gamma)

        tried = [values(candidate) for candidate in results["params"]]
        c, gamma = (sorted(set(each), key=_order) for each in zip(*tried, strict=True))
        cells = [(gamma.index(gamma_value), c.index(c_value)) for c_value, gamma_value in tried]
        scores = np.full((len(gamma), len(c)), np.nan)
        n_rows = np.zeros(scores.shape, dtype=np.intp)
        used = results.get("n_resources", np.zeros(len(cells), dtype=np.intp))
        for cell, score, rows in zip(cells, results["mean_test_score"], used, strict=True):
            if rows > n_rows[cell] or np.isnan(scores[cell]) or score > scores[cell]:
                scores[cell], n_rows[cell] = score, rows
        best_c, best_gamma = values(search.best_params_)
        best = gamma.index(best_gamma), c.index(best_c)
        return cls(c, gamma, scores, n_rows, best, float(search.best_score_))

    def at_border(self) -> Iterator[str]:
        """Yield a sentence for C and for gamma if the best value is the first or last one tried."""
        for name, values, place in (
            ("C", self.C, self.best[1]),
            ("gamma", self.gamma, self.best[0]),
        ):
            if len(values) > 1 and place in (0, len(values) - 1):
                yield f"the best {name} is the {'largest' if place else 'smallest'} one tried"


def _order(value: Any) -> tuple[bool, Any]:
    """Sort numbers before strings."""
    return isinstance(value, str), value


def written(values: Sequence[Any]) -> list[str]:
    """Write numbers as powers of two or its root if all of them are, else with three digits."""
    numbers = [value for value in values if not isinstance(value, str)]
    if all(2.0 ** (round(2 * log(number, 2)) / 2) == number for number in numbers):
        form = "2^{:g}".format
        halves = {number: round(2 * log(number, 2)) / 2 for number in numbers}
        return [value if isinstance(value, str) else form(halves[value]) for value in values]
    return [value if isinstance(value, str) else f"{value:.3g}" for value in values]


# --- estimators in pipelines ----------------------------------------------------------------------


def last_step(estimator: Any) -> Any:
    """Return the estimator of pocketsvm: the one given, or the last step of a pipeline."""
    steps = getattr(estimator, "steps", None)
    machine = steps[-1][1] if steps else estimator
    if not isinstance(machine, BudgetedMachine):
        raise TypeError(
            "Expected an estimator of pocketsvm, or a pipeline that ends in one, got "
            f"{type(machine).__name__}."
        )
    return machine


def parameter_name(estimator: Any, name: str) -> str:
    """Return the name that a parameter of `last_step` has in the estimator given."""
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__{name}" if steps else name
