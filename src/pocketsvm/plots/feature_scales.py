"""The feature scales of a model."""

import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..estimators.steps import last_step
from ..model.model import Model
from ..rows.checked import check_rows
from ..rows.preparation import names_after, transformed
from .axes import COLORS, GREY, one_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Inches: of the figure, and of each bar.
WIDTH, MARGIN, BAR = 6.4, 1.0, 0.26
# Bars leave this much room for the numbers behind them, relative to the longest one.
ROOM_FOR_NUMBERS = 1.15


class FeatureScalesDisplay:
    """The feature scales of a model as bars, the largest first.

    A feature with a larger scale counts more in the kernel. Scales of features in different units
    cannot be compared: standardise the rows, or give them to `from_estimator`. A scale is no test
    of significance, and features that tell the same share what one of them would have.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    scales : ndarray of shape (n_features,)
        The scales.

    names : array-like of str of shape (n_features,)
        The names of the features.

    max_features : int, default=20
        The largest number of bars.

    is_relative : bool, default=False
        Whether the scales were multiplied by the standard deviations of the features.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.

    figure_ : matplotlib Figure
        The figure of the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.plots import FeatureScalesDisplay
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> clf = BudgetedSVC(20, feature_scales=[1.0, 0.0, 2.0], random_state=0)
    >>> display = FeatureScalesDisplay.from_estimator(clf.fit(X, X[:, 0] > X[:, 2] ** 2))
    >>> [tick.get_text() for tick in display.ax_.get_yticklabels()]
    ['x2', 'x0', 'x1']
    """

    ax_: "Axes"
    figure_: "Figure | SubFigure"

    def __init__(
        self,
        *,
        scales: NDArray[np.float64],
        names: ArrayLike,
        max_features: int = 20,
        is_relative: bool = False,
    ) -> None:
        self.scales = scales
        self.names = names
        self.max_features = max_features
        self.is_relative = is_relative

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        max_features: int = 20,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the feature scales of a fitted estimator.

        Parameters
        ----------
        estimator : estimator of pocketsvm, or Pipeline
            The fitted estimator, a search of C and gamma, or a pipeline that ends in one. With a
            pipeline or a preparation, the features are those after it.

        X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
            Rows as the estimator takes them. If given, each scale is multiplied by the standard
            deviation of its feature, so that features in different units can be compared.

        max_features : int, default=20
            The largest number of bars; the features with smaller scales are only counted.

        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : FeatureScalesDisplay
            The display.
        """
        check_is_fitted(estimator)
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        svm = last_step(getattr(last, "best_estimator_", last))
        model: Model = svm._model
        if (scales := model.feature_scales) is None:
            raise ValueError(
                "This model weighs all features alike. Fit it with feature_scales='learn', or give "
                "feature_scales an array."
            )
        own = () if model.preparation is None else model.preparation.steps
        steps = [*_before(estimator), *own]
        if X is not None:
            for step in _before(estimator):
                X = step.transform(X)
            rows = check_rows(copy.copy(svm), X, reset=False, layout=model.layout)
            prepared = transformed(own, rows.X)
            scales = scales * np.sqrt(StandardScaler(with_mean=False).fit(prepared).var_)
        names = names_after(getattr(estimator, "feature_names_in_", None), steps, len(scales))
        display = cls(
            scales=scales, names=names, max_features=max_features, is_relative=X is not None
        )
        return display.plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of a figure that shows the bars, in inches."""
        return WIDTH, MARGIN + BAR * min(len(np.asarray(self.scales)), self.max_features)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw a bar for each feature.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : FeatureScalesDisplay
            The display, with ``ax_`` and ``figure_``.
        """
        scales, names = np.asarray(self.scales), np.asarray(self.names, dtype=object)
        shown = np.argsort(-scales, kind="stable")[: self.max_features]
        self.ax_ = one_panel(ax, size=self.size)
        self.figure_ = self.ax_.figure
        places = np.arange(len(shown))
        bars = self.ax_.barh(places, scales[shown], color=COLORS[0], height=0.7)
        self.ax_.bar_label(bars, [f"{scale:.3g}" for scale in scales[shown]], padding=4, fontsize=9)
        self.ax_.set_yticks(places, [_shortened(str(name)) for name in names[shown]])
        self.ax_.set_ylim(len(shown) - 0.4, -0.6)
        self.ax_.set_xlim(0, ROOM_FOR_NUMBERS * float(scales.max()) or 1.0)
        self.ax_.set_xticks([])
        self.ax_.tick_params(axis="y", length=0)
        self.ax_.spines[["top", "right", "bottom"]].set_visible(False)
        unit = " per standard deviation" if self.is_relative else ""
        self.ax_.set_title(f"feature scales{unit}")
        if n_more := len(scales) - len(shown):
            most = scales[np.argsort(-scales, kind="stable")[len(shown)]]
            verb = "features have" if n_more > 1 else "feature has"
            note = f"{n_more:,} more {verb} scales up to {most:.3g}"
            self.ax_.set_xlabel(note, color=GREY, fontsize=9)
        return self


def _before(estimator: Any) -> tuple[Any, ...]:
    """Return what a pipeline does before its last step."""
    return (estimator[:-1],) if len(getattr(estimator, "steps", ())) > 1 else ()


def _shortened(name: str) -> str:
    """Return a name that fits beside a bar, in which no dollar begins a formula."""
    name = name if len(name) <= 30 else f"{name[:14]}…{name[-14:]}"
    return name.replace("$", r"\$")
