"""The pictures: h and WD as surfaces, where merging time goes, accuracy against size and time."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator
except ImportError as error:
    raise ImportError("The pictures need matplotlib: pip install 'pocketsvm[plot]'") from error

from ...merge_table import MergeTable
from . import peers

__all__ = ["SPAN", "breakdown", "draw_accuracy", "quiet", "surfaces", "svg"]

INK = "#1f2328"  # text and lines; in an SVG they take the reader's own colour
MODELS = {
    peers.POCKETSVM: ("#c8501e", "o", 3),
    peers.NYSTROEM: ("#3b7dd8", "s", 2),
    peers.FOURIER: ("#7a9a3a", "^", 2),
    peers.EXACT: (INK, "*", 4),
    "SVC (intelex)": ("#b79ad0", "P", 1.5),
}
SPAN = 8  # points of accuracy under the best that a picture shows
A_COLOR, B_COLOR = "#c8501e", "#3b7dd8"
SMALLEST_WD = 1e-6  # wd is zero on three borders; the logarithm ends where the eye does

INKED = rc_context(
    {
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": INK + "22",
    }
)

# Dark ink on a light page, and the other way round, also where the picture is a file of its own.
SVG_STYLE = (
    "<style>svg { color: #1f2328 } "
    "@media screen and (prefers-color-scheme: dark) { svg { color: #d7dce2 } }</style>"
)


@INKED
def surfaces() -> Figure:
    """Draw h(m, kappa) and WD(m, kappa), the latter on a logarithmic scale, as the paper does."""
    table = MergeTable()
    m, kappa = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, 1, 201))
    wd = np.log10(np.maximum(table.wd(m, kappa), SMALLEST_WD))
    figure = _figure(8.4, 3.9)
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
    """Draw the seconds in A and B of each strategy, a panel for each data set and budget."""
    names = list(dict.fromkeys(name for name, _ in spent))
    n_columns = max(sum(name == other for other, _ in spent) for name in names)
    figure = _figure(4.2 * n_columns, 1.75 * len(names) + 0.5)
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
    _legend(figure, n_columns=2)
    return figure


def _draw_bars(axes: Any, seconds: Mapping[str, tuple[float, float]]) -> None:
    """Draw a bar a strategy; one that would dwarf the others is cut and says its length."""
    solve, rest = (np.array(part) for part in zip(*seconds.values(), strict=True))
    axes.barh(list(seconds), solve, color=A_COLOR, label="A: finding h, or looking WD up")
    axes.barh(list(seconds), rest, left=solve, color=B_COLOR, label="B: everything else")
    total = solve + rest
    *_, second, largest = sorted([0.0, *total])
    end = 1.25 * (second if largest > 2 * second > 0 else largest) or 1.0
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
    quiet(axes)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)


@INKED
def draw_accuracy(points: Sequence[Mapping[str, Any]], key: str, label: str) -> Figure:
    """Draw test accuracy over model size or training time, a panel for each data set."""
    names = list(dict.fromkeys(point["data"] for point in points))
    n_columns = min(3, len(names))
    n_lines = -(-len(names) // n_columns)
    figure = _figure(3.7 * n_columns, 3.1 * n_lines + 0.6)
    grid = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axes, name in zip(grid, names, strict=False):
        _draw_models(axes, [point for point in points if point["data"] == name], key)
        axes.set_title(name, fontsize=11)
        quiet(axes)
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel(label, fontsize=10)
    figure.supylabel("test accuracy, %", fontsize=10)
    _legend(figure, n_columns=5)
    return figure


def _draw_models(axes: Any, points: Sequence[Mapping[str, Any]], key: str) -> None:
    """Draw curves over the budgets, exact machines as marks with a level to compare with."""
    for model, (color, marker, order) in MODELS.items():
        ours = sorted((p for p in points if p["model"] == model), key=lambda point: point[key])
        if not ours:
            continue
        style = {"color": color, "marker": marker, "zorder": order, "label": model}
        x, y = ([point[k] for point in ours] for k in (key, "accuracy"))
        if ours[0]["budget"] is None:
            axes.plot(x, y, linestyle="none", markersize=11, **style)
            axes.axhline(y[0], color=color, lw=0.7, ls=":", zorder=1)
        else:
            deviation = [point["deviation"] or 0 for point in ours]
            axes.plot(x, y, lw=1.6, markersize=5, **style)
            axes.errorbar(x, y, deviation, color=color, lw=0, elinewidth=1, zorder=order)
    axes.set_xscale("log")
    highest = max(point["accuracy"] for point in points)
    if axes.get_ylim()[0] < highest - SPAN:
        axes.set_ylim(highest - SPAN, highest + 0.06 * SPAN)


def quiet(axes: Any) -> None:
    """Give axes few ticks, plain numbers, a light grid and no box."""
    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            axis.set_major_locator(LogLocator(10, subs=(1, 3), numticks=7))
            axis.set_major_formatter(plain)
            axis.set_minor_locator(NullLocator())
        elif not axis.have_units():
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(color=INK + "22", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def svg(figure: Figure) -> str:
    """Return the picture as one SVG element that follows the reader's light or dark scheme."""
    text = io.StringIO()
    with rc_context({"svg.hashsalt": "pocketsvm"}):
        figure.savefig(
            text,
            format="svg",
            transparent=True,
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
    drawing = text.getvalue()
    drawing = drawing[drawing.index("<svg") :].replace(INK, "currentColor")
    opening, rest = drawing.split(">", 1)
    return f"{opening}>{SVG_STYLE}{rest}"


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), dpi=130, layout="constrained")


def _legend(figure: Figure, n_columns: int) -> None:
    """Explain every label of the figure once, above it."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles = {label: handle for pair in found for handle, label in zip(*pair, strict=True)}
    figure.legend(
        handles.values(), handles, loc="outside upper center", ncols=n_columns, frameon=False
    )
