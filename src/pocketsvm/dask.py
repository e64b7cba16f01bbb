"""Estimators for Dask: rows in dask arrays and dataframes, on any cluster.

The rows stay where they are. Workers summarise their partitions and draw the sample, one of them
makes the passes, and every sum of the solver is a tree over the partitions in a fixed order. All
tasks are pure functions of a partition, so that Dask runs them again if a worker is lost.
"""

import copy
import inspect
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._sklearn import available_if, validate_parameters
from .data.batch import RowBatch, checked_batch
from .data.drawing import Drawn, Plan, drawn_sample
from .data.errors import DataError
from .data.partitions import Draw, SmallestPriorities, Summarise
from .data.rows import Dtype, Rows, checked_rows
from .data.survey import NO_ROWS, Survey, precision_and_gamma
from .data.targets import find_classes
from .estimators import BudgetedSVC, BudgetedSVR
from .estimators.classifier import has_probabilities
from .estimators.elsewhere import fit_survey, ignored_classes, plan_of
from .solving.blas import ONE_BLAS_THREAD
from .solving.elsewhere import Follower, Reading
from .training.passes import OnPass, PassReport, make_trainers, run_passes
from .training.settings import Settings
from .training.state import VectorSet

try:
    import dask.array
    import dask.dataframe
    from dask.delayed import delayed
    from distributed import default_client
except ImportError as error:
    raise ImportError("pocketsvm.dask needs Dask: pip install 'pocketsvm[dask]'") from error

__all__ = ["DaskBudgetedSVC", "DaskBudgetedSVR"]

T = TypeVar("T")
Array = NDArray[Any]

# Results that are merged by one task.
ARITY = 8
# Packages whose versions decide on the bits of a model.
PACKAGES = ("pocketsvm", "numpy", "sklearn")


# --- tasks: pure functions of a partition ---------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """How the blocks of a partition become a batch."""

    regression: bool
    ignored: tuple[Any, ...] = ()

    def batch(self, X: Any, y: Any, weight: Any, number: int) -> RowBatch:
        """Return the rows of a partition that have a weight."""
        place = f"partition {number}"
        batch = checked_batch(X, y, weight, place, regression=self.regression)
        return batch.counted(self.ignored)


def _read(reading: Any, rules: Rules, X: Any, y: Any, weight: Any, number: int, first: int) -> Any:
    """Read a partition; None if it has no rows."""
    batch = rules.batch(X, y, weight, number)
    with ONE_BLAS_THREAD:
        return reading(batch, first) if batch.n_rows else None


def _merge(reading: Any, parts: list[Any]) -> Any:
    """Merge the results of partitions that follow each other; None has no rows."""
    found = [part for part in parts if part is not None]
    return reading.merge(found) if found else None


@dataclass(frozen=True, eq=False)
class _Passes:
    """What a pass needs, beside the rows of the sample."""

    targets: Any
    settings: Settings
    gamma: float
    dtype: Dtype

    def rows(self, sample: Drawn, chosen: Array) -> Rows:
        checked = checked_rows(sample.rows.X[chosen])
        return Rows(checked, checked.core(self.dtype), self.gamma)


def _one_pass(
    sample: Drawn, chosen: Array, given: _Passes, start: VectorSet | None, before: VectorSet | None
) -> VectorSet:
    """Make one pass over the sample, on one worker."""
    rows = given.rows(sample, chosen)
    trainers = make_trainers(rows, given.targets, given.settings, before or start)
    return run_passes(trainers, rows, given.targets, given.settings, lambda report: True, before)


def _same(value: T) -> T:
    """Return the value: a task that keeps it on the cluster once, for many other tasks."""
    return value


