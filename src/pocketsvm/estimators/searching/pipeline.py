"""The search of `tune`: a race of the candidates for an estimator, or for a whole pipeline."""

from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import GridSearchCV
from sklearn.utils import indexable

from ..._sklearn import callback_context, safe_indexing
from ...rows.checked import CheckedRows, check_rows, check_rows_and_targets
from ...rows.labels import check_classes
from ...rows.precision import training_rows
from ...rows.weights import non_negative
from ..base import BudgetedMachine
from .base import checked_values, run_race, weighted_scorer
from .candidates import Scorer
from .folds import FoldGroup, check_folds, make_fold, mark_few, splits, targets_of
from .grid import Candidate, Grid
from .race import Race
from .results import cv_results, joined

Array = NDArray[Any]


class RaceSearchCV(GridSearchCV):
    """A search whose candidates share work, and are dropped if they cannot win.

    The fitted search has the methods and attributes of `sklearn.model_selection.GridSearchCV`. The
    steps of a pipeline before its last one are fitted once for each fold.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR or Pipeline
        The estimator, or a pipeline that ends in one.

    param_grid : dict
        The values of C, gamma and the budget, by the names that they have in the estimator. None
        in place of the values of C or gamma means those of `pocketsvm.BudgetedSVCCV`.

    scoring, n_jobs, cv
        As in `sklearn.model_selection.GridSearchCV`. A scorer gets the last step of a pipeline, and
        rows that the other steps have transformed.

    random_state : int, default=0
        The seed of the folds and samples.
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: dict[str, Any],
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        cv: Any = 5,
        random_state: int = 0,
    ) -> None:
        super().__init__(estimator, param_grid, scoring=scoring, n_jobs=n_jobs, cv=cv)
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Run the search, and fit the best candidate on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,)
            The labels or target values.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for training the last step and for scores.

        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a splitter that uses groups.

        Returns
        -------
        self : RaceSearchCV
            The fitted search.
        """
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        course = _Course(self, X, y, sample_weight, groups)
        tables, winners = [], []
        task = callback_context(self, "fit", None)
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        for budget in course.budgets:
            race, best = course.run(budget, task)
            fixed = {} if budget is None else {course.prefix + "budget": budget}
            names = course.prefix + "C", course.prefix + "gamma"
            tables.append(cv_results(race.board, *names, course.n_rows, fixed))
            found = dict(zip(names, (best.C, best.gamma), strict=True)) | fixed
            winners.append((race.board.mean(best, range(race.board.n_folds)), found))
        score, parameters = max(winners, key=lambda each: each[0])
        estimator = clone(self.estimator).set_params(**parameters)
        weights = {} if sample_weight is None else {course.prefix + "sample_weight": sample_weight}
        estimator.fit(X, y, **weights)
        results = joined(tables)
        self.cv_results_, self.best_params_, self.best_score_ = results, parameters, score
        self.best_index_ = results["params"].index(parameters)
        self.best_estimator_, self.n_splits_ = estimator, course.n_folds
        del self.round_, self.progress_  # they are for callbacks
        self.multimetric_ = False
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        if hasattr(estimator, "feature_names_in_"):
            self.feature_names_in_ = estimator.feature_names_in_
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self


