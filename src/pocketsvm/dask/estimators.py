"""The estimators."""

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

import numpy as np
from dask.delayed import delayed
from distributed import default_client
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._sklearn import available_if, validate_parameters
from ..data.batch import RowBatch
from ..data.survey import precision_and_gamma
from ..estimators import BudgetedSVC, BudgetedSVR
from ..estimators.classifier import has_probabilities
from ..estimators.elsewhere import fit_survey, ignored_classes, plan_of
from .partitions import (
    Partitions,
    Rules,
    blocks_of,
    check_versions,
    is_array,
    is_frame,
    rows_in_one_piece,
    survey_of,
)
from .passes import RunPasses

T = TypeVar("T")
Array = NDArray[Any]


class _OnDask:
    """What both estimators share."""

    client: Any
    _plain: ClassVar[type]  # the estimator without Dask
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
        check_versions(client)
        local = self._local()
        random_state = check_random_state(local.random_state)
        before = random_state.get_state()
        plan = plan_of(local, random_state)
        rules = Rules(self._regression, tuple(ignored_classes(local)))
        blocks = blocks_of(X, y, sample_weight)
        rows = Partitions(client, blocks, rules, list(range(len(blocks))))
        found, rows, lazy, drawn = survey_of(rows, plan)
        if found.is_whole:
            random_state.set_state(before)
        fit_survey(
            local,
            found,
            rows,
            None,
            lambda gamma, least: precision_and_gamma(gamma, found, None, least, tuple),
            random_state,
            names=[str(name) for name in X.columns] if is_frame(X) else None,
            given=X,
            run=RunPasses(client, lazy, drawn, found),
            n_threads=effective_n_jobs(local.n_jobs),
        )
        # All attributes change in one step: an interrupt leaves no mixture of two models.
        self.__dict__ = local.__dict__ | {"client": self.client}
        return self

    def _local(self) -> Any:
        return _as(self._plain, self)

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
        if not is_array(X) and not is_frame(X):
            return getattr(local, method)(X)
        X, local = rows_in_one_piece(X), _nameless(local, X)
        example = getattr(local, method)(np.zeros((1, local.n_features_in_)))
        model = delayed(local, name=f"model-{uuid4().hex}", traverse=False)
        if is_frame(X):
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
        if not is_array(X) and not is_frame(X):
            return float(local.score(X, y, sample_weight))
        if getattr(local, "_quantile", None) is not None:
            raise ValueError(
                "The score of quantiles needs all rows at once: predict, and compute the pinball "
                "loss; or score rows in memory with to_local()."
            )
        blocks = blocks_of(X, y, sample_weight)
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
    if is_frame(X) and list(X.columns) != names.tolist():
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

    _plain = BudgetedSVC
    _regression = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVC._parameter_constraints,
        "client": [object],
    }

    def __init__(self, *args: Any, client: Any = None, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.client = client

    __init__.__signature__ = _with_client(BudgetedSVC)  # type: ignore[attr-defined]

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

    _plain = BudgetedSVR
    _regression = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVR._parameter_constraints,
        "client": [object],
    }

    def __init__(self, *args: Any, client: Any = None, **parameters: Any) -> None:
        super().__init__(*args, **parameters)
        self.client = client

    __init__.__signature__ = _with_client(BudgetedSVR)  # type: ignore[attr-defined]


def _as(cls: type[T], estimator: Any) -> T:
    """Return an estimator of another class with the same parameters and attributes."""
    local = cls()
    local.__dict__ = {key: value for key, value in vars(estimator).items() if key != "client"}
    return local
