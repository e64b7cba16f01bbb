"""Folds: which of them share vectors, and that rows which are held out stay out."""

import numpy as np
import pytest
from models import blobs, friedman, moons
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

from pocketsvm import BudgetedSVC, BudgetedSVCCV, BudgetedSVR, BudgetedSVRCV
from pocketsvm.estimators.searching import folds
from pocketsvm.estimators.searching.base import weighted_scorer
from pocketsvm.estimators.searching.candidates import evaluate
from pocketsvm.estimators.searching.folds import make_groups, splits
from pocketsvm.rows.checked import checked_rows

N_ROWS, BUDGET = 1200, 20


@pytest.fixture(autouse=True)
def few_rows_are_enough(monkeypatch):
    monkeypatch.setattr(folds, "LEAST_COMMON", 100)


def groups_of(machine, X, y, cv=5, weights=None):
    """Return the groups of folds, and the positions of their rows."""
    rows = checked_rows(X)
    places = splits(cv, machine, X, y, None, 0)

    def part(chosen):
        return rows.take(chosen), y[chosen], None if weights is None else weights[chosen]

    classes = np.unique(y) if isinstance(machine, BudgetedSVC) else None
    return make_groups(machine, places, part, classes, 0), places


def test_two_groups_share_vectors_if_there_are_rows_enough():
    groups, places = groups_of(BudgetedSVC(BUDGET), *moons(N_ROWS))
    assert [group.numbers for group in groups] == [[0, 1], [2, 3, 4]]
    X, _ = moons(N_ROWS)
    for group in groups:
        common, _ = group.common()
        held = np.concatenate([places[number][1] for number in group.numbers])
        assert common.n_rows == N_ROWS - len(held)
        assert_array_equal(np.unique(common.X, axis=0), np.unique(np.delete(X, held, 0), axis=0))
        for place, held_out in enumerate(group.held):
            assert_array_equal(held_out.rows.X, X[places[held_out.number][1]])
            assert group.single(place).rows.n_rows == N_ROWS - held_out.rows.n_rows


@pytest.mark.parametrize(
    ("parameters", "cv", "n_rows"),
    [
        ({"budget": BUDGET}, 5, 200),
        ({"budget": BUDGET, "polish": False}, 5, N_ROWS),
        ({"budget": BUDGET}, TimeSeriesSplit(5, max_train_size=100), N_ROWS),
        ({"budget": BUDGET}, 2, N_ROWS),
    ],
)
def test_folds_stay_alone_otherwise(parameters, cv, n_rows):
    groups, places = groups_of(BudgetedSVC(**parameters), *moons(n_rows), cv)
    assert [group.numbers for group in groups] == [[k] for k in range(len(places))]
    assert all(group.training is None for group in groups)


def test_rows_of_no_weight_or_that_count_twice_keep_folds_alone():
    X, y = moons(N_ROWS)
    weights = np.ones(N_ROWS)
    weights[:10] = 0
    groups, _ = groups_of(BudgetedSVC(BUDGET), X, y, weights=weights)
    assert len(groups) == 5
    repeated = [(np.repeat(train, 2), test) for train, test in KFold(5).split(X)]
    assert len(groups_of(BudgetedSVC(BUDGET), X, y, repeated)[0]) == 5


def test_any_splitter_may_share(monkeypatch):
    groups, _ = groups_of(BudgetedSVR(BUDGET), *friedman(N_ROWS), ShuffleSplit(4, random_state=0))
    assert [len(group.held) for group in groups] == [2, 2]
    monkeypatch.setattr(folds, "LEAST_SAMPLE", 300)
    monkeypatch.setattr(folds, "ROWS_PER_VECTOR", 10)
    groups, _ = groups_of(BudgetedSVR(BUDGET), *friedman(N_ROWS), ShuffleSplit(4, random_state=0))
    assert all(group.rows.n_rows == 300 == len(group.training[0]) for group in groups)
    assert all(group.n_rows == 1080 for group in groups)


@pytest.mark.parametrize(
    ("machine", "data"),
    [
        (BudgetedSVC(BUDGET, random_state=0), moons),
        (BudgetedSVC(BUDGET, class_weight="balanced", random_state=0), moons),
        (BudgetedSVR(BUDGET, random_state=0), friedman),
    ],
)
def test_targets_of_held_out_rows_change_no_prediction(machine, data):
    """The predictions for a fold are the same whatever the targets of its own rows are."""
    X, y = data(N_ROWS)

    def predictions(changed):
        groups, places = groups_of(machine, X, changed, KFold(5))
        seen = []

        def note(estimator, rows, *_):
            seen.append(estimator.predict(rows))
            return 0.0

        scorer = weighted_scorer(machine, note)
        evaluate(machine, groups[0], 1.0, [1.0, 10.0], scorer, 1)
        return places[0][1], seen[0]

    held, before = predictions(y)
    changed = y.copy()
    changed[held] = y[held][::-1]
    assert (changed != y).any()
    assert_array_equal(predictions(changed)[1], before)


