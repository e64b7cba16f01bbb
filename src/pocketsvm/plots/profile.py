"""The profile of a training."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..estimators.steps import last_step
from ..profile import Profile
from .axes import COLORS, two_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# Bars leave this much room for the notes behind them, relative to the longest one.
ROOM_FOR_NOTES = 1.4
# The axis needs a positive length, also if nothing happened.
SMALLEST_LENGTH = 1e-9


class ProfileDisplay:
    """The time that a training took, by part, and the counts of what it did.

    Use `from_estimator` to create a display.

    Parameters
    ----------
    profile : Profile
        The ``profile_`` of an estimator.

    Attributes
    ----------
    ax_ : ndarray of two matplotlib Axes
        The axes of the seconds and of the counts.

    figure_ : matplotlib Figure
        The figure of the axes.

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

    ax_: NDArray[Any]
    figure_: "Figure | SubFigure"

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
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : ProfileDisplay
            The display.
        """
        check_is_fitted(estimator)
        return cls(profile=last_step(estimator).profile_).plot(ax)

    def plot(self, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw two panels of bars.

        Parameters
        ----------
        ax : two matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : ProfileDisplay
            The display, with ``ax_`` and ``figure_``.
        """
        p = self.profile
        self.ax_ = two_panels(ax, size=(9.6, 3.0))
        self.figure_ = self.ax_[0].figure
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


def _draw_bars(
    ax: "Axes",
    values: Mapping[str, float],
    whole: float,
    write: Callable[[float], str],
    color: str | list[str],
) -> None:
    """Draw one horizontal bar per value, from the top, with the value and its share of whole."""
    bars = ax.barh(list(values), list(values.values()), color=color, height=0.7)
    notes = [
        f"{write(value)}  ({value / whole:.1%})" if whole else write(value)
        for value in values.values()
    ]
    ax.bar_label(bars, notes, padding=4, fontsize=9)
    ax.invert_yaxis()
    ax.set_xlim(0, ROOM_FOR_NOTES * max(*values.values(), SMALLEST_LENGTH))
    ax.set_xticks([])
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"
