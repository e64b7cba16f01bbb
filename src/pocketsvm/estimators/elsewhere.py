"""Fits on rows that are not in memory.

The survey reads all rows once and draws a sample. If the sample holds all rows, the fit is that of
rows in memory. Otherwise the passes see the sample, and the solver reads all rows through a
`Spread`, which is a disk or a cluster. Novelty detection and ranking see the sample alone.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_random_state

from ..data.batch import RowBatch
from ..data.dataset import Source
from ..data.drawing import Plan
from ..data.errors import DataError
from ..data.rows import Dtype, checked_rows
from ..data.survey import Survey, fitted_scaler, precision_and_gamma, survey
from ..data.targets import ClassTargets, ValueTargets
from ..solving.elsewhere import Follower, Reading, ReadingsElsewhere, Recipe, Spread
from ..solving.readings import Readings
from ..solving.sample import Sample
from ..training.passes import OnPass, passes_over
from ..training.settings import Choices, Settings
from ..training.state import VectorSet

T = TypeVar("T")
RunPasses = Callable[[Any, Any, Settings, OnPass, VectorSet | None, VectorSet | None], VectorSet]


@dataclass(frozen=True, eq=False)
class OnDisk:
    """Rows of a `Source`, as the solver reads them."""

    source: Source
    ignored: Sequence[Any] = ()

    def sum(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all batches that have rows, in their order."""
        total: T | None = None
        n_done = n_rows = 0
        if follow is not None:
            total, n_done = follow.before
        for batch in self.source.read():
            batch = batch.counted(self.ignored)
            n_rows += batch.n_rows
            if not batch.n_rows or n_rows <= n_done:  # read before an interruption
                continue
            first = n_rows - batch.n_rows
            if first < n_done:
                raise DataError(
                    f"{batch.place}: the batches are not those that the checkpoint has read. "
                    "Remove it to begin anew."
                )
            part = reading(batch, first)
            total = part if total is None else reading.merge([total, part])
            if follow is not None:
                follow(total, n_rows)
        if total is None:
            raise DataError(
                "the first reading found rows, and another one none: a fit reads the rows several "
                "times, and each call of batches() must begin anew."
            )
        return total


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """What a fit knows about rows that are not in memory.

    Attributes
    ----------
    survey : Survey
        The result of the first reading.

    spread : Spread
        Where the rows are.

    scaler : transformer or None
        The fitted scaler.

    dtype, gamma : str and float
        The precision of the rows, and the kernel coefficient.

    run : callable
        Makes the passes.

    random_state : RandomState
        Draws the seeds of the passes, after the seed of the sample.

    n_threads : int or None
        Threads for each batch; None means those of the settings.

    n_threads_here : int or None
        Threads of the solver in this process; None means those of the estimator.

    class_weights : ndarray of shape (n_classes,)
        The weights of the classes.
    """

    survey: Survey
    spread: Spread
    scaler: Any
    dtype: Dtype
    gamma: float
    run: RunPasses
    random_state: np.random.RandomState
    n_threads: int | None = None
    n_threads_here: int | None = None
    class_weights: NDArray[np.float64] = field(default_factory=lambda: np.ones(1))

    @property
    def n_rows(self) -> int:
        """The number of all rows."""
        return self.survey.summary.n_rows

    def recipe(self, targets: ClassTargets | ValueTargets, settings: Settings) -> Recipe:
        """Return how a batch becomes a sample of the solver."""
        weights = np.ones(1)
        if isinstance(targets, ClassTargets):
            weights = self.class_weights
            targets = replace(targets, codes=targets.codes[:0], sample_weight=None)
        else:
            targets = replace(targets, values=targets.values[:0], sample_weight=None)
        return Recipe(targets, weights, self.gamma, self.dtype, self.n_rows, settings, self.scaler)

    def readings(
        self, targets: ClassTargets | ValueTargets, settings: Settings
    ) -> Callable[[Sample], Readings]:
        """Return what makes the readings of all rows."""
        recipe = self.recipe(targets, settings)
        summary = self.survey.summary
        weight = float(recipe.class_weight @ summary.weights)
        total_c = weight / (self.n_rows * settings.alpha)
        n_threads = settings.n_threads if self.n_threads is None else self.n_threads
        return lambda part: ReadingsElsewhere(self.spread, recipe, part, total_c, n_threads)


def run_here(
    rows: Any,
    targets: Any,
    settings: Settings,
    on_pass: OnPass,
    start: VectorSet | None,
    before: VectorSet | None,
) -> VectorSet:
    """Make the passes in this process; `before` is what they had found when interrupted."""
    return passes_over(rows, targets, settings, on_pass, start, before=before)


def plan_of(estimator: Any, random_state: np.random.RandomState) -> Plan:
    """Return how large the sample is; the first random number is its seed."""
    choices, budget = Choices(), int(estimator.budget)
    seed = int(random_state.randint(2**63, dtype=np.uint64))
    return Plan(choices.rows_per_vector * budget, choices.class_rows_per_vector * budget, seed)


def ignored_classes(estimator: Any) -> list[Any]:
    """Return the classes whose weight is zero."""
    weights = getattr(estimator, "class_weight", None)
    return [label for label, w in weights.items() if w == 0] if isinstance(weights, dict) else []


