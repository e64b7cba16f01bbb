"""How cost grows with rows, budget, features and non-zeros: slopes on logarithmic axes."""

import datasets
import numpy as np
from measure import fastest, passes_only
from tables import Table

from pocketsvm.paper.measure import one_thread

AXES = {
    "n": "rows",
    "B": "budget",
    "d": "dense features",
    "nnz": "non-zeros a row",
}


def measure(quick):
    times = Table(
        "growth",
        "One pass over a full support set, and decision_function on as many rows",
        {
            "axis": ("grows", ""),
            "value": ("value", ",d"),
            "rows": ("rows", ",d"),
            "training": ("training, s", ".4f"),
            "deciding": ("decision_function, s", ".4f"),
        },
        note="One thread, polish=False. What does not grow stays at B = 500, d = 18; sparse rows "
        "have 1,024 features. The pass that is timed is not the first: the set is full.",
    )
    with one_thread():
        for axis, points in sweeps(quick).items():
            sweep(times, axis, points, quick)
    return [times.done(), slopes(times.rows)]


def sweeps(quick):
    """For each axis its values; the last ones are large enough for the kernel row to dominate."""
    if quick:
        return {
            "n": [5_000, 10_000, 20_000, 40_000],
            "B": [64, 128, 256, 512],
            "d": [8, 32, 128, 256],
            "nnz": [8, 32, 64, 128],
        }
    return {
        "n": [12_500, 25_000, 50_000, 100_000, 200_000, 400_000],
        "B": [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
        "d": [8, 16, 32, 64, 128, 256, 512, 1024],
        "nnz": [4, 8, 16, 32, 64, 128, 256, 512],
    }


def problem(axis, value, quick):
    """X, y, budget and gamma of one point; gamma shrinks with d, so that the kernel stays alike."""
    n_rows = value if axis == "n" else 10_000 if quick else 40_000
    if axis == "nnz":
        return *datasets.sparse_rows(n_rows, 1024, value), 500, 0.25
    n_features = value if axis == "d" else 18
    budget = value if axis == "B" else 500
    X, y = datasets.susy_like(n_rows, n_features)
    return X, y, budget, datasets.SUSY_GAMMA * 18 / n_features


def sweep(table, axis, values, quick):
    """One row a value; all values of an axis take turns, round after round."""
    calls, sizes = {}, {}
    for value in values:
        X, y, budget, gamma = problem(axis, value, quick)
        model = passes_only(budget, gamma=gamma, max_iter=1, warm_start=True).fit(X, y)
        sizes[value] = X.shape[0]
        calls["training", value] = lambda model=model, X=X, y=y: model.fit(X, y)
        calls["deciding", value] = lambda model=model, X=X: model.decision_function(X)
    runs = fastest(calls, 3 if quick else 5)
    for value in values:
        table.add(
            axis=axis,
            value=value,
            rows=sizes[value],
            training=runs["training", value].seconds,
            deciding=runs["deciding", value].seconds,
        )


def slopes(rows):
    table = Table(
        "slopes",
        "Slopes on logarithmic axes, over the three largest values and over all",
        {
            "axis": ("grows", ""),
            "training": ("training, largest", ".2f"),
            "deciding": ("decision_function, largest", ".2f"),
            "training_all": ("training, all", ".2f"),
            "deciding_all": ("decision_function, all", ".2f"),
        },
        note="1.00 is proportional. Cost grows more slowly where something beside the kernel row "
        "counts: the call itself, the exponentials (small d, few non-zeros).",
    )
    for axis, name in AXES.items():
        points = [row for row in rows if row["axis"] == axis]
        largest = points[-3:]
        table.add(
            axis=f"{axis}, {name}",
            training=slope(largest, "training"),
            deciding=slope(largest, "deciding"),
            training_all=slope(points, "training"),
            deciding_all=slope(points, "deciding"),
        )
    return table.done()


def slope(points, key):
    """The least-squares slope of log seconds over log value."""
    x = np.log([point["value"] for point in points])
    y = np.log([point[key] for point in points])
    return float(np.polyfit(x, y, 1)[0])
