"""The score for several budgets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone, is_classifier
from sklearn.model_selection import validation_curve
from sklearn.utils.validation import check_is_fitted

from ..estimators.steps import parameter_name
from ..search.base import BudgetedSearch
from .axes import COLORS, GREY, one_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D


class BudgetDisplay:
    """The score against the budget of support vectors.

    `from_estimator` fits an estimator for several budgets. To draw existing results, use
    ``BudgetDisplay(budgets=..., scores=...).plot()``.

    Parameters
    ----------
    budgets : array-like of shape (n_budgets,)
        The budgets.

    scores : array-like of shape (n_budgets,) or (n_budgets, n_repetitions)
        The scores. If there are repetitions, their mean and standard deviation are drawn.

    reference : float, default=None
        A score to compare with, drawn as a dashed line.

    reference_name : str, default="reference"
        The name of that line.

    score_name : str, default="accuracy"
        The name of the score.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the curve.

    figure_ : matplotlib Figure
        The figure of the axes.

    line_, reference_line_ : matplotlib Line2D
        The curve of mean scores, and the dashed line; the latter is None without a reference.

    Examples
    --------
    >>> from pocketsvm.plots import BudgetDisplay
    >>> display = BudgetDisplay(budgets=[10, 20, 40], scores=[0.9, 0.95, 0.97], reference=0.98)
    >>> display.plot().ax_.get_xlabel()
    'budget of support vectors'
    """

    ax_: "Axes"
    figure_: "Figure | SubFigure"
    line_: "Line2D"
    reference_line_: "Line2D | None"

    def __init__(
        self,
        *,
        budgets: ArrayLike,
        scores: ArrayLike,
        reference: float | None = None,
        reference_name: str = "reference",
        score_name: str = "accuracy",
    ) -> None:
        self.budgets = np.asarray(budgets)
        self.scores = np.asarray(scores, dtype=float)
        if self.scores.shape[:1] != self.budgets.shape or self.scores.ndim > 2:
            raise ValueError(
                "There must be one score, or one row of scores, for each budget: got budgets of "
                f"shape {self.budgets.shape} and scores of shape {self.scores.shape}."
            )
        self.reference = reference
        self.reference_name = reference_name
        self.score_name = score_name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        budgets: Sequence[int] = (16, 32, 64, 128, 256, 512),
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        reference: float | None = None,
        reference_name: str = "reference",
        ax: "Axes | None" = None,
    ) -> Self:
        """Cross-validate an estimator for several budgets, and draw the scores.

        A search that was fitted with ``budget="auto"`` has these scores already: then give it
        alone.

        Parameters
        ----------
        estimator : BudgetedSVC, BudgetedSVR or Pipeline
            The estimator, or a pipeline that ends in one; it is cloned. Or a fitted
            `BudgetedSVCCV` or `BudgetedSVRCV` with ``budget="auto"``.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,)
            The labels or target values.

        budgets : sequence of int, default=(16, 32, 64, 128, 256, 512)
            The budgets to try.

        cv : int or splitter, default=5
            Folds, as in `sklearn.model_selection.validation_curve`.

        scoring : str or callable, default=None
            The score. None means the estimator's `score`.

        n_jobs : int, default=None
            The number of fits that run in parallel.

        reference : float, default=None
            A score to compare with, drawn as a dashed line.

        reference_name : str, default="reference"
            The name of that line.

        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : BudgetDisplay
            The display.
        """
        if isinstance(estimator, BudgetedSearch):
            budgets, scores = _found_scores(estimator)
            scoring = estimator.scoring if scoring is None else scoring
        else:
            _, scores = validation_curve(
                clone(estimator),
                X,
                y,
                param_name=parameter_name(estimator, "budget"),
                param_range=budgets,
                cv=cv,
                scoring=scoring,
                n_jobs=n_jobs,
                error_score="raise",
            )
        default = "accuracy" if is_classifier(estimator) else "R²"
        display = cls(
            budgets=budgets,
            scores=scores,
            reference=reference,
            reference_name=reference_name,
            score_name=default if scoring is None else _name_of_score(scoring),
        )
        return display.plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the curve, a band of one standard deviation, and the reference.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : BudgetDisplay
            The display, with ``ax_``, ``figure_``, ``line_`` and ``reference_line_``.
        """
        self.ax_ = one_panel(ax, size=(6.4, 4.2))
        self.figure_ = self.ax_.figure
        order = np.argsort(self.budgets)
        budgets = self.budgets[order]
        scores = self.scores.reshape(len(order), -1)[order]
        mean, deviation = scores.mean(axis=1), scores.std(axis=1)
        (self.line_,) = self.ax_.plot(
            budgets, mean, "o-", color=COLORS[0], label="mean" if deviation.any() else "score"
        )
        if deviation.any():
            self.ax_.fill_between(
                budgets,
                mean - deviation,
                mean + deviation,
                color=COLORS[0],
                alpha=0.2,
                linewidth=0,
                label=f"± one standard deviation of {scores.shape[1]}",
            )
        self.reference_line_ = None
        if self.reference is not None:
            self.reference_line_ = self.ax_.axhline(
                self.reference, color=GREY, ls="--", lw=1.2, label=self.reference_name
            )
        self._label_axes([f"{budget:,}" for budget in budgets], budgets)
        return self

    def _label_axes(self, names: list[str], budgets: Any) -> None:
        """Label each budget on a logarithmic axis, with a light grid and without a box."""
        from matplotlib.ticker import NullLocator

        self.ax_.set_xscale("log", base=2)
        self.ax_.set_xticks(budgets, names)
        self.ax_.xaxis.set_minor_locator(NullLocator())
        self.ax_.set(xlabel="budget of support vectors", ylabel=self.score_name)
        self.ax_.grid(color="#e5e5e5", lw=0.6)
        self.ax_.set_axisbelow(True)
        self.ax_.spines[["top", "right"]].set_visible(False)
        self.ax_.legend(frameon=False)


def _name_of_score(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def _found_scores(search: BudgetedSearch) -> tuple[list[int], NDArray[np.float64]]:
    """Return the budgets and scores of a fitted search."""
    check_is_fitted(search)
    if not hasattr(search, "budget_scores_"):
        raise ValueError('The search compared no budgets: fit it with budget="auto".')
    return search.budgets_.tolist(), search.budget_scores_
