"""`BudgetedSVC`: classification."""

import copy
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from .._sklearn import (
    Interval,
    StrOptions,
    available_if,
    check_partial_fit_first_call,
    fit_context,
    num_samples,
    safe_indexing,
)
from ..model.model import TASKS
from ..model.prediction import log_probabilities, probabilities
from ..profile import Profile
from ..tasks.classification import Classification
from .base import BudgetedMachine, FittedModel, fitted
from .drift import COMPARED_ROWS, LONG_STREAM, warn_about_drift, warn_about_majority
from .namespaces import follows_arrays
from .streams import PolishedStreams

LOSSES = TASKS["classification"]


def has_probabilities(estimator: "ClassPredictions") -> bool:
    """Tell whether the fitted model has probabilities, or a fit would give it some."""
    loss = getattr(estimator, "_loss", None) or estimator.loss
    if loss == "log_loss":
        return True
    raise AttributeError(
        f"A model with loss={loss!r} has no probabilities. Fit one with loss='log_loss', or wrap "
        "this one in sklearn.calibration.CalibratedClassifierCV."
    )


class ClassPredictions(ClassifierMixin, FittedModel):
    """Predictions of classes."""

    loss: str
    classes_: NDArray[Any] = fitted("classes")

    @follows_arrays
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Evaluate the decision function.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Signed values. With two classes, there is one value per row, and positive values mean
            ``classes_[1]``. With more classes, there is one value per row and class. The values do
            not depend on how the rows are split into batches.
        """
        values = self._decision_values(X)
        return values.ravel() if len(self.classes_) == 2 else values

    @follows_arrays
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The predicted class of each row.
        """
        return self._labels(self._decision_values(X))

    def _labels(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels for decision values (n_rows, n_outputs)."""
        codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(np.intp)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    @available_if(has_probabilities)
    @follows_arrays
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the probabilities of the classes.

        Available with ``loss="log_loss"``. The class with the largest probability is the one that
        `predict` returns. Without polishing, probabilities of more than two classes come from
        problems of one class against the rest, and are less precise.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probability of each class, in the order of ``classes_``.
        """
        return probabilities(self._decision_values(X))

    @available_if(has_probabilities)
    @follows_arrays
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            The logarithm of `predict_proba`, precise also where the probability is tiny.
        """
        return log_probabilities(self._decision_values(X))


class BudgetedSVC(PolishedStreams, ClassPredictions, BudgetedMachine):
    """Support vector classification with a Gaussian kernel and a bounded number of vectors.

    The model is trained by stochastic gradient descent on the primal problem of the SVM. Whenever
    the number of support vectors exceeds the budget, two of them are merged into one. A prediction
    evaluates at most ``budget`` kernel values, for any number of training rows.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors in the whole model, at least two. With K > 2 classes, the
        one-vs-rest problems share them out evenly in the passes, and each needs at least two.
        Polishing gives each class coefficients for all support vectors, and uses training rows as
        vectors where the passes left some of the budget free.

    C : float, default=1.0
        Weight of the training loss relative to the regularisation, as in `sklearn.svm.SVC`.

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``. "scale" uses
        ``1 / (n_features * X.var())``, "auto" uses ``1 / n_features``. With `warm_start` and
        `partial_fit`, gamma is computed in the first call and kept. Pass a number if the first
        batch of a stream may be small.

    feature_scales : {"learn", "auto"} or array-like of shape (n_features,), default=None
        What each feature is multiplied by inside the kernel, which then is
        ``exp(-gamma sum_k feature_scales[k]^2 (x_k - s_k)^2)``: the larger, the more a feature
        counts; one with zero does not count at all.

        - None weighs all features alike.
        - "learn" finds the scales on the rows, or a sample of them, before the fit. Then
          ``gamma="scale"`` means 1, because the scales carry the width.
        - "auto" does so if that predicts better, and weighs all features alike if not.
        - An array is used as it is; ``gamma="scale"`` is computed with the scaled features. If
          rows are prepared, there is one number for each prepared feature.

        With `warm_start` and `partial_fit`, the scales are fixed in the first call: an array, or
        those learnt from the first batch, which should not be small. ``polish=False`` takes no
        learnt scales.

    loss : {"hinge", "squared_hinge", "log_loss"}, default="hinge"
        The loss of a row, where y is +1 or -1 and f is its decision value:

        - "hinge" is ``max(0, 1 - y f)``, the loss of an SVM. Polishing rounds off its kink, by
          half the margin to either side.
        - "squared_hinge" is its square.
        - "log_loss" is ``log(1 + exp(-y f))``, the loss of logistic regression, with C as in
          `sklearn.linear_model.LogisticRegression`. It gives `predict_proba`. With more than two
          classes, polishing minimises the cross-entropy of all classes together.

        If `fit` polishes, the passes find the vectors with the slopes of the hinge, and the loss
        decides on the coefficients. Otherwise, and in `partial_fit`, the passes use the slopes of
        the loss, for each class against the rest.

    max_iter : int, default=20
        Largest number of passes over the training data in `fit`. If `fit` polishes, there are at
        most five, and two if all rows fit into the budget. They end early after 50 merges per
        support vector, because further merges make the vectors worse; with several classes, after
        the pass in which there are 100. If `class_weight` makes classes differ in weight, 400
        merges are the limit.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        Strategy that keeps the number of support vectors within the budget:

        - "merge" merges the best pair. It uses a table of scaled solutions and skips candidates
          that cannot win.
        - "lookup-wd" merges the best pair, found with a table of the weight degradation.
        - "lookup-h" merges the best pair, found with a table of h.
        - "gss" merges the best pair, found by golden section search with precision 0.01.
        - "gss-precise" does the same with precision 1e-10.
        - "removal" removes the vector with the smallest coefficient.
        - "projection" removes this vector and projects it onto the others.

        The paper describes "lookup-wd", "lookup-h", "gss" and "gss-precise".

    polish : bool or "thorough", default=True
        Whether `fit` solves for the coefficients and the intercept after the passes, and moves the
        support vectors. This removes most of the noise of stochastic gradient descent.

        - True moves the vectors if there are more rows near the margin than unknowns and a first
          step lowers the objective, in at most 3,000 steps divided by the number of vectors, or
          ten.
        - "thorough" moves them until this gains nothing, in much more time; where rows near the
          margin are too many for that, by mini-batches.
        - False makes all passes over all rows and returns the last iterate, as in the paper.

        If `fit` polishes and there are more than 512 rows per support vector, or more than 262,144
        rows, the passes see a random sample of so many, but at least 64 rows per vector. Each class
        has at least 64 rows in it for each of its vectors, if it has as many. The coefficients are
        first solved for on a sample, too (66,050 rows with a budget of 500). Then `fit` reads all
        rows a few times. Moving reads the rows near the margin in each step, and all rows at
        the end.

        `warm_start` and `partial_fit` always continue from the last iterate. `partial_fit` does not
        polish, because it keeps no rows.

    fit_intercept : bool, default=True
        Whether to fit an intercept. In the passes, it is the coefficient of an additional feature
        with the constant value ``0.1 ** 0.5``. Polishing solves for it without regularisation.

    class_weight : dict or "balanced", default=None
        Weight of each class, multiplied by `sample_weight`. "balanced" gives each class the weight
        ``n_samples / (n_classes * its number of samples)``, where samples are counted with their
        `sample_weight`.

    alpha : float, default=None
        The regularisation parameter lambda. If None, lambda is ``1 / (n C)``, where n is the
        number of rows with positive weight. If given, `C` is ignored.

    half_life : float, default=None
        Number of rows after which a row counts half as much in `partial_fit`: a row that was seen
        `half_life` rows before the newest one has half of its weight, one that was seen twice as
        many rows before a quarter, and so on. Set it if the stream changes with time. If None, all
        rows count the same, so that the model follows a change more slowly the longer the stream
        is. `fit` ignores this parameter.

    reservoir : int, default=None
        Number of rows that `partial_fit` keeps for `polish_stream`: a random sample of all rows so
        far, which forgets old rows as `half_life` says. `save` keeps them in the model file. If
        None, no rows are kept.

    warm_start : bool, default=False
        Whether `fit` continues from the previous call, with its support vectors, step size and
        random numbers. The features and classes must be the same. The budget may change.

    n_jobs : int, default=None
        Number of threads for training, polishing and prediction. The passes of one-vs-rest problems
        are made in parallel; with two classes, they use one thread. None means 1 unless in a
        `joblib.parallel_config` context. -1 means using all processors. The result is the same, bit
        for bit, for any number of threads.

    device : {"cpu", "cuda", "auto"} or str, default="cpu"
        What computes kernel values in polishing and prediction: "cuda" is a GPU, by the PyTorch
        that you have installed; "cuda:1" is the second one, and "auto" a GPU if there is one (with
        `verbose`, `fit` says which). The passes run on the CPU. Model files do not store it.

    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows. Pass an int for reproducible results.

    verbose : int, default=0
        Whether to print a line after each pass.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_sv, n_features)
        The support vectors, in float32, or in float64 if the values of X require it (see Notes).
        Merged vectors are generally not rows of X.
        They are in the units of X; zero where a feature scale is zero.

    dual_coef_ : ndarray of shape (n_outputs, n_sv)
        Signed coefficients of the support vectors in the decision function. There is one output
        for two classes, and one per class for more. Without polishing, each class uses its own
        block of support vectors.

    intercept_ : ndarray of shape (n_outputs,)
        Constants in the decision function.

    classes_ : ndarray of shape (n_classes,)
        The class labels.

    feature_scales_ : ndarray of shape (n_features,) or None
        The scales of the features; None if all features count alike.

    gamma_ : float
        The value of gamma used by the kernel.

    alpha_ : float
        The value of the regularisation parameter lambda.

    n_iter_ : int
        Number of passes made by the last call of `fit` or `partial_fit`. The last one may have
        ended early.

    profile_ : Profile
        Counts and times of the last call, summed over the classes: ``steps``, ``violations``,
        ``merges``, ``removals``, ``merge_frequency``, ``seconds_total``, ``seconds_margin``,
        ``seconds_solve`` (the paper's A) and ``seconds_rest`` (the paper's B). For polishing:
        ``seconds_polish``, ``solver_steps``, ``moves``, ``objective_before``, ``objective_after``
        and ``gradient_norm``.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit. Defined only if X has feature names that are all
        strings.

    See Also
    --------
    sklearn.svm.SVC : Exact SVM without a limit on the number of support vectors.
    sklearn.linear_model.SGDClassifier : Linear models trained by stochastic gradient descent.

    Notes
    -----
    Rows with zero weight are ignored.

    Rows are stored in float32, or in float64 if ``gamma * max|x|^2 > 512``. If this value exceeds
    ``2**40``, because of a large offset of X or a very large gamma, the distances between rows are
    lost to rounding, and `fit` raises a ValueError. C-ordered float32 arrays and CSR matrices of
    float32 with sorted indices are not copied, unless features are multiplied by `feature_scales`.

    Callbacks (`set_callbacks`) see each pass as a task and may stop training after any pass.

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
    >>> print(f"{clf.score(X, y):.2f}")
    1.00
    >>> clf.support_vectors_.shape
    (30, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedMachine._parameter_constraints,
        "reservoir": [Interval(Integral, 1, None, closed="left"), None],
        "loss": [StrOptions(set(LOSSES))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    _task: ClassVar[str] = "classification"
    class_weight: Any

    def __init__(
        self,
        budget: int = 500,
        C: float = 1.0,
        *,
        gamma: str | float = "scale",
        feature_scales: Any = None,
        loss: str = "hinge",
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        alpha: float | None = None,
        half_life: float | None = None,
        reservoir: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.C = C
        self.gamma = gamma
        self.feature_scales = feature_scales
        self.loss = loss
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.alpha = alpha
        self.half_life = half_life
        self.reservoir = reservoir
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the training data.

        Training makes up to `max_iter` passes over the rows, each in a new random order, and then
        polishes the model unless `polish` is False.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows. A data set takes the place of X and y, and need not fit into memory: what
            `pocketsvm.open_dataset` returns, a query or a table (see there), or any object whose
            method ``batches()`` yields ``(X, y)`` or ``(X, y, sample_weight)``.

        y : array-like of shape (n_samples,)
            The class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedSVC
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _what(self) -> Classification:
        return Classification(self.loss, self.class_weight)

    def _stream_task(self, classes: Any = None) -> Classification:
        classes = self.classes_ if classes is None else classes
        return Classification(self.loss, self.class_weight, classes)

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with one pass over a batch of rows.

        If `alpha` is None, the first call sets the regularisation to ``1e-4 / C``, the value that
        `fit` uses for 10,000 rows, because the length of the stream is unknown. With `half_life`,
        it is the value that `fit` uses for ``1.44 * half_life`` rows, the total weight of a long
        stream. Later calls keep ``alpha_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : array-like of shape (n_samples,)
            The class labels.

        classes : array-like of shape (n_classes,), default=None
            All classes that can occur in the stream. Required in the first call.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

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
        if self.__sklearn_is_fitted__():
            self._check_continued()
        probe, before = copy.copy(self), getattr(self, "profile_", Profile())
        check_partial_fit_first_call(probe, classes)
        self._partial_fit(self._stream_task(probe.classes_), X, y, sample_weight)
        if self.half_life is None and self.loss != "log_loss":  # there, every row has a slope
            warn_about_drift(before, self.profile_)
        is_weighted = self.class_weight is not None or sample_weight is not None
        if self._state.states[0].steps > LONG_STREAM and not is_weighted:
            some = np.unique(np.linspace(0, num_samples(y) - 1, COMPARED_ROWS).astype(int))
            few = [safe_indexing(rows, some) for rows in (X, y)]
            warn_about_majority(self.predict(few[0]), np.asarray(few[1]))
        return self

    @follows_arrays
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows. A data set takes the place of X, y and the weights.

        y : array-like of shape (n_samples,)
            The class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            The share of the rows that are predicted correctly.
        """
        if (found := self._scored(X, y=y, sample_weight=sample_weight)) is None:
            return float(super().score(X, y, sample_weight))
        y, weight, _, values = found
        return float(accuracy_score(y, self._labels(values), sample_weight=weight))
