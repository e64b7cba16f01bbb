"""The decision boundary of a classifier, or of novelty detection."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.utils.validation import check_is_fitted

from .._sklearn import num_samples, safe_indexing
from ..estimators.steps import last_step
from .axes import COLORS, GREY, one_panel
from .plane import find_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend

# A light paper color: the plane where no class is ahead.
BACKGROUND = np.array([0.97, 0.97, 0.96])
# The largest share of its color that a class gives to the plane, so that points stay visible.
LARGEST_SHADE = 0.6
# More points than this hide the plane.
LARGEST_SAMPLE = 1500
# Rows and support vectors are drawn in darker colors than the plane behind them.
ROW_SHADE, VECTOR_SHADE = 0.65, 0.75
# Support vectors have areas from the first number to the sum of both, in square points.
SMALLEST_AREA, AREA_RANGE = 20, 110
# What the labels -1 and 1 of novelty detection mean.
NOVELTY_CLASSES = np.array(["outlier", "normal"])
# The plane is shaded by the decision values of novelty detection in units of this share of the
# offset, because the scores have no margin.
SHADED_SHARE = 0.25


@dataclass(eq=False, kw_only=True, repr=False)
class BoundaryDisplay:
    """The decision boundary in a plane, with rows and support vectors.

    Rows of two features are shown as they are. Rows of more features are projected onto the plane
    of their two leading principal components, through their mean; so are the support vectors. The
    boundary is the one inside that plane. If there are many rows, an even sample of at most 1,500
    of them is drawn and determines the plane.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, n)
        The points of the plane at which the decision function was evaluated.

    response : ndarray of shape (n, n, n_classes)
        The decision values there; for two classes, and for novelty detection, the negative of the
        value and the value.

    classes : ndarray of shape (n_classes,)
        The labels; for novelty detection, "outlier" and "normal".

    vectors : ndarray of shape (n_sv, 2)
        The support vectors in the plane.

    vector_codes : ndarray of shape (n_sv,)
        The class that each support vector supports most, as an index into `classes`.

    vector_weights : ndarray of shape (n_sv,)
        The norms of their coefficients.

    rows : ndarray of shape (n_drawn, 2)
        The rows in the plane, or an even sample of them.

    n_rows : int
        The number of all rows.

    row_codes : ndarray of shape (n_drawn,) or None
        The classes of `rows`, as indices into `classes`. If None, rows are not drawn.

    labels : tuple of two str
        The labels of the axes.

    offset : float or None
        For novelty detection, the score at the boundary; None for a classifier.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the boundary.

    figure_ : matplotlib Figure
        The figure of the axes.

    legend_ : matplotlib Legend
        The legend below the axes.

    See Also
    --------
    sklearn.inspection.DecisionBoundaryDisplay : Boundaries of any classifier of two features.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.plots import BoundaryDisplay
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=20, C=10.0, random_state=0).fit(X, y)
    >>> display = BoundaryDisplay.from_estimator(clf, X, y)
    >>> display.ax_.get_title()
    '300 rows, ... support vectors'
    """

    xx0: NDArray[Any]
    xx1: NDArray[Any]
    response: NDArray[Any]
    classes: NDArray[Any]
    vectors: NDArray[Any]
    vector_codes: NDArray[Any]
    vector_weights: NDArray[Any]
    rows: NDArray[Any]
    n_rows: int
    row_codes: NDArray[Any] | None = None
    labels: tuple[str, str] = ("feature 0", "feature 1")
    offset: float | None = None
    ax_: "Axes" = field(init=False)
    figure_: "Figure | SubFigure" = field(init=False)
    legend_: "Legend" = field(init=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 300,
        margin: float = 0.05,
        ax: "Axes | None" = None,
    ) -> Self:
        """Evaluate the decision function in the plane of the rows, and draw it.

        Parameters
        ----------
        estimator : BudgetedSVC, BudgetedOneClassSVM or Pipeline
            The fitted estimator, or a pipeline that ends in one. A pipeline is drawn in the plane
            of its input if the input has two features and the steps of the pipeline can be
            inverted, else in the plane of the rows that its last step receives.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,), default=None
            The labels; for novelty detection -1 and 1. If None, rows are not drawn, but novelty
            detection draws them by what it predicts.

        grid_resolution : int, default=300
            The number of points per side of the plane.

        margin : float, default=0.05
            The distance from the rows to the border of the plane, as a share of their range.

        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : BoundaryDisplay
            The display.
        """
        check_is_fitted(estimator)
        svm = last_step(estimator)
        is_novelty = is_outlier_detector(svm)
        if not (is_classifier(svm) or is_novelty):
            raise ValueError(
                f"A boundary needs a classifier or novelty detection, got {type(svm).__name__}."
            )
        n_rows = num_samples(X)
        drawn = np.arange(0, n_rows, max(-(-n_rows // LARGEST_SAMPLE), 1))
        estimator.decision_function(safe_indexing(X, drawn[:1]))  # raises if the rows do not fit
        plane = find_plane(estimator, svm, safe_indexing(X, drawn))
        low, high = plane.rows.min(axis=0), plane.rows.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        ticks = np.linspace(low - room, high + room, grid_resolution).T
        xx0, xx1 = np.meshgrid(*ticks)
        values = plane.decide(np.column_stack([xx0.ravel(), xx1.ravel()]))
        coefficients = svm.dual_coef_
        labels = np.array([-1, 1]) if is_novelty else svm.classes_
        if len(labels) == 2:
            values = np.column_stack([-values, values])
            coefficients = np.vstack([-coefficients, coefficients])
        row_codes = None if y is None else _codes(labels, y, n_rows)[drawn]
        if y is None and is_novelty:
            row_codes = np.searchsorted(labels, estimator.predict(safe_indexing(X, drawn)))
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=values.reshape(*xx0.shape, -1),
            classes=NOVELTY_CLASSES if is_novelty else labels,
            vectors=plane.vectors,
            vector_codes=coefficients.argmax(axis=0),
            vector_weights=np.linalg.norm(svm.dual_coef_, axis=0),
            rows=plane.rows,
            n_rows=n_rows,
            row_codes=row_codes,
            labels=plane.labels,
            offset=svm.offset_ if is_novelty else None,
        )
        return display.plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the plane, the boundary, the rows and the support vectors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : BoundaryDisplay
            The display, with ``ax_``, ``figure_`` and ``legend_``.
        """
        self.ax_ = one_panel(ax, size=(6.4, 6.6))
        self.figure_ = self.ax_.figure
        from matplotlib.colors import to_rgb

        colors = np.array([to_rgb(COLORS[k % len(COLORS)]) for k in range(len(self.classes))])
        self._draw_plane(colors)
        self._draw_points(colors)
        self.ax_.set(
            title=f"{self.n_rows:,} rows, {len(self.vectors):,} support vectors",
            xlabel=self.labels[0],
            ylabel=self.labels[1],
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
        )
        self._draw_legend(colors)
        return self

    def _draw_plane(self, colors: NDArray[Any]) -> None:
        """Shade the plane by class, more where the winner's lead is larger, and draw the lines."""
        ranked = np.sort(self.response, axis=2)
        lead = (ranked[..., -1] - ranked[..., -2]) / 2  # two classes: the absolute decision value
        unit = SHADED_SHARE * self.offset if self.offset else 1.0
        share = LARGEST_SHADE * (2 * expit(lead / unit) - 1)[..., None]
        shades = BACKGROUND + share * (colors[self.response.argmax(axis=2)] - BACKGROUND)
        self.ax_.imshow(
            shades,
            extent=(self.xx0.min(), self.xx0.max(), self.xx1.min(), self.xx1.max()),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
        )
        binary = len(self.classes) == 2
        self._has_boundary = self._has_margin = False
        for k in [1] if binary else range(len(self.classes)):
            others = np.delete(self.response, k, axis=2).max(axis=2)
            lead = (self.response[..., k] - others) / 2
            if self._draw_levels(lead, [0], colors="black", linewidths=1.6):
                self._has_boundary = True
            if binary and self.offset is None:
                style = {"colors": GREY, "linewidths": 0.7, "linestyles": ":"}
                self._has_margin = self._draw_levels(lead, [-1, 1], **style)

    def _draw_levels(self, values: NDArray[Any], levels: list[int], **style: Any) -> bool:
        """Draw contours at the levels that occur; tell whether there are any.

        matplotlib warns about the others.
        """
        occurring = [level for level in levels if values.min() < level < values.max()]
        if occurring:
            self.ax_.contour(self.xx0, self.xx1, values, occurring, **style)
        return bool(occurring)

    def _draw_points(self, colors: NDArray[Any]) -> None:
        """Draw the rows, if their classes are known, and the support vectors."""
        if self.row_codes is not None:
            self.ax_.scatter(
                self.rows[:, 0],
                self.rows[:, 1],
                c=ROW_SHADE * colors[self.row_codes],
                s=7,
                alpha=0.6,
                linewidths=0,
                zorder=2.5,
            )
        largest = self.vector_weights.max()
        self.ax_.scatter(
            self.vectors[:, 0],
            self.vectors[:, 1],
            s=SMALLEST_AREA + AREA_RANGE * self.vector_weights / (largest if largest > 0 else 1.0),
            c=VECTOR_SHADE * colors[self.vector_codes],
            edgecolors="white",
            linewidths=1.1,
            zorder=3,
        )

    def _draw_legend(self, colors: NDArray[Any]) -> None:
        from matplotlib.lines import Line2D

        dot: dict[str, Any] = {"marker": "o", "linestyle": "none"}
        handles = []
        if self._has_boundary:
            handles.append(Line2D([], [], color="black", lw=1.6, label="boundary"))
        if self._has_margin:
            handles.append(Line2D([], [], color=GREY, lw=0.8, ls=":", label="margin"))
        handles += [
            Line2D([], [], **dot, color=VECTOR_SHADE * color, markersize=5, label=str(label))
            for label, color in zip(self.classes, colors, strict=True)
        ]
        if self.row_codes is not None:
            every = round(self.n_rows / len(self.rows))
            name = "row" if every == 1 else f"row (1 in {every})"
            handles.append(Line2D([], [], **dot, color=GREY, markersize=3, label=name))
        disc = {**dot, "color": GREY, "mec": "white", "markersize": 10}
        handles.append(Line2D([], [], **disc, label="support vector (area: weight)"))
        self.legend_ = self.ax_.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.1),
            ncols=min(len(handles), 4),
            frameon=False,
            handletextpad=0.3,
            columnspacing=1.2,
        )


def _codes(classes: NDArray[Any], y: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Return labels as indices into the classes."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one label for each of the {n_rows} rows, got {labels.shape}."
        )
    unknown = np.setdiff1d(labels, classes)
    if len(unknown):
        raise ValueError(f"y holds labels that the model does not know: {unknown[:5]}.")
    return np.searchsorted(classes, labels)
