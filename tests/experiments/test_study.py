"""The study of the settings, on small data."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import make_classification

from pocketsvm.experiments import study
from pocketsvm.experiments.datasets import study as study_data
from pocketsvm.experiments.toolkit.pages import write_markdown
from pocketsvm.experiments.toolkit.results import Results
from pocketsvm.training.settings import Choices


@pytest.fixture(autouse=True)
def small(data, monkeypatch):
    """Make the data small, also the generated ones."""
    monkeypatch.setattr(study_data, "CHEQUERED_ROWS", 400)
    monkeypatch.setattr(
        study_data, "CHEQUERED", study_data.OtherSet("chequerboard", (10, 20), 10.0, 2.0)
    )
    study._data.cache_clear()
    yield
    study._data.cache_clear()


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SEEDS", range(2))
    monkeypatch.setattr(study, "CASES", {"100 rows": study.CASES["100 rows"]})
    names = ("Polishing", "Free slots of the budget", "Width of the smoothing")
    monkeypatch.setattr(study, "COMPARISONS", {name: study.COMPARISONS[name] for name in names})
    return Results(tmp_path / "results.csv", study.COLUMNS, tuple(study.KEY))


def write_rows(folder, name, y, X):
    lines = (
        f"{label} " + " ".join(f"{k}:{value:.4f}" for k, value in enumerate(row, start=1))
        for label, row in zip(y, X, strict=True)
    )
    (folder / f"{name}.gz").write_bytes(gzip.compress("\n".join(lines).encode()))


def data_named(label):
    return next(data for data in study_data.found() if data.label == label)


# --- variants -------------------------------------------------------------------------------------


def test_every_variant_changes_what_exists_and_one_default_is_shown():
    for title, variants in study.COMPARISONS.items():
        assert [bool(changes) for changes in variants.values()].count(False) == 1, title
        for changes in variants.values():
            choices = {name: value for name, value in changes.items() if name != "polish"}
            assert Choices(**choices) != Choices() or "polish" in changes or not changes, changes


def test_names_identify_variants():
    variants = study._variants()
    names = [study._name(changes) for changes in variants]
    assert len(set(names)) == len(names)
    assert names.count("default") == 1
    assert study._name({"polish": False, "fills": True}) == "fills=True, polish=False"
    with pytest.raises(ValueError, match="there is no choice 'width'"):
        study._name({"width": 1})


def test_variants_share_passes_unless_they_change_them():
    split = study.Split(data_named("chequerboard"), 10, 0)
    for changes in ({}, {"hinge_width": 1.0}, {"fills": False}, {"polish": "thorough"}):
        split.score(changes)
    assert len(split.passed) == 1
    for changes in ({"polish": False}, {"rows_per_vector": 5}, {"merges_per_vector": 1}):
        split.score(changes)
    assert len(split.passed) == 4
    (plain, *_, early) = split.passed.values()
    assert early.n_passes < plain.n_passes


def test_choices_change_the_model():
    split = study.Split(data_named("chequerboard"), 10, 0)
    default = split.score({})
    assert split.score({}) == default
    assert split.score({"hinge_width": 0.01}) != default
    assert split.score({"polish": False}) != default


# --- data -----------------------------------------------------------------------------------------


def test_other_data_sets_are_used_if_their_files_exist(data):
    labels = [each.label for each in study_data.found()]
    assert labels == ["ONE", "TWO", "chequerboard"]
    X, y = make_classification(300, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    write_rows(data, "letter", y + 1, 10 * X)
    write_rows(data, "abalone", 50 + 7 * X[:, 0], X)
    found = study_data.found()
    assert [each.label for each in found] == [
        "ONE",
        "TWO",
        "letter (26 classes)",
        "abalone (R²)",
        "chequerboard",
    ]
    assert list(study_data.budgets())[:2] == ["ONE", "TWO"]
    for each in found:
        assert study_data.budgets()[each.label] == each.budgets
    letter, abalone = found[2:4]
    rows = letter.make()
    np.testing.assert_allclose(rows.X.std(axis=0), 1, rtol=1e-3)
    assert set(rows.y) == {1, 2, 3}
    assert abs(abalone.make().y.mean()) < 1e-9
    assert study.Split(letter, 12, 0).score({}) > 50
    assert study.Split(abalone, 12, 0).score({}) > 80


def test_the_chequerboard_is_judged_by_its_true_labels(monkeypatch):
    monkeypatch.setattr(study_data, "CHEQUERED_ROWS", 4000)
    X, y, truth = data_named("chequerboard").make()
    assert 0.03 < np.mean(y != truth) < 0.07
    cells = np.floor(X).sum(axis=1) % 2
    np.testing.assert_array_equal(truth, cells)
    assert 0.4 < truth.mean() < 0.6


# --- runs and the page ----------------------------------------------------------------------------


def test_every_variant_is_scored_once_and_shown(results, tmp_path):
    jobs = list(study._jobs(results))
    assert len(jobs) == 2 * (3 * 2 + 1)  # seeds; data sets and budgets, and the case
    for function, *arguments in jobs:
        results.add(function(*arguments))
    assert list(study._jobs(results)) == []
    assert {row["variant"] for row in results.rows if "variant" in row} == {
        study._name(changes) for changes in study._variants()
    }
    page = write_markdown(list(study.blocks(results)), tmp_path, "study").read_text()
    assert "| data, B | ONE, 10 | TWO, 10 | chequerboard, 10 |" in page
    assert "| **filled with rows** | – | – | – |" in page
    assert "| 100 rows |" in page
    assert "100,000 generated rows" in page
