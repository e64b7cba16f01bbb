"""Generated data that are hard in one way each, to compare polished with unpolished fits."""

import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC

BUDGET = 100
TEST_ROWS = 20_000


def easy(**changes):
    """Rows of two overlapping classes, and what is to be changed about them."""
    settings = {"n_features": 20, "n_informative": 6, "n_clusters_per_class": 3, "rows": 10_000}
    settings |= changes
    n_rows = settings.pop("rows")
    X, y = make_classification(n_rows + TEST_ROWS, random_state=0, **settings)
    X = StandardScaler().fit_transform(X).astype(np.float32)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def repeated(times):
    X, y, X_test, y_test = easy(rows=1000)
    return np.repeat(X, times, axis=0), np.repeat(y, times), X_test, y_test


def unscaled():
    X, y, X_test, y_test = easy()
    scales = np.geomspace(1, 1e4, X.shape[1], dtype=np.float32)
    return X * scales, y, X_test * scales, y_test


CASES = {
    "nothing special": easy,
    "1 positive in 100": lambda: easy(weights=[0.99], flip_y=0, n_clusters_per_class=1),
    "10 % of the labels wrong": lambda: easy(flip_y=0.2),  # of which half are right by chance
    "2 features": lambda: easy(
        n_features=2, n_informative=2, n_redundant=0, n_clusters_per_class=2
    ),
    "2,000 features": lambda: easy(n_features=2000, n_informative=50, rows=2000),
    "100 rows": lambda: easy(rows=100),
    "every row ten times": lambda: repeated(10),
    "scales from 1 to 10,000": unscaled,
    "3 classes": lambda: easy(n_classes=3),
    "10 classes": lambda: easy(n_classes=10, n_informative=10, n_clusters_per_class=1),
}


def compare(case, seed):
    """Test accuracy with and without polishing, and how often the last class is predicted."""
    X, y, X_test, y_test = CASES[case]()
    found = {"share": 100 * float(np.mean(y_test == y_test.max()))}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The columns of X differ in scale")
        for name, polish in (("polished", True), ("last", False)):
            model = BudgetedSVC(BUDGET, polish=polish, random_state=seed).fit(X, y)
            predicted = model.predict(X_test)
            found[name] = 100 * float(np.mean(predicted == y_test))
            found[f"{name}_share"] = 100 * float(np.mean(predicted == y_test.max()))
    return found
