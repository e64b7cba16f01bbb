"""The estimators: scikit-learn's words around passes of the native core (`_machine.py`)."""

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import _check_partial_fit_first_call

from . import _core
from . import _validation as checks
from ._machine import BudgetedMachine, given_data
from .moving import FOR_TARGETS, Effort
from .polish import EpsilonInsensitive, Hinge
from .profile import Profile

__all__ = ["BudgetedSVC", "BudgetedSVR", "Profile"]

# The rounding of the loss in polishing, as a share of the spread of the targets.
RELATIVE_WIDTH = 0.1


class BudgetedSVC(ClassifierMixin, BudgetedMachine):
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
        intercept, which takes most of the noise out of the model, and moves the vectors to where
        they serve best, where that is cheap. Without it the model is the last iterate, as in the
        paper. With K > 2 classes each is solved for on all support vectors. Of very many rows a
        random sample is solved on (134,217 rows at a budget of 500). What is continued by
        `warm_start` and `partial_fit` is always the last iterate. `partial_fit`, which keeps no
        rows, does not polish, nor does `fit` with a budget above 5,000 on more rows than that.

    fit_intercept : bool, default=True
        Whether the model has an intercept. In the passes it is treated as one more feature, of
        value ``0.1 ** 0.5``; polishing solves for it without penalty.

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
        Threads for training, polishing and prediction: for the one-vs-rest problems side by side,
        and inside of each. None means 1 unless in a `joblib.parallel_config` context, -1 means all
        processors. The result is the same, bit for bit, whatever their number.

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
        polishing ``seconds_polish``, ``newton_steps``, ``moves``, ``objective_before``,
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
    float64 where ``gamma * max|x|^2 > 512``; where it exceeds ``2**40`` because of an offset, in
    which the differences drown, fit raises ValueError.
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
    >>> len(clf.support_vectors_) <= 30
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        **BudgetedMachine._parameter_constraints,
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
        given = given_data(X, y, sample_weight)
        checked = copy.copy(self)  # takes what validation sets; self stays as it is until the end
        X, y = checks.check_rows(checked, X, y=y, reset=not continued)
        data = checks.labelled_rows(X, y, sample_weight, self.class_weight)
        if continued and not np.array_equal(data.classes, self.classes_):
            raise ValueError(
                f"warm_start=True continues a model of the classes {self.classes_!r}, "
                f"but y holds {data.classes!r}."
            )
        checks.check_classes(data.classes, self.budget)
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
        given = given_data(X, y, sample_weight)
        checked = copy.copy(self)
        _check_partial_fit_first_call(checked, classes)
        X, y = checks.check_rows(checked, X, y=y, reset=not continued)
        data = checks.labelled_rows(X, y, sample_weight, self.class_weight, checked.classes_)
        checks.check_classes(data.classes, self.budget)
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

    def _make_pass(
        self, trainers: list[_core.Trainer], rows: _core.Rows, data: checks.LabelledRows
    ) -> None:
        labels = (data.codes, data.positives, data.class_weight, data.sample_weight)
        _core.train_pass(trainers, rows, "hinge", *labels, effective_n_jobs(self.n_jobs))

    def _losses(self, data: checks.LabelledRows) -> list[Hinge]:
        positive, negative = np.int8(1), np.int8(-1)
        return [Hinge(np.where(data.codes == k, positive, negative)) for k in data.positives]

    def _effort(self, n_rows: int) -> Effort:
        # Twice as many kernel values as in the passes.
        return Effort.for_labels(2 * int(self.max_iter) * n_rows * int(self.budget))


