"""pocketsvm beside other models: a table and two figures of accuracy, size and time."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import models
from .toolkit.figures import BLUE, GREEN, INK, INKED, ORANGE, add_legend, new_figure, simplify
from .toolkit.pages import Picture
from .toolkit.results import Row
from .toolkit.tables import Columns, Table

COLUMNS: Columns = {
    "data": ("data", ""),
    "model": ("model", ""),
    "size": ("vectors", ",d"),
    "accuracy": ("accuracy, %", ".2f"),
    "deviation": ("±", ".2f"),
    "fit": ("training, s", ",.3f"),
    "predict": ("prediction, µs per row", ",.2f"),
    "seeds": ("seeds", "d"),
}
NOTE = (
    "Mean and standard deviation of the accuracy over the seeds, median of the training times. "
    "Vectors: the support vectors, landmarks (Nystroem) or random features (RBFSampler) that a "
    "prediction visits. All models have their default parameters, except for C, gamma, "
    f"SVC's cache of {models.CACHE_MEGABYTES:,} MB and SGD's alpha = 1 / (n C). Convergence "
    "warnings are not shown. Rows are dense if most entries are not zero, else CSR."
)
STYLES = {  # colour, marker, drawing order
    models.POCKETSVM: (ORANGE, "o", 3),
    models.NYSTROEM: (BLUE, "s", 2),
    models.FOURIER: (GREEN, "^", 2),
    models.EXACT: (INK, "*", 4),
}
AXES = {"size": "vectors in the model", "fit": "seconds to train"}
SPAN = 8  # points of accuracy below the best that a figure shows


def comparison_table(points: Sequence[Row]) -> Table:
    """Return the table of the points, which are what `models.summarise` returns."""
    title = "Test accuracy and time beside other models, the paper's C and gamma, one thread"
    return Table("peers", title, COLUMNS, NOTE, [dict(point) for point in points])


def pictures(
    points: Sequence[Row], names: dict[str, str], render: Callable[[Figure], bytes]
) -> list[Picture]:
    """Return the figures over size and training time, with the names of their files."""
    return [
        Picture(
            names[key],
            f"Test accuracy against {label}, down to {SPAN} points below the best",
            render(draw_accuracy(points, key, label)),
        )
        for key, label in AXES.items()
    ]


@INKED
def draw_accuracy(points: Sequence[Row], key: str, label: str) -> Figure:
    """Draw test accuracy over model size or training time, with one panel per data set."""
    names = list(dict.fromkeys(point["data"] for point in points))
    n_columns = min(3, len(names))
    n_lines = -(-len(names) // n_columns)
    figure = new_figure(3.7 * n_columns, 3.1 * n_lines + 0.6)
    grid = figure.subplots(n_lines, n_columns, squeeze=False).ravel()
    for axes, name in zip(grid, names, strict=False):
        _draw_models(axes, [point for point in points if point["data"] == name], key)
        axes.set_title(name, fontsize=11)
        simplify(axes)
    for axes in grid[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel(label, fontsize=10)
    figure.supylabel("test accuracy, %", fontsize=10)
    add_legend(figure, n_columns=4)
    return figure


def _draw_models(axes: Axes, points: Sequence[Row], key: str) -> None:
    """Draw curves over the budgets; a model without a budget is a mark on a horizontal line."""
    for model, (color, marker, order) in STYLES.items():
        ours = sorted((p for p in points if p["model"] == model), key=lambda point: point[key])
        if not ours:
            continue
        style: dict[str, Any] = {"color": color, "marker": marker, "zorder": order, "label": model}
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
