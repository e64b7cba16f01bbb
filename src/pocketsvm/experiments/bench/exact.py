"""The exact SVM by two programs: `SVC` of scikit-learn and of scikit-learn-intelex, one thread.

The latter is taken where it is installed: ``.venv/bin/pip install scikit-learn-intelex``.
"""

import datasets
import numpy as np
from peers import COLUMNS, QUICK_ROWS, load, run
from tables import Table

from pocketsvm.experiments.paper.measure import one_thread
from pocketsvm.experiments.paper.peers import (
    CACHE_MEGABYTES,
    EXACT,
    POCKETSVM,
    fit_and_predict,
    summarise,
)

try:
    import daal4py
    import sklearnex.svm as sklearnex
except ImportError:
    sklearnex = None

INTEL = "SVC (intelex)"


def measure(quick):
    table = Table(
        "exact",
        "SVC of scikit-learn, SVC of scikit-learn-intelex and pocketsvm, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        {key: COLUMNS[key] for key in ("data", "model", "size", "accuracy", "fit", "predict")},
        note="The paper's C and gamma, one run each, one after the other; of two predictions the "
        "faster. SVC has a cache of 1,000 MB, pocketsvm the larger of the paper's budgets. Rows "
        "are dense where most entries are not zero, else CSR; scikit-learn-intelex, which "
        "is faster now with the one, now with the other, gets CSR rows dense as well: the faster "
        "training counts.",
    )
    if sklearnex is None:
        print("Skipped: scikit-learn-intelex is not installed.\n")
        return [table.done()]
    daal4py.daalinit(1)
    with one_thread():
        for data_set in datasets.available():
            compare(table, data_set, quick)
    return [table.done()]


def compare(table, data_set, quick):
    X, y, X_test, y_test = load(data_set, quick)
    layouts = [(X, X_test)]
    if not isinstance(X, np.ndarray):
        layouts.append((X.toarray(), X_test.toarray()))
    runs = [intel(data_set, rows, y, test_rows, y_test) for rows, test_rows in layouts]
    fastest = min(runs, key=lambda run: run.seconds_fit)
    table.add(data=data_set.name, model=INTEL, **summarise([fastest]))
    for model in (POCKETSVM, EXACT):
        found = run(model, data_set, data_set.budgets[1], 0, X, y, X_test, y_test)
        table.add(data=data_set.name, model=model, **summarise([found]))


def intel(data_set, X, y, X_test, y_test):
    machine = sklearnex.SVC(C=data_set.C, gamma=data_set.gamma, cache_size=CACHE_MEGABYTES)
    return fit_and_predict(machine, X, y, X_test, y_test, predictions=2)
