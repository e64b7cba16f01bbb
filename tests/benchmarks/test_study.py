"""The study of the settings, on small data."""

from dataclasses import fields

import pytest
from sklearn.datasets import make_friedman1, make_moons

from benchmarks import data_sets, study, study_pages
from benchmarks.data_sets import StudySet, made
from benchmarks.datasets import functions
from pocketsvm.paper.toolkit.pages import markdown
from pocketsvm.paper.toolkit.results import Results
from pocketsvm.training.settings import SEARCH_CHOICES, Choices, SearchChoices

SMALL = (
    StudySet("moons", made(make_moons, 400, noise=0.2), 10.0, 4.0),
    StudySet("waves (R²)", made(functions.waves, 400, noise=0.1), 10.0, 1.0, 0.1, scales=True),
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
    names = ("Polishing", "`moves`", "`hinge_width`", "`scale_steps`")
    monkeypatch.setattr(study, "COMPARISONS", {name: study.COMPARISONS[name] for name in names})
    return Results(tmp_path / "results.csv", study.COLUMNS, tuple(study.KEY))


def text_of(pages):
    """Return the text of all pages: the first explains, the others have tables of choices."""
    texts = {name: markdown(blocks) for name, blocks in pages.items()}
    assert "`moves`" in texts["study-solver"]
    assert "Written by `make study` on 2" in texts["study-scales"]
    return "\n".join(texts.values())


# --- variants -------------------------------------------------------------------------------------


def test_every_choice_is_varied_below_and_above():
    varied = {name: values for some, _ in study.ALL_VARIED for name, values in some.items()}
    searched = {f"search_{field.name}" for field in fields(SearchChoices)}
    assert set(varied) == {field.name for field in fields(Choices)} | searched
    assert len(varied) == sum(len(some) for some, _ in study.ALL_VARIED)
    for name, values in varied.items():
        default = study.default_of(name)
        assert default not in values
        below, above = values
        assert below < default < above, name


def test_every_variant_changes_what_exists_and_one_default_is_shown():
    commons = {f"`{name}`": common for some, common in study.ALL_VARIED for name in some}
    for title, variants in study.COMPARISONS.items():
        common = commons.get(title, {})
        assert list(variants.values()).count(common) == 1, title
        for changes in variants.values():
            assert set(common.items()) <= set(changes.items()), title
            parameters = "polish", "feature_scales", "search"
            choices = {key: value for key, value in changes.items() if key not in parameters}
            assert all(study.default_of(key) != value for key, value in choices.items())


def test_names_identify_variants():
    variants = study._variants()
    names = [study._name(changes) for changes in variants]
    assert len(set(names)) == len(names)
    assert names.count("default") == 1
    assert study._name({"polish": False, "moves": 5}) == "moves=5, polish=False"
    assert study._name(study.SEARCH | {"search_reach": 4}) == "search=auto, search_reach=4"
    with pytest.raises(ValueError, match="there is no choice 'width'"):
        study._name({"width": 1})


def test_variants_share_passes_unless_they_change_them():
    split = study.Split(SMALL[0], 10, 0)
    for changes in ({}, {"hinge_width": 1.0}, {"moves": 0}, {"polish": "thorough"}):
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


def test_feature_scales_are_learnt_by_choices():
    rows = made(make_friedman1, 1600, noise=1.0)
    split = study.Split(StudySet("Friedman 1", rows, 10.0, 0.25, 0.1, scales=True), 20, 0)
    learnt = split.score(study.SCALES)
    assert learnt > split.score({}) + 2
    assert split.score(study.AUTO) == pytest.approx(learnt, abs=2)
    assert split.score(study.SCALES | {"scale_steps": 1}) < learnt
    # With too few rows for "auto", the score is that of one gamma.
    assert split.score(study.AUTO | {"least_scale_rows": 5000}) == split.score({})
    few = study.SCALES | {"polish": "thorough", "batches": 20, "batch_rows": 100}
    assert split.score(few) != learnt


def test_a_search_is_scored_with_other_constants():
    split = study.Split(SMALL[0], 20, 0)
    found = split.score(study.SEARCH)
    assert found > 90
    few = {"search_reach": 0, "search_first_gammas": (-25, -24), "search_first_Cs": (-9, -8)}
    assert split.score(study.SEARCH | few) < 90
    assert SearchChoices() == SEARCH_CHOICES
    assert split.score(study.SEARCH) == found


def test_variants_of_feature_scales_are_measured_on_some_data_sets():
    learns = [data for data in data_sets.STUDY if study._applies(study.SCALES, data)]
    assert 5 < len(learns) < len(data_sets.STUDY)
    assert all(study._applies({"polish": False}, data) for data in data_sets.STUDY)


# --- data -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [10, 20])
def test_both_kinds_of_data_are_learnt(budget):
    moons, waves = SMALL
    assert moons.budgets == waves.budgets == (10, 20)
    assert study.Split(moons, budget, 0).score({}) > 90
    assert study.Split(waves, budget, 0).score({}) > 10


# --- runs and the page ----------------------------------------------------------------------------


def test_every_variant_is_scored_once_and_shown(results, monkeypatch):
    monkeypatch.setattr(study, "JOB_VARIANTS", 20)
    jobs = list(study._jobs(results, ()))
    assert len(jobs) == 2 * (2 * 2 + 1)  # seeds; data sets and budgets, and the case
    for function, *arguments in jobs:
        results.add(function(*arguments))
    assert list(study._jobs(results, ())) == []
    every = {study._name(changes) for changes in study._variants()}
    some = {study._name(changes) for changes in study._variants() if "feature_scales" in changes}
    variants = {
        data: {row["variant"] for row in results.rows if row["data"] == data and "variant" in row}
        for data in ("moons", "waves (R²)")
    }
    assert variants == {"moons": every - some, "waves (R²)": every}
    assert len(some) == 3
    page = text_of(study_pages.pages(results))
    assert "| data, B | moons, 10 | waves (R²), 10 |" in page
    usual = f"{study.Choices().moves:,}"
    assert f"| `moves`: 0 instead of {usual} |" in page
    assert "| the default values |" in page
    assert "comparisons are measured" not in page
    assert "| data, B | waves (R²), 10 |" in page
    assert "| 100 rows |" in page
    assert "20,000 test rows" in page


def test_some_comparisons_are_measured_in_small_jobs(results, monkeypatch):
    monkeypatch.setattr(study, "JOB_VARIANTS", 2)
    jobs = list(study._jobs(results, ["moves"]))
    assert len(jobs) == 2 * 2 * 2 * 2  # seeds, data sets, budgets; three variants in two jobs
    assert all(function is study._run_variants for function, *_ in jobs)
    for function, *arguments in jobs:
        results.add(function(*arguments))
    page = text_of(study_pages.pages(results))
    assert "**1 of 4 comparisons are measured.**" in page
    assert "`moves`" in page
    assert "`hinge_width`" not in page