# --- where the rows are ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of X, y and the weights, as lazy values.

    Attributes
    ----------
    client : Client
        The cluster.

    blocks : list of tuple
        X, y and the weights (or None) of each partition.

    rules : Rules
        How the blocks become a batch.

    first : list of int
        The number of rows before each partition; its number, as long as this is unknown.
    """

    client: Any
    blocks: list[tuple[Any, Any, Any]]
    rules: Rules
    first: list[int]

    def sum(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all partitions, as a tree in a fixed order."""
        found = self.client.compute(self.tree(reading)).result()
        if found is None:
            raise DataError(NO_ROWS)
        result: T = found
        return result

    def tree(self, reading: Any) -> Any:
        """Return the lazy result of a reading."""
        name, token = type(reading).__name__, uuid4().hex
        shared = delayed(reading, name=f"{name}-shared-{token}", traverse=False)
        rules = delayed(self.rules, name=f"{name}-rules-{token}", traverse=False)
        read, merge = delayed(_read, pure=False), delayed(_merge, pure=False)
        parts = [
            read(shared, rules, *block, k, first, dask_key_name=f"{name}-{token}-{k}")
            for k, (block, first) in enumerate(zip(self.blocks, self.first, strict=True))
        ]
        level = 0
        while len(parts) > 1:
            level += 1
            parts = [
                merge(
                    shared,
                    parts[k : k + ARITY],
                    dask_key_name=f"{name}-merge-{token}-{level}-{k}",
                )
                for k in range(0, len(parts), ARITY)
            ]
        return parts[0]


def _blocks(X: Any, y: Any, weight: Any) -> list[tuple[Any, Any, Any]]:
    """Return the partitions of X, y and the weights."""
    X = _rows_in_one_piece(X)
    parts = _lazy(X)
    others = []
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is None:
            others.append([None] * len(parts))
            continue
        found = _lazy(_aligned(values, X))
        if len(found) != len(parts):
            raise ValueError(
                f"X has {len(parts)} partitions and {name} {len(found)}; they must be cut at the "
                f"same rows. Use {name}.rechunk(...) or repartition."
            )
        others.append(found)
    return list(zip(parts, *others, strict=True))


def _rows_in_one_piece(X: Any) -> Any:
    """Return an array whose chunks hold whole rows."""
    if not _is_array(X) and not _is_frame(X):
        raise TypeError(
            f"X must be a dask array or dataframe, got {type(X).__name__}; BudgetedSVC and "
            "BudgetedSVR take rows in memory and on disk."
        )
    if _is_array(X) and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    return X.rechunk({1: -1}) if _is_array(X) and len(X.chunks[1]) > 1 else X


def _aligned(values: Any, X: Any) -> Any:
    """Return y or the weights with the chunks of X, if these are known."""
    if not _is_array(values) and not _is_frame(values):
        raise TypeError(
            f"y and sample_weight must be dask arrays or dataframes, got {type(values).__name__}."
        )
    if _is_array(values) and _is_array(X):
        chunks = X.chunks[0]
        known = not (np.isnan(chunks).any() or np.isnan(values.chunks[0]).any())
        if known and sum(chunks) != values.shape[0]:
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: {sum(chunks)} and "
                f"{values.shape[0]}."
            )
        if known and chunks != values.chunks[0]:
            return values.rechunk({0: chunks})
    return values


def _lazy(values: Any) -> list[Any]:
    """Return the partitions; those of frames that read few columns are not joined, as Dask would.

    Dask's optimisation joins the partitions of a column, such as y, more than those of all others.
    """
    if _is_frame(values):
        return list(values.simplify().to_delayed(optimize_graph=False))
    found = values.to_delayed()
    return list(found.ravel())


def _is_array(values: Any) -> bool:
    return isinstance(values, dask.array.Array)


def _is_frame(values: Any) -> bool:
    return isinstance(values, dask.dataframe.DataFrame | dask.dataframe.Series)


def _check_versions(client: Any) -> None:
    """Refuse workers whose packages would give other bits, or none at all."""
    found = client.get_versions(packages=list(PACKAGES))
    here = {name: found["client"]["packages"].get(name) for name in PACKAGES}
    here["pocketsvm"] = version("pocketsvm")
    if not found["workers"]:
        raise RuntimeError("The cluster of the Dask client has no workers.")
    for address, worker in found["workers"].items():
        for name, wanted in here.items():
            got = worker["packages"].get(name)
            if got != wanted:
                raise RuntimeError(
                    f"The worker {address} has {name} {got or 'not installed'}, and the client has "
                    f"{wanted}. Install the same versions on all workers."
                )


