"""How cost grows with rows, budget, features and non-zeros: slopes on logarithmic axes.

Cost is a + b v, where v grows: b v is the kernel rows' part, a what else there is. If that is so,
the slope on logarithmic axes is 1 where b v dominates. So a + b v is fitted to all values, and the
slope to those at which b v is at least seven eighths of it.
"""

import datasets
import numpy as np
from measure import fastest, passes_only
from scipy.stats import linregress
from tables import Table

from pocketsvm.experiments.paper.measure import one_thread

AXES = {
    "n": "rows",
    "B": "budget",
    "d": "dense features",
    "nnz": "non-zeros a row",
}

TIMES = {"training": "one pass", "deciding": "decision_function"}
DOMINANT = 7  # times what is constant

N_SPARSE_FEATURES = 1024


def measure(quick):
    times = Table(
        "growth",
        "One pass over a full support set, and decision_function on as many rows",
        {
            "axis": ("grows", ""),
            "value": ("value", ",d"),
            "rows": ("rows", ",d"),
            "violations": ("violations", ".0%"),
            "training": ("training, s", ".4f"),
            "deciding": ("decision_function, s", ".4f"),
        },
        note="One thread, polish=False, the fastest of some interleaved runs. What does not grow "
        f"stays at B = 500, d = 18; sparse rows have {N_SPARSE_FEATURES:,} features. The classes "
        "overlap, those of the dense rows by a fifth, those of the sparse rows by 2 %: violations "
        "are the rows that entered the support set, each of which then cost a merge. The pass "
        "that is timed is not the first: the set is full from its first row on.",
    )
    with one_thread():
        for axis, values in sweeps(quick).items():
            sweep(times, axis, values, quick)
    return [times.done(), slopes(times.rows)]


def sweeps(quick):
    """For each axis its values, of which several are in the range that is fitted."""
    if quick:
        return {
            "n": [5_000, 10_000, 20_000, 40_000, 80_000],
            "B": [64, 128, 256, 512, 1024],
            "d": [8, 32, 128, 192, 256],
            "nnz": [8, 32, 128, 192, 256],
        }
    return {
        "n": [1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000],
        "B": [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
        "d": [8, 16, 32, 64, 128, 256, 512, 1024],
        "nnz": [4, 8, 16, 32, 64, 128, 192, 256, 320, 384, 448, 512],
    }


def problem(axis, value, quick):
    """X, y, budget and gamma of one point; gamma shrinks with d, so that the kernel stays alike."""
    n_rows = value if axis == "n" else 10_000 if quick else 40_000
    if axis == "nnz":
        return *datasets.sparse_rows(n_rows, N_SPARSE_FEATURES, value), 500, 0.25
    n_features = value if axis == "d" else 18
    budget = value if axis == "B" else 500
    X, y = datasets.susy_like(n_rows, n_features)
    return X, y, budget, datasets.SUSY_GAMMA * 18 / n_features


def sweep(table, axis, values, quick):
    """One row a value; all values of an axis take turns, round after round."""
    calls, models, sizes = {}, {}, {}
    for value in values:
        X, y, budget, gamma = problem(axis, value, quick)
        model = passes_only(budget, gamma=gamma, max_iter=1, warm_start=True)
        while len(model.fit(X, y).support_vectors_) < budget:
            pass
        models[value], sizes[value] = model, X.shape[0]
        calls["training", value] = lambda model=model, X=X, y=y: model.fit(X, y)
        calls["deciding", value] = lambda model=model, X=X: model.decision_function(X)
    runs = fastest(calls, 3 if quick else 7)
    for value in values:
        profile = models[value].profile_
        table.add(
            axis=axis,
            value=value,
            rows=sizes[value],
            violations=profile.violations / profile.steps,
            training=runs["training", value].seconds,
            deciding=runs["deciding", value].seconds,
        )


def slopes(rows):
    table = Table(
        "slopes",
        "Slopes on logarithmic axes where the kernel row dominates",
        {
            "axis": ("grows", ""),
            "what": ("time of", ""),
            "constant": ("what is constant costs as much as", ",.0f"),
            "range": ("fitted from – to", ""),
            "slope": ("slope", ".2f"),
            "error": ("±", ".2f"),
            "slope_all": ("slope over all values", ".2f"),
        },
        note="1.00 is proportional. a + b v is fitted to all values v, with relative errors. What "
        "is constant, a, costs as much as a / b rows, vectors, features or non-zeros: the call "
        "itself, a row's own work and its merge, distance and exponential of a kernel value. The "
        f"slope is fitted where v is at least {DOMINANT} times that, so that the growing part "
        "dominates; ± is its standard error. The more non-zeros a row has, the nearer together "
        "they lie in memory, which takes something off their slope.",
    )
    for axis, name in AXES.items():
        for key, what in TIMES.items():
            points = [(row["value"], row[key]) for row in rows if row["axis"] == axis]
            constant = constant_part(points)
            fitted = [point for point in points if point[0] >= DOMINANT * constant]
            slope, error = slope_of(fitted) if len(fitted) > 2 else (None, None)
            table.add(
                axis=f"{axis}, {name}",
                what=what,
                constant=constant,
                first=fitted[0][0] if slope else None,
                range=f"{fitted[0][0]:,} – {fitted[-1][0]:,}" if slope else None,
                slope=slope,
                error=error,
                slope_all=slope_of(points)[0],
            )
    return table.done()


def constant_part(points):
    """How much of what grows costs as much as all that does not: a / b of seconds = a + b v."""
    value, seconds = np.transpose(points)
    b, a = np.polyfit(value, seconds, 1, w=1 / seconds)
    return float(max(a, 0.0) / b)


def slope_of(points):
    """The least-squares slope of log seconds over log value, and its standard error."""
    found = linregress(*np.log(points).T)
    return float(found.slope), float(found.stderr)
