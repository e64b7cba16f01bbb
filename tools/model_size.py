"""Draw accuracy over the size of the model: pocketsvm, the exact SVM and LightGBM.

    python tools/model_size.py docs/images/model-size.png

needs LightGBM, and the data sets in ``$POCKETSVM_DATA``. Sizes are those of the tables that a
prediction needs: 4 bytes per number of a vector and its coefficient; 10 bytes per split of a tree
(feature, threshold, two links) and 4 bytes per leaf. The kernel machines have the paper's C and
gamma. For LightGBM, the number of leaves, the learning rate and the number of trees are chosen for
each size, on held-out training rows.
"""

import sys
from pathlib import Path

import lightgbm
import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from pocketsvm import BudgetedSVC
from pocketsvm.paper.datasets import registry
from pocketsvm.paper.datasets.problems import load_problems
from pocketsvm.paper.toolkit.figures import (
    BLUE,
    INK,
    INKED,
    ORANGE,
    add_legend,
    new_figure,
    simplify,
)

NAMES = ("SUSY", "IJCNN", "PHISHING")
BUDGETS = (25, 50, 100, 200, 500)
LEAVES, RATES = (4, 8, 16, 31, 63), (0.1, 0.3)
TREES = (1, 2, 5, 10, 20, 50, 100, 200, 400)


def kernel_size(model) -> int:
    """Return the bytes of the vectors and of their coefficients."""
    n_vectors, n_features = model.support_vectors_.shape
    return 4 * n_vectors * (n_features + 1)


def tree_size(leaves: int, trees: int) -> int:
    """Return the bytes of trees that have all their leaves."""
    return trees * (10 * (leaves - 1) + 4 * leaves)


def boosted(X, y, leaves, rate):
    """Return a fitted model with as many trees as will be tried."""
    model = lightgbm.LGBMClassifier(
        n_estimators=max(TREES),
        num_leaves=leaves,
        learning_rate=rate,
        n_jobs=1,
        verbose=-1,
        random_state=0,
    )
    return model.fit(X, y)


def score(model, X, y, trees) -> float:
    """Return the accuracy of the first trees."""
    return float(np.mean(model.predict(X, num_iteration=trees) == y))


def boosted_curve(rows):
    """Return sizes and test accuracies of the best settings up to each size."""
    A, B, a, b = train_test_split(rows.X, rows.y, random_state=0, stratify=rows.y)
    found = []
    for leaves in LEAVES:
        for rate in RATES:
            model = boosted(A, a, leaves, rate)
            found += [
                (tree_size(leaves, trees), score(model, B, b, trees), leaves, rate, trees)
                for trees in TREES
            ]
    curve, best, final = [], -1.0, {}
    for size, held_out, leaves, rate, trees in sorted(found):
        if held_out > best:
            best = held_out
            key = leaves, rate
            final[key] = final.get(key) or boosted(rows.X, rows.y, *key)
            curve.append((size, score(final[key], rows.X_test, rows.y_test, trees)))
    return np.array(curve).T


def kernel_curve(models, rows):
    """Return sizes and test accuracies of kernel machines."""
    curve = []
    for model in models:
        model.fit(rows.X, rows.y)
        curve.append((kernel_size(model), model.score(rows.X_test, rows.y_test)))
    return np.array(curve).T


def dense(rows):
    """Return the rows as dense arrays, the same for all models."""
    X, X_test = (X.toarray() if issparse(X) else X for X in (rows.X, rows.X_test))
    return rows._replace(X=X, X_test=X_test)


def draw(axes, problem) -> None:
    """Draw one data set, and print its numbers."""
    rows, setting = dense(problem.rows), problem.setting
    curves = {
        "pocketsvm": kernel_curve(
            [BudgetedSVC(budget, random_state=0, **setting) for budget in BUDGETS], rows
        ),
        "LightGBM": boosted_curve(rows),
        "exact SVM (SVC)": kernel_curve([SVC(cache_size=1000, **setting)], rows),
    }
    styles = {"pocketsvm": ("o-", ORANGE), "LightGBM": ("s-", BLUE), "exact SVM (SVC)": ("*", INK)}
    for name, (sizes, accuracies) in curves.items():
        style, color = styles[name]
        marker = {"markersize": 12} if style == "*" else {"markersize": 5}
        axes.semilogx(sizes / 1000, 100 * accuracies, style, color=color, label=name, **marker)
        pairs = zip(sizes, accuracies, strict=True)
        print(problem.label, name, *(f"{size / 1000:.1f}:{100 * a:.2f}" for size, a in pairs))
    lowest = min(curves["pocketsvm"][1].min(), curves["exact SVM (SVC)"][1][0])
    highest = max(accuracies.max() for _, accuracies in curves.values())
    margin = max(highest - lowest, 0.02)  # a narrower view would show noise
    axes.set_ylim(100 * (lowest - 0.2 * margin), 100 * (highest + 0.1 * margin))
    axes.set_xlim(left=0.7)
    axes.set_title(problem.label)
    simplify(axes)


def main(path: Path) -> None:
    """Draw all data sets."""
    data_sets = [data_set for data_set in registry.DATA_SETS if data_set.name in NAMES]
    problems = [one for one in load_problems(data_sets) if not one.generated]
    with INKED:
        figure = new_figure(11, 3.9)
        for i, problem in enumerate(problems):
            draw(figure.add_subplot(1, len(problems), i + 1), problem)
        figure.supxlabel("size of the model, kB")
        figure.supylabel("test accuracy, %")
        add_legend(figure, 3)
        figure.savefig(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
