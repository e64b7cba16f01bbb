"""pocketsvm beside SVC and LightGBM: accuracy, time and size of the model, also of many rows.

The SVC of scikit-learn-intelex is measured, too, if it is installed: ``pip install
scikit-learn-intelex``.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.generated import SUSY_SHARPNESS, susy_like
from pocketsvm.paper.datasets.problems import QUICK_ROWS, Problem
from pocketsvm.paper.models import (
    CACHE_MEGABYTES,
    EXACT,
    POCKETSVM,
    fit_and_predict,
    make,
)
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.results import Row
from pocketsvm.paper.toolkit.tables import Table, headings

from .datasets.paper import available
from .measure import kilobytes
from .pieces import piece

try:
    import daal4py
    from sklearnex import svm as intelex
except ImportError:
    intelex = None

HAS_INTEL = intelex is not None
INTEL, TREES = "SVC (intelex)", "LightGBM"
PREDICTIONS = 2  # the faster one counts
MANY_ROWS, QUICK_MANY_ROWS, TEST_ROWS, BUDGET = 4_500_000, 50_000, 100_000, 500
SUSY: Any = {"C": 32.0, "gamma": 2.0**-7}  # the generated rows are like those of SUSY
MEGABYTE = 1000  # kilobytes


def measure(quick: bool) -> list[Table]:
    """Return one table with all models on the available data sets, and on many rows."""
    table = Table(
        "exact",
        "pocketsvm, SVC and LightGBM, one thread"
        + (f", at most {QUICK_ROWS:,} training rows" if quick else ""),
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "model": ("model", ""),
            "size": ("vectors", ",d"),
            "accuracy": ("accuracy, %", ".2f"),
            "fit": ("training, s", ",.2f"),
            "predict": ("prediction, µs per row", ",.2f"),
            "kilobytes": ("model, kB", ",.0f"),
        },
        "The paper's C and gamma, one run per model, one after the other; the faster of two "
        f"predictions counts. SVC has a cache of {CACHE_MEGABYTES:,} MB, pocketsvm the larger of "
        "the paper's budgets, LightGBM its defaults: it is not tuned. A model is the file that its "
        "package saves, a pickle of SVC. That of pocketsvm also holds what training resumes from, "
        "and its vectors are dense, also for sparse rows. Rows are dense if most entries are not "
        "zero, else CSR. scikit-learn-intelex, if it is installed, is also given the CSR rows as "
        "dense rows, because the faster layout depends on the data; its faster training run "
        f"counts. The generated rows are tested on {TEST_ROWS:,} others; SVC is not fitted to "
        "them, because it would take days.",
        progress=True,
    )
    with one_thread():
        for problem in available(quick):
            for row in piece(problem.label, partial(list, _of_problem(problem))):
                table.add(**row)
        n_rows = QUICK_MANY_ROWS if quick else MANY_ROWS
        for row in piece("many rows", partial(list, _of_many_rows(n_rows))):
            table.add(**row)
    return [table]


def intel_svc(problem: Problem) -> Any:
    """Return the SVC of scikit-learn-intelex with the paper's C and gamma, on one thread."""
    daal4py.daalinit(1)
    return intelex.SVC(**problem.setting, cache_size=CACHE_MEGABYTES)


def layouts(rows: TrainTest) -> list[TrainTest]:
    """Return the rows as they are and, if they are sparse, as dense rows."""
    if isinstance(rows.X, np.ndarray):
        return [rows]
    return [rows, rows._replace(X=rows.X.toarray(), X_test=rows.X_test.toarray())]


def _of_problem(problem: Problem) -> Iterator[Row]:
    rows = problem.rows
    for name in (POCKETSVM, EXACT):
        budget = problem.data_set.budgets[1] if name == POCKETSVM else None
        model = make(name, **problem.setting, n_rows=problem.n_rows, budget=budget, seed=0)
        yield _row(problem.label, name, model, rows)
    if HAS_INTEL:
        runs = [_row(problem.label, INTEL, intel_svc(problem), each) for each in layouts(rows)]
        yield min(runs, key=lambda run: float(run["fit"]))
    if find_spec("lightgbm"):
        yield _row(problem.label, TREES, _trees(), rows)


def _of_many_rows(n_rows: int) -> Iterator[Row]:
    X, y = susy_like(n_rows + TEST_ROWS, sharpness=SUSY_SHARPNESS)
    rows = TrainTest(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])
    label = f"{n_rows:,} generated rows"
    ours = make(POCKETSVM, **SUSY, n_rows=n_rows, budget=BUDGET, seed=0)
    yield _row(label, POCKETSVM, ours, rows)
    if find_spec("lightgbm"):
        yield _row(label, TREES, _trees(), rows)


def _trees() -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)


def _row(label: str, name: str, model: Any, rows: TrainTest) -> Row:
    """Fit and judge a model."""
    run = fit_and_predict(model, rows, PREDICTIONS)
    return {
        "data": label,
        "rows": len(rows.y),
        "model": name,
        "size": run.vectors or None,
        "accuracy": run.accuracy,
        "fit": run.seconds_fit,
        "predict": 1e6 * run.seconds_a_prediction,
        "kilobytes": kilobytes(model),
    }


# --- the table of the README ----------------------------------------------------------------------


def readme_table(rows: Sequence[Row]) -> Table:
    """Return the README's table: accuracy, time and size of three models."""
    models = (POCKETSVM, EXACT, TREES)
    table = Table("readme", "", headings("data", "rows", *models))
    found = {(row["data"], row["model"]): row for row in rows}
    for data in dict.fromkeys(row["data"] for row in rows):
        n_rows = found[data, POCKETSVM]["rows"]
        cells = [_cell(found.get((data, model))) for model in models]
        table.add(data.split(" (")[0], f"{n_rows:,}", *cells)
    return table


def _cell(row: Row | None) -> str | None:
    if row is None:
        return None
    seconds, size = row["fit"], row["kilobytes"]
    digits = 2 if seconds < 1 else 1 if seconds < 100 else 0
    large = size >= MEGABYTE
    amount = f"{size / MEGABYTE:,.1f} MB" if large else f"{size:,.0f} kB"
    return f"{row['accuracy']:.2f} %, {seconds:,.{digits}f} s, {amount}"
