"""`BudgetedSVCCV` and `BudgetedSVRCV`: C and gamma by cross-validation, inside `fit`."""

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from .._sklearn import StrOptions, fit_context
from ..estimators.base import BudgetedMachine
from ..estimators.classifier import LOSSES, BudgetedSVC, ClassPredictions
from ..estimators.namespaces import follows_arrays
from ..estimators.regressor import BudgetedSVR, ValuePredictions, checked_quantile
from ..tasks.base import Task
from ..tasks.classification import Classification
from ..tasks.regression import Regression
from ..training.settings import SEARCH_CHOICES
from ..training.targets import Targets
from .base import BudgetedSearch


class BudgetedSVCCV(ClassPredictions, BudgetedSearch):
    """`BudgetedSVC` that finds C and gamma by cross-validation.

    `fit` tries at least 18 pairs of C and gamma, and fits the best one on all rows. Every score is
    that of a plain `BudgetedSVC`, fitted to the training rows of a fold. With many rows, pairs are
    compared on small copies of folds first, so that a search takes about as long as eight fits;
    with some thousand rows, it takes twice or three times as long.

    Parameters
    ----------
    budget : int or "auto", default=500
        Maximum number of support vectors in the whole model, as in `BudgetedSVC`. With "auto", C
        and gamma are found with 500 support vectors, or with all rows if there are fewer. Then the
        budget is halved again and again, and the smallest one whose score is within one standard
        error of the best is chosen.

    Cs : int or array-like of float, default=None
        Values of C to try. None means 1/8, 1 and 8, further ones if the best lies at the border,
        and values between them around the best. A number means so many values from 1e-4 to 1e4 on a
        logarithmic scale, as in `sklearn.linear_model.LogisticRegressionCV`, and no others.

    gammas : int or array-like of float, default=None
        Values of gamma to try. None means six powers of two, a factor of four apart, from 1/64 to
        16 times "scale"; further ones if the best lies at the border, and values between them
        around the best. A number, from two on, means so many values on a logarithmic scale from
        1/64 to 16 times "scale", and no others.

    feature_scales : {"learn", "auto"}, array-like of shape (n_features,) or None, default="auto"
        What each feature is multiplied by inside the kernel, as in `BudgetedSVC`. "learn" finds the
        scales for every fold from its training rows, and in the end from all rows. "auto" makes two
        searches, one of which weighs all features alike, and chooses the other one if its error is
        smaller by 2 percent, and by more than a standard error of the differences of folds; if it
        is larger by 2 percent on the first folds, the others are not tried. With fewer than 1,000
        rows, more than 1,024 features, given values of gamma or ``polish=False``, it makes the
        first one only. None makes this one, too, in less time. Use the values found together with
        ``feature_scales_``.

    loss : {"auto", "hinge", "squared_hinge", "log_loss"}, default="auto"
        The loss, as in `BudgetedSVC`. "log_loss" gives `predict_proba`. "auto" is "hinge"; with
        more than two classes and at most 1,000 rows, "log_loss" is searched as well, from the best
        values of the hinge on, and the one with the better score is chosen. The hinge separates
        each class from all others, which is hard for a class that lies between others; the log loss
        compares the classes directly. A `scoring` that needs probabilities has "log_loss" alone.

    cv : int, splitter or iterable, default=5
        The folds. A number means so many shuffled folds, stratified by class. A splitter may use
        the `groups` given to `fit`.

    scoring : str or callable, default=None
        The score to maximise, and that of `score`, as in `sklearn.model_selection.GridSearchCV`.
        None means accuracy.

    max_iter : int, default=20
        Largest number of passes of a fit, as in `BudgetedSVC`.

    maintenance : str, default="merge"
        What keeps the budget, as in `BudgetedSVC`.

    polish : bool or "thorough", default=True
        As in `BudgetedSVC`.

    fit_intercept : bool, default=True
        Whether to fit an intercept.

    class_weight : dict or "balanced", default=None
        Weight of each class, as in `BudgetedSVC`. "balanced" is computed for every fold anew.

    n_jobs : int, default=None
        Number of threads. None means 1 unless in a `joblib.parallel_config` context. -1 means using
        all processors. The result is the same for any number of threads.

    device : {"cpu", "cuda", "auto"} or str, default="cpu"
        What computes kernel values, in the search, too; as in `BudgetedSVC`.

    random_state : int, RandomState instance or None, default=None
        Controls the folds, samples and the order of the rows. Pass an int for reproducible results.

    verbose : int, default=0
        Whether to print a line for each round of the search.

    Attributes
    ----------
    C_, gamma_ : float
        The best values.

    loss_ : str
        The loss of the final model.

    best_params_ : dict
        The same by name: ``{"C": ..., "gamma": ...}``, the budget and the feature scales if they
        were "auto", and the loss if several were compared.

    best_score_ : float
        The mean score of the best pair on the held-out rows, ``cv_results_["mean_test_score"]`` at
        `best_index_`. With ``budget="auto"``, it is that of the chosen budget, the mean of its line
        in `budget_scores_`. Like that of any search, it is one of the highest of many: expect a
        little less on new rows.

    best_index_ : int
        The position of the best pair in `cv_results_`: the one with the highest mean score, and
        among equals the one in the middle of their values.

    best_estimator_ : BudgetedSVC
        The plain estimator with these values, fitted on all rows.

    cv_results_ : dict of str to ndarray
        All pairs that were tried, as in `sklearn.model_selection.GridSearchCV`. A pair that was
        dropped has NaN as scores of folds, and ranks behind the others; its mean score is that of
        some folds, or of small copies. ``n_resources`` tells how many rows a mean score is based
        on.

    Cs_, gammas_ : ndarray
        The values that were tried, ascending.

    scores_ : ndarray of shape (n_gammas, n_Cs, n_folds)
        The score of each pair on each fold; NaN where a pair was dropped or not tried. If several
        losses were compared, `Cs_`, `gammas_` and `scores_` are those of the best one.

    scorer_ : callable
        What `score` calls.

    n_splits_ : int
        The number of folds.

    budget_ : int
        The budget.

    budgets_ : ndarray of shape (n_budgets,)
        The budgets that were compared, ascending. Only with ``budget="auto"``.

    budget_scores_ : ndarray of shape (n_budgets, n_folds)
        Their scores on each fold. `pocketsvm.plots.BudgetDisplay` draws them.

    support_vectors_, dual_coef_, intercept_, classes_, alpha_, n_iter_, profile_, \
n_features_in_, feature_names_in_, feature_scales_
        As in `BudgetedSVC`, of the final fit.

    See Also
    --------
    BudgetedSVC : The plain estimator.
    sklearn.model_selection.GridSearchCV : A search over any parameters.

    Notes
    -----
    A pair is scored on rows that its fit has not seen. The search scores all pairs on one fold
    after another, and drops the worse half after each fold.

    If a fold has 1,000 training rows or more, the search first scores the grid on small copies of
    folds. They have 10 percent of the rows and of the budget, and at least 500 rows. The best pairs
    and the defaults are scored on copies with three times as many rows, and the best of these on
    the folds, where larger values of gamma are tried, too. Only the best pair is scored on all
    folds. A copy has at most 64 rows per vector of the budget, for at least 500 vectors. A data set
    that is not in memory is replaced by a weighted sample of at most four times as many rows.

    Callbacks (`set_callbacks`) see each round as a task, each fit of a fold as a task within it,
    and the last fit. `pocketsvm.callbacks.Checkpoint` keeps the scores; the last fit has a file of
    its own, whose name ends with ``.fit``. Metadata routing passes `groups` on without a request.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVCCV
    >>> X, y = make_moons(600, noise=0.2, random_state=0)
    >>> clf = BudgetedSVCCV(budget=30, random_state=0).fit(X, y)
    >>> print(f"{clf.best_score_:.2f} on held-out rows, {clf.score(X, y):.2f} on all rows")
    0.9... on held-out rows, 0.9... on all rows
    >>> sorted(clf.best_params_)
    ['C', 'feature_scales', 'gamma']
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSearch._parameter_constraints,
        "loss": [StrOptions({"auto", *LOSSES})],
        "class_weight": BudgetedSVC._parameter_constraints["class_weight"],
    }

    _kind = BudgetedSVC
    score = BudgetedSearch.score  # not that of the mixin

    def __init__(
        self,
        budget: int | str = 500,
        *,
        Cs: Any = None,
        gammas: Any = None,
        feature_scales: Any = "auto",
        loss: str = "auto",
        cv: Any = 5,
        scoring: Any = None,
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        fit_intercept: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.Cs = Cs
        self.gammas = gammas
        self.feature_scales = feature_scales
        self.loss = loss
        self.cv = cv
        self.scoring = scoring
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Find C and gamma, and fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data set
            The rows. A data set, such as `pocketsvm.open_dataset` returns, takes the place of X
            and y: the settings are compared on the sample that a fit draws, and the model is then
            fitted to all rows.

        y : array-like of shape (n_samples,)
            The class labels.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, for training and for scores.

        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a splitter that uses groups.

        Returns
        -------
        self : BudgetedSVCCV
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    def _plain(self, **parameters: Any) -> BudgetedMachine:
        loss = "hinge" if self.loss == "auto" else self.loss
        return super()._plain(**{"loss": loss} | parameters)

    def _what(self) -> Task:
        return Classification("hinge" if self.loss == "auto" else self.loss, self.class_weight)

    def _choices(self, targets: Targets, n_rows: int) -> list[dict[str, Any]]:
        few = targets.n_problems > 1 and n_rows <= SEARCH_CHOICES.few_rows
        if self.loss != "auto" or not few or not self.polish:
            return [{}]
        return [{"loss": "hinge"}, {"loss": "log_loss"}]

    def _for_probabilities(self) -> dict[str, Any]:
        return {"loss": "log_loss"} if self.loss == "auto" else {}


class BudgetedSVRCV(ValuePredictions, BudgetedSearch):
    """`BudgetedSVR` that finds C and gamma by cross-validation.

    The search is that of `BudgetedSVCCV`. It takes one target; for several, wrap this estimator in
    `sklearn.multioutput.MultiOutputRegressor`, which finds C and gamma for each.

    Parameters
    ----------
    budget : int or "auto", default=500
        Maximum number of support vectors. "auto" is as in `BudgetedSVCCV`.

    Cs : int or array-like of float, default=None
        Values of C to try. None, or a number, means the values of `BudgetedSVCCV` times the spread
        of the targets, because C is in units of the targets.

    gammas : int or array-like of float, default=None
        Values of gamma to try, as in `BudgetedSVCCV`.

    feature_scales : {"learn", "auto"}, array-like of shape (n_features,) or None, default="auto"
        What each feature is multiplied by inside the kernel, as in `BudgetedSVCCV`.

    epsilon : float, default=0.1
        As in `BudgetedSVR`, in units of the targets.

    loss, quantile
        As in `BudgetedSVR`. With the losses "squared_error" and "huber", the default values of C do
        not depend on the targets.

    cv : int, splitter or iterable, default=5
        The folds. A number means so many shuffled folds.

    scoring : str or callable, default=None
        The score to maximise, and that of `score`, as in `sklearn.model_selection.GridSearchCV`.
        None means the score of `BudgetedSVR`.

    max_iter, maintenance, polish, fit_intercept
        As in `BudgetedSVCCV`.

    n_jobs, device, random_state, verbose
        As in `BudgetedSVCCV`.

    Attributes
    ----------
    C_, gamma_, loss_, best_params_, best_score_, best_index_, best_estimator_, cv_results_, Cs_, \
