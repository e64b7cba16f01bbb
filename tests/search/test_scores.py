"""The map of scores."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import make_moons
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVCCV
from pocketsvm.search.scores import ScoreMap, written

X, Y = make_moons(600, noise=0.2, random_state=0)
FAST = BudgetedSVC(budget=20, max_iter=2, random_state=0)


def test_the_map_of_a_search_has_what_was_tried():
    search = BudgetedSVCCV(20, cv=3, random_state=0).fit(*make_moons(2000, noise=0.2))
    found = ScoreMap.of(search)
    assert (found.C, found.gamma) == (list(search.Cs_), list(search.gammas_))
    assert found.best_score == search.best_score_ == found.scores[found.best]
    assert found.is_final[found.best]
    assert not found.is_final.all()


def test_the_map_of_a_pipeline_has_the_values_of_its_last_step():
    model = make_pipeline(StandardScaler(), FAST)
    grid = {"budgetedsvc__C": [1.0, 10.0], "budgetedsvc__gamma": [1.0]}
    found = ScoreMap.of(GridSearchCV(model, grid, cv=2).fit(X, Y))
    assert (found.C, found.gamma) == ([1.0, 10.0], [1.0])


def test_a_cell_shows_the_best_score_of_its_last_round():
    search = GridSearchCV(FAST, {})
    search.best_params_, search.best_score_ = {"C": 1, "gamma": 0.5}, 0.8
    search.cv_results_ = {
        "params": [
            {"C": 1, "gamma": 0.5, "budget": 2},
            {"C": 8, "gamma": 0.5, "budget": 2},
            {"C": 1, "gamma": 0.5, "budget": 4},
            {"C": 1, "gamma": 0.5, "budget": 8},
            {"C": 1, "gamma": 0.5, "budget": 16},
        ],
        "mean_test_score": np.array([0.9, 0.7, 0.8, 0.75, np.nan]),
        "n_resources": np.array([100, 100, 300, 300, 300]),
    }
    found = ScoreMap.of(search)
    assert (found.C, found.gamma, found.best) == ([1, 8], [0.5], (0, 0))
    assert_array_equal(found.scores, [[0.8, 0.7]])
    assert_array_equal(found.n_rows, [[300, 100]])
    assert_array_equal(found.is_final, [[True, False]])


def learns_scales(best, scores):
    """A search that compared two gammas with learnt scales, whose gamma is 1."""
    search = GridSearchCV(FAST, {})
    tried = [(1, 0.5, None), (8, 0.5, None), (8, 1, None), (1, 1, "learn"), (8, 1, "learn")]
    names = ("C", "gamma", "feature_scales")
    params = [dict(zip(names, each, strict=True)) for each in tried]
    search.best_params_, search.best_score_ = params[best], scores[best]
    search.cv_results_ = {"params": params, "mean_test_score": np.array(scores)}
    return search


def test_learnt_scales_have_a_row_of_their_own():
    found = ScoreMap.of(learns_scales(4, [0.5, 0.6, 0.7, 0.8, 0.9]))
    assert (found.C, found.gamma) == ([1, 8], [0.5, 1, "scales"])
    assert_array_equal(found.scores, [[0.5, 0.6], [np.nan, 0.7], [0.8, 0.9]])
    assert found.best == (2, 1)
    assert written(found.gamma) == ["2^-1", "2^0", "scales"]
    assert [name for name, _ in found.at_border()] == ["C"]
    found = ScoreMap.of(learns_scales(2, [0.5, 0.6, 0.7, 0.6, 0.6]))
    assert [name for name, _ in found.at_border()] == ["C", "gamma"]


def test_scales_that_all_candidates_learn_keep_their_gamma():
    search = learns_scales(4, [0.5, 0.6, 0.7, 0.8, 0.9])
    for name in ("params", "mean_test_score"):
        search.cv_results_[name] = search.cv_results_[name][3:]
    assert ScoreMap.of(search).gamma == [1]


def test_the_map_of_one_parameter_has_one_column():
    search = GridSearchCV(FAST, {"gamma": ["scale", 2.0, 0.01]}, cv=2).fit(X, Y)
    found = ScoreMap.of(search)
    assert (found.C, found.gamma) == ([1.0], [0.01, 2.0, "scale"])
    assert found.is_final.all()
    with pytest.raises(ValueError, match="neither C nor gamma"):
        ScoreMap.of(GridSearchCV(FAST, {"budget": [2, 3]}, cv=2).fit(X, Y))


def test_a_best_value_at_the_border_is_reported():
    def borders(best):
        found = ScoreMap([1, 2, 4], gammas, np.zeros((3, 3)), np.zeros((3, 3)), best, 0.0)
        return [hint for _, hint in found.at_border()]

    largest, smallest = (
        "the best C is the largest one tried",
        "the best C is the smallest one tried",
    )
    gammas = [0.1, 0.2, 0.3]
    assert borders((1, 1)) == []
    assert borders((1, 2)) == [largest]
    assert borders((1, 0)) == [smallest]
    gammas = [0.1, 0.2]
    assert borders((1, 1)) == ["the best gamma is the largest one tried"]
    assert borders((0, 0)) == [smallest, "the best gamma is the smallest one tried"]
    gammas = [0.1]
    assert borders((0, 1)) == []  # nothing was compared


def test_candidates_that_cannot_be_fitted_have_no_score():
    rows = X + 1e9
    search = GridSearchCV(FAST, {"gamma": [1e-9, 1e5]}, cv=2)
    with pytest.warns(FitFailedWarning), pytest.warns(UserWarning, match="non-finite"):
        search.fit(rows, Y)
    found = ScoreMap.of(search)
    assert_array_equal(np.isnan(found.scores), [[False], [True]])
    assert found.best == (0, 0)


def test_numbers_are_written_as_powers_of_two_if_all_are():
    assert written([0.5, 1, 8.0]) == ["2^-1", "2^0", "2^3"]
    assert written([2**-1.5, 2]) == ["2^-1.5", "2^1"]
    assert written([0.5, 3, 8.0, "scale"]) == ["0.5", "3", "8", "scale"]
