"""The estimators: scikit-learn's words around passes of the native core.

A fit is: checked rows, one native trainer for each binary problem, passes over the rows, and the
trainers' states turned into attributes. Attributes are set at the very end and all at once, so that
a fit that fails or is interrupted leaves the estimator as it was.
"""

import copy
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call
from sklearn.utils.validation import check_is_fitted

from . import _core
from . import _validation as checks
from .polish import MOST_VECTORS, distinct, polish, sample_size
from .profile import Profile

__all__ = ["BudgetedSVC", "Profile"]

# partial_fit cannot know the length of its stream: without `alpha` it takes C as if it were this.
ASSUMED_STREAM_ROWS = 10_000


class _BudgetedMachine(CallbackSupportMixin, BaseEstimator):
    """What classification and regression share: trainers, passes, the model, decision values."""

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
    _audited: ClassVar[Sequence[str]] = ()  # strategies that the trainers ask; see paper/audit.py

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _prepare_rows(self, X: Any, continued: bool) -> tuple[_core.Rows, float]:
        """Native rows and gamma; a continued model keeps its gamma and never loses precision."""
        if not continued:
            return checks.training_rows(X, self.gamma)
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
            trainer.restore(self._translate(state, setting))
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
            seed=seed,
            dtype=setting.rows.dtype,
            audit=list(self._audited),
        )

    def _translate(self, state: dict[str, Any], setting: "_Setting") -> dict[str, Any]:
        """Translate a state to another alpha and dtype.

        Coefficients are kept in units of 1 / (alpha steps): scaled by the change of alpha they
        describe the same model, and it does not jump.
        """
        factor = setting.unit_alpha / self._unit_alpha
        coefficients = state["coefficients"] * factor
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
        self, trainers: list[_core.Trainer], gamma: float, unit_alpha: float
    ) -> dict[str, Any]:
        """Return the attributes of the model that the trainers hold."""
        states = [trainer.state() for trainer in trainers]
        sizes = [len(state["coefficients"]) for state in states]
        ends = np.cumsum(sizes)
        dual_coef = np.zeros((len(states), ends[-1]))
        intercept = np.zeros(len(states))
        for k, (state, size, end) in enumerate(zip(states, sizes, ends, strict=True)):
            unit = unit_alpha * state["steps"]
            dual_coef[k, end - size : end] = state["coefficients"] / unit
            intercept[k] = state["bias"] / unit
        return {
            "support_vectors_": np.concatenate([state["vectors"] for state in states]),
            "dual_coef_": dual_coef,
            "intercept_": intercept,
            "gamma_": gamma,
            "profile_": _profile(trainers),
            "_states": states,
            "_unit_alpha": unit_alpha,
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


class BudgetedSVC(ClassifierMixin, _BudgetedMachine):
    """Support vector classification with a Gaussian kernel and a bounded number of vectors.

    Trained by stochastic gradient descent on the SVM's primal problem. Whenever the number of
    support vectors exceeds the budget, two of them are merged into one. A prediction costs at
    most ``budget`` kernel values, however many rows the model has seen.

    Parameters
    ----------
    budget : int, default=500
        The most support vectors in the whole model, at least two. With K > 2 classes, each
        one-vs-rest problem has ``budget // K`` of them, which must be at least two.

    C : float, default=1.0
        Weight of the training loss against the regularisation, as in `sklearn.svm.SVC`.

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``. "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``. A model that is continued
        (`warm_start`, `partial_fit`) keeps the gamma of its first call: give a number to a stream
        whose first batch may be small.

    max_iter : int, default=20
        Passes over the data in `fit`.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        What happens when the budget overflows. "merge" merges the best pair, found on a table
        of scaled solutions that looks only at candidates that can win. "lookup-wd",
        "lookup-h", "gss" and "gss-precise" are the paper's ways to find the pair: by a table
        of the weight degradation, by a table of h, by golden section search with precision
        0.01 and 1e-10. "removal" drops the vector with the smallest coefficient, "projection"
        drops it and projects it onto the others.

    polish : bool, default=True
        Whether `fit`, after its passes, solves for the coefficients of the support vectors and the
        intercept, which takes most of the noise out of the model. Without it the model is the last
        iterate, as in the paper. With K > 2 classes each is solved for on all support vectors. Of
        very many rows a random sample is solved on (134,217 rows at a budget of 500). What is
        continued by `warm_start` and `partial_fit` is always the last iterate. `partial_fit`,
        which keeps no rows, does not polish, nor does `fit` with a budget above 5,000 on more
        rows than that.

    fit_intercept : bool, default=True
        Whether the model has an intercept. Polishing solves for it, without penalty; the passes
        are then made without one. Unpolished, it is treated as one more feature of value 1.

    class_weight : dict or "balanced", default=None
        Weight of each class, multiplied with `sample_weight`. "balanced" weighs a class by
        ``n_samples / (n_classes * its number of samples)``, counted with `sample_weight`.

    alpha : float, default=None
        The regularisation lambda itself. Where given it replaces ``1 / (n C)``, with n the
        number of rows of positive weight.

    warm_start : bool, default=False
        Whether `fit` continues from the model of the call before: its support vectors, its
        step size and its random numbers. Features and classes must be the same; the budget may
        change.

    n_jobs : int, default=None
        Threads for the one-vs-rest problems in training and for the rows in prediction. None
        means 1 unless in a `joblib.parallel_config` context, -1 means all processors. The
        result is the same, bit for bit, whatever their number.

    random_state : int, RandomState instance or None, default=None
        Decides the order of the rows. An int makes results reproducible.

    verbose : int, default=0
        Whether to print a line after each pass.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_sv, n_features)
        The support vectors, float32 or, where the values of X ask for it, float64. Merged
        vectors are no rows of X.

    dual_coef_ : ndarray of shape (n_outputs, n_sv)
        Their signed coefficients in the decision function; one output for two classes, else
        one a class. Unpolished, each class uses a block of support vectors of its own.

    intercept_ : ndarray of shape (n_outputs,)
        Constants in the decision function.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    gamma_ : float
        The kernel coefficient in use.

    alpha_ : float
        The regularisation lambda in use.

    n_iter_ : int
        Passes made by the last call of `fit` or `partial_fit`.

    profile_ : Profile
        What the last call did and where its time went: ``steps``, ``violations``, ``merges``,
        ``removals``, ``merge_frequency``, ``seconds_total``, ``seconds_margin``,
        ``seconds_solve`` (the paper's A), ``seconds_rest`` (its B), summed over classes; and of
        polishing ``seconds_polish``, ``newton_steps``, ``objective_before``,
        ``objective_after``, ``gradient_norm``.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where X has names that are all strings.

    See Also
    --------
    sklearn.svm.SVC : The exact SVM, with as many support vectors as it takes.
    sklearn.linear_model.SGDClassifier : Linear models by stochastic gradient descent.

    Notes
    -----
    Rows of zero weight are left out, as if they were not there. Rows are held in float32, or in
    float64 where ``gamma * max|x|^2 > 512``; where it exceeds ``2**40`` fit raises ValueError.
    C-ordered float32 arrays and CSR matrices of float32 with sorted indices are not copied.

    Callbacks (`set_callbacks`) see each pass as a task and may stop after any.

    References
    ----------
    Tobias Glasmachers and Sahar Qaadan, "Speeding Up Budgeted Stochastic Gradient Descent SVM
    Training with Precomputed Golden Section Search", 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=30, C=10.0, random_state=0).fit(X, y)
    >>> clf.score(X, y) > 0.97
    True
    >>> clf.support_vectors_.shape
    (30, 2)
    """

    _parameter_constraints: ClassVar[dict] = {
        **_BudgetedMachine._parameter_constraints,
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        budget: int = 500,
        C: float = 1.0,
        *,
        gamma: str | float = "scale",
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        alpha: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.C = C
        self.gamma = gamma
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.alpha = alpha
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Make `max_iter` passes over the rows, in a new random order each.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,)
            Their class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. Rows of zero weight are left out.

        Returns
        -------
        self : BudgetedSVC
            The fitted estimator.
        """
        continued = self.warm_start and hasattr(self, "_states")
        given = _given(X, y, sample_weight)
        checked = copy.copy(self)  # takes what validation sets; self stays as it is until the end
        X, y = checks.check_rows(checked, X, y=y, reset=not continued)
        data = checks.labelled_rows(X, y, sample_weight, self.class_weight)
        if continued and not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                f"warm_start=True continues a model of the classes {self.classes_!r}, "
                f"but y holds {data.classes!r}."
            )
        task = self._init_callback_context(max_subtasks=int(self.max_iter))
        self._train(data, checked, continued, task, given, n_rows=data.X.shape[0])
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Make one pass over a batch of rows, continuing from the model so far.

        The regularisation is `alpha`. Where that is None, the model's own ``alpha_`` stays in
        use; a first call, which cannot know how long the stream will be, takes ``1e-4 / C``, as
        `fit` would for 10,000 rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : array-like of shape (n_samples,)
            Their class labels.

        classes : array-like of shape (n_classes,), default=None
            All classes that the stream may hold; required at the first call.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. Rows of zero weight are left out.

        Returns
        -------
        self : BudgetedSVC
            The fitted estimator.
        """
        if self.class_weight == "balanced":
            raise ValueError(
                "class_weight 'balanced' is not supported for partial_fit. In order to use "
                "'balanced' weights, use compute_class_weight('balanced', classes=classes, y=y). "
                "In place of y you can use a large enough sample of the full training set target "
                "to properly estimate the class frequency distributions. Pass the resulting "
                "weights as the class_weight parameter."
            )
        continued = hasattr(self, "_states")
        given = _given(X, y, sample_weight)
        checked = copy.copy(self)
        _check_partial_fit_first_call(checked, classes)
        X, y = checks.check_rows(checked, X, y=y, reset=not continued)
        data = checks.labelled_rows(X, y, sample_weight, self.class_weight, checked.classes_)
        task = self._init_callback_context(task_name="partial_fit", max_subtasks=1)
        self._train(data, checked, continued, task, given, n_rows=None)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Signed values, one a row for two classes (positive means ``classes_[1]``), else one
            a class. They do not depend on how the rows are batched.
        """
        values = self._decision_values(X)
        return values.ravel() if len(self.classes_) == 2 else values

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The class of each row.
        """
        values = self.decision_function(X)
        codes = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]

    def _train(
        self,
        data: checks.LabelledRows,
        checked: Self,
        continued: bool,
        task: Any,
        given: dict[str, Any],
        n_rows: int | None,
    ) -> None:
        """Make the passes and set the attributes; n_rows None: a stream of unknown length."""
        checks.check_classes(data.classes, self.budget)
        alpha = self._regularisation(n_rows, data.weight_unit)
        unit_alpha = alpha / data.weight_unit
        rows, gamma = self._prepare_rows(data.X, continued)
        positives = [1] if len(data.classes) == 2 else list(range(len(data.classes)))
        # Polishing solves for the intercept; vectors found without one turn out better.
        polished = self.polish and n_rows is not None and min(self.budget, n_rows) <= MOST_VECTORS
        with_intercept = bool(self.fit_intercept) and not polished
        setting = _Setting(rows, gamma, unit_alpha, task.max_subtasks, with_intercept)
        if continued:
            trainers = self._continue_trainers(setting)
        else:
            trainers = self._make_trainers(len(positives), setting)
        labels = (data.codes, positives, data.class_weight, data.sample_weight)
        n_threads = effective_n_jobs(self.n_jobs)

        def one_pass() -> None:
            _core.train_pass(trainers, rows, *labels, n_threads)

        def describe(passes_made: int) -> dict[str, Any]:
            return self._describe_model(trainers, gamma, unit_alpha) | {
                "alpha_": alpha,
                "classes_": data.classes,
                "n_iter_": passes_made,
                "n_features_in_": checked.n_features_in_,
                "feature_names_in_": getattr(checked, "feature_names_in_", None),
            }

        task.call_on_fit_task_begin(estimator=self, **given)
        passes_made = self._run_passes(trainers, one_pass, describe, task, given)
        attributes = describe(passes_made)
        if polished:
            attributes |= self._polish(attributes, data, rows, positives)
        self._adopt(attributes)
        task.call_on_fit_task_end(estimator=self, **given, reconstruction_attributes={})

    def _polish(
        self,
        attributes: dict[str, Any],
        data: checks.LabelledRows,
        rows: _core.Rows,
        positives: list[int],
    ) -> dict[str, Any]:
        """Solve for the coefficients of the model, on a sample where there are very many rows."""
        begin = time.perf_counter()
        vectors, coefficients = distinct(attributes["support_vectors_"], attributes["dual_coef_"])
        n_rows = rows.n_rows
        codes, weight = data.codes, data.row_weight()
        n_sampled = sample_size(n_rows, len(vectors))
        if n_sampled < n_rows:
            random = np.random.default_rng(attributes["_states"][0]["generator"])
            chosen = np.sort(random.choice(n_rows, n_sampled, replace=False))
            rows = checks.as_rows(data.X[chosen], rows.dtype)
            codes, weight = codes[chosen], weight[chosen]
        solutions = polish(
            vectors,
            list(zip(coefficients, attributes["intercept_"], strict=True)),
            attributes["gamma_"],
            rows,
            (np.where(codes == positive, 1.0, -1.0) for positive in positives),
            weight / (n_sampled * attributes["alpha_"]),
            bool(self.fit_intercept),
            effective_n_jobs(self.n_jobs),
        )
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
            objective_before=sum(solution.objective_before for solution in solutions),
            objective_after=sum(solution.objective_after for solution in solutions),
            gradient_norm=max(solution.gradient_norm for solution in solutions),
        )
        if self.verbose:
            print(f"[{type(self).__name__}] {profile.polish_line()}")
        return {
            "support_vectors_": vectors,
            "dual_coef_": np.stack([solution.coefficients for solution in solutions]),
            "intercept_": np.array([solution.intercept for solution in solutions]),
            "profile_": profile,
        }


def _given(X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
    """Bundle the data for callbacks: as they were given, feature names included."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    return {"X": X, "y": y, "metadata": metadata}
