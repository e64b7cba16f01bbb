"""What the estimators that find C and gamma share: the course of a search, and its results."""

import copy
import math
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from .._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    callback_context,
    parameter_names,
    takes_weights,
)
from ..backends.devices import device_of
from ..estimators.base import BudgetedMachine, FittedModel, check_alone
from ..estimators.namespaces import follows_arrays
from ..estimators.watching import given_data
from ..fit import check_scales
from ..rows.checked import CheckedRows, check_rows_and_targets
from ..rows.drawing import Plan
from ..rows.feature_scales import check_number, scaled_rows
from ..rows.opening import as_dataset
from ..rows.precision import training_rows
from ..rows.survey import AtHand, survey
from ..rows.weights import non_negative
from ..training.settings import SEARCH_CHOICES, Choices, Parameters
from ..training.targets import Targets
from .candidates import Candidate, Grid, NeedsProbabilitiesError
from .checkpoints import Course, finishing
from .folds import Fold, Part, check_folds, first_of, splits
from .race import Race
from .results import cv_results, score_array, tried
from .running import Running

Array = NDArray[Any]


class Search(NamedTuple):
    """A search of C and gamma that has ended: what was tried, and the best of it."""

    choice: dict[str, Any]  # the parameters that differ from those of other searches
    race: Race
    best: Candidate

    @property
    def score(self) -> float:
        """The mean score of the best candidate."""
        return self.race.last.mean(self.best)

    @property
    def scores(self) -> list[float]:
        """The scores of the best candidate on all folds."""
        return [result.score for result in self.race.last.results[self.best]]

    def gains(self, other: "Search") -> Array:
        """Return by how much the best candidate is better than another's on the first folds."""
        n_folds = min(len(self.scores), len(other.scores))
        return np.subtract(self.scores[:n_folds], other.scores[:n_folds])

    @property
    def least_gain(self) -> float:
        """The share of the error that counts: of what is missing to one, or to zero.

        What is missing to larger scores is not known.
        """
        best_possible = 1.0 if self.score > 0.0 else 0.0
        return SEARCH_CHOICES.least_gain * max(best_possible - self.score, 0.0)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the best candidate."""
        return {"C": self.best.C, "gamma": self.best.gamma} | self.choice


class Compared(NamedTuple):
    """The rows that candidates are compared on."""

    part: Part
    found: AtHand
    groups: Any


class BudgetedSearch(CallbackSupportMixin, FittedModel):
    """The base of the estimators that find C and gamma themselves."""

    # As splitters that use groups do: they are passed on without a request.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: BudgetedMachine._parameter_constraints[name]
            for name in (
                "feature_scales",
                "max_iter",
                "maintenance",
                "polish",
                "fit_intercept",
                "device",
            )
        },
        "budget": [
            *BudgetedMachine._parameter_constraints["budget"],
            StrOptions({"auto"}),
        ],
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "gammas": [Interval(Integral, 2, None, closed="left"), "array-like", None],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    _kind: ClassVar[type[BudgetedMachine]]  # of the plain estimator
    budget: int | str
    Cs: int | Sequence[float] | None
    gammas: int | Sequence[float] | None
    feature_scales: Any
    max_iter: int
    maintenance: str
    polish: bool | str
    fit_intercept: bool
    cv: Any
    scoring: Any
    n_jobs: int | None
    device: str
    random_state: Any
    verbose: int

    C_: float
    loss_: str
    best_estimator_: Any
    best_params_: dict[str, float]
    best_score_: float
    best_index_: int
    scorer_: Any
    cv_results_: dict[str, Any]
    Cs_: NDArray[np.float64]
    gammas_: NDArray[np.float64]
    scores_: NDArray[np.float64]
    n_splits_: int
    budget_: int
    budgets_: NDArray[np.int64]
    budget_scores_: NDArray[np.float64]

    @property
    def _machine(self) -> Any:
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # arrays are taken, but attributes stay in NumPy
        return tags

    def _plain(self, **parameters: Any) -> BudgetedMachine:
        """Return the plain estimator with the parameters of this one, and some others."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in parameter_names(self._kind) if name in own}
        return self._kind(**shared | parameters)

    def _choices(self, targets: Targets, n_rows: int) -> list[dict[str, Any]]:
        """Return the parameters besides C and gamma that are compared, the first by default."""
        return [{}]

    @property
    def _compares_scales(self) -> bool:
        """Whether searches with and without learnt feature scales are compared."""
        return isinstance(self.feature_scales, str) and self.feature_scales == "auto"

    def _for_probabilities(self) -> dict[str, Any]:
        """Return the parameters that give a model probabilities, if these may be chosen."""
        return {}

    def _scales(self, rows: CheckedRows) -> list[dict[str, Any]]:
        """Return the kinds of feature scales that are compared, the first by default.

        Few rows do not tell which features matter, the paper's kernel weighs them alike, and with
        learnt scales, given gammas would mean something else.
        """
        if not self._compares_scales:
            return [{}]
        limits = Choices()
        learns = bool(self.polish) and rows.n_rows >= limits.least_scale_rows
        learns &= rows.n_features <= limits.most_scale_features
        learns &= self.gammas is None or isinstance(self.gammas, Integral)
        return [{"feature_scales": each} for each in ([None, "learn"] if learns else [None])]

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Search, fit the winner on all rows and set the attributes in one step."""
        device_of(self.device)
        given = {"estimator": self, **given_data(X, y, sample_weight)}
        task = callback_context(self, "fit", None)
        task.call_on_fit_task_begin(**given)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        compared = self._compared(X, y, sample_weight, groups, seed)
        part = compared.part
        most = max(2, min(SEARCH_CHOICES.budget, part.n_rows))
        budget = most if self.budget == "auto" else int(self.budget)
        machine = self._plain(budget=budget, random_state=seed, n_jobs=1, verbose=0)
        if not self._compares_scales:
            check_scales(self._what(), machine._parameters(), None)
        counted, targets = self._what().targets(compared.found, self._parameters(budget), None)
        places = splits(self.cv, machine, part.rows.X, part.y, compared.groups, seed)
        check_folds(machine, places, part.y, part.weights, targets.classes, self.scoring)
        folds = [Fold(number, part, *place) for number, place in enumerate(places)]
        course = Course(self, part.rows.X, part.y, part.weights, compared.groups)
        running = Running(self, task, course, part.rows.X, targets.n_problems)
        choices = [
            scales | choice
            for scales in self._scales(counted)
            for choice in self._choices(targets, part.n_rows)
        ]
        searches = self._searched(machine, counted, targets.unit_of_c, folds, running, choices)
        winner = _winner(searches)
        parameters, sizes = winner.parameters, {"budget_": budget}
        if self.budget == "auto":
            sizes = running.sizes(clone(machine).set_params(**parameters), winner.race.last.folds)
            parameters = parameters | {"budget": sizes["budget_"]}
        own = {"random_state": self.random_state, "n_jobs": self.n_jobs, "budget": budget}
        plain = self._plain(**own | parameters)
        with finishing(plain, course, task, given):
            plain.fit(X, y, sample_weight=sample_weight)
        self._adopt(plain, searches, winner, parameters, sizes, part.n_rows)
        task.call_on_fit_task_end(**given, reconstruction_attributes=self._fitted)

    def _searched(
        self,
        machine: BudgetedMachine,
        rows: CheckedRows,
        unit: float,
        folds: Sequence[Fold],
        running: Running,
        compared: Sequence[dict[str, Any]],
    ) -> list[Search]:
        """Search C, in units of the targets, and gamma for each choice of the other parameters."""
        searches: list[Search] = []
        refused: NeedsProbabilitiesError | None = None
        for choice in compared:
            one = clone(machine).set_params(**choice)
            grid, own = self._grid(_unit_of_gamma(one, rows), unit), first_of(folds)
            rest, learns = folds[len(own) :], isinstance(one.feature_scales, str)
            if learns:
                own = running.with_scales(one, own)
                grid = grid if self.gammas is not None else grid.with_one_gamma()
            if searches and not learns:  # another loss
                grid = grid.at(searches[-1].best)
            run, most = partial(running, one), _most_rows(self.budget)
            race = Race(grid, own, run, most, machine.random_state)
            try:
                least = max(searches, key=lambda each: each.score).scores if searches else ()
                search = Search(choice, race, race.decide(least[: len(own)]))
            except NeedsProbabilitiesError as error:
                refused = error
                continue
            if not learns:
                race.finish(search.best, rest)
            elif all(search.gains(each).mean() > -each.least_gain for each in searches):
                race.finish(search.best, running.with_scales(one, rest))
            searches.append(search)
        if refused is not None and not searches:
            others = [choice | self._for_probabilities() for choice in compared]
            if others == list(compared):
                raise refused
            return self._searched(machine, rows, unit, folds, running, others)
        return searches

    def _grid(self, gamma: float, unit: float) -> Grid:
        """Return the values to begin with, of C in units of the targets."""
        gammas, Cs = self.gammas, self.Cs
        if isinstance(gammas, Integral):
            powers = SEARCH_CHOICES.first_gammas
            gammas = (gamma * np.logspace(powers[0], powers[-1], int(gammas), base=2)).tolist()
        if isinstance(Cs, Integral):  # as in scikit-learn
            Cs = (unit * np.logspace(-4, 4, int(Cs))).tolist()
        given = checked_values("gammas", gammas), checked_values("Cs", Cs)
        return Grid.of(*given, gamma, unit)

    def _fitted(self) -> dict[str, Any]:
        """Return the fitted attributes, for callbacks."""
        # Of a copy: meanwhile, another thread may use the search.
        fitted = {name: value for name, value in dict(vars(self)).items() if name.endswith("_")}
        return fitted | {"_model": self._model}

    def _compared(self, X: Any, y: Any, sample_weight: Any, groups: Any, seed: int) -> Compared:
        """Return the rows that candidates are compared on: all, or a sample that weighs as much."""
        task, probe = self._what(), copy.copy(self)
        probe.__dict__.pop("_model", None)
        classifies = not task.needs.numbers
        dataset = as_dataset(X, alone=y is None)
        if dataset is None:
            rows, y = check_rows_and_targets(probe, X, y, reset=True)
            check_consistent_length(rows.X, groups)
            weights = non_negative(sample_weight, rows)
            return Compared(Part(rows, y, weights, classifies), AtHand(rows, y, weights), groups)
        if groups is not None:
            raise ValueError("A data set has no groups: leave them out.")
        check_alone(y=y, sample_weight=sample_weight)
        least = _most_rows(self.budget)
        plan = Plan(SEARCH_CHOICES.sampled_times * least, least, seed)
        with dataset.opened(task.needs) as source:
            found = survey(source, task.needs, plan, dataset.preparing)
        weights = found.weight
        if found.survey is not None:  # the sample weighs as much as all rows
            weights = found.survey.weights * (found.survey.n_rows / found.rows.n_rows)
        return Compared(Part(found.rows, found.y, weights, classifies), found, None)

    def _parameters(self, budget: int) -> Parameters:
        """Return the parameters of a fit."""
        return Parameters(
            budget=budget,
            max_iter=self.max_iter,
            maintenance=self.maintenance,
            polish=self.polish,
            n_threads=effective_n_jobs(self.n_jobs),
            random_state=check_random_state(self.random_state),
        )

    def _adopt(
        self,
        plain: BudgetedMachine,
        searches: Sequence[Search],
        winner: Search,
        parameters: dict[str, Any],
        sizes: dict[str, Any],
        n_rows: int,
    ) -> None:
        """Set the fitted attributes in one step: an interrupt leaves no mixture of two fits."""
        gammas, Cs = (sorted(set(values)) for values in zip(*tried(winner.race), strict=True))
        n_folds = len(winner.race.last.folds)
        results = cv_results([(each.choice, each.race) for each in searches], n_rows, n_folds)
        dropped = "budgets_", "budget_scores_"
        kept = {key: value for key, value in dict(vars(self)).items() if key not in dropped}
        self.__dict__ = (
            kept
            | {
                "_model": plain._model,
                "best_estimator_": plain,
                "best_params_": parameters,
                "best_index_": results["params"].index(winner.parameters),
                "best_score_": winner.score,
                "scorer_": check_scoring(plain, scoring=self.scoring),
                "C_": winner.best.C,
                "loss_": plain.loss,
                "Cs_": np.array(Cs),
                "gammas_": np.array(gammas),
                "scores_": score_array(winner.race, gammas, Cs),
                "cv_results_": results,
                "n_splits_": n_folds,
            }
            | sizes
        )

    @follows_arrays
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the score of the model by `scoring`, as `GridSearchCV` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows. A data set takes the place of X, y and the weights; it has the score of the
            plain estimator only.

        y : array-like of shape (n_samples,)
            The labels or target values.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for a score that counts them.

        Returns
        -------
        score : float
            The score; with ``scoring=None``, that of the plain estimator.
        """
        check_is_fitted(self)
        if self.scoring is None:
            return float(self.best_estimator_.score(X, y, sample_weight))
        if as_dataset(X) is not None:
            raise ValueError(
                f"scoring={self.scoring!r} needs rows in memory. For a data set, use "
                "best_estimator_.score, or predict batch by batch."
            )
        if sample_weight is None:
            return float(self.scorer_(self.best_estimator_, X, y))
        if not takes_weights(self.scorer_):
            raise ValueError(f"scoring={self.scoring!r} does not take sample_weight: leave it out.")
        return float(self.scorer_(self.best_estimator_, X, y, sample_weight=sample_weight))


