"""The picture that is the benchmarks' own: growth of cost. The others are the paper's."""

from growth import TIMES
from matplotlib.figure import Figure

from pocketsvm.experiments.paper.figures import quiet

COLORS = {"training": "#c8501e", "deciding": "#3b7dd8"}
AXIS_TITLES = {
    "n": "rows n, in thousands",
    "B": "budget B",
    "d": "dense features d",
    "nnz": "non-zeros a row",
}


def draw_growth(rows, slopes, path):
    """Seconds over each of the four sizes; slopes are fitted to the filled points."""
    figure = Figure(figsize=(10, 7.4), dpi=130, layout="constrained")
    grid = figure.subplots(2, 2).flat
    for axes, (axis, title) in zip(grid, AXIS_TITLES.items(), strict=True):
        points = [row for row in rows if row["axis"] == axis]
        x = [point["value"] / (1000 if axis == "n" else 1) for point in points]
        told = []
        for key, name in TIMES.items():
            seconds = [point[key] for point in points]
            slope = next(
                row for row in slopes if row["axis"].startswith(f"{axis},") and row["what"] == name
            )
            filled = [k for k, point in enumerate(points) if is_fitted(point, slope)]
            axes.loglog(x, seconds, "o-", color=COLORS[key], mfc="white")
            axes.loglog(x, seconds, "o", color=COLORS[key], markevery=filled, label=name)
            if slope["slope"] is not None:
                told.append(f"{name} {slope['slope']:.2f} ± {slope['error']:.2f}")
        axes.loglog(x, proportional(points), ":", color="#999999", label="proportional")
        axes.set_title("slope: " + ", ".join(told), fontsize=9)
        axes.set(xlabel=title, ylabel="seconds")
        quiet(axes)
        ticks = [b for a, b in zip([0, *x], x, strict=False) if b > 1.6 * a]
        axes.set_xticks(ticks, [f"{value:,g}" for value in ticks])
        axes.minorticks_off()
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    save(figure, path)


def is_fitted(point, slope):
    return slope["first"] is not None and point["value"] >= slope["first"]


def proportional(points):
    """A line of slope 1 through the last point of decision_function, to hold the slopes against."""
    last = points[-1]
    return [last["deciding"] * point["value"] / last["value"] for point in points]


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
