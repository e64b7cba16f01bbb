"""`BudgetedOneClassSVM`: novelty detection."""

import copy
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin

from .._sklearn import Interval, fit_context
from ..data.novelty import NoveltyTargets, lower_quantile, mean_kernel, novelty_targets
from ..data.opening import as_dataset
from ..data.rows import CheckedRows, Rows, check_rows
from ..data.sampling import AnyTargets
from ..model.model import Model
from ..model.prediction import decision_values
from ..training.regularisation import ASSUMED_STREAM_ROWS, check_alpha
from ..training.settings import Choices, Settings
from ..training.state import VectorSet
from .base import BudgetedMachine
from .callbacks import given_data
from .elsewhere import Elsewhere, fit_dataset

# Scores of normal rows differ by little from each other, so that the loss must have a sharp kink
# and be solved for precisely, and all vectors have the same sign, so that few merges are enough.
CHOICES = Choices(hinge_width=0.003, merges_per_vector=20, factor_tolerance=1e-3)


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

    max_iter : int, default=20
        Largest number of passes over the training data in `fit`. If `fit` polishes, they end early
        after 50 merges per support vector, and after two passes if all rows fit into the budget.

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

    random_state : int, RandomState instance or None, default=None
        Controls the order of the rows. Pass an int for reproducible results.

    verbose : int, default=0
        Whether to print a line after each pass.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_sv, n_features)
        The support vectors. Merged and moved vectors are generally not rows of X.

    dual_coef_ : ndarray of shape (1, n_sv)
        Coefficients of the support vectors. With all rows as vectors, they sum up to about
        ``nu * n``, as in `sklearn.svm.OneClassSVM`.

    intercept_ : ndarray of shape (1,)
        The constant in the decision function, ``-offset_``.

    offset_ : float
        The score that separates outliers: ``decision_function = score_samples - offset_``. It is
        the `nu` quantile of the scores of the training rows, which is the best offset for these
        scores.

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
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        half_life: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.nu = nu
        self.gamma = gamma
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.half_life = half_life
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @property
    def offset_(self) -> float:
        """The score that separates outliers."""
        return -float(self.intercept_[0])

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model to the training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data set
            The rows. A data set, such as `pocketsvm.open_dataset` returns, is read once: the model
            is fitted to 512 rows per support vector, drawn at random. Its labels are ignored.

        y : Ignored
            Not used, present for API consistency.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows. Rows with zero weight are ignored.

        Returns
        -------
        self : BudgetedOneClassSVM
            The fitted estimator.
        """
        if (dataset := as_dataset(X)) is not None:
            fit_dataset(self, dataset, y, sample_weight)
            return self
        given = given_data(X, None, sample_weight)
        data = self._check(X, sample_weight, self._previous(stream=False))
        self._train(*data, given, stream=False)
        return self

    @fit_context(prefer_skip_nested_validation=True)
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
        given = given_data(X, None, sample_weight)
        data = self._check(X, sample_weight, self._previous(stream=True))
        self._train(*data, given, stream=True)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row: the larger, the more normal.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            ``decision_function(X) + offset_``.
        """
        return self.decision_function(X) + self.offset_

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the distance of each row's score from the offset; outliers are negative.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            The values. They do not depend on how the rows are split into batches.
        """
        return self._decision_values(X).ravel()

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Tell normal rows from outliers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            1 for normal rows, -1 for outliers.
        """
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _check(
        self, X: Any, sample_weight: Any, start: VectorSet | None
    ) -> tuple[Self, CheckedRows, NoveltyTargets]:
        """Check the data; the copy of the estimator holds what validation sets."""
        checked = copy.copy(self)
        rows = check_rows(checked, X, reset=start is None)
        offset = 0.0 if start is None else float(start.offset)
        return checked, *novelty_targets(rows, sample_weight, float(self.nu), offset)

    def _alpha(
        self,
        rows: Rows,
        targets: AnyTargets,
        n_rows: int,
        random: np.random.RandomState,
        *,
        stream: bool,
    ) -> float:
        """Return the lambda with which the passes find scores of about one.

        For uniform coefficients, scores are about n nu times the mean kernel value. Divided by this
        scale, they solve the problem of the hinge loss with C = 1 / scale.
        """
        if stream and hasattr(self, "alpha_"):
            return self.alpha_
        weights = targets.row_weight()
        alpha = float(self.nu) * mean_kernel(rows, weights, random) * float(weights.mean())
        check_alpha(alpha, targets.weight_unit, f"nu={self.nu!r}")
        return alpha

    def _settings(
        self,
        rows: Rows,
        targets: AnyTargets,
        *,
        stream: bool,
        elsewhere: Elsewhere | None = None,
    ) -> Settings:
        settings = super()._settings(rows, targets, stream=stream, elsewhere=elsewhere)
        return replace(settings, choices=CHOICES)

    def _completed(self, model: Model, rows: Rows, targets: AnyTargets, stream: bool) -> Model:
        """Give scores the scale of `sklearn.svm.OneClassSVM`, and set the offset."""
        training = model.training
        assert training is not None
        state, weights = training.vectors, targets.row_weight()

        def offset_of(vectors: NDArray[Any], dual_coef: NDArray[np.float64]) -> float:
            n_threads, nothing = effective_n_jobs(self.n_jobs), np.zeros(1)
            scores = decision_values(
                vectors, dual_coef, nothing, model.gamma, rows.checked, n_threads
            )
            return -lower_quantile(scores.ravel(), weights, float(self.nu))

        offset = offset_of(model.vectors, model.dual_coef)
        before = float(targets.offset)
        if stream and before:  # a mean over all batches so far; the later ones count more
            share = min(2 * rows.n_rows / state.states[0].weight, 1.0)
            offset = before + share * (offset - before)
        # Further passes continue from the last iterate, which has scores of its own.
        is_polished = training.profile.seconds_polish > 0
        kept = offset_of(state.vectors, state.dual_coef) if is_polished else offset
        scale = training.alpha * (ASSUMED_STREAM_ROWS if stream else rows.n_rows)
        with np.errstate(over="ignore", invalid="ignore"):
            dual_coef, intercept = scale * model.dual_coef, np.array([scale * offset])
        if not (np.isfinite(dual_coef).all() and np.isfinite(intercept).all()):
            raise ValueError(
                f"The scores are too large for float64: lambda is {training.alpha:g} and the "
                f"offset of earlier rows is {targets.offset:g}. Fit the model again."
            )
        return replace(
            model,
            dual_coef=dual_coef,
            intercept=intercept,
            training=replace(training, vectors=replace(state, offset=kept)),
        )
