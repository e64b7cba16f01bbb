"""Compare all maintenance strategies on generated data, and draw a decision boundary.

Run it with ``make demo``. The picture is written to ``demo/boundary.png``.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pocketsvm import BudgetedSVC, _core
from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.plots import BoundaryDisplay

BUDGET = 100
PICTURE = Path("demo", "boundary.png")


def compare_strategies(n_rows=200_000, n_held_out=50_000):
    """Print the accuracy and the training time of every strategy, in the paper's setting."""
    X, y = susy_like(n_rows + n_held_out, sharpness=SUSY_SHARPNESS)
    print(
        f"One pass over {n_rows:,} rows of {X.shape[1]} features, budget {BUDGET}, one thread "
        f"({_core.instruction_set()}).\nAccuracy on {n_held_out:,} held-out rows; with one seed, "
        "differences of a few points mean nothing.\nA: solving the merging problem for all "
        "candidates; B: the rest of merging.\n"
    )
    print("strategy     accuracy  seconds     A, s     B, s    merges  removals")
    setting = {"gamma": 2**-7, "max_iter": 1, "polish": False, "fit_intercept": False}
    for name in _core.strategies():
        model = BudgetedSVC(BUDGET, C=0.5, maintenance=name, random_state=0, **setting)
        model.fit(X[:1000], y[:1000])  # builds its tables before the measurement
        profile = model.fit(X[:n_rows], y[:n_rows]).profile_
        print(
            f"{name:<12} {model.score(X[n_rows:], y[n_rows:]):8.2%} {profile.seconds_total:8.3f} "
            f"{profile.seconds_solve:8.3f} {profile.seconds_rest:8.3f} "
            f"{profile.merges:9,} {profile.removals:9,}"
        )


def spirals(n_rows, random):
    """Return two noisy spirals around each other, standardised."""
    y = random.integers(2, size=n_rows)
    angle = 3 * np.pi * np.sqrt(random.uniform(0.02, 1, n_rows))
    direction = angle + np.pi * y
    X = angle[:, None] * np.column_stack([np.cos(direction), np.sin(direction)])
    X += random.normal(scale=0.55, size=X.shape)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def draw_boundary(path):
    """Train on two spirals; draw rows, decision values, the boundary and the support vectors."""
    X, y = spirals(6000, np.random.default_rng(1))
    model = BudgetedSVC(BUDGET, C=10, gamma=8, fit_intercept=False, random_state=0).fit(X, y)
    figure = Figure(figsize=(7.2, 7.3), dpi=150, layout="constrained")
    display = BoundaryDisplay.from_estimator(model, X, y, ax=figure.add_subplot())
    display.ax_.set_aspect("equal")
    display.ax_.set(xticks=[], yticks=[], xlabel="", ylabel="")
    display.legend_.set_bbox_to_anchor((0.5, 0.0))
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)


if __name__ == "__main__":
    compare_strategies()
    draw_boundary(PICTURE)
    print(f"\nThe decision boundary of two spirals is in {PICTURE}.")
