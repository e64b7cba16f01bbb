"""The pictures of the page: growth of cost, and accuracy against model size and training time."""

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

MODELS = {
    "pocketsvm": ("#c8501e", "o", 3),
    "Nystroem + LinearSVC": ("#3b7dd8", "s", 2),
    "RBFSampler + SGD": ("#7a9a3a", "^", 2),
    "SVC": ("#222222", "*", 4),
    "SVC (intelex)": ("#b79ad0", "P", 1.5),
}
TIMES = {
    "training": ("one pass", "#c8501e"),
    "deciding": ("decision_function", "#3b7dd8"),
}
SPAN = 8  # points of accuracy under the best that a picture shows
AXIS_TITLES = {
    "n": "rows n, in thousands",
    "B": "budget B",
    "d": "dense features d",
    "nnz": "non-zeros a row",
}


def draw_growth(rows, slopes, path):
    """Seconds over each of the four sizes; above them, the slopes over the three largest."""
    figure = Figure(figsize=(9, 7.4), dpi=130, layout="constrained")
    grid = figure.subplots(2, 2).flat
    for axes, (axis, title) in zip(grid, AXIS_TITLES.items(), strict=True):
        points = [row for row in rows if row["axis"] == axis]
        slope = next(row for row in slopes if row["axis"].startswith(f"{axis},"))
        x = [point["value"] / (1000 if axis == "n" else 1) for point in points]
        for key, (name, color) in TIMES.items():
            axes.loglog(x, [point[key] for point in points], "o-", color=color, label=name)
        axes.loglog(x, proportional(points), ":", color="#999999", label="proportional")
        ends = ", ".join(f"{name} {slope[key]:.2f}" for key, (name, _) in TIMES.items())
        axes.set_title(f"slope at the end: {ends}", fontsize=10)
        axes.set(xlabel=title, ylabel="seconds")
        quiet(axes)
        axes.set_xticks(x, [f"{value:,g}" for value in x])
    figure.legend(
        handles=figure.axes[0].get_lines(), loc="outside upper center", ncols=3, frameon=False
    )
    save(figure, path)


def proportional(points):
    """A line of slope 1 through the last point of decision_function, to hold the slopes against."""
    last = points[-1]
    return [last["deciding"] * point["value"] / last["value"] for point in points]


def draw_accuracy(rows, key, label, path):
    """Small multiples, one a data set: test error over model size or training time."""
    names = list(dict.fromkeys(row["data"] for row in rows))
    n_columns = min(3, len(names))
    n_lines = -(-len(names) // n_columns)
    figure = Figure(figsize=(3.7 * n_columns, 3.1 * n_lines + 0.6), dpi=130, layout="constrained")
    grid = figure.subplots(n_lines, n_columns, squeeze=False).flat
    for axes, name in zip(grid, names, strict=False):
        draw_models(axes, [row for row in rows if row["data"] == name], key)
        axes.set_title(name, fontsize=11)
        quiet(axes)
    for axes in list(grid)[len(names) :]:
        axes.set_axis_off()
    figure.supxlabel(label, fontsize=10)
    figure.supylabel("test accuracy, %", fontsize=10)
    handles = {
        h.get_label(): h
        for axes in figure.axes
        for h in axes.get_lines()
        if h.get_label()[0] != "_"
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside upper center", ncols=5, frameon=False
    )
    save(figure, path)


def draw_models(axes, rows, key):
    """Curves over the budgets, the exact machines as single marks with a level to compare with."""
    for model, (color, marker, order) in MODELS.items():
        points = sorted((row for row in rows if row["model"] == model), key=lambda row: row[key])
        if not points:
            continue
        style = {"color": color, "marker": marker, "zorder": order, "label": model}
        x, y = ([point[k] for point in points] for k in (key, "accuracy"))
        if points[0]["budget"] is None:
            axes.plot(x, y, linestyle="none", markersize=11, **style)
            axes.axhline(y[0], color=color, lw=0.7, ls=":", zorder=1)
        else:
            deviation = [point["deviation"] or 0 for point in points]
            axes.plot(x, y, lw=1.6, markersize=5, **style)
            axes.errorbar(x, y, deviation, color=color, lw=0, elinewidth=1, zorder=order)
    axes.set_xscale("log")
    highest = max(row["accuracy"] for row in rows)
    if axes.get_ylim()[0] < highest - SPAN:
        axes.set_ylim(highest - SPAN, highest + 0.06 * SPAN)


def quiet(axes):
    """Few ticks, plain numbers, a light grid, no box."""
    plain = FuncFormatter(lambda value, _: f"{value:,.6g}")
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale == "log":
            axis.set_major_locator(LogLocator(10, subs=(1, 2, 5), numticks=7))
            axis.set_major_formatter(plain)
            axis.set_minor_locator(NullLocator())
        else:
            axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.grid(color="#e5e5e5", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
