"""The pictures of the paper: h and WD as surfaces, and where the merging time goes."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from ..merge_table import MergeTable
from .toolkit.figures import BLUE, INK, INKED, ORANGE, add_legend, new_figure, simplify

SMALLEST_WD = 1e-6  # WD is zero on three borders, where its logarithm is cut off
MAX_RATIO = 2  # a bar more than this many times as long as the next one is cut off


@INKED
def surfaces() -> Figure:
    """Draw h(m, kappa), and WD(m, kappa) on a logarithmic scale, as the paper does."""
    table = MergeTable()
    m, kappa = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    wd = np.log10(np.maximum(table.wd(m, kappa), SMALLEST_WD))
    figure = new_figure(8.4, 3.9)
    graphs = ((table.h(m, kappa), r"$h(m, \kappa)$"), (wd, r"$wd(m, \kappa)$"))
    for number, (values, title) in enumerate(graphs, 1):
        axes = figure.add_subplot(1, 2, number, projection="3d", computed_zorder=False)
        axes.plot_surface(
            m,
            kappa,
            values,
            cmap="viridis",
            rcount=200,
            ccount=200,
            antialiased=False,
            rasterized=True,
        )
        axes.set(xlabel="$m$", ylabel=r"$\kappa$", title=title)
        axes.view_init(elev=28, azim=-125)
        axes.set_box_aspect(None, zoom=0.88)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_pane_color((0, 0, 0, 0))
    axes.zaxis.set_major_locator(MaxNLocator(integer=True))
    axes.zaxis.set_major_formatter(FuncFormatter(lambda power, _: f"$10^{{{power:.0f}}}$"))
    return figure


@INKED
def breakdown(spent: Mapping[tuple[str, int], Mapping[str, tuple[float, float]]]) -> Figure:
    """Draw the seconds in A and B of each strategy, with one panel per data set and budget."""
    names = list(dict.fromkeys(name for name, _ in spent))
    n_columns = max(sum(name == other for other, _ in spent) for name in names)
    figure = new_figure(4.2 * n_columns, 1.75 * len(names) + 0.5)
    grid = figure.subplots(len(names), n_columns, squeeze=False)
    for axes in grid.flat:
        axes.set_axis_off()
    for row, name in zip(grid, names, strict=True):
        budgets = [budget for other, budget in spent if other == name]
        for axes, budget in zip(row, budgets, strict=False):
            axes.set_axis_on()
            axes.set_title(f"{name}, B = {budget}", fontsize=10)
            _draw_bars(axes, spent[name, budget])
    figure.supxlabel("seconds", fontsize=10)
    add_legend(figure, n_columns=2)
    return figure


def _draw_bars(axes: Axes, seconds: Mapping[str, tuple[float, float]]) -> None:
    """Draw one bar per strategy; a bar that would dwarf the others is cut off and labelled."""
    solve, rest = (np.array(part) for part in zip(*seconds.values(), strict=True))
    axes.barh(list(seconds), solve, color=ORANGE, label="A: finding h, or looking WD up")
    axes.barh(list(seconds), rest, left=solve, color=BLUE, label="B: everything else")
    total = solve + rest
    *_, second, largest = sorted([0.0, *total])
    end = 1.25 * (second if largest > MAX_RATIO * second > 0 else largest) or 1.0
    for place, length in enumerate(total):
        inside = length > end
        axes.annotate(
            f"{length:.3g} →" if inside else f"{length:.3g}",
            (min(length, end), place),
            (-4 if inside else 4, 0),
            textcoords="offset points",
            ha="right" if inside else "left",
            va="center",
            fontsize=8,
            color="white" if inside else INK,
        )
    axes.set_xlim(0, end)
    axes.invert_yaxis()
    simplify(axes)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
