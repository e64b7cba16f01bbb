"""`BudgetedSVR`: regression."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score, r2_score

from .._sklearn import Interval, StrOptions, fit_context
from ..model.model import TASKS
from ..tasks.regression import Regression
from .base import BudgetedMachine, FittedModel
from .namespaces import follows_arrays
from .streams import PolishedStreams, check_unchanged

LOSSES = TASKS["regression"]


class ValuePredictions(RegressorMixin, FittedModel):
    """Predictions of values."""

    @follows_arrays
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predicted targets of each row, with a column for each target or for each quantile
            of a list. Quantiles do not decrease in a row. The values do not depend on how the rows
            are split into batches.
        """
        return self._predicted(self._decision_values(X))

    def _predicted(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what decision values (n_rows, n_outputs) predict."""
        if isinstance(self._model.quantile, tuple):
            return np.sort(values, axis=1)
        return values.ravel() if values.shape[1] == 1 else values


class BudgetedSVR(PolishedStreams, ValuePredictions, BudgetedMachine):
    """Support vector regression with a Gaussian kernel and a bounded number of vectors.

    The model is trained like `BudgetedSVC`. A prediction evaluates at most ``budget`` kernel
    values, for any number of training rows. Several targets, and several quantiles, share the
    vectors.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors, at least two for each output: for each target, or each
        quantile.

    C : float, default=1.0
        Weight of the training loss relative to the regularisation, as in `sklearn.svm.SVR`. The
        objective is ``C sum_i loss_i + |w|^2 / 2``.

    epsilon : float, default=0.1
        In the units of y. With the epsilon-insensitive loss, errors up to this size have no loss.
        With the Huber loss, larger errors count linearly. Other losses ignore it.

    loss : {"epsilon_insensitive", "squared_error", "huber", "quantile"}, \
            default="epsilon_insensitive"
        The loss of a row, where r is the target less the prediction:

        - "epsilon_insensitive" is ``max(0, |r| - epsilon)``, the loss of support vector
          regression.
        - "squared_error" is ``r ** 2 / 2``. Then the model is a kernel ridge regression with a
          bounded number of vectors; `sklearn.kernel_ridge.KernelRidge` with ``alpha=1 / C`` is its
          exact counterpart, apart from the intercept.
        - "huber" is ``r ** 2 / 2`` up to `epsilon` and a line beyond, as in
          `sklearn.linear_model.SGDRegressor`.
        - "quantile" is the pinball loss, which predicts quantiles.

        If `fit` polishes, the passes find the vectors with the epsilon-insensitive loss, and the
        loss decides on the coefficients. Otherwise, and in `partial_fit`, the passes use the
        slopes of the loss.

    quantile : float or list of float, default=0.5
        The quantile to predict, between 0 and 1, or an increasing list of them. Only for the loss
        "quantile". With a list, `predict` returns one column for each quantile, and sorts each row,
        so that quantiles do not cross.

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``. "scale" uses
        ``1 / (n_features * X.var())``, "auto" uses ``1 / n_features``. With `warm_start` and
        `partial_fit`, gamma is computed in the first call and kept. Pass a number if the first
        batch of a stream may be small.

    feature_scales : {"learn", "auto"} or array-like of shape (n_features,), default=None
        What each feature is multiplied by inside the kernel, as in `BudgetedSVC`.

    max_iter : int, default=20
        Largest number of passes over the training data in `fit`. If `fit` polishes, there are at
        most five, and two if all rows fit into the budget. They end early after 50 merges per
        support vector, because further merges make the vectors worse; with several targets or
        quantiles, after the pass in which there are 100.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        Strategy that keeps the number of support vectors within the budget, as in `BudgetedSVC`.
        Only vectors whose coefficients have the same sign are merged.

    polish : bool or "thorough", default=True
        Whether `fit` solves for the coefficients and the intercept after the passes, and moves the
        support vectors. Without it, the model is the last iterate, which is noisy, especially for
        a large C.

        - True moves the vectors in at most 20,000 steps divided by the number of vectors, or ten,
          if there is a row near the tube for two unknowns and a first step lowers the
          objective.
        - "thorough" moves them until this gains nothing, in much more time; where rows near the
          margin are too many for that, by mini-batches.
        - False makes all passes over all rows and returns the last iterate.

        What `fit` reads is the same as in `BudgetedSVC`: with more than 512 rows per vector, or
        262,144 rows, a sample for the passes, then a sample for the first solution, and then all
        rows a few times.

        `warm_start` and `partial_fit` always continue from the last iterate. `partial_fit` does not
        polish, because it keeps no rows.

    fit_intercept : bool, default=True
        Whether to fit an intercept. The median of the targets, or the quantile to predict, is
        subtracted before the passes, and continued training keeps it. In the passes, the rest of
        the intercept is the coefficient of an additional feature with the constant value
        ``0.1 ** 0.5``. Polishing solves for the intercept without regularisation.

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
        random numbers. The features must be the same. The budget may change.

    n_jobs : int, default=None
        Number of threads for polishing and prediction; the passes use one thread. None means 1
        unless in a `joblib.parallel_config` context. -1 means using all processors. The result is
        the same, bit for bit, for any number of threads.

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
        Merged and moved vectors are generally not rows of X. If all targets lie within `epsilon`,
        there are no support vectors.
        They are in the units of X; zero where a feature scale is zero.

    dual_coef_ : ndarray of shape (n_outputs, n_sv)
        Coefficients of the support vectors, one row for each target or quantile.

    intercept_ : ndarray of shape (n_outputs,)
        The constants in the prediction.

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
        Counts and times of the last call, as in `BudgetedSVC`.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit. Defined only if X has feature names that are all
        strings.

    See Also
    --------
    pocketsvm.BudgetedSVC : Classification.
    sklearn.svm.SVR : Exact SVM without a limit on the number of support vectors.

    Notes
    -----
    As in `BudgetedSVC`, rows with zero weight are ignored, rows are stored in float32 if that is
    precise enough, and callbacks see each pass as a task.

    The targets do not have to be scaled, but `epsilon` is in their units, and so is `C` with the
    losses "epsilon_insensitive" and "quantile". If all targets are multiplied by 1000, multiply
    these by 1000, too. With "squared_error" and "huber", `C` does not depend on the units.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from pocketsvm import BudgetedSVR
    >>> X, y = make_friedman1(1000, noise=0.5, random_state=0)
    >>> model = BudgetedSVR(budget=50, C=10.0, random_state=0).fit(X, y)
    >>> print(f"{model.score(X, y):.2f}")
    0.97
    >>> model.support_vectors_.shape
    (50, 10)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedMachine._parameter_constraints,
        "reservoir": [Interval(Integral, 1, None, closed="left"), None],
        "epsilon": [Interval(Real, 0.0, None, closed="left")],
        "loss": [StrOptions(set(LOSSES))],
        "quantile": [Interval(Real, 0.0, 1.0, closed="neither"), "array-like"],
    }

    _task: ClassVar[str] = "regression"
    epsilon: float
    quantile: Any

    def __init__(
        self,
        budget: int = 500,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        quantile: Any = 0.5,
        gamma: str | float = "scale",
        feature_scales: Any = None,
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        fit_intercept: bool = True,
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
        self.epsilon = epsilon
        self.gamma = gamma
        self.feature_scales = feature_scales
        self.loss = loss
        self.quantile = quantile
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.half_life = half_life
        self.reservoir = reservoir
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

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
            method ``batches()`` yields ``(X, y)`` or ``(X, y, sample_weight)``. It may have several
            targets, as ``open_dataset(..., label=["a", "b"])`` has.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets. Several quantiles need one target.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedSVR
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _what(self) -> Regression:
        quantile = checked_quantile(self.quantile, self.loss)
        return Regression(self.loss, float(self.epsilon), quantile)

    def _stream_task(self, classes: Any = None) -> Regression:
        return self._what()

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Update the model with one pass over a batch of rows.

        If `alpha` is None, the first call sets the regularisation to ``1e-4 / C``, the value that
        `fit` uses for 10,000 rows, because the length of the stream is unknown. With `half_life`,
        it is the value that `fit` uses for ``1.44 * half_life`` rows, the total weight of a long
        stream. Later calls keep ``alpha_``. The first call also subtracts the median of its
        targets, and later calls keep this median.

        The model is the last iterate. Its error is about ``1 / (alpha_ n)``, where n is the number
        of rows seen so far. If this is not small compared with the targets at the end of the
        stream, use a larger `alpha`.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets. Several quantiles need one target.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedSVR
            The fitted estimator.
        """
        if self.__sklearn_is_fitted__():
            self._check_continued()
        return self._partial_fit(self._what(), X, y, sample_weight)

    def _check_continued(self) -> None:
        """Refuse to continue a stream with another loss or other quantiles."""
        super()._check_continued()
        if self.loss == "quantile":
            check_unchanged("quantile", checked_quantile(self.quantile, self.loss), self._quantile)

    @follows_arrays
    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, or its counterpart for quantiles.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows. A data set takes the place of X, y and the weights.

        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            The targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            R^2; with the loss "quantile", the mean `sklearn.metrics.d2_pinball_score` of the
            quantiles, the share of the pinball loss of a constant that the model saves.
        """
        if (found := self._scored(X, y=y, sample_weight=sample_weight)) is not None:
            y, sample_weight, _, decisions = found
            values = self._predicted(decisions)
        else:
            values = self.predict(X)
        quantile = self._model.quantile
        if quantile is None:
            return float(r2_score(y, values, sample_weight=sample_weight))
        parts: Any = [(values, quantile)]
        if isinstance(quantile, tuple):
            parts = zip(values.T, quantile, strict=True)
        scores = [
            d2_pinball_score(y, predicted, sample_weight=sample_weight, alpha=share)
            for predicted, share in parts
        ]
        return float(np.mean(scores))


def checked_quantile(quantile: Any, loss: str) -> float | tuple[float, ...]:
    """Return a quantile, or an increasing tuple of them; refuse it with a loss that has none."""
    if isinstance(quantile, Real):
        found: float | tuple[float, ...] = float(quantile)
    else:
        try:
            found = tuple(float(q) for q in quantile)
        except (TypeError, ValueError):
            found = ()
        increases = all(a < b for a, b in pairwise(found))
        if not (found and increases and all(0 < q < 1 for q in found)):
            raise ValueError(
                "quantile must be a number between 0 and 1, or a list of such numbers that "
                f"increase, got {quantile!r}."
            )
    if loss != "quantile" and found != 0.5:
        raise ValueError(
            f"quantile={quantile!r} needs loss='quantile', got loss={loss!r}, which predicts no "
            "quantiles."
        )
    return found
