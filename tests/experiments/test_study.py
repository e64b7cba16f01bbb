"""The study of the settings, on small data."""

from importlib import import_module

import pytest
from small import a_task

from pocketsvm.experiments import study
from pocketsvm.experiments.toolkit.pages import write_markdown
from pocketsvm.experiments.toolkit.results import Results


@pytest.fixture
def results(data, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SEEDS", range(2))
    monkeypatch.setattr(study, "CASES", {"100 rows": study.CASES["100 rows"]})
    some = {name: study.COMPARISONS[name] for name in ("Polishing", "Passes")}
    monkeypatch.setattr(study, "COMPARISONS", some)
    monkeypatch.setattr(study, "BEYOND", {"chequerboard": (10, 20)})
    monkeypatch.setattr(study, "BOARD_ROWS", 300)
    return Results(tmp_path / "results.csv", study.COLUMNS, tuple(study.KEY))


def test_every_variant_is_scored_once_and_shown(results, tmp_path):
    study._task.cache_clear()
    jobs = list(study._jobs(results))
    assert len(jobs) == 2 * (3 * 2 + 1)  # seeds; data sets and budgets, and the case
    for function, *arguments in jobs:
        results.add(function(*arguments))
    assert list(study._jobs(results)) == []
    page = write_markdown(list(study.blocks(results)), tmp_path, "study").read_text()
    assert "| data, B | ONE, 10 | TWO, 10 |" in page
    assert "| data, B | chequerboard, 20 |" in page
    assert "| **20** | – | – |" in page
    assert "| 100 rows |" in page
    study._task.cache_clear()


def test_a_variant_changes_the_model_and_nothing_else():
    task = a_task()
    default = study.score(task, 10, 0, {})
    rate = "training.passes.INTERCEPT_RATE"
    before = import_module("pocketsvm.training.passes").INTERCEPT_RATE
    variants = ({"max_iter": 1, "polish": False}, {rate: 100.0, "polish": False})
    assert all(study.score(task, 10, 0, changes) != default for changes in variants)
    assert before == import_module("pocketsvm.training.passes").INTERCEPT_RATE
    assert study.score(task, 10, 0, {}) == default


def test_an_unknown_constant_is_an_error():
    with pytest.raises(AttributeError, match="NO_SUCH"), study.changed({"solving.NO_SUCH": 1}):
        pass


def test_every_constant_of_the_comparisons_exists():
    for variants in study.COMPARISONS.values():
        for changes in variants.values():
            constants = {name: value for name, value in changes.items() if "." in name}
            with study.changed(constants):
                pass
