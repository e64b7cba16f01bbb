"""Writes the golden model files of the present version; files of earlier versions stay as they are.

    .venv/bin/python tests/golden/make.py

Decision values beside them are computed in float64 by scikit-learn's kernel, not by pocketsvm.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_blobs, make_friedman2, make_moons
from sklearn.metrics.pairwise import rbf_kernel

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm._array_file import VERSION
from pocketsvm.model import save_model

HERE = Path(__file__).parent


def two_classes():
    X, y = make_moons(400, noise=0.2, random_state=0)
    clf = BudgetedSVC(8, 10.0, max_iter=3, polish=False, alpha=1e-3, random_state=0, n_jobs=1)
    return clf.fit(X, y), X[:5]


def three_classes():
    X, y = make_blobs(300, n_features=2, centers=3, cluster_std=2.0, random_state=1)
    X = pd.DataFrame(X, columns=["länge", "width"])
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    clf = BudgetedSVC(9, max_iter=3, random_state=0, class_weight={"setosa": 2, "virginica": 0.5})
    return clf.fit(X, labels), X[:5]


def regression():
    X, y = make_friedman2(300, noise=20.0, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return BudgetedSVR(10, 100.0, epsilon=5.0, max_iter=3, random_state=0).fit(X, y), X[:5]


def write(name, clf, X):
    stem = f"{name}-v{VERSION}"
    kernel = rbf_kernel(X, clf.support_vectors_.astype(np.float64), gamma=clf.gamma_)
    known = {
        "parameters": clf.get_params(),
        "classes": clf.classes_.tolist() if hasattr(clf, "classes_") else None,
        "columns": list(getattr(X, "columns", [])),
        "X": np.asarray(X).tolist(),
        "decision": (kernel @ clf.dual_coef_.T + clf.intercept_).tolist(),
        "predicted": clf.predict(X).tolist(),
    }
    save_model(clf, HERE / f"{stem}.psvm")
    (HERE / f"{stem}.json").write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    write("two-classes", *two_classes())
    write("three-classes", *three_classes())
    write("regression", *regression())
