"""`BudgetedRanker`: learning to rank."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._sklearn import fit_context
from ..metrics import mean_ndcg
from ..tasks.ranking import Ranking
from .base import BudgetedMachine
from .namespaces import follows_arrays


class BudgetedRanker(BudgetedMachine):
    """Learning to rank with a Gaussian kernel and a bounded number of vectors.

    The model gives every row a score. In each query, more relevant rows should have larger scores:
    two rows of a query, of which the first is more relevant, have the loss
    ``max(0, 1 - (f(x_1) - f(x_2)))``. A prediction evaluates at most ``budget`` kernel values.

    Parameters
    ----------
    budget : int, default=500
        Maximum number of support vectors, at least two.

    C : float, default=1.0
        Weight of the training loss relative to the regularisation. The objective is
        ``C sum_q n_q L_q + |w|^2 / 2``, where L_q is the mean loss of all pairs of the query q, and
        n_q is its number of rows. A large query therefore counts more than a small one, in
        proportion to its rows and not to its pairs.

    gamma : {"scale", "auto"} or float, default="scale"
        Kernel coefficient in ``exp(-gamma |x - s|^2)``, as in `BudgetedSVC`.

    feature_scales : {"learn", "auto"} or array-like of shape (n_features,), default=None
        What each feature is multiplied by inside the kernel, as in `BudgetedSVC`. Scales are learnt
        from the ranks of relevance within the queries.

    max_iter : int, default=20
        Largest number of passes over the training data in `fit`. A pass makes one step for each
        row, with a random partner of the same query and another relevance. If `fit` polishes, there
        are at most five passes, which end early after 50 merges per support vector.

    maintenance : {"merge", "lookup-wd", "lookup-h", "gss", "gss-precise", "removal", \
            "projection"}, default="merge"
        Strategy that keeps the number of support vectors within the budget, as in `BudgetedSVC`.

    polish : bool or "thorough", default=True
        Whether `fit` solves for the coefficients after the passes, over all pairs, and moves the
        support vectors, as in `BudgetedSVC`.

    alpha : float, default=None
        The regularisation parameter lambda. If None, lambda is ``1 / (n C)``, where n is the
        number of rows in queries that have a pair. If given, `C` is ignored.

    half_life : float, default=None
        Number of rows after which a row counts half as much in `partial_fit`. If None, all rows
        count the same. `fit` ignores this parameter.

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
        Controls the order of the rows and their partners. Pass an int for reproducible results.

    verbose : int, default=0
        Whether to print a line after each pass.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_sv, n_features)
        The support vectors. Merged and moved vectors are generally not rows of X.
        They are in the units of X; zero where a feature scale is zero.

    dual_coef_ : ndarray of shape (1, n_sv)
        Coefficients of the support vectors.

    intercept_ : ndarray of shape (1,)
        Zero: a constant would not change any order.

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
        Counts and times of the last call, as in `BudgetedSVC`. A step is a pair of rows.

    n_features_in_ : int
        Number of features seen during fit.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during fit. Defined only if X has feature names that are all
        strings.

    See Also
    --------
    pocketsvm.BudgetedSVR : Regression.
    sklearn.metrics.ndcg_score : The score of a ranking.

    Notes
    -----
    Queries without a pair, because they have one row or rows of one relevance only, are ignored in
    training, and by `score`. As in `BudgetedSVC`, rows are stored in float32 if that is precise
    enough, and callbacks see each pass as a task.

    `qid` is metadata: ``BudgetedRanker().set_fit_request(qid=True).set_score_request(qid=True)``
    receives it in `GridSearchCV` and other meta-estimators if metadata routing is enabled. Split
    rows by query, for example with `GroupKFold`.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketsvm import BudgetedRanker
    >>> random = np.random.default_rng(0)
    >>> X, qid = random.normal(size=(1000, 3)), np.repeat(np.arange(50), 20)
    >>> y = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] ** 2, [0, 1, 2])
    >>> model = BudgetedRanker(budget=50, random_state=0).fit(X, y, qid=qid)
    >>> print(f"{model.score(X, y, qid=qid):.2f}")
    1.00
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: constraint
        for name, constraint in BudgetedMachine._parameter_constraints.items()
        if name != "fit_intercept"
    }

    _task: ClassVar[str] = "ranking"
    fit_intercept: ClassVar[bool] = False  # type: ignore[misc]

    def __init__(
        self,
        budget: int = 500,
        C: float = 1.0,
        *,
        gamma: str | float = "scale",
        feature_scales: Any = None,
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        alpha: float | None = None,
        half_life: float | None = None,
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
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.alpha = alpha
        self.half_life = half_life
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def fit(  # type: ignore[override]  # as in other rankers, qid comes before the weights
        self,
        X: Any,
        y: Any = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data set
            The rows. A data set, such as `pocketsvm.open_dataset` returns with `qid`, takes the
            place of X, y, qid and the weights, and need not fit into memory. If the rows of each
            query are contiguous, the model is fitted to all of them. Otherwise, it is fitted to
            whole queries, drawn at random, of at most 512 rows per support vector in total, and
            ``verbose=1`` says so.

        y : array-like of shape (n_samples,)
            The relevance of each row: any numbers, of which only the order in a query counts.

        qid : array-like of shape (n_samples,), default=None
            The query of each row, numbers or strings. The rows of a query need not be together.
            None means that all rows are of one query.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, the same for all rows of a query. Rows with zero weight are
            ignored.

        Returns
        -------
        self : BudgetedRanker
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, qid=qid)

    def _what(self) -> Ranking:
        return Ranking()

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def partial_fit(
        self,
        X: Any,
        y: Any,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Update the model with one pass over a batch of queries.

        Pairs are made of the rows of one batch: give all rows of a query in the same call. If
        `alpha` is None, the first call sets the regularisation to ``1e-4 / C``, the value that
        `fit` uses for 10,000 rows, because the length of the stream is unknown. Later calls keep
        ``alpha_``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows of this batch.

        y : array-like of shape (n_samples,)
            The relevance of each row.

        qid : array-like of shape (n_samples,), default=None
            The query of each row. None means that all rows are of one query.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, the same for all rows of a query.

        Returns
        -------
        self : BudgetedRanker
            The fitted estimator.
        """
        return self._partial_fit(self._what(), X, y, sample_weight, qid=qid)

    @follows_arrays
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores. Sort the rows of a query by descending score to rank them.
        """
        return self._decision_values(X).ravel()

    @follows_arrays
    def score(self, X: Any, y: Any = None, qid: ArrayLike | None = None) -> float:
        """Return the mean NDCG of the queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or data set
            The rows. A data set takes the place of X, y and qid.

        y : array-like of shape (n_samples,)
            The relevance of each row, not negative.

        qid : array-like of shape (n_samples,), default=None
            The query of each row. None means that all rows are of one query.

        Returns
        -------
        score : float
            The mean of `sklearn.metrics.ndcg_score` over the queries that have a pair; NaN if none
            has. Relevance is the gain. The best ranking has the score 1.
        """
        if (found := self._scored(X, y=y, qid=qid)) is not None:
            y, _, qid, values = found
            return mean_ndcg(y, values.ravel(), qid)
        return mean_ndcg(y, self.predict(X), qid)