def test_the_result_does_not_depend_on_threads_if_folds_share():
    X, y = moons(N_ROWS)
    one, two = (
        BudgetedSVCCV(BUDGET, gammas=[0.5, 2.0], random_state=0, n_jobs=jobs).fit(X, y)
        for jobs in (1, 3)
    )
    assert one.best_params_ == two.best_params_
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_folds_share_no_vectors_if_a_class_would_have_none():
    X, y = moons(N_ROWS)
    y = y.copy()
    y[[0, 300]] = 2  # held out by the first fold and by the second one
    machine = BudgetedSVC(BUDGET, class_weight="balanced")
    groups, _ = groups_of(machine, X, y, KFold(5))
    assert [group.numbers for group in groups] == [[k] for k in range(5)]


def test_masks_are_turned_into_positions():
    X, y = moons(N_ROWS)
    weights = np.random.default_rng(0).random(N_ROWS)
    masks = []
    for train, test in KFold(3).split(X):
        in_train, in_test = np.zeros((2, N_ROWS), dtype=bool)
        in_train[train], in_test[test] = True, True
        masks.append((in_train, in_test))
    by_masks, by_positions = (
        BudgetedSVCCV(BUDGET, Cs=[1.0], gammas=[1.0], cv=cv, random_state=0).fit(
            X, y, sample_weight=weights
        )
        for cv in (masks, KFold(3))
    )
    assert_array_equal(by_masks.scores_, by_positions.scores_)


@pytest.mark.parametrize(
    "wrong", [np.arange(N_ROWS - 1, N_ROWS + 1), np.ones(N_ROWS - 1, dtype=bool), np.array([0.5])]
)
def test_folds_that_do_not_fit_the_rows_are_named(wrong):
    right = np.arange(N_ROWS // 2)
    with pytest.raises(ValueError, match=r"Fold 2 of `cv` does not fit the 1,200 rows"):
        splits([(right, right), (right, wrong)], BudgetedSVC(), *moons(N_ROWS), None, 0)


def losses_of(y, train, test):
    """Return the log losses of a candidate on a fold of the blobs."""
    machine = BudgetedSVC(20, random_state=0)
    (fold,), _ = groups_of(machine, blobs()[0], y, [(train, test)])
    ((result,),) = evaluate(machine, fold, 0.1, [1.0], weighted_scorer(machine, None), 1)
    return result.log_losses


def test_held_out_rows_of_a_class_that_does_not_train_have_no_loss():
    _, y = blobs()
    places = np.arange(len(y))
    train, test = places[::2][y[::2] != 2], places[1::2]
    known = test[y[test] != 2]
    assert 0 < len(known) < len(test)
    assert_array_equal(losses_of(y, train, test), losses_of(y, train, known))
    assert np.isnan(losses_of(y, train, test[y[test] == 2])).all()


@pytest.mark.parametrize(("n_rows", "expected"), [(2499, True), (2501, False)])
def test_all_folds_of_a_search_have_few_rows_or_none(n_rows, expected):
    """Folds of 2,499 rows have 1,999 or 2,000 training rows."""
    X, y = moons(n_rows)
    groups, _ = groups_of(BudgetedSVC(BUDGET, polish=False), X, y)
    assert {group.has_few_rows for group in groups} == {expected}
    assert groups[0].few(500, 0, BUDGET).has_few_rows == expected
    assert groups[0].single(0).has_few_rows == expected


def test_a_sample_of_folds_that_share_has_as_few_rows_as_they_have():
    (first, _), _ = groups_of(BudgetedSVC(BUDGET), *moons(4000))
    assert first.training is not None
    assert not first.single(1).has_few_rows
    assert not first.few(500, 0, BUDGET).has_few_rows


def test_several_classes_that_a_fold_lacks_are_named():
    rows, y = blobs()
    y = y.copy()
    y[:3], y[3:6] = 7, 8
    cut = [(np.arange(450, 900), np.arange(450))]
    with pytest.warns(UserWarning, match="classes 7, 8: no candidate predicts them there"):
        BudgetedSVCCV(BUDGET, Cs=[1.0], gammas=[0.1], cv=cut).fit(rows, y)


def test_one_held_out_row_is_enough_for_a_mean_error():
    rows, y = friedman(20)
    parameters = {"Cs": [1.0], "gammas": [0.1], "scoring": "neg_mean_absolute_error"}
    assert BudgetedSVRCV(5, cv=20, random_state=0, **parameters).fit(rows, y).best_score_ < 0
