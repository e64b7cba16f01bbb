"""What classification and regression share: trainers, passes, polishing, the model.

A fit is: checked rows, one native trainer for each problem, passes over the rows, and the trainers'
states turned into attributes. Attributes are set at the very end and all at once, so that a fit
that fails or is interrupted leaves the estimator as it was.
"""

import os
import time
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from . import _core
from . import _validation as checks
from .moving import Effort, move
from .polish import MOST_VECTORS, Loss, Sample, distinct, polish, sample_size
from .profile import Profile

# partial_fit cannot know the length of its stream: without `alpha` it takes C as if it were this.
ASSUMED_STREAM_ROWS = 10_000
# In the passes the intercept multiplies one more feature, of which this is the square. At one it is
# so restless that the vectors are worse for it; close to zero it takes many of them to move it.
INTERCEPT_RATE = 0.1


class BudgetedMachine(CallbackSupportMixin, BaseEstimator):
    """The base of the estimators, which say what a pass is and what is to be made small."""

    _parameter_constraints: ClassVar[dict] = {
        "budget": [Interval(Integral, 2, None, closed="left")],
        "C": [Interval(Real, 0.0, None, closed="neither")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "maintenance": [StrOptions(set(_core.strategies()))],
        "polish": ["boolean"],
        "fit_intercept": ["boolean"],
        "alpha": [Interval(Real, 0.0, None, closed="neither"), None],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _make_pass(
        self, trainers: list[_core.Trainer], rows: _core.Rows, data: checks.TrainingRows
    ) -> None:
        """Make one pass of every trainer over the rows."""

    @abstractmethod
    def _losses(self, data: checks.TrainingRows) -> list[Loss]:
        """Return the loss of every output."""

    @abstractmethod
    def _effort(self, n_rows: int) -> Effort:
        """Return what polishing may cost that moves the vectors, too."""

    def _train(
        self,
        data: checks.TrainingRows,
        checked: Self,
        continued: bool,
        task: Any,
        given: dict[str, Any],
        n_rows: int | None,
    ) -> None:
        """Make the passes and set the attributes; n_rows None: a stream of unknown length."""
        alpha = self._regularisation(n_rows, data.weight_unit)
        rows, gamma = self._prepare_rows(data.X, continued)
        unit_alpha = alpha / data.weight_unit
        setting = _Setting(rows, gamma, unit_alpha, task.max_subtasks, bool(self.fit_intercept))
        if continued:
            trainers = self._continue_trainers(setting)
        else:
            trainers = self._make_trainers(data.n_problems, setting)

        def describe(passes_made: int) -> dict[str, Any]:
            return self._describe_model(trainers, setting, data.offset) | {
                **data.learnt,
                "alpha_": alpha,
                "n_iter_": passes_made,
                "n_features_in_": checked.n_features_in_,
                "feature_names_in_": getattr(checked, "feature_names_in_", None),
            }

        task.call_on_fit_task_begin(estimator=self, **given)
        one_pass = partial(self._make_pass, trainers, rows, data)
        passes_made = self._run_passes(trainers, one_pass, describe, task, given)
        attributes = describe(passes_made)
        # A regression may need no vectors at all: then there is nothing to solve for.
        polished = self.polish and n_rows is not None and min(self.budget, n_rows) <= MOST_VECTORS
        if polished and len(attributes["support_vectors_"]):
            attributes |= self._polish(attributes, data, rows)
        self._adopt(attributes)
        task.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})

    def _prepare_rows(self, X: Any, continued: bool) -> tuple[_core.Rows, float]:
        """Native rows and gamma; a continued model keeps its gamma and never loses precision."""
        if not continued:
            rows, gamma = checks.training_rows(X, self.gamma)
            checks.warn_about_scales(X)
            return rows, gamma
        wanted = 1.0 / X.shape[1] if self.gamma == "auto" else self.gamma
        if wanted not in ("scale", self.gamma_):
            raise ValueError(
                f"gamma={self.gamma!r} differs from the gamma_={self.gamma_} of the model to be "
                "continued. Its support vectors were found with that kernel: keep gamma, or fit "
                "with warm_start=False."
            )
        return checks.training_rows(X, self.gamma_, least_dtype=self._states[0]["vectors"].dtype)

    def _regularisation(self, n_rows: int | None, weight_unit: float) -> float:
        """lambda: `alpha` where given, else 1 / (n C); n_rows None means a stream."""
        if self.alpha is not None:
            alpha, origin = float(self.alpha), f"alpha={self.alpha!r}"
        elif n_rows is None and hasattr(self, "_states"):
            alpha, origin = self.alpha_, "The fit before"
        else:
            # Two divisions, for n C may overflow.
            alpha = 1.0 / (n_rows or ASSUMED_STREAM_ROWS) / float(self.C)
            origin = f"C={self.C!r}"
        checks.check_alpha(alpha, weight_unit, origin)
        return alpha

    def _make_trainers(self, n_problems: int, setting: "_Setting") -> list[_core.Trainer]:
        """One new trainer a binary problem, each with its share of the budget and its seed."""
        random_state = check_random_state(self.random_state)
        seeds = random_state.randint(2**63, size=n_problems, dtype=np.uint64).tolist()
        return [self._make_trainer(n_problems, setting, 0, seed) for seed in seeds]

    def _continue_trainers(self, setting: "_Setting") -> list[_core.Trainer]:
        """Trainers that go on from the states of the model."""
        trainers = []
        for state in self._states:
            size = len(state["coefficients"])
            trainer = self._make_trainer(len(self._states), setting, size, seed=0)
            trainer.restore(**self._translate(state, setting))
            trainers.append(trainer)
        return trainers

    def _make_trainer(
        self, n_problems: int, setting: "_Setting", size: int, seed: int
    ) -> _core.Trainer:
        # The trainer reserves memory for its budget: not more than its passes could ever fill.
        most_vectors = size + setting.rows.n_rows * setting.n_passes
        return _core.Trainer(
            n_features=setting.rows.n_features,
            budget=max(2, min(int(self.budget) // n_problems, most_vectors)),
            gamma=setting.gamma,
            alpha=setting.unit_alpha,
            maintenance=self.maintenance,
            fit_intercept=setting.fit_intercept,
            intercept_rate=INTERCEPT_RATE,
            seed=seed,
            dtype=setting.rows.dtype,
        )

    def _translate(self, state: dict[str, Any], setting: "_Setting") -> dict[str, Any]:
        """Translate a state to another alpha and dtype.

        Coefficients are kept in units of 1 / (alpha steps): scaled by the change of alpha they
        describe the same model, and it does not jump.
        """
        factor = setting.unit_alpha / self._unit_alpha
        coefficients = state["coefficients"] * factor
        if coefficients.size:
            checks.check_continuation(np.abs(coefficients).max())
        return {
            **state,
            "vectors": state["vectors"].astype(setting.rows.dtype, copy=False),
            "coefficients": coefficients,
            "bias": state["bias"] * factor if setting.fit_intercept else 0.0,
        }

    def _run_passes(
        self,
        trainers: list[_core.Trainer],
        one_pass: Callable[[], None],
        describe: Callable[[int], dict[str, Any]],
        task: Any,
        given: dict[str, Any],
    ) -> int:
        """Make the passes, each a task for the callbacks, which may stop them; returns how many."""
        n_passes, done = task.max_subtasks, 0
        for done in range(1, n_passes + 1):
            subtask = task.subcontext(task_name="pass")
            subtask.call_on_fit_task_begin(estimator=self, **given)
            before, start = _profile(trainers), time.perf_counter()
            one_pass()
            if self.verbose:
                seconds = time.perf_counter() - start
                self._report(trainers, done, n_passes, _profile(trainers) - before, seconds)
            stop = subtask.call_on_fit_task_end(
                estimator=self, **given, reconstruction_attributes=partial(describe, done)
            )
            if stop:
                break
        return done

    def _report(
        self,
        trainers: list[_core.Trainer],
        done: int,
        n_passes: int,
        profile: Profile,
        seconds: float,
    ) -> None:
        n_vectors = sum(len(trainer.state()["coefficients"]) for trainer in trainers)
        print(
            f"[{type(self).__name__}] pass {done}/{n_passes}: {n_vectors} support vectors, "
            f"{profile.violations / profile.steps:.1%} violations, "
            f"merge frequency {profile.merge_frequency:.1%}, {seconds:.2f} s"
        )

    def _describe_model(
        self, trainers: list[_core.Trainer], setting: "_Setting", offset: float
    ) -> dict[str, Any]:
        """Return the attributes of the model that the trainers hold."""
        states = [trainer.state() for trainer in trainers]
        sizes = [len(state["coefficients"]) for state in states]
        ends = np.cumsum(sizes)
        dual_coef = np.zeros((len(states), ends[-1]))
        intercept = np.zeros(len(states))
        for k, (state, size, end) in enumerate(zip(states, sizes, ends, strict=True)):
            unit = setting.unit_alpha * state["steps"]
            dual_coef[k, end - size : end] = state["coefficients"] / unit
            intercept[k] = offset + state["bias"] / unit
        return {
            "support_vectors_": np.concatenate([state["vectors"] for state in states]),
            "dual_coef_": dual_coef,
            "intercept_": intercept,
            "gamma_": setting.gamma,
            "profile_": _profile(trainers),
            "_states": states,
            "_unit_alpha": setting.unit_alpha,
        }

    def _polish(
        self, attributes: dict[str, Any], data: checks.TrainingRows, rows: _core.Rows
    ) -> dict[str, Any]:
        """Solve for the coefficients of the model, on a sample where there are very many rows."""
        begin = time.perf_counter()
        vectors, coefficients = distinct(attributes["support_vectors_"], attributes["dual_coef_"])
        random = np.random.default_rng(attributes["_states"][0]["generator"])
        c = data.row_weight() / (rows.n_rows * attributes["alpha_"])
        sample = Sample(data.X, rows, c, self._losses(data))
        sample = sample.thin(sample_size(rows.n_rows, len(vectors)), random)
        biases = [
            state["bias"] / (attributes["_unit_alpha"] * state["steps"])
            for state in attributes["_states"]
        ]
        start = list(zip(coefficients, biases, strict=True))
        setting = (attributes["gamma_"], sample, bool(self.fit_intercept))
        n_threads = effective_n_jobs(self.n_jobs)
        solutions = polish(vectors, start, *setting, n_threads)
        effort = self._effort(rows.n_rows)
        vectors, solutions = move(vectors, solutions, *setting, n_threads, random, effort)
        if not all(solution.converged for solution in solutions):
            warnings.warn(
                "Polishing stopped before it had converged, at its limit of Newton steps or of "
                "float32: the coefficients are not the best ones for these support vectors. A "
                "smaller C or gamma, or standardised columns, make the problem easier.",
                ConvergenceWarning,
                stacklevel=5,
            )
        profile = replace(
            attributes["profile_"],
            seconds_polish=time.perf_counter() - begin,
            newton_steps=sum(solution.steps for solution in solutions),
            moves=max(solution.moves for solution in solutions),
            objective_before=sum(solution.objective_before for solution in solutions),
            objective_after=sum(solution.objective_after for solution in solutions),
            gradient_norm=max(solution.gradient_norm for solution in solutions),
        )
        if self.verbose:
            print(f"[{type(self).__name__}] {profile.polish_line()}")
        return {
            "support_vectors_": vectors,
            "dual_coef_": np.stack([solution.coefficients for solution in solutions]),
            "intercept_": data.offset + np.array([solution.intercept for solution in solutions]),
            "profile_": profile,
        }

    def _adopt(self, attributes: dict[str, Any]) -> None:
        """Set all attributes in one step."""
        if attributes["feature_names_in_"] is None:
            del attributes["feature_names_in_"]
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(attributes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, for `pocketsvm.load_model`.

        Parameters
        ----------
        path : str or path-like
            The file; it appears, or replaces the one before, in one step once it is complete.

        Notes
        -----
        A `random_state` that is not an int or None, and callbacks, are not kept. Merged support
        vectors are no training rows: there are no indices (``support_``) to keep.
        """
        from .model import save_model  # model.py knows the estimators

        save_model(self, path)

    def _decision_values(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return checks.decision_values(
            self.support_vectors_,
            self.dual_coef_,
            self.intercept_,
            self.gamma_,
            checks.check_rows(self, X, reset=False),
            effective_n_jobs(self.n_jobs),
        )


class _Setting(NamedTuple):
    """What all trainers of one call share."""

    rows: _core.Rows
    gamma: float
    unit_alpha: float  # alpha in units of the row weights
    n_passes: int
    fit_intercept: bool  # in the passes


def _profile(trainers: list[_core.Trainer]) -> Profile:
    return sum((Profile(**trainer.profile()) for trainer in trainers), Profile())  # type: ignore[arg-type]


def given_data(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Bundle the data for callbacks: as they were given, feature names included."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    return {"X": X, "y": y, "metadata": metadata}
