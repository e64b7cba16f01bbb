"""How cost grows with rows, budget, features and non-zeros: slopes on logarithmic axes.

The cost is a + b v, where v is the size that grows: b v is the part of the kernel rows, a the rest.
If so, the slope on logarithmic axes is 1 where b v dominates. Therefore a + b v is fitted to all
values, and the slope to those values for which b v is at least seven eighths of the cost.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import linregress

from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.datasets.registry import named
from pocketsvm.paper.toolkit.figures import BLUE, ORANGE, add_legend, new_figure, simplify
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table

from .child import passes_only
from .datasets.generated import sparse_rows
from .measure import fastest

GREY = "#999999"
AXES = {  # what grows, in the table and in the picture
    "n": ("rows", "rows n, in thousands"),
    "B": ("budget", "budget B"),
    "d": ("dense features", "dense features d"),
    "nnz": ("non-zeros per row", "non-zeros per row"),
}
TIMES = {"training": ("one pass", ORANGE), "deciding": ("decision_function", BLUE)}
DOMINANT = 7  # times the constant part

BUDGET, N_FEATURES = 500, 18
N_SPARSE_FEATURES, SPARSE_GAMMA = 1024, 0.25

Points = Sequence[tuple[int, float]]


def measure(quick: bool) -> list[Table]:
    """Return the times and the slopes fitted to them."""
    times = Table(
        "growth",
        "One pass over a full support set, and decision_function on the same number of rows",
        {
            "axis": ("what grows", ""),
            "value": ("value", ",d"),
            "rows": ("rows", ",d"),
            "violations": ("violations", ".0%"),
            "training": ("training, s", ".4f"),
            "deciding": ("decision_function, s", ".4f"),
        },
        "One thread, polish=False, the fastest of several interleaved runs. The other sizes stay "
        f"at B = {BUDGET}, d = {N_FEATURES}; sparse rows have {N_SPARSE_FEATURES:,} features. The "
        "classes of the dense rows overlap by a fifth, those of the sparse rows by 2 %. Violations "
        "are the rows that entered the support set, each of which caused a merge. The timed pass "
        "is not the first one, so the support set is full from its first row on.",
        progress=True,
    )
    with one_thread():
        for axis, values in _sweeps(quick).items():
            _sweep(times, axis, values, quick)
    return [times, _slopes(times.rows)]


def _sweeps(quick: bool) -> dict[str, list[int]]:
    """Return the values of each axis, several of them in the range to which slopes are fitted."""
    if quick:
        return {
            "n": [5_000, 10_000, 20_000, 40_000, 80_000],
            "B": [64, 128, 256, 512, 1024],
            "d": [8, 32, 128, 192, 256],
            "nnz": [8, 32, 128, 192, 256],
        }
    return {
        "n": [1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000],
        "B": [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384],
        "d": [8, 16, 32, 64, 128, 256, 512, 1024],
        "nnz": [4, 8, 16, 32, 64, 128, 192, 256, 320, 384, 448, 512],
    }


def _problem(axis: str, value: int, quick: bool) -> tuple[Any, Any, int, float]:
    """Return X, y, budget and gamma; gamma shrinks with d, so that kernel values stay similar."""
    n_rows = value if axis == "n" else 10_000 if quick else 40_000
    if axis == "nnz":
        return *sparse_rows(n_rows, N_SPARSE_FEATURES, value), BUDGET, SPARSE_GAMMA
    n_features = value if axis == "d" else N_FEATURES
    X, y = susy_like(n_rows, n_features, SUSY_SHARPNESS)
    gamma = named("SUSY").gamma * N_FEATURES / n_features
    return X, y, value if axis == "B" else BUDGET, gamma


def _sweep(table: Table, axis: str, values: Sequence[int], quick: bool) -> None:
    """Add one row per value; the values of an axis are measured in interleaved rounds."""
    calls: dict[tuple[str, int], Any] = {}
    models, sizes = {}, {}
    for value in values:
        X, y, budget, gamma = _problem(axis, value, quick)
        model = passes_only(budget, gamma=gamma, max_iter=1, warm_start=True)
        while len(model.fit(X, y).support_vectors_) < budget:
            pass
        models[value], sizes[value] = model, X.shape[0]
        calls["training", value] = partial(model.fit, X, y)
        calls["deciding", value] = partial(model.decision_function, X)
    runs = fastest(calls, 3 if quick else 7)
    for value in values:
        profile = models[value].profile_
        table.add(
            axis=axis,
            value=value,
            rows=sizes[value],
            violations=profile.violations / profile.steps,
            **{key: runs[key, value].seconds for key in TIMES},
        )


def _slopes(rows: Sequence[Row]) -> Table:
    table = Table(
        "slopes",
        "Slopes on logarithmic axes where the kernel row dominates",
        {
            "axis": ("what grows", ""),
            "what": ("time of", ""),
            "constant": ("constant part, as a size", ",.0f"),
            "range": ("fitted from – to", ""),
            "slope": ("slope", ".2f"),
            "error": ("±", ".2f"),
            "slope_all": ("slope over all values", ".2f"),
        },
        "A slope of 1.00 means proportional. a + b v is fitted to all values v, with relative "
        "errors. The constant part, as a size, is a / b: the rows, vectors, features or non-zeros "
        "that would cost as much as everything that does not grow (the call itself, the other work "
        "for a row and its merge, the distance and exponential of a kernel value). The slope is "
        f"fitted to the values of at least {DOMINANT} times that, for which the growing part "
        "dominates; ± is its standard error. The more non-zeros a row has, the closer they are in "
        "memory, which lowers their slope a little.",
    )
    for axis, (name, _) in AXES.items():
        for key, (what, _) in TIMES.items():
            points = [(row["value"], row[key]) for row in rows if row["axis"] == axis]
            constant = _constant_part(points)
            fitted = [point for point in points if point[0] >= DOMINANT * constant]
            slope, error = _slope(fitted) if len(fitted) > 2 else (None, None)
            table.add(
                axis=f"{axis}, {name}",
                what=what,
                constant=constant,
                first=fitted[0][0] if slope else None,
                range=f"{fitted[0][0]:,} – {fitted[-1][0]:,}" if slope else None,
                slope=slope,
                error=error,
                slope_all=_slope(points)[0],
            )
    return table


def _constant_part(points: Points) -> float:
    """Return a / b of the fit seconds = a + b v."""
    value, seconds = np.transpose(points)
    b, a = np.polyfit(value, seconds, 1, w=1 / seconds)
    return float(max(a, 0.0) / b)


def _slope(points: Points) -> tuple[float, float]:
    """Return the least-squares slope of log seconds over log value, and its standard error."""
    found = linregress(*np.log(points).T)
    return float(found.slope), float(found.stderr)


# --- the picture ----------------------------------------------------------------------------------


def draw_growth(rows: Sequence[Row], slopes: Sequence[Row]) -> Figure:
    """Draw seconds over each of the four sizes; slopes are fitted to the filled points."""
    figure = new_figure(10, 7.4)
    for panel, (axis, (_, label)) in zip(figure.subplots(2, 2).flat, AXES.items(), strict=True):
        points = [row for row in rows if row["axis"] == axis]
        x = [point["value"] / (1000 if axis == "n" else 1) for point in points]
        fits = {row["what"]: row for row in slopes if row["axis"].startswith(f"{axis},")}
        _draw_times(panel, x, points, fits)
        panel.set(xlabel=label, ylabel="seconds")
        simplify(panel)
        ticks = [b for a, b in zip([0, *x], x, strict=False) if b > 1.6 * a]
        panel.set_xticks(ticks, [f"{value:,g}" for value in ticks], fontsize=8)
        panel.minorticks_off()
    add_legend(figure, n_columns=3)
    return figure


def _draw_times(
    panel: Axes, x: Sequence[float], points: Sequence[Row], fits: Mapping[str, Row]
) -> None:
    titles = []
    for key, (name, color) in TIMES.items():
        seconds, fit = [point[key] for point in points], fits[name]
        first = fit["first"] or float("inf")
        filled = [k for k, point in enumerate(points) if point["value"] >= first]
        panel.loglog(x, seconds, "o-", color=color, mfc="white")
        panel.loglog(x, seconds, "o", color=color, markevery=filled, label=name)
        if fit["slope"] is not None:
            titles.append(f"{name} {fit['slope']:.2f} ± {fit['error']:.2f}")
    last = points[-1]["deciding"] / x[-1]
    panel.loglog(x, [last * value for value in x], ":", color=GREY, label="proportional")
    panel.set_title("slope: " + ", ".join(titles), fontsize=9)
