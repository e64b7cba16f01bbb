"""Accuracy and time beside what a user would take instead, on the paper's six data sets."""

import warnings

import datasets
import numpy as np
from measure import one_thread, timed
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from tables import Table

from pocketsvm import BudgetedSVC

try:
    import daal4py
    import sklearnex.svm as sklearnex
except ImportError:
    sklearnex = None

POCKETSVM, EXACT, INTEL = "pocketsvm", "SVC", "SVC (intelex)"
NYSTROEM, FOURIER = "Nystroem + LinearSVC", "RBFSampler + SGD"
BUDGETED = (POCKETSVM, NYSTROEM, FOURIER)
BUDGETS = (50, 100, 200, 500)
QUICK_ROWS = 4000


def measure(quick):
    """Every model on every data set: its accuracy on the test rows, its seconds, its size."""
    table = Table(
        "peers",
        "Test accuracy and time, the paper's C and gamma, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        {
            "data": ("data", ""),
            "model": ("model", ""),
            "size": ("vectors", ",d"),
            "accuracy": ("accuracy, %", ".2f"),
            "deviation": ("±", ".2f"),
            "fit": ("training, s", ".3f"),
            "predict": ("prediction, µs a row", ".2f"),
            "seeds": ("seeds", "d"),
        },
        note="Mean and standard deviation of the accuracy over the seeds, median of the seconds, "
        "one model after the other. Vectors: the support vectors, landmarks (Nystroem) or random "
        "features (RBFSampler) that a prediction has to visit. All with their defaults, but C, "
        "gamma, SVC's cache of 1,000 MB and SGD's alpha = 1 / (n C); warnings of convergence are "
        "not shown. Rows are dense where most entries are not zero, else CSR; "
        "scikit-learn-intelex, faster so, always gets them dense.",
    )
    if sklearnex is None:
        print("Skipped: SVC of scikit-learn-intelex, which is not installed.\n")
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for data_set in datasets.available():
            compare(table, data_set, quick)
    return [table.done()]


def compare(table, data_set, quick):
    X, y, X_test, y_test = datasets.load(data_set)
    if quick:
        chosen = np.random.default_rng(0).permutation(X.shape[0])[:QUICK_ROWS]
        X, y = X[chosen], y[chosen]
    for budget in data_set.budgets if quick else BUDGETS:
        for model in BUDGETED:
            seeds = 1 if quick else 5 if model == POCKETSVM else 3
            runs = [
                run(make(model, data_set, budget, seed, len(y)), X, y, X_test, y_test)
                for seed in range(seeds)
            ]
            table.add(data=data_set.name, model=model, budget=budget, **summarise(runs))
    if not (quick and data_set.name == "SKIN"):
        exact = run(make(EXACT, data_set, 0, 0, len(y)), X, y, X_test, y_test)
        table.add(data=data_set.name, model=EXACT, budget=None, **summarise([exact]))
    if sklearnex is not None:
        daal4py.daalinit(1)
        X, X_test = (
            rows if isinstance(rows, np.ndarray) else rows.toarray() for rows in (X, X_test)
        )
        exact = run(make(INTEL, data_set, 0, 0, len(y)), X, y, X_test, y_test)
        table.add(data=data_set.name, model=INTEL, budget=None, **summarise([exact]))


def make(model, data_set, budget, seed, n_rows):
    C, gamma = data_set.C, data_set.gamma
    match model:
        case "pocketsvm":
            return BudgetedSVC(budget, C, gamma=gamma, random_state=seed)
        case "SVC":
            return SVC(C=C, gamma=gamma, cache_size=1000)
        case "SVC (intelex)":
            return sklearnex.SVC(C=C, gamma=gamma, cache_size=1000)
        case "Nystroem + LinearSVC":
            features = Nystroem(gamma=gamma, n_components=budget, random_state=seed)
            return make_pipeline(features, LinearSVC(C=C, random_state=seed))
        case "RBFSampler + SGD":
            features = RBFSampler(gamma=gamma, n_components=budget, random_state=seed)
            return make_pipeline(features, SGDClassifier(alpha=1 / (n_rows * C), random_state=seed))


def run(model, X, y, X_test, y_test):
    """Accuracy in per cent, seconds to fit, seconds a row to predict, vectors to visit."""
    fit = timed(lambda: model.fit(X, y)).seconds
    first, second = (timed(lambda: model.predict(X_test)) for _ in range(2))
    accuracy = 100 * float(np.mean(second.value == y_test))
    seconds = min(first.seconds, second.seconds)
    return accuracy, fit, seconds / len(y_test), n_vectors(model)


def n_vectors(model):
    """Support vectors of a kernel machine, components of an approximation."""
    if hasattr(model, "named_steps"):
        return int(model[0].n_components)
    return len(model.support_vectors_) if hasattr(model, "budget") else int(sum(model.n_support_))


def summarise(runs):
    accuracy, fit, predict, vectors = (np.array(values) for values in zip(*runs, strict=True))
    return {
        "size": int(vectors.max()),
        "accuracy": float(accuracy.mean()),
        "deviation": float(accuracy.std(ddof=1)) if len(runs) > 1 else None,
        "fit": float(np.median(fit)),
        "predict": float(predict.min() * 1e6),
        "seeds": len(runs),
    }


def readme(rows):
    """The short table for the README: the larger budget of each data set beside its peers."""
    lines = [
        "| data | vectors | pocketsvm | Nystroem + LinearSVC | SVC | its vectors |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    found = {(row["data"], row["model"], row["budget"]): row for row in rows}
    for data_set in datasets.DATA_SETS:
        budget = data_set.budgets[1]
        keys = ((POCKETSVM, budget), (NYSTROEM, budget), (EXACT, None))
        ours, nystroem, exact = (found.get((data_set.name, *key)) for key in keys)
        if ours is None:
            continue
        vectors = "–" if exact is None else f"{exact['size']:,}"
        results = " | ".join(accuracy_and_time(row) for row in (ours, nystroem, exact))
        lines.append(f"| {data_set.name} | {budget} | {results} | {vectors} |")
    return "\n".join(lines)


def accuracy_and_time(row):
    if row is None:
        return "–"
    seconds = row["fit"]
    digits = 2 if seconds < 1 else 1 if seconds < 100 else 0
    return f"{row['accuracy']:.2f} %, {seconds:,.{digits}f} s"
