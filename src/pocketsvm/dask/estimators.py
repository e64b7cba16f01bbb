"""The estimators."""

import inspect
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar
from uuid import uuid4

import numpy as np
from dask.delayed import delayed
from distributed import default_client
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._sklearn import available_if, num_samples, validate_parameters
from ..estimators import BudgetedSVC, BudgetedSVR
from ..estimators.classifier import has_probabilities
from ..estimators.watching import given_data
from ..rows.columns import layout_of
from ..rows.preparation import Preparing
from .answers import Score, answer, answer_frame, framed, nameless, one_row
from .partitions import (
    Partitions,
    blocks_of,
    check_versions,
    is_array,
    is_frame,
    rows_in_one_piece,
)

T = TypeVar("T")


# The parameters that the estimators without Dask do not have.
OWN = ("client", "scaler", "impute", "one_hot")


class _OnDask:
    """What both estimators share."""

    client: Any
    device: str
    scaler: Any
    impute: str | None
    one_hot: Any
    _plain: ClassVar[type]  # the estimator without Dask

    def _client(self) -> Any:
        return default_client() if self.client is None else self.client  # type: ignore[no-untyped-call]

    def _check_device(self) -> None:
        if self.device != "cpu":
            raise ValueError(
                f"device={self.device!r} is not possible with Dask, whose workers compute on their "
                'CPUs: use device="cpu", or rows in memory or files with to_local().'
            )

    def _take(self, local: Any) -> Self:
        """Take a fit over, in one step: an interrupt leaves no mixture of two models."""
        self.__dict__ = local.__dict__ | {name: getattr(self, name) for name in OWN}
        return self

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to rows on the cluster.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows. Chunk sizes may be unknown, and partitions may be empty. All partitions of a
            dataframe must have the same columns, in any order.

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
        self._check_device()
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed.")
        client = self._client()
        check_versions(client)
        local = self._local()
        task, start = local._what(), local._start(stream=False)
        blocks = blocks_of(X, y, sample_weight)
        preparing = Preparing(self.scaler, self.impute, self.one_hot)
        missing = self.impute is not None
        layout = layout_of(X, preparing.texts, missing=missing, place="X")
        layout = layout if start is None else start.layout
        n_threads = effective_n_jobs(local.n_jobs)
        numbers = list(range(len(blocks)))
        rows = Partitions(client, blocks, task.needs, numbers, layout, n_threads)
        here = effective_n_jobs(-1 if local.n_jobs is None else local.n_jobs)
        parameters = replace(local._parameters(), n_threads=here)
        given = given_data(X, None, None)
        local._model = local._trained(task, rows, given, start, preparing, parameters=parameters)
        return self._take(local)

    def _pass_over(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Self:
        """Update the model with one partition after the other, each of which comes here."""
        self._check_device()
        local, parts = self._local(), iter([(X, y, sample_weight)])
        if local._start(stream=True) is None and any(getattr(self, name) for name in OWN[1:]):
            raise ValueError(
                "scaler, impute and one_hot are learnt by fit, which reads all rows first: call "
                "fit before partial_fit, or prepare the rows yourself."
            )
        if is_array(X) or is_frame(X):
            parts = map(self._gathered, blocks_of(X, y, sample_weight))
        for rows, targets, weight in parts:
            if num_samples(rows):
                local.partial_fit(rows, targets, sample_weight=weight, **more)
        return self._take(local)

    def _gathered(self, block: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        """Bring a partition of X, y and the weights, which may be None, into this process."""
        X, y, weight = self._client().gather(self._client().compute(block))
        return X, y, weight

    def _local(self) -> Any:
        return _as_class(self._plain, self)

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
        self._check_device()
        local = self.to_local()
        check_is_fitted(local)
        if not is_array(X) and not is_frame(X):
            return getattr(local, method)(X)
        layout = local._model.layout
        X, local = rows_in_one_piece(X), nameless(local, X)
        example = getattr(local, method)(one_row(layout))
        model = delayed(local, name=f"model-{uuid4().hex}", traverse=False)
        if is_frame(X):
            meta = framed(example[:0], None)
            return X.map_partitions(answer_frame, method, model, layout, meta=meta)
        shape = {} if example.ndim == 1 else {"chunks": (X.chunks[0], (example.shape[1],))}
        drop = {"drop_axis": 1} if example.ndim == 1 else {}
        return X.map_blocks(
            answer, method, model, dtype=example.dtype, meta=example[:0], **shape, **drop
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
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
        self._check_device()
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
        needs = replace(local._what().needs, ignored=())
        numbers = list(range(len(blocks)))
        rows = Partitions(self._client(), blocks, needs, numbers, local._model.layout)
        weight, right, _, squares, errors = rows.scan(Score(nameless(local, X), needs.numbers))
        if not needs.numbers:
            return float(right / weight)
        is_constant = squares == 0
        found = np.where(is_constant, errors == 0, 1 - errors / np.where(is_constant, 1, squares))
        return float(found.mean())

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def __sklearn_clone__(self) -> Any:
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        client = parameters.pop("client")
        kept = {name: clone(value, safe=False) for name, value in parameters.items()}
        return type(self)(**kept, client=client)  # type: ignore[call-arg]


def _constructor(base: type) -> Any:
    """Return the constructor of an estimator with more parameters."""

    def construct(self: Any, *args: Any, **parameters: Any) -> None:
        for name in OWN:
            setattr(self, name, parameters.pop(name, None))
        base.__init__(self, *args, **parameters)  # type: ignore[misc]

    plain = inspect.signature(base.__init__)  # type: ignore[misc]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in OWN]
    every = [*plain.parameters.values(), *more]
    construct.__signature__ = plain.replace(parameters=every)  # type: ignore[attr-defined]
    return construct


class DaskBudgetedSVC(_OnDask, BudgetedSVC):
    """`BudgetedSVC` for dask arrays and dataframes.

    Parameters and attributes are those of `pocketsvm.BudgetedSVC`; `n_jobs` is the number of
    threads of a task, one by default. While the workers wait, this process solves on the sample,
    with all of its cores by default.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client. Pickling drops it.

    scaler : transformer, default=None
        StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler of scikit-learn. `fit` fits a
        copy on the cluster, and the model takes raw rows. RobustScaler learns from the sample, the
        others from all rows.

    impute : {"mean", "median", "most_frequent"}, default=None
        What fills in missing values, as in `pocketsvm.open_dataset`.

    one_hot : list of str or int, or "text", default=None
        The columns of texts to encode, as in `pocketsvm.open_dataset`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pocketsvm.dask import DaskBudgetedSVC
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     X, y = da.from_array(X, chunks=(500, 2)), da.from_array(y, chunks=500)
    ...     clf = DaskBudgetedSVC(budget=20, scaler=StandardScaler(), random_state=0).fit(X, y)
    ...     score = clf.score(X, y)
    >>> print(f"{score:.2f}")
    1.00
    """

    _plain = BudgetedSVC
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVC._parameter_constraints,
        **{name: [object] for name in OWN},
    }

    __init__ = _constructor(BudgetedSVC)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with one pass over the rows, in their order.

        Passes are sequential: the partitions come to this process, one after the other, and no
        more than one is in memory.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows, or a batch of rows in memory.

        y : dask array or series of shape (n_samples,)
            Labels, with the partitions of X.

        classes : array-like of shape (n_classes,), default=None
            All classes that can occur in the stream. Required in the first call.

        sample_weight : dask array or series of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : DaskBudgetedSVC
            The fitted estimator.
        """
        return self._pass_over(X, y, sample_weight, classes=classes)

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
    threads of a task, one by default. While the workers wait, this process solves on the sample,
    with all of its cores by default.

    Parameters
    ----------
    client : distributed.Client, default=None
        The cluster. None means the current client. Pickling drops it.

    scaler : transformer, default=None
        StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler of scikit-learn. `fit` fits a
        copy on the cluster, and the model takes raw rows. RobustScaler learns from the sample, the
        others from all rows.

    impute : {"mean", "median", "most_frequent"}, default=None
        What fills in missing values, as in `pocketsvm.open_dataset`.

    one_hot : list of str or int, or "text", default=None
        The columns of texts to encode, as in `pocketsvm.open_dataset`.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> import dask.array as da
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.preprocessing import StandardScaler
    >>> from pocketsvm.dask import DaskBudgetedSVR
    >>> X, y = make_friedman1(2000, noise=0.1, random_state=0)
    >>> with Client(processes=False, dashboard_address=":0") as client:
    ...     rows, values = da.from_array(X, chunks=500), da.from_array(y, chunks=500)
    ...     model = DaskBudgetedSVR(budget=50, C=10, scaler=StandardScaler(), random_state=0)
    ...     score = model.fit(rows, values).score(rows, values)
    >>> print(f"{score:.2f}")
    0.98
    """

    _plain = BudgetedSVR
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSVR._parameter_constraints,
        **{name: [object] for name in OWN},
    }

    __init__ = _constructor(BudgetedSVR)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Update the model with one pass over the rows, in their order.

        Passes are sequential: the partitions come to this process, one after the other, and no
        more than one is in memory.

        Parameters
        ----------
        X : dask array or dataframe of shape (n_samples, n_features)
            The rows, or a batch of rows in memory.

        y : dask array, series or dataframe of shape (n_samples,)
            Targets, with the partitions of X.

        sample_weight : dask array or series of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : DaskBudgetedSVR
            The fitted estimator.
        """
        return self._pass_over(X, y, sample_weight)


def _as_class(cls: type[T], estimator: Any) -> T:
    """Return an estimator of another class with the same parameters and attributes."""
    local = cls()
    known = vars(estimator).copy()  # another thread may fit the estimator
    local.__dict__ = {key: value for key, value in known.items() if key not in OWN}
    return local