def _survey(rows: Partitions, plan: Plan) -> tuple[Survey, Partitions, Any, Drawn]:
    """Count the rows, and draw the sample where the rows are.

    Returns the survey, the partitions with the numbers of rows before them, and the sample as a
    future and in memory.
    """
    regression = rows.rules.regression
    summary, counts = rows.sum(Summarise(regression))
    assert summary is not None
    if not regression:
        find_classes(summary.labels)
    sizes = [counts.get(k, 0) for k in range(len(rows.blocks))]
    rows = replace(rows, first=np.cumsum([0, *sizes[:-1]]).tolist())
    labels = summary.labels.tolist()
    wanted = dict(zip(labels, plan.quotas(summary.counts).tolist(), strict=True))
    if summary.n_rows <= plan.n_rows:
        thresholds = dict.fromkeys(labels, math.inf)
    else:
        found = rows.sum(SmallestPriorities(plan, wanted, regression))
        thresholds = {label: float(values.max()) for label, values in found.items()}
    lazy = rows.client.compute(rows.tree(Draw(plan, thresholds, regression)))
    drawn = lazy.result()
    sample = drawn_sample(drawn, wanted, summary, regression=regression)
    if sample is None:
        raise DataError("the rows changed between two readings.")
    return Survey(summary, *sample), rows, lazy, drawn


# --- estimators -----------------------------------------------------------------------------------


