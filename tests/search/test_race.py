"""The race: scores are those of fits, what is tried next, ties, small copies."""

import numpy as np
import pytest
from models import friedman, moons
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1, make_gaussian_quantiles
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVCCV, BudgetedSVR, BudgetedSVRCV
from pocketsvm.rows.checked import checked_rows
from pocketsvm.search.candidates import Candidate, Grid, Result
from pocketsvm.search.folds import Fold, Part
from pocketsvm.search.race import Race, middle_of
from pocketsvm.training.settings import SEARCH_CHOICES as CHOICES
from pocketsvm.training.settings import Choices


def noisy(n):
    """Numbers and two columns of categories, of which the labels tell little."""
    random = np.random.default_rng(0)
    numbers, few = random.normal(size=(n, 15)), random.integers(0, 16, n)
    many = random.integers(0, 100, n)
    values = 0.5 * np.sin(2 * numbers[:, 0]) + 0.4 * numbers[:, 1] * numbers[:, 2]
    values += 0.4 * random.normal(size=100)[many] + 0.3 * random.normal(size=16)[few]
    y = (values + 0.3 * numbers[:, 3] + random.logistic(size=n) > 1.2).astype(int)
    return np.column_stack([numbers, np.eye(100)[many], np.eye(16)[few]]), y


DATA = {
    "noisy": lambda: noisy(6000),
    "rare": lambda: make_classification(4000, 10, n_informative=6, weights=[0.95], random_state=0),
    "shells": lambda: make_gaussian_quantiles(
        n_samples=3000, n_features=5, n_classes=3, random_state=0
    ),
    "clusters": lambda: make_classification(
        3000, 12, n_informative=6, n_clusters_per_class=4, flip_y=0.1, random_state=0
    ),
    "friedman": lambda: make_friedman1(2500, noise=1.0, random_state=0),
    "moons": lambda: moons(1500),
}
CASES = [
    ("noisy", "roc_auc"),
    ("noisy", "accuracy"),
    ("rare", "average_precision"),
    ("shells", "balanced_accuracy"),
    ("clusters", "balanced_accuracy"),
    ("friedman", "r2"),
    ("friedman", "neg_mean_absolute_error"),
    ("moons", "accuracy"),
]


@pytest.mark.parametrize(("name", "scoring"), CASES)
def test_the_scores_of_candidates_are_those_of_fits(name, scoring):
    X, y = DATA[name]()
    X = StandardScaler().fit_transform(X)
    is_regression = name == "friedman"
    search = BudgetedSVRCV if is_regression else BudgetedSVCCV
    folds = (KFold if is_regression else StratifiedKFold)(5, shuffle=True, random_state=0)
    found = search(
        100, Cs=[0.5, 1.5, 4.0], gammas=[2.0**-5], scoring=scoring, cv=folds, random_state=0
    ).set_params(**({} if is_regression else {"loss": "hinge"}))
    found.fit(X, y)
    machine = BudgetedSVR if is_regression else BudgetedSVC
    assert np.isfinite(found.scores_).any(axis=2).sum() >= 1
    for C, scores in zip(found.Cs_, found.scores_[0], strict=True):
        if np.isnan(scores).any():
            continue
        plain = [
            cross_val_score(
                machine(100, C, gamma=2.0**-5, random_state=seed), X, y, cv=folds, scoring=scoring
            ).mean()
            for seed in range(3)
        ]
        noise = 2 * np.std(plain, ddof=1)  # of a fit with another seed
        unit = y.std() if scoring.startswith("neg_") else 1.0  # an error has the unit of y
        assert abs(scores.mean() - np.mean(plain)) < 0.003 * unit + noise


