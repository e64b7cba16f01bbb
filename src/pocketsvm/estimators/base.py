"""What the estimators share: parameters, the course of a fit, prediction.

A fit checks the data, makes the passes, solves, and then sets all attributes in one step: a fit
that fails or is interrupted leaves the estimator as it was.
"""

import math
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._replacing import PathLike
from .._sklearn import CallbackSupportMixin, Interval, StrOptions, callback_context
from ..data.memory import check_memory
from ..data.precision import training_rows
from ..data.rows import CheckedRows, Rows, check_rows, checked_rows
from ..data.sampling import AnyTargets
from ..data.scales import warn_about_scales
from ..data.targets import ClassTargets, ValueTargets
from ..model.model import Model, Training
from ..model.prediction import decision_values
from ..model.preparation import Preparation
from ..profile import Profile
from ..solving.solve import last_iterate, readings_of, solve
from ..training.passes import PassReport, passes_over, sample_for_passes
from ..training.regularisation import regularisation
from ..training.settings import Settings
from ..training.state import VectorSet
from ..training.strategies import STRATEGIES
from .callbacks import PassTasks
from .checkpoints import Course, course_of
from .elsewhere import Elsewhere
from .saving import save_model
from .streams import scaled_reservoir


class BudgetedMachine(CallbackSupportMixin, BaseEstimator):
    """The base of the estimators."""

    _uses_y: ClassVar[bool] = True  # whether rows have targets

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Integral, 2, None, closed="left")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "maintenance": [StrOptions(set(STRATEGIES))],
        "polish": ["boolean", StrOptions({"thorough"})],
        "fit_intercept": ["boolean"],
        "alpha": [Interval(Real, 0.0, None, closed="neither"), None],
        "half_life": [Interval(Real, 1.0, None, closed="left"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    budget: int
    C: float
    gamma: str | float
    max_iter: int
    maintenance: str
    polish: bool | str
    fit_intercept: bool
    alpha: float | None
    half_life: float | None
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int

    support_vectors_: NDArray[np.floating[Any]]
    dual_coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    gamma_: float
    alpha_: float
    n_iter_: int
    profile_: Profile
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    scaler_: Any
    # What the fitted model is for, and what it minimised; parameters may have changed since.
    _task: ClassVar[str]
    _loss: str
    _quantile: float | tuple[float, ...] | None
    _state: VectorSet

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model."""

    def _previous(self, *, stream: bool) -> VectorSet | None:
        """Return the state that a call continues from, if it continues."""
        return getattr(self, "_state", None) if stream or self.warm_start else None

    def _train(
        self,
        checked: Self,
        rows: CheckedRows,
        targets: AnyTargets,
        given: dict[str, Any],
        *,
        stream: bool,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """Train a model and set the attributes.

        `checked` is a copy of the estimator that holds what validation has set. If there are more
        rows `elsewhere`, those given are a sample.
        """
        start = self._previous(stream=stream)
        if start is not None and elsewhere is None and hasattr(self, "scaler_"):
            rows = checked_rows(self.scaler_.transform(rows.X))
        n_passes = 1 if stream else int(self.max_iter)
        most = int(self.budget) if start is not None else rows.n_rows * n_passes
        check_memory(min(int(self.budget), most), rows.X)
        ready = self._training_rows(rows, start, elsewhere)
        settings = self._settings(ready, targets, stream=stream, elsewhere=elsewhere)
        names = getattr(checked, "feature_names_in_", None)

        def attributes(vectors: VectorSet) -> dict[str, Any]:
            model = self._completed(
                last_iterate(vectors, targets, settings), ready, targets, stream
            )
            # None replaces the names of an earlier fit in the estimator that callbacks get.
            return {"feature_names_in_": names} | _fitted_attributes(model)

        course = Course()
        if not stream:
            summary = None if elsewhere is None else elsewhere.survey.summary
            course = course_of(self, rows.X, targets, summary, start and start.states)
        task = callback_context(self, "partial_fit" if stream else "fit", settings.n_passes)
        task.call_on_fit_task_begin(estimator=self, **given)
        tell = PassTasks(self, task, given, attributes)

        def on_pass(report: PassReport) -> bool:
            self._say(report)
            stop = tell(report)
            course.passed(report)
            return stop

        if elsewhere is None:
            half_life = self._half_life(stream=stream)
            sample = sample_for_passes(ready, targets, settings)
            vectors = course.passes(
                lambda before: passes_over(*sample, settings, on_pass, start, half_life, before)
            )
            whole = None if sample[0] is ready else readings_of(ready, targets, settings)
            model = solve(vectors, *sample, settings, whole)
        else:
            assert isinstance(targets, ClassTargets | ValueTargets)
            run = partial(elsewhere.run, ready, targets, settings, on_pass, start)
            vectors = course.passes(run)
            followed = replace(elsewhere, spread=course.followed(elsewhere.spread))
            readings = followed.readings(targets, settings)
            model = solve(vectors, ready, targets, settings, readings)
        model = self._completed(model, ready, targets, stream)
        if model.training is not None and model.training.profile.seconds_polish:
            self._say(model.training.profile.polish_line())
        self._adopt(replace(model, feature_names=names), keeps_scaler=start is not None)
        if not stream:
            self.__dict__.pop("_reservoir", None)
        course.end()
        task.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})

    def _half_life(self, *, stream: bool) -> float:
        return float(self.half_life) if stream and self.half_life is not None else math.inf

    def _completed(self, model: Model, rows: Rows, targets: AnyTargets, stream: bool) -> Model:
        """Return the model of the passes or of the solver with what the estimator adds to it."""
        return model

    def _alpha(
        self,
        rows: Rows,
        targets: AnyTargets,
        n_rows: int,
        random: np.random.RandomState,
        *,
        stream: bool,
    ) -> float:
        """Return the regularisation lambda for this many rows, of which some are given."""
        return regularisation(
            self.C,
            self.alpha,
            None if stream else n_rows,
            weight_unit=targets.weight_unit,
            previous=getattr(self, "alpha_", None),
            half_life=self._half_life(stream=stream),
        )

    def _settings(
        self,
        rows: Rows,
        targets: AnyTargets,
        *,
        stream: bool,
        elsewhere: Elsewhere | None = None,
    ) -> Settings:
        n_threads = None
        if elsewhere is None:
            n_rows, random = rows.n_rows, check_random_state(self.random_state)
        else:
            n_rows, random = elsewhere.n_rows, elsewhere.random_state
            n_threads = elsewhere.n_threads_here
        return Settings(
            budget=int(self.budget),
            alpha=self._alpha(rows, targets, n_rows, random, stream=stream),
            n_passes=1 if stream else int(self.max_iter),
            maintenance=self.maintenance,
            fit_intercept=bool(self.fit_intercept),
            polish=bool(self.polish) and not stream,
            thorough=self.polish == "thorough",
            n_threads=n_threads or effective_n_jobs(self.n_jobs),
            random_state=random,
        )

    def _training_rows(
        self, rows: CheckedRows, start: VectorSet | None, elsewhere: Elsewhere | None
    ) -> Rows:
        """Fix precision and gamma; a continued model keeps its gamma and never loses precision."""
        if elsewhere is not None and start is None:
            warn_about_scales(rows.X, self.gamma)
            return Rows(rows, rows.core(elsewhere.dtype), elsewhere.gamma)
        if start is None:
            ready = training_rows(rows, self.gamma, n_threads=effective_n_jobs(self.n_jobs))
            warn_about_scales(rows.X, self.gamma)
            return ready
        wanted = 1.0 / rows.n_features if self.gamma == "auto" else self.gamma
        if wanted not in ("scale", start.gamma):
            raise ValueError(
                f"gamma={self.gamma!r} differs from the gamma_={start.gamma} of the model to be "
                "continued. Its support vectors were found with that kernel: keep gamma, or fit "
                "with warm_start=False."
            )
        dtype = start.states[0].vectors.dtype
        return training_rows(
            rows,
            start.gamma,
            least_dtype="float32" if dtype == np.float32 else "float64",
            n_threads=effective_n_jobs(self.n_jobs),
        )

    def _say(self, message: object) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {message}")

    def _adopt(self, model: Model, *, keeps_scaler: bool = False) -> None:
        """Set the fitted attributes in one step: an interrupt leaves no mixture of two models."""
        dropped = {"feature_names_in_"} if keeps_scaler else {"feature_names_in_", "scaler_"}
        kept = {key: value for key, value in vars(self).items() if key not in dropped}
        self.__dict__ = kept | _fitted_attributes(model)

    def to_model(self) -> Model:
        """Return the fitted model, with the state that further training continues from.

        Returns
        -------
        model : pocketsvm.model.Model
            The model; its arrays are not copied.
        """
        check_is_fitted(self)
        parameters = self.get_params(deep=False)
        return Model(
            vectors=self.support_vectors_,
            dual_coef=self.dual_coef_,
            intercept=self.intercept_,
            gamma=float(self.gamma_),
            classes=getattr(self, "classes_", None),
            feature_names=getattr(self, "feature_names_in_", None),
            preparation=Preparation.of([self.scaler_]) if hasattr(self, "scaler_") else None,
            training=Training(
                self._state,
                float(self.alpha_),
                self.profile_,
                type(self).__name__,
                parameters,
                scaled_reservoir(self),
            ),
            task=self._task,
            loss=self._loss,
            quantile=self._quantile,
        )

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
        rows = check_rows(self, X, reset=False)
        if hasattr(self, "scaler_"):
            rows = checked_rows(self.scaler_.transform(rows.X))
        return decision_values(
            self.support_vectors_,
            self.dual_coef_,
            self.intercept_,
            self.gamma_,
            rows,
            effective_n_jobs(self.n_jobs),
        )


def _fitted_attributes(model: Model) -> dict[str, Any]:
    """Return the attributes of an estimator that has this model."""
    training = model.training
    assert training is not None
    attributes = {
        "support_vectors_": model.vectors,
        "dual_coef_": model.dual_coef,
        "intercept_": model.intercept,
        "gamma_": model.gamma,
        "alpha_": training.alpha,
        "n_iter_": training.vectors.n_passes,
        "profile_": training.profile,
        "n_features_in_": model.vectors.shape[1],
        "_state": training.vectors,
        "_loss": model.loss,
        "_quantile": model.quantile,
    }
    if training.reservoir is not None:
        attributes["_reservoir"] = training.reservoir
    if model.classes is not None:
        attributes["classes_"] = model.classes
    if model.feature_names is not None:
        attributes["feature_names_in_"] = model.feature_names
    return attributes