class _OnDask:
    """What both estimators share."""

    client: Any
    _regression: bool

    def _client(self) -> Any:
        return default_client() if self.client is None else self.client  # type: ignore[no-untyped-call]

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows. Chunk sizes may be unknown, and partitions may be empty.

        y : dask array, dataframe or series of shape (n_samples,)
            Labels, or targets, with the partitions of X.

        sample_weight : dask array or series of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        validate_parameters(self)
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed.")
        client = self._client()
        _check_versions(client)
        local = self._local()
        random_state = check_random_state(local.random_state)
        before = random_state.get_state()
        plan = plan_of(local, random_state)
        rules = Rules(self._regression, tuple(ignored_classes(local)))
        blocks = _blocks(X, y, sample_weight)
        rows = Partitions(client, blocks, rules, list(range(len(blocks))))
        found, rows, lazy, drawn = _survey(rows, plan)
        if found.is_whole:
            random_state.set_state(before)
        fit_survey(
            local,
            found,
            rows,
            None,
            lambda gamma, least: precision_and_gamma(gamma, found, None, least, tuple),
            random_state,
            names=[str(name) for name in X.columns] if _is_frame(X) else None,
            given=X,
            run=_RunPasses(client, lazy, drawn, found),
            n_threads=effective_n_jobs(local.n_jobs),
        )
        # All attributes change in one step: an interrupt leaves no mixture of two models.
        self.__dict__ = local.__dict__ | {"client": self.client}
        return self

    def _local(self) -> Any:
        raise NotImplementedError

    def to_local(self) -> Any:
        """Return the estimator without Dask, which predicts rows in memory.

        Returns
        -------
        estimator : BudgetedSVC or BudgetedSVR
            It shares the arrays of this one.
        """
        return self._local()

    def save(self, path: Any) -> None:
        """Write the fitted model to a file, for `pocketsvm.load_model`.

        Parameters
        ----------
        path : str or path-like
            The file. `load_model` returns the estimator without Dask.
        """
        self.to_local().save(path)

    def predict(self, X: Any) -> Any:
        """Predict lazily.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows; rows in memory are predicted at once.

        Returns
        -------
        predicted : dask array, series or dataframe
            The predicted labels or targets, with the partitions of X; a column for each of several
            quantiles.
        """
        return self._mapped("predict", X)

    def _mapped(self, method: str, X: Any) -> Any:
        local = self.to_local()
        check_is_fitted(local)
        if not _is_array(X) and not _is_frame(X):
            return getattr(local, method)(X)
        X, local = _rows_in_one_piece(X), _nameless(local, X)
        example = getattr(local, method)(np.zeros((1, local.n_features_in_)))
        model = delayed(local, name=f"model-{uuid4().hex}", traverse=False)
        if _is_frame(X):
            meta = _framed(example[:0], None)
            return X.map_partitions(_answer_frame, method, model, meta=meta)
        shape = {} if example.ndim == 1 else {"chunks": (X.chunks[0], (example.shape[1],))}
        drop = {"drop_axis": 1} if example.ndim == 1 else {}
        return X.map_blocks(
            _answer, method, model, dtype=example.dtype, meta=example[:0], **shape, **drop
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R^2 of a regression.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows.

        y : dask array or series of shape (n_samples,)
            True labels or targets.

        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The score; it is computed at once.
        """
        local = self.to_local()
        check_is_fitted(local)
        if not _is_array(X) and not _is_frame(X):
            return float(local.score(X, y, sample_weight))
        if getattr(local, "_quantile", None) is not None:
            raise ValueError(
                "The score of quantiles needs all rows at once: predict, and compute the pinball "
                "loss; or score rows in memory with to_local()."
            )
        blocks = _blocks(X, y, sample_weight)
        rows = Partitions(self._client(), blocks, Rules(self._regression), list(range(len(blocks))))
        weight, right, _, squares, errors = rows.sum(_Score(_nameless(local, X), self._regression))
        if not self._regression:
            return float(right / weight)
        return float(1 - errors / squares) if squares else float(errors == 0)

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_clone__(self) -> Any:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = parameters.pop("client")
        kept = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**kept, client=client)  # type: ignore[call-arg]


@dataclass(frozen=True, eq=False)
class _Score:
    """The sums that a score is made of: weights, hits, mean, squares and errors."""

    model: Any
    regression: bool

    def __call__(self, batch: RowBatch, first: int) -> tuple[float, ...]:
        """Return the sums of a partition."""
        predicted, w, y = self.model.predict(batch.X), batch.weights, batch.y
        if not self.regression:
            return float(w.sum()), float(w @ (predicted == y)), 0.0, 0.0, 0.0
        total, mean = float(w.sum()), float(w @ y / w.sum())
        return total, 0.0, mean, float(w @ (y - mean) ** 2), float(w @ (y - predicted) ** 2)

    def merge(self, parts: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """Merge the sums of partitions."""
        weight, right, mean, squares, errors = parts[0]
        for more, hits, other, spread, wrong in parts[1:]:
            total = weight + more
            squares += spread + (other - mean) ** 2 * weight * more / total
            mean += (other - mean) * more / total
            weight, right, errors = total, right + hits, errors + wrong
        return weight, right, mean, squares, errors


def _answer(X: Any, method: str, model: Any) -> Any:
    """Answer for a block of an array; a block may have no rows."""
    if not X.shape[0]:
        return getattr(model, method)(np.zeros((1, model.n_features_in_)))[:0]
    return getattr(model, method)(X)


def _nameless(model: Any, X: Any) -> Any:
    """Compare the names of the features once, and return a model that does not ask for them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return model
    if _is_frame(X) and list(X.columns) != names.tolist():
        raise ValueError(
            "The feature names should match those that were passed during fit: "
            f"{names.tolist()[:10]}, got {list(X.columns)[:10]}."
        )
    model = copy.copy(model)
    del model.feature_names_in_
    return model


def _answer_frame(frame: Any, method: str, model: Any) -> Any:
    found = _answer(frame.to_numpy(), method, model)
    return _framed(found, frame.index)


def _framed(values: Array, index: Any) -> Any:
    import pandas as pd

    kind = pd.Series if values.ndim == 1 else pd.DataFrame
    return kind(values, index=index)


@dataclass(frozen=True, eq=False)
class _RunPasses:
    """Makes the passes on a worker, each as a task of its own."""

    client: Any
    lazy: Any
    drawn: Drawn
    found: Survey

    def __call__(
        self,
        rows: Rows,
        targets: Any,
        settings: Settings,
        on_pass: OnPass,
        start: VectorSet | None,
        before: VectorSet | None,
    ) -> VectorSet:
        """Make all passes, or those after `before`; the callbacks are told between them."""
        given = _Passes(targets, settings, rows.gamma, rows.core.dtype)
        chosen = np.flatnonzero(np.isin(self.drawn.numbers, self.found.numbers))
        token = uuid4().hex
        shared = self.client.submit(_same, given, key=f"passes-shared-{token}")
        at = self.client.submit(_same, chosen, key=f"passes-rows-{token}")
        vectors = before
        for done in range(1 if before is None else before.n_passes + 1, settings.n_passes + 1):
            begin = time.perf_counter()
            found: VectorSet = self.client.submit(
                _one_pass, self.lazy, at, shared, start, vectors, key=f"pass-{token}-{done}"
            ).result()
            if vectors is not None and found.n_passes == vectors.n_passes:
                break  # enough vectors were merged
            made = found.profile if vectors is None else found.profile - vectors.profile
            seconds = time.perf_counter() - begin
            vectors = found
            report = PassReport(done, settings.n_passes, made, seconds, partial(_same, found))
            if on_pass(report):
                break
        assert vectors is not None
        return vectors


def _with_client(base: type) -> inspect.Signature:
    """Return the signature of an estimator's constructor, with a client."""
    own = inspect.signature(base.__init__)  # type: ignore[misc]
    client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None)
    return own.replace(parameters=[*own.parameters.values(), client])