@pytest.mark.parametrize(
    ("name", "scoring", "gamma", "Cs"),
    [
        ("noisy", "roc_auc", -6, [0.5, 2**0.5, 4.0]),
        ("clusters", "roc_auc", -2, [4.0, 8.0, 16.0]),
        ("clusters", "balanced_accuracy", -2, [4.0, 8.0, 16.0]),
        ("moons", "roc_auc", 1, [4.0, 11.0, 32.0]),
    ],
)
def test_two_values_of_c_score_the_same_only_if_their_decisions_are_the_same(
    name, scoring, gamma, Cs
):
    X, y = (each[:1200] for each in DATA[name]())
    X = StandardScaler().fit_transform(X)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for two in (Cs[:2], Cs[1:]):  # so few are all finished, with so few rows
        found = BudgetedSVCCV(100, gammas=[2.0**gamma], Cs=two, scoring=scoring, cv=folds)
        one, other = found.set_params(random_state=0).fit(X, y).scores_[0]
        assert np.isfinite([one, other]).all()
        assert (one != other).any()


def test_the_default_search_finishes_with_the_score_of_a_fit():
    X, y = noisy(6000)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    found = BudgetedSVCCV(100, scoring="roc_auc", cv=folds, random_state=0).fit(X, y)
    plain = BudgetedSVC(100, **found.best_params_)
    expected = [
        cross_val_score(
            clone(plain).set_params(random_state=seed), X, y, cv=folds, scoring="roc_auc"
        ).mean()
        for seed in range(3)
    ]
    assert abs(found.best_score_ - np.mean(expected)) < 0.003 + 2 * np.std(expected, ddof=1)


# --- what is tried --------------------------------------------------------------------------------


def fold(n_training, n_held=100, number=0):
    n_rows = max(n_training, n_held)
    part = Part(checked_rows(np.zeros((n_rows, 1))), np.arange(n_rows) % 2, None, True)
    return Fold(number, part, np.arange(n_training), np.arange(n_held))


def raced(score, grid, folds):
    """Return the winner, the race, and how many candidates each round had."""
    rounds = []

    def run(message, pairs):
        rounds.append(message)
        return [Result(score(*each), 0.0, 0.0) for each in pairs]

    race = Race(grid, folds, run, 32_000, 0)
    return race.decide(), race, rounds


def grid_of(gammas=None, Cs=None):
    return Grid.of(gammas, Cs, 1.0, 1.0)


def peak(gamma, C):
    """Return scores that are highest at some powers of two."""

    def score(candidate, fold):
        distances = np.log2(candidate.gamma) - gamma, np.log2(candidate.C) - C
        return -float(np.hypot(*distances))

    return score


@pytest.mark.parametrize("n_rows", [500, 5000])
@pytest.mark.parametrize(("gamma", "C"), [(0, 0), (-1, 3), (8, 9), (-10, -7.5)])
def test_the_best_values_are_found_inside_and_outside_of_the_grid(gamma, C, n_rows):
    best, race, _ = raced(peak(gamma, C), grid_of(), [fold(n_rows), fold(n_rows)])
    assert (np.log2(best.gamma), np.log2(best.C)) == (gamma, C)
    assert len(race.last.results[best]) == 2


def test_no_value_is_tried_beyond_the_limits():
    _, race, _ = raced(peak(99, 99), grid_of(), [fold(500)])
    assert max(np.log2(each.gamma) for each in race.last.results) <= CHOICES.reach
    assert max(np.log2(each.C) for each in race.last.results) <= CHOICES.reach


@pytest.mark.parametrize("n_rows", [500, 5000])
def test_values_that_are_given_are_the_only_ones(n_rows):
    grid = grid_of([0.1, 1.0, 10.0], [3.0, 5.0])
    best, race, _ = raced(peak(9, 9), grid, [fold(n_rows)])
    assert best == (10.0, 5.0)
    assert set().union(*(each.results for each in race.levels)) == set(grid.candidates())


def test_ties_go_to_the_middle_of_the_tied_range():
    def score(candidate, fold):
        return float(0.5 <= candidate.C <= 4.0 and candidate.gamma == 1.0)

    Cs = [0.0625, 0.5, 2**0.5, 4.0, 32.0]
    best, _, _ = raced(score, grid_of([0.1, 1.0], Cs), [fold(500)])
    assert best == (1.0, 2**0.5)
    assert middle_of([Candidate(1, C) for C in (1, 2, 4, 8, 1024)]) == (1, 8)
    X = np.linspace(-1, 1, 200)[:, None]
    found = BudgetedSVCCV(20, Cs=[1, 10, 100, 1000, 10_000], gammas=[1.0], random_state=0)
    found.fit(X + np.sign(X), (X[:, 0] > 0).astype(int))
    assert (found.scores_ == 1.0).all()
    assert found.C_ == 100


