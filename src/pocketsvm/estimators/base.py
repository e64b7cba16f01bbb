"""What the estimators share: parameters, the call of `fit`, prediction.

An estimator checks its parameters and the data, names the task, calls `pocketsvm.fit.fit`, and
keeps the model. All fitted attributes are read from it. A fit that fails or is interrupted leaves
the estimator as it was.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._replacing import PathLike
from .._sklearn import CallbackSupportMixin, DocLink, Interval, StrOptions
from ..backends.devices import backend_of, device_of
from ..backends.torch_rows import check_tensor
from ..files.columns import Layout
from ..fit import fit
from ..model.model import Model
from ..model.prediction import decision_values
from ..profile import Profile
from ..rows.checked import CheckedRows, check_rows, check_rows_and_targets, checked_rows
from ..rows.chunk import Chunk, Needs
from ..rows.columns import check_width
from ..rows.dataset import Dataset
from ..rows.feature_scales import checked_feature_scales
from ..rows.memory import InMemory
from ..rows.opening import as_dataset
from ..rows.preparation import SCALERS, Preparing, in_parts
from ..rows.source import Source
from ..rows.stream import StreamReservoir
from ..tasks.base import Task, state_of
from ..training.settings import Choices, Parameters
from ..training.state import VectorSet
from ..training.strategies import STRATEGIES
from .namespaces import OnDevice
from .saving import save_model
from .streams import scaled_reservoir, with_kept_rows
from .watching import FitWatch, given_data

# The core counts vectors and passes in 32 bits.
LARGEST_INT = 2**31 - 1


T = TypeVar("T")


class _Fitted:
    """A fitted attribute, which is read from the model; without a model there is none.

    Parameters
    ----------
    name : str
        The name of the value in the model.

    of_training : bool, default=False
        Whether it belongs to the training of the model.

    read : callable, default=None
        Reads the value from the model, if it is no attribute of it.

    may_be_none : bool, default=False
        Whether a model may have None as the value.
    """

    def __init__(
        self,
        name: str,
        *,
        of_training: bool = False,
        read: Callable[[Model], Any] | None = None,
        may_be_none: bool = False,
    ) -> None:
        self.field, self.of_training, self.read = name, of_training, read
        self.may_be_none = may_be_none

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type) -> Any:
        if estimator is None:
            return self
        model, value = vars(estimator).get("_model"), vars(estimator).get(self.name)
        if model is not None and value is None:
            holder = model.training if self.of_training else model
            value = getattr(holder, self.field) if self.read is None else self.read(model)
        if value is None and (model is None or not self.may_be_none):
            name = owner.__name__
            raise AttributeError(f"This {name} has no {self.name}, or is not fitted yet.")
        return value

    def __set__(self, estimator: Any, value: Any) -> None:
        model = vars(estimator).get("_model")
        if model is None or self.read is not None:  # scikit-learn's checks set some before a fit
            vars(estimator)[self.name] = value
        elif self.of_training:
            training = replace(model.training, **{self.field: value})
            estimator._model = replace(model, training=training)
        else:
            estimator._model = replace(model, **{self.field: value}, integers=None)

    def __delete__(self, estimator: Any) -> None:
        vars(estimator).pop(self.name, None)
        if "_model" in vars(estimator):
            self.__set__(estimator, None)


def fitted(name: str, **options: Any) -> Any:
    """Return a fitted attribute, which is read from the model."""
    return _Fitted(name, **options)


class FittedModel(DocLink, BaseEstimator):
    """The base of all estimators: fitted attributes and predictions, which come from the model."""

    n_jobs: int | None
    device: str

    support_vectors_: NDArray[np.floating[Any]] = fitted(
        "support_vectors", read=lambda model: model.support_vectors
    )
    dual_coef_: NDArray[np.float64] = fitted("dual_coef")
    intercept_: NDArray[np.float64] = fitted("intercept")
    gamma_: float = fitted("gamma")
    feature_scales_: NDArray[np.float64] | None = fitted("feature_scales", may_be_none=True)
    alpha_: float = fitted("alpha", of_training=True)
    n_iter_: int = fitted("n_iter", read=lambda model: _state(model).n_passes)
    profile_: Profile = fitted("profile", of_training=True)
    n_features_in_: int = fitted("n_inputs", read=lambda model: model.n_inputs)
    feature_names_in_: NDArray[Any] = fitted("feature_names")
    scaler_: Any = fitted("scaler", read=lambda model: _scaler(model))
    # What the fitted model minimised; parameters may have changed since.
    _model: Model
    _loss: str = fitted("loss", may_be_none=True)
    _quantile: float | tuple[float, ...] | None = fitted("quantile", may_be_none=True)
    _state: VectorSet = fitted("vectors", of_training=True, may_be_none=True)
    _reservoir: StreamReservoir | None = fitted("reservoir", of_training=True, may_be_none=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in vars(self)

    @abstractmethod
    def _what(self) -> Task:
        """Return the task, made of the parameters."""

    @property
    def _machine(self) -> Any:
        """The plain estimator that has the model."""
        return self

    def to_model(self) -> Model:
        """Return the fitted model, with the state that further training continues from.

        Returns
        -------
        model : pocketsvm.model.Model
            The model; its arrays are not copied.
        """
        check_is_fitted(self)
        assert self._model.training is not None
        training = replace(
            self._model.training,
            estimator=type(self._machine).__name__,
            parameters={
                name: value
                for name, value in self._machine.get_params(deep=False).items()
                if name != "device"  # another machine may have another one
            },
            reservoir=scaled_reservoir(self._model),
        )
        return replace(self._model, training=training)

    def save(self, path: PathLike) -> None:
        """Write the fitted model to a file, for `pocketsvm.load_model`.

        Parameters
        ----------
        path : str or path-like
            The file. It appears, or replaces an existing one, in one step once it is complete.

        Notes
        -----
        A `random_state` that is not an int or None, and callbacks, are not kept. Merged support
        vectors are generally not training rows: there are no indices (``support_``) to keep.
        """
        save_model(self, path)

    def _decision_values(self, X: Any) -> NDArray[np.float64]:
        """Return the decision values (n_rows, n_outputs)."""
        check_is_fitted(self)
        if isinstance(X, OnDevice):
            return self._decided_on_device(X)
        if (dataset := as_dataset(X)) is not None:
            needs = Needs(numbers=True, labelled=False)
            values = [found for _, found in self._decided(dataset, needs)]
            return np.concatenate(values) if values else np.empty((0, len(self._model.intercept)))
        probe = snapshot(self)
        rows = check_rows(probe, X, reset=False, layout=probe._model.layout)
        return probe._decide(rows)

    def _decide(self, rows: CheckedRows) -> NDArray[np.float64]:
        """Return the decision values of rows before the preparation."""
        model = self._model
        parts: Iterable[CheckedRows] = [rows]
        if steps := model.steps:
            parts = map(checked_rows, in_parts(steps, rows.X))
        numbers = model.vectors, model.dual_coef, model.intercept, model.gamma
        backend = backend_of(self.device, effective_n_jobs(self.n_jobs))
        values = [decision_values(*numbers, part, backend) for part in parts]
        return values[0] if len(values) == 1 else np.concatenate(values)

    def _decided_on_device(self, X: OnDevice) -> NDArray[np.float64]:
        """Return the decision values of rows on a GPU; only prepared ones leave it."""
        model = self._model
        if model.steps:
            return self._decision_values(X.rows.cpu().numpy())
        check_tensor(X.rows, model.n_inputs, type(self).__name__)
        backend = backend_of(X.device, effective_n_jobs(self.n_jobs))
        numbers = model.vectors, model.dual_coef, model.intercept, model.gamma
        return decision_values(*numbers, CheckedRows(X.rows), backend)

    def _decided(
        self, dataset: Dataset, needs: Needs
    ) -> Iterator[tuple[Chunk, NDArray[np.float64]]]:
        """Yield the chunks of a data set that have rows, and their decision values."""
        layout = self._model.layout
        with dataset.opened(needs, layout) as source:
            for chunk in source.read():
                if chunk.n_rows:
                    check_width(chunk.X, layout, chunk.place)
                    yield chunk, self._decide(checked_rows(chunk.X))

    def _scored(self, X: Any, **given: Any) -> tuple[Any, Any, Any, NDArray[np.float64]] | None:
        """Return targets, weights, queries and decision values of a data set, if X is one."""
        if (dataset := as_dataset(X, alone=given.get("y") is None)) is None:
            return None
        check_alone(**given)
        check_is_fitted(self)
        needs = replace(self._what().needs, ignored=())
        found = [
            (replace(chunk, X=np.empty((chunk.n_rows, 0))), values)  # rows need not stay in memory
            for chunk, values in self._decided(dataset, needs)
        ]
        if not found:
            raise ValueError("The data set has no rows.")
        chunks, values = zip(*found, strict=True)
        weight = None
        if any(chunk.weight is not None for chunk in chunks):
            weight = np.concatenate([chunk.weights for chunk in chunks])
        queries = None if chunks[0].qid is None else np.concatenate([c.qid for c in chunks])
        return np.concatenate([c.y for c in chunks]), weight, queries, np.concatenate(values)


class BudgetedMachine(CallbackSupportMixin, FittedModel):
    """The base of the plain estimators."""

    _task: ClassVar[str]  # the name of the task
    _uses_y: ClassVar[bool] = True  # whether rows have targets
    _choices: Choices = Choices()  # constants of the method

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Integral, 2, LARGEST_INT, closed="both")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "feature_scales": [StrOptions({"learn", "auto"}), "array-like", None],
        "max_iter": [Interval(Integral, 1, LARGEST_INT, closed="both")],
        "maintenance": [StrOptions(set(STRATEGIES))],
        "polish": ["boolean", StrOptions({"thorough"})],
        "fit_intercept": ["boolean"],
        "alpha": [Interval(Real, 0.0, None, closed="neither"), None],
        "half_life": [Interval(Real, 1.0, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "device": [str],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    budget: int
    C: float
    gamma: str | float
    feature_scales: Any
    max_iter: int
    maintenance: str
    polish: bool | str
    fit_intercept: bool
    alpha: float | None
    half_life: float | None
    warm_start: bool
    n_jobs: int | None
    device: str
    random_state: Any
    verbose: int

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model."""

    def _parameters(self, *, stream: bool = False) -> Parameters:
        """Return the parameters of a call."""
        return Parameters(
            budget=int(self.budget),
            max_iter=int(self.max_iter),
            maintenance=self.maintenance,
            polish=self.polish,
            n_threads=effective_n_jobs(self.n_jobs),
            device=device_of(self.device),
            random_state=check_random_state(self.random_state),
            gamma=self.gamma,
            feature_scales=_scales_of(self.feature_scales),
            C=float(getattr(self, "C", 1.0)),
            alpha=getattr(self, "alpha", None),
            fit_intercept=bool(self.fit_intercept),
            half_life=math.inf if self.half_life is None else float(self.half_life),
            is_stream=stream,
            choices=self._choices,
        )

    def _start(self, *, stream: bool) -> Model | None:
        """Return the model that a call continues from, if it continues."""
        return vars(self).get("_model") if stream or self.warm_start else None

    def _fit(self, X: Any, y: Any, sample_weight: Any, **more: Any) -> Self:
        """Fit the model to rows in memory, or to a data set."""
        task, start = self._what(), self._start(stream=False)
        dataset = as_dataset(X, alone=self._uses_y and y is None)
        if dataset is None:
            given = given_data(X, y, sample_weight, **more)
            source = self._in_memory(X, y, sample_weight, start, **more)
            self._model = self._trained(task, source, given, start)
            return self
        check_alone(y=y, sample_weight=sample_weight, **more)
        with dataset.opened(task.needs, None if start is None else start.layout) as source:
            given = given_data(dataset, None, None)
            self._model = self._trained(
                task, source, given, start, dataset.preparing, say=dataset.say
            )
        return self

    def _partial_fit(self, task: Task, X: Any, y: Any, sample_weight: Any, **more: Any) -> Self:
        """Update the model with one pass over rows in memory."""
        start, given = self._start(stream=True), given_data(X, y, sample_weight, **more)
        source = self._in_memory(X, y, sample_weight, start, **more)
        parameters = self._parameters(stream=True)
        model = self._trained(task, source, given, start, parameters=parameters)
        if getattr(self, "reservoir", None) is not None:
            model = with_kept_rows(model, start, self, source, sample_weight)
        self._model = model
        return self

    def _in_memory(
        self, X: Any, y: Any, sample_weight: Any, start: Model | None, qid: Any = None
    ) -> InMemory:
        """Check rows in scikit-learn's way; self stays as it is."""
        probe, needs = snapshot(self), self._what().needs
        layout = None if start is None else start.layout
        if reset := start is None:
            probe.__dict__.pop("_model", None)
        if needs.labelled:
            options = {"numeric": needs.queries, "multi_output": needs.many}
            rows, y = check_rows_and_targets(probe, X, y, reset=reset, layout=layout, **options)
        else:
            rows = check_rows(probe, X, reset=reset, layout=layout)
            y = np.zeros(rows.n_rows)
        names = getattr(probe, "feature_names_in_", None)
        layout = layout or Layout(rows.n_features, None if names is None else names.tolist())
        return InMemory(rows, y, sample_weight, qid, layout)

    def _trained(
        self,
        task: Task,
        source: Source,
        given: dict[str, Any],
        start: Model | None,
        preparing: Preparing | None = None,
        *,
        parameters: Parameters | None = None,
        say: Callable[[str], object] | None = None,
    ) -> Model:
        """Return the model of a call of `fit` or `partial_fit`, and tell the callbacks."""
        parameters = parameters or self._parameters()
        watch = FitWatch(self, given, is_stream=parameters.is_stream, say=say)
        if self.device == "auto":
            watch.note(f"device {parameters.device}")
        model = fit(task, source, parameters, watch, start=start, preparing=preparing)
        assert model.training is not None
        if model.training.profile.seconds_polish:
            watch.say(model.training.profile.polish_line())
        watch.end(model)
        return model


def snapshot(estimator: T) -> T:
    """Return a shallow copy, which keeps its model while another thread fits the estimator."""
    found = object.__new__(type(estimator))
    found.__dict__.update(estimator.__dict__.copy())
    return found


def check_alone(**given: Any) -> None:
    """Refuse what a data set has itself."""
    for name, value in given.items():
        if value is not None:
            what = "queries" if name == "qid" else "labels and weights"
            raise ValueError(f"A data set has its {what} itself: leave out {name}.")


def _scales_of(given: Any) -> NDArray[np.float64] | str | None:
    """Return the parameter `feature_scales`, checked."""
    return given if given is None or isinstance(given, str) else checked_feature_scales(given)


def _state(model: Model) -> VectorSet:
    state = state_of(model)
    assert state is not None
    return state


def _scaler(model: Model) -> Any:
    """Return the scaler of a model whose only preparation it is."""
    steps = () if model.preparation is None else model.preparation.steps
    return steps[0] if len(steps) == 1 and isinstance(steps[0], SCALERS) else None
