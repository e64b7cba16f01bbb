"""`BudgetedOneClassSVM`: novelty detection."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from .._sklearn import Interval, fit_context
from ..tasks.novelty import Novelty
from .base import BudgetedMachine
from .namespaces import follows_arrays


class BudgetedOneClassSVM(OutlierMixin, BudgetedMachine):
    """Novelty detection with a Gaussian kernel and a bounded number of vectors.

    The model learns where most rows are: its score is large there, and small elsewhere. A share
    `nu` of the training rows has scores below ``offset_`` and counts as outliers. The problem, and
    the scale of the scores, are those of `sklearn.svm.OneClassSVM`.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors, at least two.

    nu : float, default=0.5
        The share of the training rows that are outliers, in (0, 1].

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``, as in `BudgetedSVC`.

    feature_scales : array-like of shape (n_features,), default=None
        What each feature is multiplied by inside the kernel, as in `BudgetedSVC`. Rows without
        labels do not tell which features matter: "learn" and "auto" are refused.

    max_iter : int, default=20
        Largest number of passes over the training data in `fit`. If `fit` polishes, there are at
        most five, and two if all rows fit into the budget. They end early after 20 merges per
        support vector.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        Strategy that keeps the number of support vectors within the budget, as in `BudgetedSVC`.

    polish : bool or "thorough", default=True
        Whether `fit` solves for the coefficients after the passes, and moves the support vectors,
        as in `BudgetedSVC`.

    half_life : float, default=None
        Number of rows after which a row counts half as much in `partial_fit`. If None, all rows
        count the same. `fit` ignores this parameter.

    warm_start : bool, default=False
        Whether `fit` continues from the previous call, with its support vectors, step size and
        random numbers. The features must be the same. The budget and `nu` may change.

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
        The support vectors. Merged and moved vectors are generally not rows of X.
        They are in the units of X; zero where a feature scale is zero.

    dual_coef_ : ndarray of shape (1, n_sv)
        Coefficients of the support vectors. With all rows as vectors, they sum up to about
        ``nu * n``, as in `sklearn.svm.OneClassSVM`.

    intercept_ : ndarray of shape (1,)
        The constant in the decision function, ``-offset_``.

    offset_ : float
        The score that separates outliers: ``decision_function = score_samples - offset_``. It is
        the `nu` quantile of the scores of the training rows, which is the best offset for these
        scores.

    feature_scales_ : ndarray of shape (n_features,) or None
        The scales of the features; None if all features count alike.

    gamma_ : float
        The value of gamma used by the kernel.

    alpha_ : float
        The regularisation parameter lambda of the passes: `nu` times the mean kernel value of two
        rows.

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
    sklearn.svm.OneClassSVM : Exact SVM without a limit on the number of support vectors.

    Notes
    -----
    As in `BudgetedSVC`, rows with zero weight are ignored, rows are stored in float32 if that is
    precise enough, and callbacks see each pass as a task.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketsvm import BudgetedOneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model = BudgetedOneClassSVM(budget=30, nu=0.1, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [4.0, 4.0]])
    array([ 1, -1])
    >>> round(float((model.predict(X) == -1).mean()), 2)
    0.1
    """

    _uses_y = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in BudgetedMachine._parameter_constraints.items()
        if name not in ("C", "alpha", "fit_intercept")
    } | {"nu": [Interval(Real, 0.0, 1.0, closed="right")]}

    _task: ClassVar[str] = "novelty"
    # There is no parameter of these names: the passes have no intercept, and nu sets lambda.
    fit_intercept: ClassVar[bool] = False  # type: ignore[misc]
    nu: float

    def __init__(
        self,
        budget: int = 500,
        *,
        nu: float = 0.5,
        gamma: str | float = "scale",
        feature_scales: Any = None,
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        half_life: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.nu = nu
        self.gamma = gamma
        self.feature_scales = feature_scales
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.half_life = half_life
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @property
    def offset_(self) -> float:
        """The score that separates outliers."""
        return -float(self.intercept_[0])

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data set
            The rows. A data set, such as `pocketsvm.open_dataset` returns, need not fit into
            memory. It is read several times, and ``offset_`` is the `nu` quantile of the scores of
            all rows. It needs no labels; those that it has are ignored.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedOneClassSVM
            The fitted estimator.
        """
        return self._fit(X, None, sample_weight)

    def _what(self) -> Novelty:
        return Novelty(float(self.nu))

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Update the model with one pass over a batch of rows.

        The first call sets ``alpha_`` and the scale of the scores, which is that of a fit on
        10,000 rows because the length of the stream is unknown. Later calls keep ``alpha_``. The
        offset follows the `nu` quantiles of the batches, so that a batch should have at least
        ``10 / nu`` rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedOneClassSVM
            The fitted estimator.
        """
        return self._partial_fit(self._what(), X, None, sample_weight)

    @follows_arrays
    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row: the larger, the more normal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``decision_function(X) + offset_``.
        """
        return self.decision_function(X) + self.offset_

    @follows_arrays
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of each row's score from the offset; outliers are negative.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The values. They do not depend on how the rows are split into batches.
        """
        return self._decision_values(X).ravel()

    @follows_arrays
    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell normal rows from outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 for normal rows, -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)
