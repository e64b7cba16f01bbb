"""Positions: correct gradient, smaller objective of all rows, the same bits."""

import numpy as np
import pytest
import scipy.sparse as sp
from exact_objective import Objective
from models import ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_friedman1
from solver_problems import GAMMA, PROBLEMS, class_problem, coupled_problem

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.backends import kernel
from pocketsvm.backends.native import Native
from pocketsvm.solving import solve
from pocketsvm.solving.newton import minimise
from pocketsvm.solving.positions import Positions
from pocketsvm.solving.problem import Problem
from pocketsvm.solving.sample import Sample
from pocketsvm.solving.value_losses import EpsilonInsensitive
from pocketsvm.training.settings import Choices

LAYOUTS = pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
MAKERS = PROBLEMS | {
    "three classes": lambda **changes: class_problem(n_classes=3, **changes),
    "coupled classes": coupled_problem,
    "far from zero": lambda **changes: class_problem(offset=1000, **changes),
}


def solved(vectors, sample):
    problem = Problem(vectors, sample, True, Native())
    return minimise(problem, problem.zero(), np.random.default_rng(0), 1e-6).iterate.point


def positions_of(vectors, sample, tolerance=0.0, n_threads=1):
    random, backend = np.random.default_rng(0), Native(n_threads)
    point = solved(vectors, sample)
    return Positions(vectors, point, sample, True, backend, random, Choices(), tolerance)