def fit_dataset(estimator: Any, dataset: Any, y: Any, sample_weight: Any) -> None:
    """Fit an estimator to a data set, which takes the place of X and y."""
    _check_alone(y, sample_weight)
    regression = not is_classifier(estimator)
    ignored = ignored_classes(estimator)
    random_state = check_random_state(estimator.random_state)
    before = random_state.get_state()
    plan = plan_of(estimator, random_state)
    uses_y, queries = estimator._uses_y, estimator._task == "ranking"
    with dataset.opened(
        regression=regression and uses_y, labelled=uses_y, queries=queries
    ) as source:
        if not uses_y:
            source.read = partial(_without_labels, source.read)
        found = survey(source, plan, regression=regression, ignored=ignored, queries=queries)
        if found.is_whole:
            random_state.set_state(before)  # the sample is not drawn at random
        scaler = scaler_of(estimator, dataset.scaler, found)
        fit_survey(
            estimator,
            found,
            OnDisk(source, ignored),
            scaler,
            lambda gamma, least: precision_and_gamma(gamma, found, scaler, least, source.read),
            random_state,
            names=source.names,
            given=dataset,
        )


def drawn_rows(
    estimator: Any, dataset: Any, y: Any, sample_weight: Any, *, of_all: bool = False
) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
    """Return the sample that a fit would draw from a data set: X, scaled, y and weights or None.

    With `of_all`, the sum of the weights is that of all rows, so that C means the same.
    """
    _check_alone(y, sample_weight)
    regression = not is_classifier(estimator)
    plan = plan_of(estimator, check_random_state(estimator.random_state))
    with dataset.opened(regression=regression) as source:
        found = survey(source, plan, regression=regression, ignored=ignored_classes(estimator))
    X = found.sample.X
    if dataset.scaler is not None:
        X = fitted_scaler(dataset.scaler, found).transform(X)
    weights = _sample_weights(found)
    if of_all and not found.is_whole:
        n_drawn = len(found.sample.y)
        weights = found.sample.weights * found.factors * (found.summary.n_rows / n_drawn)
    return X, found.sample.y, weights


def _sample_weights(found: Survey) -> NDArray[np.float64] | None:
    """Return the weights with which the sample stands for all rows; None if they are equal."""
    if found.sample.weight is None and np.ptp(found.factors) == 0:
        return None
    return found.sample.weights * found.factors


def _query_weights(estimator: Any, found: Survey) -> NDArray[np.float64] | None:
    """Return the weights of queries, with which C means the same as on all rows."""
    if found.is_whole:
        return found.sample.weight
    if estimator.alpha is not None:
        return found.sample.weights * found.factors
    share = found.sample.n_rows / (found.share * found.summary.n_rows)
    return found.sample.weights * found.factors / share


def _check_alone(y: Any, sample_weight: Any) -> None:
    if y is not None or sample_weight is not None:
        raise ValueError("A data set has its labels and weights itself: leave out y.")


def _without_labels(read: Callable[[], Iterator[RowBatch]]) -> Iterator[RowBatch]:
    """Yield the rows for an estimator that ignores their labels, which may be texts."""
    for batch in read():
        yield replace(batch, y=np.zeros(batch.n_rows))


def scaler_of(estimator: Any, scaler: Any, found: Survey) -> Any:
    """Return the fitted scaler; a continued model keeps its own."""
    if estimator._previous(stream=False) is not None:
        return getattr(estimator, "scaler_", None)
    return None if scaler is None else fitted_scaler(scaler, found)


def fit_survey(
    estimator: Any,
    found: Survey,
    spread: Spread,
    scaler: Any,
    decide: Callable[[Any, Dtype], tuple[Dtype, float]],
    random_state: np.random.RandomState,
    *,
    names: list[str] | None,
    given: Any,
    run: RunPasses = run_here,
    n_threads: int | None = None,
    n_threads_here: int | None = None,
) -> None:
    """Fit an estimator after the survey; an error leaves it as it was."""
    rows, X = found.sample, found.sample.X
    X = X if scaler is None else scaler.transform(X)
    fitted = copy.copy(estimator)
    fitted.__dict__.pop("scaler_", None)
    fitted.__dict__.pop("feature_names_in_", None)
    if rows.qid is not None:
        fitted.fit(X, rows.y, qid=rows.qid, sample_weight=_query_weights(fitted, found))
    elif found.is_whole or not estimator._uses_y:
        fitted.fit(X, rows.y, _sample_weights(found))
    else:
        _check_polish(estimator, found)
        start = estimator._previous(stream=False)
        if start is None:
            dtype, gamma = decide(estimator.gamma, "float32")
        else:
            is_single = start.states[0].vectors.dtype == np.float32
            dtype, gamma = decide(start.gamma, "float32" if is_single else "float64")
        elsewhere = Elsewhere(
            found,
            spread,
            scaler,
            dtype,
            gamma,
            run,
            random_state,
            n_threads,
            n_threads_here,
        )
        fitted._fit_sample(checked_rows(X), rows, elsewhere, given)
    if scaler is not None:
        fitted.scaler_ = scaler
    if names is not None:
        fitted.feature_names_in_ = np.array(names, dtype=object)
    estimator.__dict__ = fitted.__dict__


def _check_polish(estimator: Any, found: Survey) -> None:
    if not estimator.polish:
        raise ValueError(
            f"polish=False makes all passes over all {found.summary.n_rows:,} rows in random "
            f"order, which are not in memory; this is possible up to {found.sample.n_rows:,} rows. "
            "Use polish=True, or partial_fit for each batch."
        )
