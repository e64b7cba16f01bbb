"""Pictures: the boundary, the profile, accuracy against budget, the merge table, the tuning map.

Each is a Display class in scikit-learn's manner: `from_estimator` computes and draws, `plot` draws
again, and the figure and the axes are its attributes ``figure_`` and ``ax_``. matplotlib is loaded
when the first picture is drawn.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.model_selection import validation_curve
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..merge_table import MergeTable
from ..profile import Profile
from ..tuning import ScoreMap, last_step, parameter_name, written

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BoundaryDisplay",
    "BudgetDisplay",
    "MergeTableDisplay",
    "ProfileDisplay",
    "TuningDisplay",
]

# M. Petroff's ten colours, told apart by colour-blind people too.
COLORS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6",
    "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
PAPER = np.array([0.97, 0.97, 0.96])
GREY = "#555555"
MOST_SHADE = 0.6  # how much of its colour a class gives to the plane at most
MOST_ROWS = 1500  # that are drawn
H_LEVELS, WD_LEVELS = np.linspace(0, 1, 21), np.logspace(-5, 0, 21)


class BoundaryDisplay:
    """The decision boundary in a plane, with rows and support vectors.

    Rows of two features are shown as they are. With more features the plane is that of the two
    leading principal components of the rows, through their mean: the boundary is the one inside
    that plane, rows and support vectors are projected onto it. Of many rows an even sample of at
    most 1,500 is drawn, and decides the plane.

    It is recommended to use `from_estimator` to make one.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (n, n)
        The points of the plane at which the decision function was evaluated.

    response : ndarray of shape (n, n, n_classes)
        The decision values there; for two classes, the value and its negative.

    classes : ndarray of shape (n_classes,)
        The labels.

    vectors : ndarray of shape (n_sv, 2)
        The support vectors in the plane.

    vector_codes : ndarray of shape (n_sv,)
        The class that each supports most, as an index into `classes`.

    vector_weights : ndarray of shape (n_sv,)
        The size of their coefficients.

    rows : ndarray of shape (n_drawn, 2)
        The rows in the plane, or an even sample of them.

    n_rows : int
        How many rows there are.

    row_codes : ndarray of shape (n_drawn,) or None
        The classes of `rows`, as indices into `classes`. None: rows are not drawn.

    labels : tuple of two str
        What the axes are called.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.

    figure_ : matplotlib Figure
        The figure they are in.

    legend_ : matplotlib Legend
        The legend under the picture.

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

    def __init__(
        self,
        *,
        xx0: NDArray[Any],
        xx1: NDArray[Any],
        response: NDArray[Any],
        classes: NDArray[Any],
        vectors: NDArray[Any],
        vector_codes: NDArray[Any],
        vector_weights: NDArray[Any],
        rows: NDArray[Any],
        n_rows: int,
        row_codes: NDArray[Any] | None = None,
        labels: tuple[str, str] = ("feature 0", "feature 1"),
    ) -> None:
        self.xx0 = xx0
        self.xx1 = xx1
        self.response = response
        self.classes = classes
        self.vectors = vectors
        self.vector_codes = vector_codes
        self.vector_weights = vector_weights
        self.rows = rows
        self.n_rows = n_rows
        self.row_codes = row_codes
        self.labels = labels

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
        """Evaluate the decision function in the plane of the rows, and draw.

        Parameters
        ----------
        estimator : BudgetedSVC or Pipeline
            The fitted classifier, or a pipeline that ends in one. A pipeline's plane is that of
            the rows it is given if they have two features and its steps can be inverted, else of
            the rows that its classifier sees.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,), default=None
            Their labels. Without them only the plane and the support vectors are drawn.

        grid_resolution : int, default=300
            Points a side of the plane.

        margin : float, default=0.05
            How far the plane reaches beyond the rows, as a share of their range.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : BoundaryDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        machine = last_step(estimator)
        if not is_classifier(machine):
            raise ValueError(f"A boundary needs a classifier, got {type(machine).__name__}.")
        n_rows = _num_samples(X)
        drawn = np.arange(0, n_rows, max(-(-n_rows // MOST_ROWS), 1))
        estimator.decision_function(_safe_indexing(X, drawn[:1]))  # refuses rows that do not fit
        plane = _Plane(estimator, machine, _safe_indexing(X, drawn))
        low, high = plane.rows.min(axis=0), plane.rows.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        ticks = np.linspace(low - room, high + room, grid_resolution).T
        xx0, xx1 = np.meshgrid(*ticks)
        values = plane.decide(np.column_stack([xx0.ravel(), xx1.ravel()]))
        coefficients = machine.dual_coef_
        if len(machine.classes_) == 2:
            values = np.column_stack([-values, values])
            coefficients = np.vstack([-coefficients, coefficients])
        display = cls(
            xx0=xx0,
            xx1=xx1,
            response=values.reshape(*xx0.shape, -1),
            classes=machine.classes_,
            vectors=plane.vectors,
            vector_codes=coefficients.argmax(axis=0),
            vector_weights=np.linalg.norm(machine.dual_coef_, axis=0),
            rows=plane.rows,
            n_rows=n_rows,
            row_codes=None if y is None else _codes(machine.classes_, y, n_rows)[drawn],
            labels=plane.labels,
        )
        return display.plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the plane, the boundary, the rows and the support vectors.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : BoundaryDisplay
            With ``ax_``, ``figure_`` and ``legend_``.
        """
        _start(self, ax, figsize=(6.4, 6.6))
        from matplotlib.colors import to_rgb

        colors = np.array([to_rgb(COLORS[k % len(COLORS)]) for k in range(len(self.classes))])
        self._draw_plane(colors)
        if self.row_codes is not None:
            self.ax_.scatter(
                *self.rows.T,
                c=0.65 * colors[self.row_codes],
                s=7,
                alpha=0.6,
                linewidths=0,
                zorder=2.5,
            )
        largest = self.vector_weights.max()
        self.ax_.scatter(
            *self.vectors.T,
            s=20 + 110 * self.vector_weights / (largest if largest > 0 else 1.0),
            c=0.75 * colors[self.vector_codes],
            edgecolors="white",
            linewidths=1.1,
            zorder=3,
        )
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
        """Shade the plane by class, stronger where the winner is ahead; then the boundary."""
        ahead = np.sort(self.response, axis=2)
        ahead = (ahead[..., -1] - ahead[..., -2]) / 2  # for two classes: the decision value's size
        share = MOST_SHADE * (2 * expit(ahead) - 1)[..., None]
        shades = PAPER + share * (colors[self.response.argmax(axis=2)] - PAPER)
        self.ax_.imshow(
            shades,
            extent=(self.xx0.min(), self.xx0.max(), self.xx1.min(), self.xx1.max()),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
        )
        two = len(self.classes) == 2
        for k in [1] if two else range(len(self.classes)):
            others = np.delete(self.response, k, axis=2).max(axis=2)
            lead = (self.response[..., k] - others) / 2
            self._draw_level(lead, [0], colors="black", linewidths=1.6)
            if two:
                self._draw_level(lead, [-1, 1], colors=GREY, linewidths=0.7, linestyles=":")

    def _draw_level(self, values: NDArray[Any], levels: list[int], **style: Any) -> None:
        """Draw contours at the levels that occur: matplotlib warns about the others."""
        occurring = [level for level in levels if values.min() < level < values.max()]
        if occurring:
            self.ax_.contour(self.xx0, self.xx1, values, occurring, **style)

    def _draw_legend(self, colors: NDArray[Any]) -> None:
        from matplotlib.lines import Line2D

        dot: dict[str, Any] = {"marker": "o", "linestyle": "none"}
        handles = [Line2D([], [], color="black", lw=1.6, label="boundary")]
        if len(self.classes) == 2:
            handles.append(Line2D([], [], color=GREY, lw=0.8, ls=":", label="margin"))
        handles += [
            Line2D([], [], **dot, color=0.75 * color, markersize=5, label=str(label))
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


class _Plane:
    """Where a boundary is drawn: rows and vectors in two coordinates, and the way back."""

    def __init__(self, estimator: Any, machine: Any, X: Any) -> None:
        steps = estimator[:-1] if estimator is not machine else None
        names = getattr(X, "columns", None)
        if _width(X) == 2 and (steps is None or _inverts(steps, X)):
            self.rows = _dense(X)
            vectors = machine.support_vectors_
            self.vectors = _dense(vectors if steps is None else steps.inverse_transform(vectors))
            self.labels = ("feature 0", "feature 1") if names is None else (*map(str, names),)
            self.decide = lambda points: estimator.decision_function(_named(points, names))
            return
        inner = _dense(X if steps is None else steps.transform(X))
        if inner.shape[1] < 2:
            raise ValueError("A boundary needs rows of at least two features, got one.")
        components = PCA(2, random_state=0).fit(inner)
        self.rows = components.transform(inner)
        self.vectors = components.transform(machine.support_vectors_.astype(float))
        shares = components.explained_variance_ratio_
        self.labels = (
            f"principal component 1 ({shares[0]:.0%} of the variance)",
            f"principal component 2 ({shares[1]:.0%})",
        )
        names = getattr(machine, "feature_names_in_", None)
        self.decide = lambda points: machine.decision_function(
            _named(components.inverse_transform(points), names)
        )


class ProfileDisplay:
    """Where the time of a training went, and what it did.

    It is recommended to use `from_estimator` to make one.

    Parameters
    ----------
    profile : Profile
        What an estimator has as its ``profile_``.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        The axes of the seconds and of the counts.

    figure_ : matplotlib Figure
        The figure they are in.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.plots import ProfileDisplay
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> display = ProfileDisplay.from_estimator(BudgetedSVC(20, random_state=0).fit(X, y))
    >>> [tick.get_text() for tick in display.ax_[1].get_yticklabels()]
    ['steps', 'violations', 'merges', 'removals']
    """

    def __init__(self, *, profile: Profile) -> None:
        self.profile = profile

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw the profile of a fitted estimator.

        Parameters
        ----------
        estimator : BudgetedSVC, BudgetedSVR or Pipeline
            The fitted estimator, or a pipeline that ends in one.

        ax : two matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : ProfileDisplay
            What was drawn.
        """
        check_is_fitted(estimator)
        return cls(profile=last_step(estimator).profile_).plot(ax)

    def plot(self, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw two panels of bars.

        Parameters
        ----------
        ax : two matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : ProfileDisplay
            With ``ax_`` and ``figure_``.
        """
        p = self.profile
        _start(self, ax, 2, figsize=(9.6, 3.0))
        timed = p.seconds_margin + p.seconds_solve + p.seconds_rest
        seconds = {
            "kernel rows, margins": p.seconds_margin,
            "merging: solve (A)": p.seconds_solve,
            "merging: rest (B)": p.seconds_rest,
            "rest of the passes": max(p.seconds_total - timed, 0.0),
            "polishing": p.seconds_polish,
        }
        counts = {
            "steps": p.steps,
            "violations": p.violations,
            "merges": p.merges,
            "removals": p.removals,
        }
        total = sum(seconds.values())
        colors = [COLORS[k] for k in (0, 2, 1, 3, 4)]
        _draw_bars(self.ax_[0], seconds, total, _duration, colors)
        _draw_bars(self.ax_[1], counts, p.steps, "{:,}".format, COLORS[0])
        self.ax_[0].set_title(f"where {_duration(total)} went")
        self.ax_[1].set_title("what happened, in shares of the steps")
        return self


class BudgetDisplay:
    """The score against the budget of support vectors.

    `from_estimator` fits for several budgets; results at hand are drawn by
    ``BudgetDisplay(budgets=..., scores=...).plot()``.

    Parameters
    ----------
    budgets : array-like of shape (n_budgets,)
        The budgets.

    scores : array-like of shape (n_budgets,) or (n_budgets, n_repetitions)
        Their scores; of several repetitions, mean and standard deviation are drawn.

    reference : float, default=None
        A score to compare with, drawn as a dashed line.

    reference_name : str, default="reference"
        What the line is called.

    score_name : str, default="accuracy"
        What is scored.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.

    figure_ : matplotlib Figure
        The figure they are in.

    line_, reference_line_ : matplotlib Line2D
        The curve of mean scores, and the dashed line, None without a reference.

    Examples
    --------
    >>> from pocketsvm.plots import BudgetDisplay
    >>> display = BudgetDisplay(budgets=[10, 20, 40], scores=[0.9, 0.95, 0.97], reference=0.98)
    >>> display.plot().ax_.get_xlabel()
    'budget of support vectors'
    """

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
        X: Any,
        y: ArrayLike,
        *,
        budgets: Sequence[int] = (16, 32, 64, 128, 256, 512),
        cv: Any = 5,
        scoring: Any = None,
        n_jobs: int | None = None,
        reference: float | None = None,
        reference_name: str = "reference",
        ax: "Axes | None" = None,
    ) -> Self:
        """Cross-validate an estimator for several budgets, and draw.

        Parameters
        ----------
        estimator : BudgetedSVC, BudgetedSVR or Pipeline
            The estimator, or a pipeline that ends in one; it is cloned.

        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        y : array-like of shape (n_samples,)
            Their labels.

        budgets : sequence of int, default=(16, 32, 64, 128, 256, 512)
            The budgets to try.

        cv : int or splitter, default=5
            Folds, as in `sklearn.model_selection.validation_curve`.

        scoring : str or callable, default=None
            What to measure; None takes the estimator's `score`.

        n_jobs : int, default=None
            Fits side by side.

        reference : float, default=None
            A score to compare with, drawn as a dashed line.

        reference_name : str, default="reference"
            What the line is called.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : BudgetDisplay
            What was drawn.
        """
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
            score_name=default if scoring is None else _name(scoring),
        )
        return display.plot(ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the curve, a band of one standard deviation, and the reference.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : BudgetDisplay
            With ``ax_``, ``figure_``, ``line_`` and ``reference_line_``.
        """
        _start(self, ax, figsize=(6.4, 4.2))
        from matplotlib.ticker import NullLocator

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
        self.ax_.set_xscale("log", base=2)
        self.ax_.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        self.ax_.xaxis.set_minor_locator(NullLocator())
        self.ax_.set(xlabel="budget of support vectors", ylabel=self.score_name)
        _quiet(self.ax_)
        self.ax_.legend(frameon=False)
        return self


class MergeTableDisplay:
    """The paper's two graphs: h, and wd on a logarithmic scale.

    Parameters
    ----------
    table : MergeTable
        The table to draw.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        The axes of h and of wd.

    figure_ : matplotlib Figure
        The figure they are in.

    Examples
    --------
    >>> from pocketsvm import MergeTable
    >>> from pocketsvm.plots import MergeTableDisplay
    >>> display = MergeTableDisplay(table=MergeTable(100)).plot()
    >>> [ax.get_xlabel() for ax in display.ax_]
    ['$m$', '$m$']
    """

    def __init__(self, *, table: MergeTable) -> None:
        self.table = table

    def plot(self, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw two contour maps.

        Parameters
        ----------
        ax : two matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : MergeTableDisplay
            With ``ax_`` and ``figure_``.
        """
        _start(self, ax, 2, figsize=(10, 4.2))
        from matplotlib.colors import LogNorm

        kappa, m = np.mgrid[0:1:401j, 0:1:401j]
        # wd is exactly zero on three borders; the logarithm ends where the eye does.
        wd = np.maximum(self.table.wd(m, kappa), WD_LEVELS[0])
        self._draw(0, m, kappa, self.table.h(m, kappa), r"$h(m, \kappa)$", H_LEVELS)
        self._draw(1, m, kappa, wd, r"$wd(m, \kappa)$", WD_LEVELS, norm=LogNorm())
        return self

    def _draw(
        self,
        k: int,
        m: NDArray[Any],
        kappa: NDArray[Any],
        values: NDArray[Any],
        title: str,
        levels: NDArray[Any],
        norm: Any = None,
    ) -> None:
        ax = self.ax_[k]
        areas = ax.contourf(m, kappa, values, levels, norm=norm, cmap="viridis")
        ax.contour(m, kappa, values, levels, colors="white", linewidths=0.3)
        ax.figure.colorbar(areas, ax=ax, ticks=levels[::4])
        ax.set(xlabel="$m$", ylabel=r"$\kappa$", title=title, aspect="equal")


class TuningDisplay:
    """The score over C and gamma that a search found.

    It is recommended to use `from_estimator` to make one.

    Parameters
    ----------
    score_map : ScoreMap
        The scores, as `pocketsvm.tuning.ScoreMap.of` takes them from a search.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes drawn on.

    figure_ : matplotlib Figure
        The figure they are in.

    image_ : matplotlib AxesImage
        The cells.

    texts_ : ndarray of shape (n_gammas, n_Cs)
        The scores written in them.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.plots import TuningDisplay
    >>> from pocketsvm.tuning import tune
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=20, random_state=0)
    >>> search = tune(clf, X, y, C=[0.1, 1.0, 10.0], gamma=[0.1, 1.0])
    >>> TuningDisplay.from_estimator(search).image_.get_array().shape
    (2, 3)
    """

    def __init__(self, *, score_map: ScoreMap) -> None:
        self.score_map = score_map

    @classmethod
    def from_estimator(cls, search: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the map of a fitted search.

        Parameters
        ----------
        search : GridSearchCV or HalvingGridSearchCV
            The search, fitted: what `pocketsvm.tuning.tune` returns, or one's own over C or gamma.

        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : TuningDisplay
            What was drawn.
        """
        return cls(score_map=ScoreMap.of(search)).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Inches across and down that leave room for every score."""
        n_gammas, n_cs = self.score_map.scores.shape
        return 2.6 + 0.75 * n_cs, 1.9 + 0.5 * n_gammas

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the cells, each with its score, the best one framed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self : TuningDisplay
            With ``ax_``, ``figure_``, ``image_`` and ``texts_``.
        """
        found = self.score_map
        n_gammas, n_cs = found.scores.shape
        _start(self, ax, figsize=self.size)
        from matplotlib.patches import Rectangle

        self.image_ = self.ax_.imshow(
            found.scores, origin="lower", aspect="auto", cmap="viridis", vmin=found.low
        )
        self.figure_.colorbar(
            self.image_, ax=self.ax_, label="mean score of the folds", extend="min"
        )
        dark = self.image_.norm(found.scores) < 0.6
        self.texts_ = np.empty(found.scores.shape, dtype=object)
        for place, score in np.ndenumerate(found.scores):
            final = found.is_final[place]
            self.texts_[place] = self.ax_.text(
                *reversed(place),
                "–" if np.isnan(score) else f"{score:.3f}",
                ha="center",
                va="center",
                fontsize=9 if final else 8,
                alpha=1.0 if final else 0.75,
                style="normal" if final else "italic",
                color="white" if dark[place] else "black",
            )
        row, column = found.best
        frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec="#e76300", lw=2.5)
        frame.set(clip_on=False, zorder=3)  # at the border it lies over the axes' own lines
        self.ax_.add_patch(frame)
        self.ax_.set_xticks(range(n_cs), list(map(_math, written(found.C))))
        self.ax_.set_yticks(range(n_gammas), list(map(_math, written(found.gamma))))
        self.ax_.set(xlabel="C", ylabel=r"$\gamma$")
        if not found.is_final.all():
            self.ax_.set_title("italic: dropped early, scored on fewer rows", fontsize=9)
        return self


# --- what the pictures share ----------------------------------------------------------------------


def _start(display: Any, ax: Any, n_panels: int = 1, **figure: Any) -> None:
    """Set ``ax_`` and ``figure_`` to the axes given, or to those of a new figure."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'pocketsvm[plot]'") from error
    if ax is None:
        _, ax = plt.subplots(1, n_panels, layout="constrained", **figure)
    if n_panels > 1:
        ax = np.asarray(ax)
        if ax.shape != (n_panels,):
            raise ValueError(f"ax must be {n_panels} axes, got an array of shape {ax.shape}.")
    display.ax_ = ax
    display.figure_ = ax[0].figure if n_panels > 1 else ax.figure


def _draw_bars(
    ax: Any, values: dict[str, Any], whole: float, form: Callable[[Any], str], color: Any
) -> None:
    """Draw one horizontal bar a value, from the top, with the value and its share of the whole."""
    bars = ax.barh(list(values), list(values.values()), color=color, height=0.7)
    notes = [
        f"{form(value)}  ({value / whole:.1%})" if whole else form(value)
        for value in values.values()
    ]
    ax.bar_label(bars, notes, padding=4, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.4 * max(*values.values(), 1e-9))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _quiet(ax: Any) -> None:
    """Leave a light grid behind the data and no box."""
    ax.grid(color="#e5e5e5", lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _math(text: str) -> str:
    """Return ``2^-5`` as matplotlib sets it; other numbers stay."""
    base, _, exponent = text.partition("^")
    return f"${base}^{{{exponent}}}$" if exponent else text


def _inverts(steps: Any, X: Any) -> bool:
    """Whether what the steps make of the rows can be taken back."""
    if not hasattr(steps, "inverse_transform"):
        return False
    back = steps.inverse_transform(steps.transform(X))
    return np.allclose(_dense(back), _dense(X), rtol=1e-4)


def _width(X: Any) -> int:
    return X.shape[1] if hasattr(X, "shape") else np.shape(X)[1]


def _dense(X: Any) -> NDArray[Any]:
    return X.toarray() if issparse(X) else np.asarray(X, dtype=float)


def _named(points: NDArray[Any], names: Any) -> Any:
    """Return points as the frame that an estimator fitted on names wants; without, as they are."""
    if names is None:
        return points
    import pandas as pd

    return pd.DataFrame(points, columns=names)


def _codes(classes: NDArray[Any], y: ArrayLike, n_rows: int) -> NDArray[np.intp]:
    """Return labels as indices into the classes."""
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have one label for each of the {n_rows} rows, got {y.shape}.")
    strange = np.setdiff1d(y, classes)
    if len(strange):
        raise ValueError(f"y holds labels that the classifier does not know: {strange[:5]}.")
    return np.searchsorted(classes, y)


def _name(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
