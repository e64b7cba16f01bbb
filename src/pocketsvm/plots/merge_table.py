"""The two functions that the merge table holds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .axes import two_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

# The contours of h are evenly spaced; those of wd, which spans orders of magnitude, by its log.
H_LEVELS, WD_LEVELS = np.linspace(0, 1, 21), np.logspace(-5, 0, 21)


class MergeFunctions(Protocol):
    """What is drawn: `pocketsvm.MergeTable`, or any other solution of the merging problem."""

    def h(self, m: ArrayLike, kappa: ArrayLike) -> Any:
        """Return the position of the merged vector."""

    def wd(self, m: ArrayLike, kappa: ArrayLike) -> Any:
        """Return the squared weight degradation."""


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
        The figure of the axes.

    Examples
    --------
    >>> from pocketsvm import MergeTable
    >>> from pocketsvm.plots import MergeTableDisplay
    >>> display = MergeTableDisplay(table=MergeTable(100)).plot()
    >>> [ax.get_xlabel() for ax in display.ax_]
    ['$m$', '$m$']
    """

    ax_: NDArray[Any]
    figure_: "Figure | SubFigure"

    def __init__(self, *, table: MergeFunctions) -> None:
        self.table = table

    def plot(self, ax: "Sequence[Axes] | None" = None) -> Self:
        """Draw two contour maps.

        Parameters
        ----------
        ax : two matplotlib Axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        self : MergeTableDisplay
            The display, with ``ax_`` and ``figure_``.
        """
        self.ax_ = two_panels(ax, size=(10, 4.2))
        self.figure_ = self.ax_[0].figure
        from matplotlib.colors import LogNorm

        kappa, m = np.mgrid[0:1:401j, 0:1:401j]
        # wd is exactly zero on three borders, where it has no logarithm.
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
