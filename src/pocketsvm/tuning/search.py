"""`tune`: a race of candidates that share work, or one of scikit-learn's searches."""

import warnings
from collections.abc import Iterable, Sequence
from math import log
from typing import Any

import numpy as np
from joblib import parallel_config
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

from ..estimators import BudgetedSVC, BudgetedSVR
from ..estimators.searching.pipeline import RaceSearchCV
from ..rows.checked import check_rows
from ..rows.precision import training_rows
from ..rows.scales import TargetWarning
from .halving import FACTOR, rounds
from .steps import last_step, parameter_name
from .watch import Watch

SEARCHES = ("race", "halving", "grid")
# C begins where LIBSVM's guide begins, with factors of 16 instead of 4. It ends at 2^11 instead of
# 2^15: polishing with larger values takes more time than all others together and rarely scores
# better.
DEFAULT_CS = tuple(2.0**k for k in range(-5, 12, 4))
# A good gamma depends on the scale of the data: its powers of two, around "scale", a factor of four
# apart.
GAMMA_STEPS = range(-6, 5, 2)


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
    watch, candidate = Watch(), clone(estimator)
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