class BudgetedSVR(RegressorMixin, BudgetedMachine):
    """Support vector regression with a Gaussian kernel and a bounded number of vectors.

    Trained like `BudgetedSVC`, with another loss: a row enters the model where its prediction is
    off by more than `epsilon`. A prediction costs at most ``budget`` kernel values, however many
    rows the model has seen.

    Parameters
    ----------
    budget : int, default=500
        The most support vectors, at least two.

    C : float, default=1.0
        Weight of the training loss against the regularisation, as in `sklearn.svm.SVR`: what is
        made small is ``C sum_i max(0, |y_i - f(x_i)| - epsilon) + |w|^2 / 2``.

    epsilon : float, default=0.1
        How far a prediction may be off for free, in the units of y.

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``. "scale" is
        ``1 / (n_features * X.var())``, "auto" is ``1 / n_features``. A model that is continued
        (`warm_start`, `partial_fit`) keeps the gamma of its first call: give a number to a stream
        whose first batch may be small.

    max_iter : int, default=20
        Passes over the data in `fit`.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        What happens when the budget overflows, as in `BudgetedSVC`; vectors are merged whose
        coefficients are of one sign.

    polish : bool, default=True
        Whether `fit`, after its passes, solves for the coefficients of the support vectors and the
        intercept, and moves the vectors to where they serve best. Without it the model is the last
        iterate, which is noisy, most of all for a large C. Of very many rows random samples are
        solved on, and moved on: at a budget of 500 these are 134,217 and 8,388 rows; vectors stay
        where these are fewer than four a vector. What is continued by `warm_start` and
        `partial_fit` is always the last iterate. `partial_fit`, which keeps no rows, does not
        polish, nor does `fit` with a budget above 5,000 on more rows than that.

    fit_intercept : bool, default=True
        Whether the model has an intercept. The passes see the targets less their median, which
        stays the same when a model is continued; what is left of the intercept is treated as one
        more feature, of value ``0.1 ** 0.5``. Polishing solves for it without penalty.

    alpha : float, default=None
        The regularisation lambda itself. Where given it replaces ``1 / (n C)``, with n the
        number of rows of positive weight.

    warm_start : bool, default=False
        Whether `fit` continues from the model of the call before: its support vectors, its
        step size and its random numbers. Features must be the same; the budget may change.

    n_jobs : int, default=None
        Threads for training, polishing and prediction. None means 1 unless in a
        `joblib.parallel_config` context, -1 means all processors. The result is the same, bit for
        bit, whatever their number.

    random_state : int, RandomState instance or None, default=None
        Decides the order of the rows. An int makes results reproducible.

    verbose : int, default=0
        Whether to print a line after each pass.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_sv, n_features)
        The support vectors, float32 or, where the values of X ask for it, float64. Merged and
        moved vectors are no rows of X. There are none where all targets lie within `epsilon`.

    dual_coef_ : ndarray of shape (1, n_sv)
        Their coefficients.

    intercept_ : ndarray of shape (1,)
        The constant in the prediction.

    gamma_ : float
        The kernel coefficient in use.

    alpha_ : float
        The regularisation lambda in use.

    n_iter_ : int
        Passes made by the last call of `fit` or `partial_fit`.

    profile_ : Profile
        What the last call did and where its time went, as in `BudgetedSVC`.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit, where X has names that are all strings.

    See Also
    --------
    pocketsvm.BudgetedSVC : Classification.
    sklearn.svm.SVR : The exact machine, with as many support vectors as it takes.

    Notes
    -----
    As for `BudgetedSVC`: rows of zero weight are left out, rows are held in float32 where that is
    enough, and callbacks see each pass as a task.

    Targets need no scaling of their own, but `epsilon` and `C` are in their units: predictions of
    targets that are a thousand times as large take both a thousand times as large.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from pocketsvm import BudgetedSVR
    >>> X, y = make_friedman1(1000, noise=0.5, random_state=0)
    >>> model = BudgetedSVR(budget=50, C=10.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> model.support_vectors_.shape
    (50, 10)
    """

    _parameter_constraints: ClassVar[dict] = {
        **BudgetedMachine._parameter_constraints,
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
    }

    def __init__(
        self,
        budget: int = 500,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        gamma: str | float = "scale",
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool = True,
        fit_intercept: bool = True,
        alpha: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.C = C
        self.epsilon = epsilon
        self.gamma = gamma
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
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
            Their targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. Rows of zero weight are left out.

        Returns
        -------
        self : BudgetedSVR
            The fitted estimator.
        """
        given = given_data(X, y, sample_weight)
        continued = self.warm_start and hasattr(self, "_states")
        checked, data = self._check(X, y, sample_weight, continued)
        task = self._init_callback_context(max_subtasks=int(self.max_iter))
        self._train(data, checked, continued, task, given, n_rows=data.X.shape[0])
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Make one pass over a batch of rows, continuing from the model so far.

        The regularisation is `alpha`. Where that is None, the model's own ``alpha_`` stays in
        use; a first call, which cannot know how long the stream will be, takes ``1e-4 / C``, as
        `fit` would for 10,000 rows. The first call also fixes what predictions begin from: the
        median of its targets.

        The model is the last iterate, which is off by about ``1 / (alpha_ n)``, with n the number
        of rows so far: where the stream ends before that is small against the targets, take a
        larger `alpha`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : array-like of shape (n_samples,)
            Their targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, not negative. Rows of zero weight are left out.

        Returns
        -------
        self : BudgetedSVR
            The fitted estimator.
        """
        given = given_data(X, y, sample_weight)
        continued = hasattr(self, "_states")
        checked, data = self._check(X, y, sample_weight, continued)
        task = self._init_callback_context(task_name="partial_fit", max_subtasks=1)
        self._train(data, checked, continued, task, given, n_rows=None)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The prediction for each row. It does not depend on how the rows are batched.
        """
        return self._decision_values(X).ravel()

    def _check(
        self, X: Any, y: Any, sample_weight: Any, continued: bool
    ) -> tuple[Self, checks.TargetRows]:
        """Check the data; return what validation has set, on a copy, and the rows."""
        checked = copy.copy(self)
        X, y = checks.check_rows(checked, X, y=y, reset=not continued)
        offset = 0.0
        if self.fit_intercept:
            offset = self._offset if continued else None
        return checked, checks.target_rows(X, y, sample_weight, offset)

    def _make_pass(
        self, trainers: list[_core.Trainer], rows: _core.Rows, data: checks.TargetRows
    ) -> None:
        (trainer,) = trainers
        targets = ("epsilon_insensitive", float(self.epsilon), data.y, data.sample_weight)
        _core.train_pass_on_targets(trainer, rows, *targets, effective_n_jobs(self.n_jobs))

    def _losses(self, data: checks.TargetRows) -> list[EpsilonInsensitive]:
        width = RELATIVE_WIDTH * data.spread()
        return [EpsilonInsensitive(data.y, float(self.epsilon), width)]

    def _effort(self, n_rows: int) -> Effort:
        return FOR_TARGETS
