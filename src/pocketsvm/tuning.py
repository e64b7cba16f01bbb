"""Tuning: the best C and gamma, and budget, by cross-validation.

`tune` puts a sensible grid and a sensible course of successive halving around scikit-learn's own
searches, and returns the fitted search. `ScoreMap` is what pictures and the command line show of
it.
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
from numpy.typing import ArrayLike, NDArray
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
from .estimators.base import BudgetedMachine

__all__ = ["SEARCHES", "Round", "ScoreMap", "default_gammas", "rounds", "tune"]

SEARCHES = ("halving", "grid")
# C begins as in LIBSVM's guide, in steps of 16 for its 4. It ends at 2^11 for its 2^15: polishing a
# C so large would take more time than all the others together, and rarely be better. gamma, which
# lives on the scale of the data, spans a factor of 1024 around "scale", in steps of 4.
DEFAULT_CS = tuple(2.0**k for k in range(-5, 12, 4))
GAMMA_STEPS = range(-6, 5, 2)
# Halving: each round keeps one in three candidates and takes three times as many rows. The first
# has so many rows at least, so many for each support vector, and for each fold of the rarest class.
FACTOR, MOST_HALVINGS = 3, 4
FIRST_ROWS, ROWS_A_VECTOR, RAREST_ROWS = 1000, 4, 5


class Round(NamedTuple):
    """One round of a search: so many candidates are cross-validated on so many rows."""

    n_candidates: int
    n_rows: int


def tune(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    C: Sequence[float] | None = None,
    gamma: Sequence[float] | None = None,
    budget: Sequence[int] | None = None,
    search: str = "halving",
    cv: int = 5,
    scoring: Any = None,
    n_jobs: int | None = -1,
    random_state: int = 0,
    callbacks: Iterable[Any] = (),
) -> Any:
    """Search for the best C and gamma, and budget, by cross-validation.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator, or a pipeline that ends in one; it is cloned, its other parameters stay.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    y : array-like of shape (n_samples,)
        Their labels or target values.

    C : sequence of float, default=None
        Values to try. None means 2^-5, 2^-1, 2^3, 2^7 and 2^11.

    gamma : sequence of float, default=None
        Values to try. None means six powers of two, a factor of four apart, from 1/64 to 16 times
        what "scale" is for these rows.

    budget : sequence of int, default=None
        Values to try. None keeps the estimator's own. A larger budget rarely scores worse: rather
        than searching for one, look at `pocketsvm.plots.BudgetDisplay`.

    search : {"halving", "grid"}, default="halving"
        "grid" fits every candidate on all rows. "halving" begins with few rows and keeps the best
        third of the candidates for three times as many rows, until all rows are used; where there
        are too few rows for that it is the same as "grid". See `rounds`.

    cv : int, default=5
        Folds of the cross-validation: shuffled and, for classes, stratified.

    scoring : str or callable, default=None
        What to maximise, as in `sklearn.model_selection.GridSearchCV`. None means accuracy, or R2
        for regression.

    n_jobs : int, default=-1
        Fits side by side, in threads of this process: training runs without the GIL, and the rows
        are not copied. -1 means all processors. The result does not depend on it. The best
        candidate is fitted with the estimator's own `n_jobs`.

    random_state : int, default=0
        Decides the folds, and which rows the rounds of halving see.

    callbacks : iterable of callbacks, default=()
        Callbacks of scikit-learn for the search, such as `sklearn.callback.ProgressBar`.

    Returns
    -------
    search : GridSearchCV or HalvingGridSearchCV
        The fitted search: ``best_params_``, ``best_score_``, ``cv_results_``, and in
        ``best_estimator_`` the best candidate fitted on all rows.

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
    if last_step(estimator).alpha is not None:
        raise ValueError("alpha takes the place of C, which is searched for: leave alpha at None.")
    X, y = indexable(X, y)
    classified = is_classifier(estimator)
    values = {
        "C": DEFAULT_CS if C is None else C,
        "gamma": default_gammas(estimator, X, y) if gamma is None else gamma,
        "budget": budget,
    }
    grid = {
        parameter_name(estimator, name): list(tried)
        for name, tried in values.items()
        if tried is not None
    }
    fits, candidate = _Fits(), clone(estimator)
    last_step(candidate).set_params(n_jobs=1).set_callbacks(fits)
    folds = StratifiedKFold if classified else KFold
    setting = {
        "cv": folds(cv, shuffle=True, random_state=random_state),
        "scoring": scoring,
        "n_jobs": n_jobs,
        "refit": False,
        "error_score": "raise",
    }
    if search == "grid":
        searching = GridSearchCV(candidate, grid, **setting)
    else:
        course = rounds(
            len(ParameterGrid(grid)),
            len(y),
            largest_budget=max([last_step(estimator).budget] if budget is None else budget),
            n_rarest=min(np.unique(y, return_counts=True)[1]) if classified else None,
            cv=cv,
        )
        searching = HalvingGridSearchCV(
            candidate,
            grid,
            **setting,
            factor=FACTOR,
            min_resources=course[0].n_rows,
            random_state=random_state,
            return_train_score=False,
        )
    searching.set_callbacks(fits, *callbacks)
    with parallel_config(backend="threading"), warnings.catch_warnings(), fits.ended():
        # Extreme candidates may not converge, which their scores tell. The best one is fitted
        # apart from them, so that it can warn.
        warnings.simplefilter("ignore", ConvergenceWarning)
        searching.fit(X, y)
    last_step(candidate).set_params(n_jobs=last_step(estimator).n_jobs).set_callbacks()
    searching.set_params(refit=True).set_callbacks(*callbacks)
    if not np.isfinite(searching.best_score_):
        raise ValueError(f"No candidate has a finite score by {scoring!r}: choose another one.")
    searching.best_estimator_ = clone(estimator).set_params(**searching.best_params_).fit(X, y)
    return searching