gammas_, scores_, n_splits_, budget_, budgets_, budget_scores_
        As in `BudgetedSVCCV`.

    support_vectors_, dual_coef_, intercept_, alpha_, n_iter_, profile_, n_features_in_, \
feature_names_in_, feature_scales_
        As in `BudgetedSVR`, of the final fit.

    See Also
    --------
    BudgetedSVR : The plain estimator.
    BudgetedSVCCV : The same for classes; its notes tell how it searches.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from pocketsvm import BudgetedSVRCV
    >>> X, y = make_friedman1(600, noise=0.5, random_state=0)
    >>> model = BudgetedSVRCV(budget=50, random_state=0).fit(X, y)
    >>> print(f"{model.best_score_:.2f}")
    0.96
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BudgetedSearch._parameter_constraints,
        **{
            name: BudgetedSVR._parameter_constraints[name]
            for name in ("epsilon", "loss", "quantile")
        },
    }

    _kind = BudgetedSVR
    score = BudgetedSearch.score  # not that of the mixin
    epsilon: float
    loss: str
    quantile: Any

    def __init__(
        self,
        budget: int | str = 500,
        *,
        Cs: Any = None,
        gammas: Any = None,
        feature_scales: Any = "auto",
        epsilon: float = 0.1,
        loss: str = "epsilon_insensitive",
        quantile: Any = 0.5,
        cv: Any = 5,
        scoring: Any = None,
        max_iter: int = 20,
        maintenance: str = "merge",
        polish: bool | str = True,
        fit_intercept: bool = True,
        n_jobs: int | None = None,
        device: str = "cpu",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.budget = budget
        self.Cs = Cs
        self.gammas = gammas
        self.feature_scales = feature_scales
        self.epsilon = epsilon
        self.loss = loss
        self.quantile = quantile
        self.cv = cv
        self.scoring = scoring
        self.max_iter = max_iter
        self.maintenance = maintenance
        self.polish = polish
        self.fit_intercept = fit_intercept
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def _what(self) -> Task:
        quantile = checked_quantile(self.quantile, self.loss)
        return Regression(self.loss, float(self.epsilon), quantile)

    @fit_context(prefer_skip_nested_validation=True)
    @follows_arrays
    def fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Find C and gamma, and fit the model to the training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or data set
            The rows. A data set, such as `pocketsvm.open_dataset` returns, takes the place of X
            and y: the settings are compared on the sample that a fit draws, and the model is then
            fitted to all rows.

        y : array-like of shape (n_samples,)
            The targets.

        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of the rows, for training and for scores.

        groups : array-like of shape (n_samples,), default=None
            The group of each row, for a splitter that uses groups.

        Returns
        -------
        self : BudgetedSVRCV
            The fitted estimator.
        """
        self._fit(X, y, sample_weight, groups)
        return self
