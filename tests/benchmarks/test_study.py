"""The study of the settings, on small data."""

from dataclasses import fields

import pytest
from sklearn.datasets import make_moons

from benchmarks import data_sets, study
from benchmarks.data_sets import StudySet, made
from benchmarks.datasets import functions
from pocketsvm.paper.toolkit.pages import write_markdown
from pocketsvm.paper.toolkit.results import Results
from pocketsvm.training.settings import Choices

SMALL = (
    StudySet("moons", made(make_moons, 400, noise=0.2), 10.0, 4.0),
    StudySet("waves (R²)", made(functions.waves, 400, noise=0.1), 10.0, 1.0, epsilon=0.1),
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Make the data small."""
    monkeypatch.setattr(study, "STUDY", SMALL)
    monkeypatch.setattr(data_sets, "BUDGETS_OF_FEW", (10, 20))


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "SEEDS", range(2))
    monkeypatch.setattr(study, "CASES", {"100 rows": study.CASES["100 rows"]})
    names = ("Polishing", "`fills`", "`hinge_width`")
    monkeypatch.setattr(study, "COMPARISONS", {name: study.COMPARISONS[name] for name in names})
    return Results(tmp_path / "results.csv", study.COLUMNS, tuple(study.KEY))


# --- variants -------------------------------------------------------------------------------------


def test_every_choice_is_varied_below_and_above():
    varied = study.VARIED | study.VARIED_THOROUGH
    assert list(varied) == [field.name for field in fields(Choices)]
    for name, values in varied.items():
        default = getattr(Choices(), name)
        assert default not in values
        if name != "fills":
            below, above = values
            assert below < default < above, name


def test_every_variant_changes_what_exists_and_one_default_is_shown():
    for title, variants in study.COMPARISONS.items():
        thorough = "thorough" in title
        plain = [
            not set(changes) - ({"polish"} if thorough else set()) for changes in variants.values()
        ]
        assert plain.count(True) == 1, title
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
    split = study.Split(SMALL[0], 10, 0)
    for changes in ({}, {"hinge_width": 1.0}, {"fills": False}, {"polish": "thorough"}):
        split.score(changes)
    assert len(split.passed) == 1
    for changes in ({"polish": False}, {"rows_per_vector": 5}, {"merges_per_vector": 1}):
        split.score(changes)
    assert len(split.passed) == 4
    (plain, *_, early) = split.passed.values()
    assert early.n_passes < plain.n_passes


def test_choices_change_the_model():
    rows = made(make_moons, 1500, noise=0.4)
    split = study.Split(StudySet("noisy moons", rows, 10.0, 4.0), 10, 0)
    default = split.score({})
    assert split.score({}) == default
    assert split.score({"hinge_width": 0.01}) != default
    assert split.score({"polish": False}) != default


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [10, 20])
def test_both_kinds_of_data_are_learnt(budget):
    moons, waves = SMALL
    assert moons.budgets == waves.budgets == (10, 20)
    assert study.Split(moons, budget, 0).score({}) > 90
    assert study.Split(waves, budget, 0).score({}) > 10


# --- runs and the page ----------------------------------------------------------------------------


def test_every_variant_is_scored_once_and_shown(results, tmp_path):
    jobs = list(study._jobs(results))
    assert len(jobs) == 2 * (2 * 2 + 1)  # seeds; data sets and budgets, and the case
    for function, *arguments in jobs:
        results.add(function(*arguments))
    assert list(study._jobs(results)) == []
    assert {row["variant"] for row in results.rows if "variant" in row} == {
        study._name(changes) for changes in study._variants()
    }
    page = write_markdown(list(study.blocks(results)), tmp_path, "study").read_text()
    assert "| data, B | moons, 10 | waves (R²), 10 |" in page
    assert "| **True** | – | – |" in page
    assert "| 100 rows |" in page
    assert "20,000 test rows" in page
