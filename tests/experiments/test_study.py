"""The study of the settings, on small data."""

import numpy as np
import pytest

from pocketsvm.experiments import study
from pocketsvm.experiments.toolkit.pages import write_markdown
from pocketsvm.experiments.toolkit.results import Results


@pytest.fixture
def results(data, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SEEDS", range(2))
    monkeypatch.setattr(study, "CASES", {"100 rows": study.CASES["100 rows"]})
    some = {name: study.COMPARISONS[name] for name in ("Polishing", "First learning rate")}
    drop = "Vectors with the smallest coefficients dropped after 15 of 20 passes"
    grown = "Vectors in the passes, merged down to the budget after polishing"
    some |= {name: study.COMPARISONS[name] for name in (drop, grown)}
    monkeypatch.setattr(study, "COMPARISONS", some)
    return Results(tmp_path / "results.csv", study.COLUMNS, tuple(study.KEY))


def test_every_variant_is_scored_once_and_shown(results, tmp_path):
    study._problem.cache_clear()
    jobs = list(study._jobs(results))
    assert len(jobs) == 2 * (2 * 2 + 1)  # seeds; data sets and budgets, and the case
    for function, *arguments in jobs:
        results.add(function(*arguments))
    assert list(study._jobs(results)) == []
    page = write_markdown(list(study.blocks(results)), tmp_path, "study").read_text()
    assert "| data, B | ONE, 10 | TWO, 10 |" in page
    assert "| **1 / λ** | – | – |" in page
    assert "| 100 rows |" in page
    study._problem.cache_clear()


def test_the_smallest_coefficients_are_dropped():
    state = {
        "vectors": np.arange(4.0)[:, None],
        "coefficients": np.array([3.0, -1.0, 2.0, -4.0]),
        "births": np.arange(4),
        "steps": 9,
    }
    kept = study._without_smallest(state, 0.25)
    assert kept["births"].tolist() == [0, 2, 3]
    assert kept["steps"] == 9