class DaskBudgetedSVC(_OnDask, BudgetedSVC):
    """`BudgetedSVC` for dask arrays and dataframes.

    Parameters and attributes are those of `pocketsvm.BudgetedSVC`; `n_jobs` is the number of
    threads of a task.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client. Pickling drops it.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm.dask import DaskBudgetedSVC
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    ...     clf = DaskBudgetedSVC(budget=20, random_state=0).fit(X, y)
    ...     score = clf.score(X, y)
    >>> score > 0.95
    True
    """

    _regression = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVC._parameter_constraints,
        "client": [object],
    }

    def __init__(self, *args: Any, client: Any = None, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.client = client

    __init__.__signature__ = _with_client(BudgetedSVC)  # type: ignore[attr-defined]

    def _local(self) -> BudgetedSVC:
        return _as(BudgetedSVC, self)

    def decision_function(self, X: Any) -> Any:
        """Evaluate the decision function lazily.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows; rows in memory are evaluated at once.

        Returns
        -------
        values : dask array, series or dataframe
            As `BudgetedSVC.decision_function` returns them, with the partitions of X.
        """
        return self._mapped("decision_function", X)

    @available_if(has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Predict the probabilities of the classes lazily.

        Available with ``loss="log_loss"``.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows; rows in memory are predicted at once.

        Returns
        -------
        probabilities : dask array or dataframe of shape (n_samples, n_classes)
            As `BudgetedSVC.predict_proba` returns them, with the partitions of X.
        """
        return self._mapped("predict_proba", X)

    @available_if(has_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithms of the probabilities of the classes lazily.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows; rows in memory are predicted at once.

        Returns
        -------
        logarithms : dask array or dataframe of shape (n_samples, n_classes)
            As `BudgetedSVC.predict_log_proba` returns them, with the partitions of X.
        """
        return self._mapped("predict_log_proba", X)


class DaskBudgetedSVR(_OnDask, BudgetedSVR):
    """`BudgetedSVR` for dask arrays and dataframes.

    Parameters and attributes are those of `pocketsvm.BudgetedSVR`; `n_jobs` is the number of
    threads of a task.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client. Pickling drops it.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import make_friedman1
    >>> from pocketsvm.dask import DaskBudgetedSVR
    >>> X, y = make_friedman1(2000, noise=0.1, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     rows, values = da.from_array(X, chunks=500), da.from_array(y, chunks=500)
    ...     model = DaskBudgetedSVR(budget=50, C=10, random_state=0).fit(rows, values)
    ...     score = model.score(rows, values)
    >>> score > 0.9
    True
    """

    _regression = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVR._parameter_constraints,
        "client": [object],
    }

    def __init__(self, *args: Any, client: Any = None, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.client = client

    __init__.__signature__ = _with_client(BudgetedSVR)  # type: ignore[attr-defined]

    def _local(self) -> BudgetedSVR:
        return _as(BudgetedSVR, self)


def _as(cls: type[T], estimator: Any) -> T:
    """Return an estimator of another class with the same parameters and attributes."""
    local = cls()
    local.__dict__ = {key: value for key, value in vars(estimator).items() if key != "client"}
    return local