def few_values(layout=np.asarray):
    """Return vectors and rows of which most values are zero."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 60)) * (random.uniform(size=(400, 60)) < 0.06)
    targets = np.abs(X).sum(axis=1)
    loss = EpsilonInsensitive.of((targets - np.median(targets))[:, None], [0.05], [0.3])
    return X[:10].copy(), Sample(ready_rows(layout(X), 0.2), np.full(400, 3.0), loss)


# --- the gradient ---------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [*MAKERS.values(), few_values], ids=[*MAKERS, "few values"])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
def test_gradient_matches_the_objective(make, layout, monkeypatch):
    vectors, sample = make(layout=layout)
    found = positions_of(vectors, sample)
    monkeypatch.setattr(found, "precision", 1e-11)
    position = found.position(vectors)
    value, gradient = found.look(position)
    assert value == 1.0
    random = np.random.default_rng(1)
    for _ in range(3):
        direction = random.normal(size=len(position))
        step = 1e-3 * direction
        rise = found.look(position + step)[0] - found.look(position - step)[0]
        assert_allclose(rise / 2e-3, gradient @ direction, rtol=0.02, atol=2e-3)
    assert np.abs(gradient).max() > 0.001


def test_rows_with_few_values_stay_sparse():
    for layout in (np.asarray, sp.csr_array):
        vectors, sample = few_values(layout)
        assert sp.issparse(positions_of(vectors, sample).X)
        vectors, sample = class_problem(layout=layout)
        assert not sp.issparse(positions_of(vectors, sample).X)


def test_positions_convert_back_to_vectors():
    vectors, sample = class_problem(offset=100, dtype=np.float32)
    found = positions_of(vectors, sample)
    assert_array_equal(found.vectors(found.position(vectors)), vectors, strict=True)


def test_vectors_with_small_coefficients_move_further():
    vectors, sample = class_problem()
    point = np.ones((1, 13))
    point[0, 3] = 0.01
    random = np.random.default_rng(0)
    unit = Positions(vectors, point, sample, True, Native(), random, Choices(), 0.0).unit.ravel()
    assert unit[3] < 0.5 * np.delete(unit, 3).min()
    assert unit[3] >= np.sqrt(2 * GAMMA * 0.1)  # bounded


# --- steps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_steps_lower_the_objective(make):
    vectors, sample = make()
    before = Objective(vectors, sample)(solved(vectors, sample))[0]
    found = positions_of(vectors, sample, 1e-6)
    moved, point, n_moves = found.follow(10)
    after, gradient = Objective(moved, sample)(point)
    assert after < 0.97 * before
    assert 0 < n_moves <= 10
    assert found.steps > 0
    assert moved.dtype == vectors.dtype
    # The coefficients are those of the moved vectors.
    assert np.linalg.norm(gradient) < 1e-2 * sample.c.sum()


def test_steps_end_where_little_is_gained():
    vectors, sample = class_problem()
    loose, tight = (
        positions_of(vectors, sample, tolerance).follow(100)[2] for tolerance in (0.02, 1e-6)
    )
    assert 0 < loose < tight


@LAYOUTS
@pytest.mark.parametrize("name", ["two classes", "three classes", "values"])
def test_path_does_not_depend_on_layout_or_threads(name, layout, monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 12 * 128)
    vectors, sample = MAKERS[name](n=1000, dtype=np.float32)
    twin = MAKERS[name](n=1000, dtype=np.float32, layout=layout)[1]
    one, three = (
        positions_of(vectors, sample).follow(5),
        positions_of(vectors, twin, n_threads=3).follow(5),
    )
    assert_array_equal(one[0], three[0])
    assert_array_equal(one[1], three[1])
    assert one[2] == three[2] == 5


def test_path_of_few_values_does_not_depend_on_layout_or_threads(monkeypatch):
    monkeypatch.setattr(kernel, "BLOCK_VALUES", 10 * 128)
    vectors, sample = few_values()
    one = positions_of(vectors, sample).follow(5)
    three = positions_of(vectors, few_values(sp.csr_array)[1], n_threads=3).follow(5)
    assert_array_equal(one[0], three[0])
    assert_array_equal(one[1], three[1])


# --- models ---------------------------------------------------------------------------------------


def chequered(n=3000):
    X = np.random.default_rng(0).uniform(-2, 2, (n, 2)).astype(np.float32)
    return X, np.floor(X).sum(axis=1) % 2


def chequered_svc(**changes):
    return BudgetedSVC(**{"budget": 16, "C": 10.0, "gamma": 2.0, "random_state": 0} | changes)


@pytest.fixture
def paths(monkeypatch):
    """Return the list of the numbers of rows of all paths."""
    seen, follow = [], Positions.follow

    def count(self, *limits):
        seen.append(len(self.sample.c))
        return follow(self, *limits)

    monkeypatch.setattr(Positions, "follow", count)
    return seen


def test_classifier_moves_its_vectors_and_reports_it(capsys):
    X, y = chequered()
    moved = chequered_svc(verbose=True).fit(X, y)
    last = chequered_svc(polish=False).fit(X, y)
    assert 0 < moved.profile_.moves <= Choices().moves
    assert f"vectors moved in {moved.profile_.moves} steps" in capsys.readouterr().out
    assert not np.isin(moved.support_vectors_, last.support_vectors_).all()
    assert moved.profile_.objective_after < moved.profile_.objective_before
    assert moved.score(X, y) > 0.9


def test_only_near_rows_and_some_others_take_part(paths):
    X, y = chequered()
    chequered_svc().fit(X, y)
    (n_near,) = paths
    assert 0 < n_near < len(X)


def test_vectors_stay_if_the_loss_is_small(paths):
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(4000, 2))
    X = X[np.abs(X[:, 0]) > 0.2]
    y = X[:, 0] > 0
    assert BudgetedSVC(20, 1000.0, gamma=1.0, random_state=0).fit(X, y).profile_.moves == 0
    assert not paths
    BudgetedSVC(20, 1000.0, gamma=1.0, random_state=0, polish="thorough").fit(X, y)
    assert paths


def test_vectors_stay_after_a_trial_that_gains_little(monkeypatch):
    made, look = [], Positions.look

    def count(self, position):
        made.append(position)
        return look(self, position)

    monkeypatch.setattr(Positions, "look", count)
    monkeypatch.setattr(BudgetedSVR, "_choices", Choices(move_tolerance=0.9, value_patience=1))
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 2)), random.normal(size=3000)
    model = BudgetedSVR(100, gamma=2.0, random_state=0).fit(X, y)
    assert model.profile_.moves == 0
    assert len(made) <= 2  # the start, and a trial


def test_vectors_stay_if_noise_hides_what_there_is_to_gain(paths):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(3000, 2)), random.integers(0, 2, 3000)
    assert BudgetedSVC(500, gamma=2.0, random_state=0).fit(X, y).profile_.moves == 0
    assert not paths


def test_vectors_stay_if_few_rows_are_near_for_each_unknown(paths):
    X, y = chequered()
    noise = np.random.default_rng(0).normal(size=(len(X), 200))
    chequered_svc(gamma="auto").fit(np.column_stack([X, noise]), y)
    assert not paths
    chequered_svc().fit(X, y)
    assert paths


def test_a_regression_moves_with_half_as_many_rows_as_unknowns():
    X, y = make_friedman1(400, n_features=10, random_state=0)
    moves = [
        BudgetedSVR(budget, 10.0, random_state=0).fit(X, y).profile_.moves for budget in (60, 100)
    ]
    assert moves[0] > 0
    assert moves[1] == 0


def test_features_that_are_correlated_count_once():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    loss = EpsilonInsensitive.of(np.zeros((2000, 1)), [0.1], [0.1])

    def dimension(X):
        return solve.effective_dimension(Sample(ready_rows(X, 1.0), np.ones(2000), loss))

    assert dimension(X) == pytest.approx(3, abs=0.05)
    assert dimension(np.hstack([X, X, X])) == pytest.approx(3, abs=0.05)
    assert dimension(X * [1.0, 1e-3, 1e-3]) == pytest.approx(1, abs=0.01)
    assert dimension(np.ones((2000, 3))) == 1
    assert dimension(sp.csr_array(np.hstack([X, np.zeros((2000, 40))]))) == pytest.approx(
        3, abs=0.05
    )


def test_the_loss_of_a_rare_class_is_not_small(paths):
    # It is compared with a model that never predicts this class, not with the number of rows.
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    y = np.linalg.norm(X - 1.2, axis=1) < 0.3
    assert 0.005 < y.mean() < 0.02
    clf = BudgetedSVC(8, 10.0, gamma=4.0, random_state=0).fit(X, y)
    assert paths
    assert clf.profile_.objective_after < 0.01 * 10.0 * len(y)


def test_result_with_a_larger_objective_is_discarded(monkeypatch):
    X, y = chequered()
    monkeypatch.setattr(solve.Solver, "move", lambda _, answer: answer)
    still = chequered_svc().fit(X, y)
    monkeypatch.undo()
    looked = Positions.look

    def look(self, position):
        objective, gradient = looked(self, position)
        return -objective, -gradient

    monkeypatch.setattr(Positions, "look", look)
    clf = chequered_svc().fit(X, y)
    assert clf.profile_.moves == 0
    assert_array_equal(clf.support_vectors_, still.support_vectors_)
    assert_array_equal(clf.dual_coef_, still.dual_coef_)
    assert clf.profile_.objective_after == still.profile_.objective_after


def test_objective_of_all_rows_falls_after_a_sample(monkeypatch, paths):
    X, y = chequered(6000)
    monkeypatch.setattr(solve, "MOST_KEPT", 4 * 16 * 1000)  # solved on a sample first
    moved = chequered_svc().fit(X, y)
    assert moved.profile_.moves > 0
    assert paths[0] > 1000  # all near rows, not those of the sample
    monkeypatch.setattr(solve.Solver, "move", lambda _, answer: answer)
    still = chequered_svc().fit(X, y)
    assert moved.profile_.objective_after < 0.9 * still.profile_.objective_after


def test_thorough_moves_lower_the_objective_further(paths):
    X, y = chequered()
    plain = chequered_svc().fit(X, y)
    n_plain = len(paths)
    thorough = chequered_svc(polish="thorough").fit(X, y)
    assert thorough.profile_.moves > plain.profile_.moves
    assert len(paths) - n_plain > 1 == n_plain  # several rounds
    assert thorough.profile_.objective_after < 0.995 * plain.profile_.objective_after


@LAYOUTS
@pytest.mark.parametrize("n_classes", [2, 3])
def test_moved_classifier_does_not_depend_on_threads_or_layout(n_classes, layout):
    X, y = chequered()
    y = y + (X[:, 0] > 1) * (n_classes == 3)
    one = chequered_svc(budget=24).fit(X, y)
    two = chequered_svc(budget=24, n_jobs=3).fit(layout(X), y)
    assert one.profile_.moves > 0
    assert_array_equal(one.support_vectors_, two.support_vectors_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_sparse_rows_can_have_many_features():
    random = np.random.default_rng(0)
    X = sp.random_array((1000, 5_000), density=0.002, random_state=random, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel()
    model = BudgetedSVR(5, polish="thorough", random_state=0, max_iter=1, epsilon=0.0)
    model.fit(X.astype(np.float32), y)
    assert np.isfinite(model.dual_coef_).all()
    assert model.profile_.moves > 0