class _Course:
    """What the races of all budgets share: the rows of the folds, their targets and the score."""

    def __init__(self, search: RaceSearchCV, X: Any, y: Any, weights: Any, groups: Any) -> None:
        steps = getattr(search.estimator, "steps", None)
        self.search, self.prefix = search, f"{steps[-1][0]}__" if steps else ""
        self.steps = search.estimator[:-1] if steps and len(steps) > 1 else None
        machine: BudgetedMachine = steps[-1][1] if steps else search.estimator
        self.seed = search.random_state
        self.machine = clone(machine).set_params(n_jobs=1)
        if not isinstance(self.machine.random_state, int):
            self.machine.set_params(random_state=self.seed)
        grid = {
            name.removeprefix(self.prefix): values for name, values in search.param_grid.items()
        }
        self.budgets: list[int | None] = list(grid.get("budget") or [None])
        rows, y = check_rows_and_targets(clone(machine), self._all_rows(X, y), y, reset=True)
        self.n_rows = rows.n_rows
        weights = non_negative(weights, rows)
        self.X, self.y, self.weights = X, y, weights
        self.grid = self._grid(rows, grid.get("C"), grid.get("gamma"))
        self.places = splits(search.cv, self.machine, X, y, groups, self.seed)
        check_folds(self.machine, self.places, y, weights, self.classes, search.scoring)
        self.n_folds = len(self.places)
        self.scorer: Scorer = weighted_scorer(self.machine, search.scoring)
        self._folds: list[FoldGroup] | None = None

    def _all_rows(self, X: Any, y: Any) -> Any:
        return X if self.steps is None else clone(self.steps).fit_transform(X, y)

    def _grid(self, rows: CheckedRows, Cs: Any, gammas: Any) -> Grid:
        counted, targets = targets_of(self.machine, rows, self.y, self.weights, None)
        self.classes = targets.classes
        if targets.classes is not None:
            for budget in self.budgets:
                check_classes(targets.classes, budget or self.machine.budget)
        centre = "auto" if self.machine.gamma == "auto" else "scale"
        gamma = training_rows(counted, centre).gamma
        return Grid.of(
            checked_values("gamma", gammas), checked_values("C", Cs), gamma, targets.unit_of_c
        )

    def folds(self, machine: BudgetedMachine) -> list[FoldGroup]:
        """Return the folds; they are the same for all budgets, except for the size of samples."""
        return mark_few([self._fold(k, machine, *place) for k, place in enumerate(self.places)])

    def _fold(self, number: int, machine: BudgetedMachine, train: Array, test: Array) -> FoldGroup:
        X, X_held = (safe_indexing(self.X, chosen) for chosen in (train, test))
        if self.steps is not None:
            steps = clone(self.steps)
            X = steps.fit_transform(X, self.y[train])
            X_held = steps.transform(X_held)
        probe = clone(self.machine)
        rows, held = check_rows(probe, X, reset=True), check_rows(probe, X_held, reset=False)
        weights = [None if self.weights is None else self.weights[k] for k in (train, test)]
        training, scoring = (rows, self.y[train], weights[0]), (held, self.y[test], weights[1])
        return make_fold(number, machine, training, scoring, self.classes, self.seed)

    def run(self, budget: int | None, task: Any) -> tuple[Race, Candidate]:
        """Run the race of one budget."""
        machine = self.machine if budget is None else clone(self.machine).set_params(budget=budget)
        if self._folds is None or budget is not None:
            self._folds = self.folds(machine)
        told = _Told(self.search, task)
        n_jobs = self.search.n_jobs
        return run_race(
            machine, self.grid, self._folds, self.scorer, n_jobs, told.begin, self.seed, told.end
        )


class _Told:
    """Tells the callbacks of every round, and of every gamma that was scored on a fold."""

    def __init__(self, search: RaceSearchCV, task: Any) -> None:
        self.search, self.task = search, task
        self.round: Any = None

    def begin(self, message: str) -> None:
        """Begin a round; `round_` describes it."""
        self.search.round_ = message
        self.round = self.task.subcontext(task_name="round", max_subtasks=None)
        self.round.call_on_fit_task_begin(estimator=self.search)

    def end(self, fold: FoldGroup, share: float) -> None:
        """End the task of one gamma; `progress_` is the share of the search that is done."""
        self.search.progress_ = share
        task = self.round.subcontext(task_name="candidates")
        task.call_on_fit_task_begin(estimator=self.search)
        task.call_on_fit_task_end(estimator=self.search, X=fold.rows.X)