class _Fits:
    """A callback on all fits of a search, which ends them where the search is interrupted.

    Threads must not be left behind: Python cannot stop those that are in native code.
    """

    def __init__(self) -> None:
        self.is_over = False
        self.threads: set[threading.Thread] = set()

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing, as the protocol allows."""

    teardown = setup

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Take note of the thread."""
        self.threads.add(threading.current_thread())

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Stop the passes when the search is over."""
        return self.is_over

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Let every fit end after its pass, and wait for it, where the block is left early."""
        try:
            yield
        except BaseException:
            self.is_over = True
            for thread in self.threads - {threading.current_thread()}:
                thread.join()
            raise


def rounds(
    n_candidates: int,
    n_rows: int,
    *,
    largest_budget: int,
    n_rarest: int | None = None,
    cv: int = 5,
) -> list[Round]:
    """Plan the rounds of successive halving.

    The last round has all rows. The first has at least 1,000, four for each support vector of the
    budget (with fewer the budget would hardly matter), and five of the rarest class in each fold.

    Parameters
    ----------
    n_candidates, n_rows : int
        How many candidates and rows there are.

    largest_budget : int
        The largest budget among the candidates.

    n_rarest : int, default=None
        Rows of the rarest class; None for regression.

    cv : int, default=5
        Folds of the cross-validation.

    Returns
    -------
    rounds : list of Round
        What each round takes; a single one where the rows are too few to begin with less.

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
    least = max(FIRST_ROWS, ROWS_A_VECTOR * largest_budget)
    if n_rarest is not None:
        least = max(least, -(-RAREST_ROWS * cv * n_rows // n_rarest))
    shares = max(n_rows / least, 1.0)
    halvings = min(floor(log(n_candidates, FACTOR)), floor(log(shares, FACTOR)), MOST_HALVINGS)
    first = n_rows // FACTOR**halvings
    return [Round(-(-n_candidates // FACTOR**k), first * FACTOR**k) for k in range(halvings + 1)]


def default_gammas(estimator: Any, X: Any, y: Any = None) -> list[float]:
    """Return six powers of two around what "scale" is for the rows that the kernel sees.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator to be tuned; a pipeline's first steps are fitted, on a clone, to see what
        they make of the rows.

    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows.

    y : array-like of shape (n_samples,), default=None
        Their labels or target values, for first steps that ask for them.

    Returns
    -------
    gammas : list of float
        From about 1/64 to about 16 times "scale", in steps of 4.

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
    scale = training_rows(check_rows(clone(machine), X, reset=True), "scale").gamma
    nearest = round(log(scale, 2))
    return [2.0 ** (nearest + step) for step in GAMMA_STEPS]


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
        The mean score of the folds; of several candidates in one cell (budgets, say) the best one
        of those scored on the most rows; NaN where none could be fitted.

    n_rows : ndarray of shape (n_gammas, n_Cs)
        How many rows that score was found on, training and test together; 0 where the search does
        not tell because it always took all.

    best : tuple of two int
        The cell of the best candidate.

    best_score : float
        Its score.

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
        """Which cells were scored in the last round, on the most rows."""
        return self.n_rows == self.n_rows.max()

    @property
    def low(self) -> float:
        """Where colours begin, so that they can tell good from better: the lower quartile."""
        return float(np.nanquantile(self.scores, 0.25))

    @classmethod
    def of(cls, search: Any) -> "ScoreMap":
        """Take the scores out of a fitted search.

        Parameters
        ----------
        search : GridSearchCV, HalvingGridSearchCV or the like
            The search, over C or gamma or both, of an estimator of pocketsvm or a pipeline that
            ends in one.

        Returns
        -------
        score_map : ScoreMap
            Its scores.
        """
        check_is_fitted(search, "cv_results_")
        machine = last_step(search.estimator)
        keys = {name: parameter_name(search.estimator, name) for name in ("C", "gamma")}
        candidates = search.cv_results_["params"]
        if not any(key in candidate for key in keys.values() for candidate in candidates):
            raise ValueError("The search has neither C nor gamma among its parameters.")

        def cell(candidate: dict[str, Any]) -> tuple[Any, Any]:
            return tuple(candidate.get(key, getattr(machine, n)) for n, key in keys.items())

        cells = [cell(candidate) for candidate in candidates]
        c, gamma = (sorted(set(values), key=_order) for values in zip(*cells, strict=True))
        scores = np.full((len(gamma), len(c)), np.nan)
        n_rows = np.zeros(scores.shape, dtype=np.intp)
        results = search.cv_results_
        taken = results.get("n_resources", np.zeros(len(cells), dtype=np.intp))
        for (c_value, gamma_value), score, rows in zip(
            cells, results["mean_test_score"], taken, strict=True
        ):
            place = gamma.index(gamma_value), c.index(c_value)
            old = scores[place]
            if rows > n_rows[place] or np.isnan(old) or score > old:
                scores[place], n_rows[place] = score, rows
        c_value, gamma_value = cell(search.best_params_)
        best = gamma.index(gamma_value), c.index(c_value)
        return cls(c, gamma, scores, n_rows, best, float(search.best_score_))

    def at_border(self) -> Iterator[str]:
        """Tell for C and gamma whether the best value is the first or last of several tried."""
        for name, values, place in (
            ("C", self.C, self.best[1]),
            ("gamma", self.gamma, self.best[0]),
        ):
            if len(values) > 1 and place in (0, len(values) - 1):
                yield f"the best {name} is the {'largest' if place else 'smallest'} one tried"


def _order(value: Any) -> tuple[bool, Any]:
    """Sort numbers before words."""
    return isinstance(value, str), value


def written(values: Sequence[Any]) -> list[str]:
    """Write numbers in three digits or, where all are powers of two, as such."""
    numbers = [value for value in values if not isinstance(value, str)]
    if all(np.frexp(number)[0] == 0.5 for number in numbers):
        form = "2^{:.0f}".format
        return [value if isinstance(value, str) else form(log(value, 2)) for value in values]
    return [value if isinstance(value, str) else f"{value:.3g}" for value in values]


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
    """Return what a parameter of `last_step` is called in the estimator given."""
    steps = getattr(estimator, "steps", None)
    return f"{steps[-1][0]}__{name}" if steps else name
