"""The list of data sets: no data set is in the study and in a table."""

import ast
from pathlib import Path

import numpy as np
import pytest
from benchmark_tasks import a_task
from sklearn import datasets

from benchmarks import data_sets
from benchmarks.data_sets import SMALL_REGRESSIONS, STUDY, TABLES, Sample, made

FOLDER = Path(data_sets.__file__).parent
SEEDED = "make_classification"  # each seed has a distribution of its own


def used(path):
    """Names of scikit-learn's data sets in a module, and the seeds of `make_classification`."""
    tree = ast.parse(path.read_text())
    names, seeds = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "sklearn.datasets":
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == SEEDED:
            seeds |= {k.value.value for k in node.keywords if k.arg == "random_state"}
    return names, seeds


def test_the_study_and_the_tables_are_disjoint():
    study, tables = data_sets.study_sources(), data_sets.table_sources()
    assert len(study) == len(STUDY) >= 8
    assert not study & tables
    names = {name for table in TABLES for name in table}
    assert not names & {data_set.label for data_set in STUDY}


def test_rows_that_no_list_names_are_not_those_of_the_study():
    study = data_sets.study_sources()
    _, seeds_of_cases = used(FOLDER / "datasets" / "cases.py")
    assert seeds_of_cases == {1}
    for path in FOLDER.rglob("*.py"):
        if path.name in ("data_sets.py", "cases.py"):
            continue
        names, seeds = used(path)
        assert not names & study, path
        assert seeds <= {0}, path
    table_seeds = {name for name in data_sets.table_sources() if name.startswith(SEEDED)}
    assert table_seeds == {f"{SEEDED}, seed 0"}


def test_the_source_of_a_data_set_follows_from_its_function():
    moons = made(datasets.make_moons, 10)
    assert moons.source == made(datasets.make_moons, 20, random_state=1).source == "make_moons"
    sources = {made(datasets.make_classification, 10, random_state=seed).source for seed in (0, 1)}
    assert len(sources) == 2
    assert Sample("ADULT", 10).source == "ADULT"


@pytest.mark.parametrize("data_set", STUDY, ids=lambda data_set: data_set.label)
def test_rows_of_the_study_are_standardised(data_set):
    task = data_set.task()
    X, y = task.rows.X, task.rows.y
    assert len(X) == len(y) >= 4 * data_set.budgets[1]
    varying = X.std(axis=0) > 0
    np.testing.assert_allclose(X.std(axis=0)[varying], 1, rtol=1e-3)
    assert task.gamma == pytest.approx(data_set.gamma / X.shape[1])
    if data_set.epsilon is None:
        assert 2 <= len(np.unique(y)) <= 6
    else:
        assert (abs(y.mean()), y.std()) == pytest.approx((0, 1), abs=1e-6)


def test_samples_are_of_tasks_that_exist():
    loads = [load for table in TABLES for load in table.values() if isinstance(load, Sample)]
    assert len(loads) >= 10
    assert {load.task for load in loads} <= set(data_sets.TASKS)


def test_samples_are_rows_of_a_task(monkeypatch):
    monkeypatch.setitem(data_sets.TASKS, "cpusmall", lambda: a_task(values=True))
    X, y = SMALL_REGRESSIONS["cpusmall"]()
    assert len(X) == len(y) == 120
    assert y.dtype.kind == "f"
    monkeypatch.setitem(data_sets.TASKS, "cpusmall", a_task)
    assert Sample("cpusmall", 30)()[1].dtype.kind == "i"
    monkeypatch.setitem(data_sets.TASKS, "cpusmall", lambda: None)
    assert Sample("cpusmall", 30)() is None