def test_candidates_of_many_rows_are_compared_on_small_copies_and_the_best_on_all_folds():
    folds = [fold(6000, 1500, number) for number in range(5)]
    best, race, rounds = raced(peak(-2, 3), grid_of(), folds)
    assert best == (0.25, 8.0)
    assert rounds[0] == "18 candidates on 1 fold of 600 training rows"
    assert "1 candidate on 5 folds of 6,000 training rows" in rounds
    assert [each.folds[0].share for each in race.levels] == [0.1, 0.3, 1.0]
    # A larger gamma was tried on the folds, and was worse.
    assert list(race.last.results) == [best, (0.5, 8.0)]


def test_larger_values_than_those_of_copies_are_tried_on_the_folds():
    """Copies of folds have smaller budgets, which prefer wider kernels."""

    def score(candidate, fold):
        return peak(*(-2, 3) if fold.share < 1 else (0, 6))(candidate, fold)

    best, race, _ = raced(score, grid_of(), [fold(6000, 1500)])
    assert best == (1.0, 8.0)
    assert [each.gamma for each in race.last.results] == [0.25, 0.5, 1.0, 2.0]
    best, race, _ = raced(score, grid_of().with_one_gamma(), [fold(6000, 1500)])
    assert best == (1.0, 64.0)
    assert [each.gamma for each in race.last.results] == [1.0] * 4
    # Values that are given are the only ones.
    best, _, _ = raced(score, grid_of([0.25, 0.1], [8.0]), [fold(6000, 1500)])
    assert best == (0.25, 8.0)


def test_the_worse_half_is_dropped_after_each_fold():
    folds = [fold(900, 100, number) for number in range(4)]
    best, race, rounds = raced(peak(-2.2, 3.3), grid_of(), folds)
    assert best == (0.25, 8.0)
    assert [line.split(" of")[0] for line in rounds[:4]] == [
        "18 candidates on 1 fold",
        "9 candidates on 1 fold",
        "5 candidates on 1 fold",
        "3 candidates on 1 fold",
    ]
    seen = {len(results) for results in race.last.results.values()}
    assert seen == {1, 2, 3, 4}
    # What was dropped was worse than what was kept, on the folds that it has seen.
    dropped = [each for each, found in race.last.results.items() if len(found) < 4]
    assert all(race.last.mean(each) <= race.last.mean(best) for each in dropped)
    assert not set(dropped) & set(race.last.ordered())


def test_a_candidate_that_is_worse_on_the_first_folds_only_may_win():
    """Of few candidates, all see all folds."""

    def score(candidate, fold):
        return float(candidate.C == 8.0) if fold.number == 0 else float(candidate.C == 1.0)

    folds = [fold(300, 60, number) for number in range(5)]
    best, race, _ = raced(score, grid_of([1.0], [0.125, 1.0, 8.0]), folds)
    assert best == (1.0, 1.0)
    assert {len(results) for results in race.last.results.values()} == {5}


def test_candidates_with_the_same_score_are_dropped_together():
    folds = [fold(900, 100, number) for number in range(3)]
    best, race, _ = raced(lambda candidate, fold: 1.0, grid_of(), folds)
    assert {len(results) for results in race.last.results.values()} == {3}
    assert best == middle_of(list(race.last.results))


def test_a_race_ends_if_another_one_is_better_than_its_first_candidates():
    folds = [fold(300, 60, number) for number in range(2)]
    tried = {}
    for least in (-99.0, 0.5):
        race = Race(
            grid_of([1.0]), folds, lambda _, pairs: [Result(0.0, 0.0, 0.0) for _ in pairs], 100, 0
        )
        race.decide([least, least])
        tried[least] = len(race.last.results)
    assert tried[0.5] == 3 < tried[-99.0]


