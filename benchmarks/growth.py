"""How cost grows with rows, budget, features and non-zeros: slopes on logarithmic axes.

Cost is a + b v, with v what grows. Where b v dominates, the slope on logarithmic axes is 1 if cost
is proportional, and it is fitted there: from a value on that is laid down below, not chosen by
the result.
"""

import datasets
import numpy as np
from measure import fastest, passes_only
from scipy.stats import linregress
from tables import Table

from pocketsvm.paper.measure import one_thread

AXES = {
    "n": "rows",
    "B": "budget",
    "d": "dense features",
    "nnz": "non-zeros a row",
}

# A call costs what some hundred rows do, and a row beside its kernel values what some ten vectors
# do. A kernel value takes one operation a feature and 18 others (speed.py counts them): from 128
# features on, seven of eight operations are the features'.
DOMINATES_FROM = {"n": 20_000, "B": 256, "d": 128, "nnz": 128}

N_SPARSE_FEATURES = 1024
OVERLAP = 0.87  # half the distance of the classes in standard deviations: 19 % overlap


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
        "overlap: violations are the rows that entered the support set, each of which then cost "
        "a merge. The pass that is timed is not the first: the set is full from its first row on.",
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
        "d": [4, 8, 16, 32, 64, 128, 256, 512, 1024],
        "nnz": [4, 8, 16, 32, 64, 128, 192, 256, 384, 512],
    }


def problem(axis, value, quick):
    """X, y, budget and gamma of one point; gamma shrinks with d, so that the kernel stays alike."""
    n_rows = value if axis == "n" else 10_000 if quick else 40_000
    if axis == "nnz":
        return *datasets.sparse_rows(n_rows, N_SPARSE_FEATURES, value, OVERLAP), 500, 0.25
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
            "range": ("from – to", ""),
            "training": ("training", ".2f"),
            "training_error": ("±", ".2f"),
            "deciding": ("decision_function", ".2f"),
            "deciding_error": ("±", ".2f"),
            "training_all": ("training, all values", ".2f"),
            "deciding_all": ("decision_function, all values", ".2f"),
        },
        note="1.00 is proportional; ± is the standard error of the fitted slope. Over all values "
        "cost grows more slowly, since something beside the kernel row counts: the call itself "
        "(few rows), the order of the rows and the margin (small B), distance and exponential "
        "(small d, few non-zeros). That is what the range leaves out, and it was laid down before.",
    )
    for axis, name in AXES.items():
        points = [row for row in rows if row["axis"] == axis]
        fitted = [row for row in points if dominates(row)]
        (training, training_error), (deciding, deciding_error) = (
            slope(fitted, key) for key in ("training", "deciding")
        )
        table.add(
            axis=f"{axis}, {name}",
            range=f"{fitted[0]['value']:,} – {fitted[-1]['value']:,}",
            training=training,
            training_error=training_error,
            deciding=deciding,
            deciding_error=deciding_error,
            training_all=slope(points, "training")[0],
            deciding_all=slope(points, "deciding")[0],
        )
    return table.done()


def dominates(row):
    """Whether a row of the table is in the range in which the kernel row dominates."""
    return row["value"] >= DOMINATES_FROM[row["axis"]]


def slope(points, key):
    """The least-squares slope of log seconds over log value, and its standard error."""
    found = linregress(*(np.log([point[name] for point in points]) for name in ("value", key)))
    return float(found.slope), float(found.stderr)
