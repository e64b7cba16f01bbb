"""Accuracy and time beside what a user would take instead, on the paper's six data sets."""

import csv

import datasets
import numpy as np
from tables import Table

from pocketsvm import BudgetedSVC
from pocketsvm.experiments.paper.measure import one_thread
from pocketsvm.experiments.paper.peers import (
    APPROXIMATIONS,
    EXACT,
    NYSTROEM,
    POCKETSVM,
    Run,
    fit_and_predict,
    make,
    summarise,
)

BUDGETED = (POCKETSVM, *APPROXIMATIONS)
BUDGETS = (50, 100, 200, 500)
QUICK_ROWS = 4000
COLUMNS = {
    "data": ("data", ""),
    "model": ("model", ""),
    "size": ("vectors", ",d"),
    "accuracy": ("accuracy, %", ".2f"),
    "deviation": ("±", ".2f"),
    "fit": ("training, s", ".3f"),
    "predict": ("prediction, µs a row", ".2f"),
    "seeds": ("seeds", "d"),
}


def new_table(quick):
    return Table(
        "peers",
        "Test accuracy and time, the paper's C and gamma, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        COLUMNS,
        note="Mean and standard deviation of the accuracy over the seeds, median of the seconds, "
        "one model after the other. Vectors: the support vectors, landmarks (Nystroem) or random "
        "features (RBFSampler) that a prediction has to visit. All with their defaults, but C, "
        "gamma, SVC's cache of 1,000 MB and SGD's alpha = 1 / (n C); warnings of convergence are "
        "not shown. Rows are dense where most entries are not zero, else CSR.",
    )


def measure(quick):
    """Every model on every data set: its accuracy on the test rows, its seconds, its size."""
    table = new_table(quick)
    with one_thread():
        for data_set in datasets.available():
            compare(table, data_set, quick)
    return [table.done()]


def taken_from(path):
    """The same, from the results of `pocketsvm reproduce`, which measures the same runs."""
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    runs = {}  # of several builds the last
    for line in lines:
        part, model, budget = line["part"], line["strategy"], int(line["budget"] or 0) or None
        if part == "defaults" and model == "merge":
            model = POCKETSVM
        elif part not in ("peers", "exact"):
            continue
        run = Run(*(float(line[field]) for field in Run._fields))
        runs.setdefault((line["data"], budget, model), {})[line["seed"]] = run
    table = new_table(quick=False)
    keys = [(budget, model) for budget in BUDGETS for model in BUDGETED] + [(None, EXACT)]
    for data_set in datasets.DATA_SETS:
        for budget, model in keys:
            if found := runs.get((data_set.name, budget, model)):
                table.add(
                    data=data_set.name,
                    model=model,
                    budget=budget,
                    **summarise(list(found.values())),
                )
    return [table.done()]


def load(data_set, quick):
    """X, y, X_test, y_test; of the training rows some, in a quick run."""
    X, y, X_test, y_test = datasets.load(data_set)
    if quick:
        chosen = np.random.default_rng(0).permutation(X.shape[0])[:QUICK_ROWS]
        X, y = X[chosen], y[chosen]
    return X, y, X_test, y_test


def compare(table, data_set, quick):
    X, y, X_test, y_test = load(data_set, quick)
    for budget in data_set.budgets if quick else BUDGETS:
        for model in BUDGETED:
            seeds = 1 if quick else 5 if model == POCKETSVM else 3
            runs = [
                run(model, data_set, budget, seed, X, y, X_test, y_test) for seed in range(seeds)
            ]
            table.add(data=data_set.name, model=model, budget=budget, **summarise(runs))
    if not (quick and data_set.name == "SKIN"):
        exact = run(EXACT, data_set, None, None, X, y, X_test, y_test)
        table.add(data=data_set.name, model=EXACT, budget=None, **summarise([exact]))


def run(model, data_set, budget, seed, X, y, X_test, y_test):
    """Make and measure a model; of two predictions the faster counts."""
    setting = {"C": data_set.C, "gamma": data_set.gamma}
    if model == POCKETSVM:
        machine = BudgetedSVC(budget, **setting, random_state=seed)
    else:
        machine = make(model, **setting, n_rows=len(y), budget=budget, seed=seed)
    return fit_and_predict(machine, X, y, X_test, y_test, predictions=2)


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