def test_the_defaults_are_carried_on():
    """A small copy may mislead: the default values are compared on the larger ones, too."""

    def score(candidate, fold):
        return peak(*(4, 3) if fold.share < 0.2 else (0, 0))(candidate, fold)

    best, _, _ = raced(score, grid_of(), [fold(5000)])
    assert best == (1.0, 1.0)


def test_a_candidate_without_a_score_is_the_last():
    def score(candidate, fold):
        return np.nan if candidate.C > 1 else candidate.C

    best, _, _ = raced(score, grid_of([1.0], [0.1, 1.0, 10.0]), [fold(500)])
    assert best == (1.0, 1.0)
    with pytest.raises(ValueError, match="No candidate has a finite score on fold 2"):
        raced(lambda _, fold: [1.0, np.nan][fold.number], grid_of(), [fold(500), fold(500, 9, 1)])


# --- copies of folds ------------------------------------------------------------------------------


def test_a_copy_has_rows_of_every_class_and_as_much_weight_for_each():
    random = np.random.default_rng(0)
    y = (random.random(20_000) < 0.002).astype(int)
    part = Part(checked_rows(random.normal(size=(20_000, 2))), y, None, True)
    whole = Fold(0, part, np.arange(16_000), np.arange(16_000, 20_000))
    for most, n_rows in ((32_000, 1600), (4000, 400)):
        copy = whole.copy(0.1, 100, most, 0)
        training, held = copy.parts()
        assert n_rows <= training.n_rows <= n_rows + y.sum()
        assert_allclose(copy.share, training.n_rows / min(16_000, most))
        assert training.y.sum() == y[:16_000].sum()  # all rows of the rare class
        share = training.weights @ training.y / training.weights.sum()
        assert_allclose(share, y[:16_000].mean(), rtol=1e-3)
        assert_allclose(training.weights.mean(), 1.0, rtol=1e-3)
        assert_array_equal(held.y, y[16_000:])


def test_a_copy_moves_its_vectors_as_often_as_the_whole_fit():
    """Moves are what takes longest: fewer vectors would make more of them."""
    seen = []

    def scored(estimator, rows, y):
        seen.append((estimator.budget, estimator.profile_.moves))
        return estimator.score(rows, y)

    X, y = make_classification(6000, 2, n_redundant=0, n_clusters_per_class=2, random_state=0)
    BudgetedSVCCV(300, gammas=[1.0, 2.0], scoring=scored, cv=2, random_state=0).fit(X, y)
    small = [moves for budget, moves in seen if budget == 50]
    assert 0 < max(small) <= Choices().moves // 300 == 10
    plain = BudgetedSVC(60, 8.0, gamma=2.0, random_state=0).fit(X[:600], y[:600])
    assert plain.profile_.moves > 10


def test_a_copy_keeps_weights_and_leaves_out_rows_without():
    X, y = friedman(400)
    part = Part(checked_rows(X), y, None, False)
    every = np.arange(400)
    assert Fold(0, part, every, every).copy(0.5, 10, 999, 0).parts()[0].weights is None
    weights = np.where(every < 100, 0.0, 2.0)
    copy = Fold(0, Part(checked_rows(X), y, weights, False), every, every).copy(0.25, 10, 400, 0)
    drawn, _ = copy.parts()
    assert drawn.n_rows == 100
    assert_array_equal(copy.train >= 100, True)
    assert_allclose(drawn.weights.mean(), 2.0, rtol=1e-3)


def test_a_fold_of_many_rows_trains_on_all_of_them():
    X, y = moons(40_000)
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    found = BudgetedSVCCV(4, Cs=[1.0], gammas=[1.0], cv=folds, random_state=0).fit(X, y)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    plain = BudgetedSVC(4, 1.0, gamma=1.0, random_state=seed)
    assert_array_equal(found.scores_[0, 0], cross_val_score(plain, X, y, cv=folds))
