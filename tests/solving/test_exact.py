"""Few rows that all fit into the budget: the model is that of the exact SVM."""

import numpy as np
import pytest
import scipy.sparse as sp
from exact_objective import Objective
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs, make_moons
from sklearn.svm import SVC
from solver_problems import PROBLEMS, class_problem
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVR, _core
from pocketsvm.solving import solve
from pocketsvm.solving.exact import solve_exactly
from pocketsvm.solving.newton import TOLERANCE

N_ROWS = 90


def problem(make, **changes):
    return make(n=N_ROWS, n_vectors=N_ROWS, **changes)


@pytest.mark.parametrize("make", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_independent_solver_does_not_find_a_better_solution(make, fit_intercept, C, dtype):
    vectors, sample = problem(make, C=C, dtype=dtype)
    found = solve_exactly(vectors, sample, fit_intercept, 1)
    objective = Objective(vectors, sample, fit_intercept)
    value, _ = objective(found.point)
    assert_allclose(found.objective, value, rtol=2e-3)  # the objective of the test has a jitter
    with threadpool_limits(1):
        best, _ = objective(objective.minimum(found.point)[0])
    assert best <= value <= best * (1 + 2e-3)
    assert found.point[:, -1].any() == fit_intercept
    assert found.remaining <= TOLERANCE


def test_rows_without_a_loss_are_no_vectors():
    X, y = make_moons(300, noise=0.1, random_state=0)
    clf = BudgetedSVC(300, 10.0, random_state=0).fit(X, y)
    margins = np.where(y == 1, 1, -1) * clf.decision_function(X)
    n_close = np.count_nonzero(margins < 1.5 - 0.01)  # the hinge is rounded off up to there
    assert n_close <= len(clf.support_vectors_) <= np.count_nonzero(margins < 1.5 + 0.01)
    assert len(clf.support_vectors_) < 150


@pytest.mark.parametrize("n_classes", [2, 4])
def test_repeated_rows_share_a_vector(n_classes):
    X, y = make_blobs(60, centers=n_classes, cluster_std=3.0, random_state=0)
    twice = BudgetedSVC(500, random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    heavy = BudgetedSVC(500, gamma=twice.gamma_, random_state=0)
    heavy.fit(X, y, sample_weight=np.full(60, 2.0))
    # The weight of all rows is part of alpha: C is the same for each row.
    assert len(twice.support_vectors_) <= 60
    assert len(np.unique(twice.support_vectors_, axis=0)) == len(twice.support_vectors_)
    assert_allclose(twice.decision_function(X), heavy.decision_function(X), atol=2e-3)


def test_one_row_less_in_the_budget_gives_nearly_the_same_model():
    X, y = make_moons(200, noise=0.2, random_state=0)
    models = [BudgetedSVC(budget, random_state=0).fit(X, y) for budget in (200, 199)]
    values = [model.decision_function(X) for model in models]
    assert_allclose(values[0], values[1], atol=0.1)
    assert models[0].profile_.objective_after <= models[1].profile_.objective_after * (1 + 1e-3)


@pytest.mark.parametrize(
    "estimator", [BudgetedSVC(400), BudgetedSVR(400), BudgetedOneClassSVM(400)]
)
def test_the_objective_falls_and_threads_change_nothing(estimator):
    X, y = make_moons(300, noise=0.2, random_state=0)
    y = X[:, 0] * X[:, 1] if isinstance(estimator, BudgetedSVR) else y
    models = [
        estimator.__class__(400, random_state=0, n_jobs=n_jobs).fit(X, y).decision_function(X)
        if not isinstance(estimator, BudgetedSVR)
        else estimator.__class__(400, random_state=0, n_jobs=n_jobs).fit(X, y).predict(X)
        for n_jobs in (1, 3)
    ]
    assert_array_equal(models[0], models[1])
    profile = estimator.fit(X, y).profile_
    assert 0 < profile.objective_after <= profile.objective_before
    assert profile.moves == 0


@pytest.mark.parametrize("gamma", [1e-4, 1e-5])
@pytest.mark.parametrize(("unit", "C"), [(1e-1, 1e4), (1e-3, 100.0)])
def test_large_coefficients_are_left_to_the_general_solver(unit, C, gamma, monkeypatch):
    random = np.random.default_rng(1)
    X = random.normal(size=(400, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * random.normal(size=400)
    model = BudgetedSVR(C=C, gamma=gamma, epsilon=0.1 * unit, random_state=0)
    found = []

    def note(*arguments):
        found.append(solve_exactly(*arguments))
        return found[-1]

    monkeypatch.setattr(solve, "solve_exactly", note)
    model.fit(X, unit * y)
    assert 0.0 < model.profile_.objective_after < model.profile_.objective_before
    assert model.score(X, unit * y) > 0.0
    assert not found[0].is_optimal
    assert model.profile_.objective_after > found[0].objective  # that has no jitter


@pytest.mark.parametrize("C", [1e5, 1e6])
@pytest.mark.parametrize("layout", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", ["two classes", "four classes"])
def test_rounding_errors_do_not_matter_with_a_large_c(name, layout, C):
    vectors, sample = problem(PROBLEMS[name], C=C, layout=layout, dtype=np.float32)
    assert sample.is_stiff
    found = solve_exactly(vectors, sample, True, 1)
    objective = Objective(vectors, sample, jitter=0.0)
    value, gradient = objective(found.point)
    assert_allclose(found.objective, value, rtol=1e-5)
    assert np.abs(gradient).max() <= 1e-3 * found.objective


def test_an_indefinite_matrix_is_left_to_the_general_solver(monkeypatch):
    X, y = make_moons(100, noise=0.3, random_state=0)
    expected = BudgetedSVC(100, random_state=0).fit(X, y).predict(X)
    # Rounding may make a matrix indefinite: the core then returns None.
    monkeypatch.setattr(_core, "solve_rows", lambda *_: None)
    assert np.mean(BudgetedSVC(100, random_state=0).fit(X, y).predict(X) == expected) > 0.97


def test_a_large_c_is_solved_exactly_if_rounding_does_not_matter():
    X, y = make_moons(300, noise=0.3, random_state=0)
    clf = BudgetedSVC(C=1e5, gamma=1.0, random_state=0).fit(X, y)
    kernel_machine = SVC(C=1e5, gamma=1.0).fit(X, y)
    assert np.mean(clf.predict(X) == kernel_machine.predict(X)) > 0.99


def test_thorough_models_and_larger_ones_are_not_solved_exactly(monkeypatch):
    X, y = make_moons(100, noise=0.3, random_state=0)

    def fail(*_):
        raise AssertionError("not for these")

    monkeypatch.setattr(solve, "solve_exactly", fail)
    BudgetedSVC(99, random_state=0).fit(X, y)
    BudgetedSVC(100, polish="thorough", random_state=0).fit(X, y)
    BudgetedSVC(100, polish=False, random_state=0).fit(X, y)
    with pytest.raises(AssertionError, match="not for these"):
        BudgetedSVC(100, random_state=0).fit(X, y)


def test_wrong_arguments_are_refused():
    _, sample = problem(class_problem)
    losses, kernel = sample.loss.core, np.eye(N_ROWS)
    rest = 0.0, True, 1.0, 1.0, 10, 1e-4
    with pytest.raises(ValueError, match="losses and c must have one entry per row of kernel, 90"):
        _core.solve_rows(losses, kernel, sample.c[1:], *rest)
    with pytest.raises(ValueError, match="kernel must be square, got 90 rows and 89 columns"):
        _core.solve_rows(losses, np.ones((90, 89)), sample.c, *rest)
    assert _core.solve_rows(losses, np.full((90, 90), np.nan), sample.c, *rest) is None