def _winner(searches: Sequence[Search]) -> Search:
    """Return the best search, the first one among equals.

    One that learns feature scales must be better than those that do not by a standard error of the
    differences of folds, and reduce the error by a share: with many rows, the smallest gain is
    larger than a standard error, but new rows may differ more than that from these. Those that were
    dropped have not seen all folds.
    """
    most = max(len(each.scores) for each in searches)
    searches = [each for each in searches if len(each.scores) == most]
    learns = [each.choice.get("feature_scales") is not None for each in searches]
    best = []
    for kind in sorted(set(learns)):
        some = [each for each, learn in zip(searches, learns, strict=True) if learn is kind]
        best.append(max(some, key=lambda each: each.score))
    if len(best) == 1:
        return best[0]
    alike, learnt = best
    gains = learnt.gains(alike)
    error = gains.std(ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return learnt if gains.mean() > max(error, alike.least_gain) else alike


def _unit_of_gamma(machine: BudgetedMachine, rows: CheckedRows) -> float:
    """Return what gamma="scale" is for an estimator; learnt feature scales carry the width."""
    scales = machine._parameters().feature_scales
    if isinstance(scales, str):
        return 1.0
    if scales is not None:
        check_number(scales, rows.n_features)
        rows = scaled_rows(rows, scales)
    return training_rows(rows, "scale").gamma


def _most_rows(budget: int | str) -> int:
    """Return the largest number of rows that small copies of folds have shares of."""
    choices = SEARCH_CHOICES
    least = choices.budget if budget == "auto" else int(budget)
    return choices.rows_per_vector * max(least, choices.budget)


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
