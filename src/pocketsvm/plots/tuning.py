"""The scores of a search over C and gamma."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..search.scores import ScoreMap, written
from .axes import COLORS, one_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.image import AxesImage

# A cell is dark, and its text white, below this position on the color scale.
DARK = 0.6
BEST_COLOR = COLORS[6]


class TuningDisplay:
    """The score over C and gamma that a search found.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    score_map : ScoreMap
        The scores, as `from_estimator` takes them from a search.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes with the map.

    figure_ : matplotlib Figure
        The figure of the axes.

    image_ : matplotlib AxesImage
        The cells.

    texts_ : ndarray of shape (n_gammas, n_Cs)
        The scores written in the cells.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVCCV
    >>> from pocketsvm.plots import TuningDisplay
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> search = BudgetedSVCCV(budget=20, Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0], random_state=0)
    >>> TuningDisplay.from_estimator(search.fit(X, y)).image_.get_array().shape
    (2, 3)
    """

    ax_: "Axes"
    figure_: "Figure | SubFigure"
    image_: "AxesImage"
    texts_: NDArray[Any]

    def __init__(self, *, score_map: ScoreMap) -> None:
        self.score_map = score_map

    @classmethod
    def from_estimator(cls, search: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the map of a fitted search.

        Parameters
        ----------
        search : BudgetedSVCCV, BudgetedSVRCV, GridSearchCV or similar
            The fitted search: of this package, or your own search over C or gamma.

        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : TuningDisplay
            The display.
        """
        return cls(score_map=ScoreMap.of(search)).plot(ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches that leave room for every score."""
        n_gammas, n_cs = self.score_map.scores.shape
        return 2.6 + 0.75 * n_cs, 1.9 + 0.5 * n_gammas

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the cells with their scores and frame the best one.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : TuningDisplay
            The display, with ``ax_``, ``figure_``, ``image_`` and ``texts_``.
        """
        found = self.score_map
        self.ax_ = one_panel(ax, size=self.size)
        self.figure_ = self.ax_.figure
        self.image_ = self.ax_.imshow(
            found.scores, origin="lower", aspect="auto", cmap="viridis", vmin=found.low
        )
        self.figure_.colorbar(
            self.image_, ax=self.ax_, label="mean score of the folds", extend="min"
        )
        self._write_scores()
        self._frame_best()
        self.ax_.set_xticks(range(len(found.C)), list(map(_math, written(found.C))))
        self.ax_.set_yticks(range(len(found.gamma)), list(map(_math, written(found.gamma))))
        self.ax_.set(xlabel="C", ylabel=r"$\gamma$")
        if found.has_copies:
            self.ax_.set_title("italic: scored on fewer rows", fontsize=9)
        return self

    def _write_scores(self) -> None:
        """Write every score into its cell, in italics if it is that of fewer rows."""
        found = self.score_map
        dark = np.asarray(self.image_.norm(found.scores), dtype=float) < DARK
        self.texts_ = np.empty(found.scores.shape, dtype=object)
        for (row, column), score in np.ndenumerate(found.scores):
            final = found.is_final[row, column]
            self.texts_[row, column] = self.ax_.text(
                column,
                row,
                "–" if np.isnan(score) else f"{score:.3f}",
                ha="center",
                va="center",
                fontsize=9 if final else 8,
                alpha=1.0 if final else 0.75,
                style="normal" if final else "italic",
                color="white" if dark[row, column] else "black",
            )

    def _frame_best(self) -> None:
        from matplotlib.patches import Rectangle

        row, column = self.score_map.best
        frame = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, ec=BEST_COLOR, lw=2.5)
        # A frame at the border covers the lines of the axes.
        frame.set(clip_on=False, zorder=3)
        self.ax_.add_patch(frame)


def _math(text: str) -> str:
    """Return ``2^-5`` in matplotlib's notation; other numbers stay unchanged."""
    base, _, exponent = text.partition("^")
    return f"${base}^{{{exponent}}}$" if exponent else text
