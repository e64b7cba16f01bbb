"""Newton's method: it solves the restricted problem, from any start and for any C."""

import numpy as np
import pytest
from models import STRATEGIES, moons, ready_rows
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.solving import moving, newton
from pocketsvm.solving.kernel import JITTER
from pocketsvm.solving.losses import HINGE_WIDTH, RELATIVE_WIDTH, Hinge
from pocketsvm.solving.sample import Sample


def rounded_ramp(u, width):
    """Return max(0, u) with its kink rounded off, as the module's docstring says, and its slope."""
    inside = np.abs(u) <= width
    value = np.where(inside, (u + width) ** 2 / (4 * width), np.maximum(u, 0))
    return value, np.where(inside, (u + width) / (2 * width), u > 0)


def class_loss(signs):
    """Return the rounded hinge loss as a function of the decision values, with its slope."""

    def loss(decisions):
        value, slope = rounded_ramp(1 - signs * decisions, HINGE_WIDTH)
        return value, -signs * slope

    return loss


def value_loss(y, epsilon):
    """Return the rounded epsilon-insensitive loss, with its slope; y excludes the offset."""
    width = RELATIVE_WIDTH * np.median(np.abs(y))

    def loss(decisions):
        above, rise = rounded_ramp(y - decisions - epsilon, width)
        below, fall = rounded_ramp(decisions - y - epsilon, width)
        return above + below, fall - rise

    return loss


def restricted(model, X, loss, c):
    """Return the objective of the module's docstring and its gradient, in float64.

    The kernel values are those of scikit-learn. The second result is the point of the model.
    """
    S = model.support_vectors_.astype(float)
    K = rbf_kernel(S, gamma=model.gamma_) + JITTER * np.eye(len(S))
    k = rbf_kernel(X, S, gamma=model.gamma_)

    def objective(x):
        value, slope = loss(k @ x[:-1] + x[-1])
        gradient = np.append(K @ x[:-1] + k.T @ (c * slope), c @ slope)
        return x[:-1] @ K @ x[:-1] / 2 + c @ value, gradient

    return objective, np.append(model.dual_coef_[0], model.intercept_ - model._state.offset)


def general_solution(objective, start, **options):
    """Minimise by SciPy's general solver."""
    options = {"maxiter": 5000, "maxfun": 10000} | options
    return minimize(objective, start, jac=True, method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("budget", [5, 20, 60])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_general_solver_does_not_find_a_better_solution(budget, C):
    X, y = moons(300)
    clf = BudgetedSVC(budget, C, random_state=0).fit(X, y)
    objective, point = restricted(clf, X, class_loss(np.where(y, 1.0, -1.0)), np.full(len(X), C))
    value = objective(point)[0]
    assert_allclose(clf.profile_.objective_after, value, rtol=1e-4)
    with threadpool_limits(1):
        near = general_solution(objective, point)
        from_zero = general_solution(objective, np.zeros_like(point), ftol=1e-14)
    assert value <= min(near, from_zero) * (1 + 1e-4)


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize(("budget", "C"), [(5, 0.1), (20, 10.0), (60, 0.3)])
def test_general_solver_does_not_find_a_better_regression(budget, C, epsilon, moves, monkeypatch):
    if not moves:
        monkeypatch.setattr(moving, "LEAST_ROWS", 1000)
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model, unpolished = (
        BudgetedSVR(budget, C, epsilon=epsilon, random_state=0, polish=polish).fit(X, y, weight)
        for polish in (True, False)
    )
    loss = value_loss(y - model._state.offset, epsilon)
    objective, point = restricted(model, X, loss, C * weight)
    objective_before, point_before = restricted(unpolished, X, loss, C * weight)
    with threadpool_limits(1):
        value, before = objective(point)[0], objective_before(point_before)[0]
        best = general_solution(objective, point, maxiter=3000, ftol=1e-12)
    assert_allclose(model.profile_.objective_after, value, rtol=1e-4)
    assert_allclose(model.profile_.objective_before, before, rtol=1e-4)
    assert value <= best * (1 + 1e-4)
    assert value <= before
    assert model.profile_.gradient_norm < 0.01


@STRATEGIES
def test_objective_never_increases_and_the_profile_reports_it(maintenance, monkeypatch):
    monkeypatch.setattr(moving.Effort, "steps", lambda *_: 0)
    X, y = moons()
    clf = BudgetedSVC(20, 10.0, maintenance=maintenance, random_state=0).fit(X, y)
    profile = clf.profile_
    assert profile.objective_after <= profile.objective_before
    assert profile.newton_steps > 0
    assert profile.seconds_polish > 0
    assert profile.gradient_norm < 0.01
    assert "Newton steps" in str(profile)
    assert profile.moves == 0
    assert "moved" not in str(profile)
    last = BudgetedSVC(20, 10.0, maintenance=maintenance, random_state=0, polish=False).fit(X, y)
    vectors, _ = newton.distinct(last.support_vectors_, last.dual_coef_)
    assert_array_equal(clf.support_vectors_, vectors)  # the vectors do not move
    loss = class_loss(np.where(y, 1.0, -1.0))
    objective, point = restricted(last, X, loss, np.full(len(X), 10.0))
    assert_allclose(profile.objective_before, objective(point)[0], rtol=1e-4)


def test_weights_multiply_the_loss():
    X, y = moons(300)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    clf = BudgetedSVC(15, 5.0, random_state=0).fit(X, y, sample_weight=times)
    objective, point = restricted(clf, X, class_loss(np.where(y, 1.0, -1.0)), 5.0 * times)
    value, gradient = objective(point)
    assert_allclose(clf.profile_.objective_after, value, rtol=1e-4)
    assert np.linalg.norm(gradient) < 0.01 * 5.0 * times.sum()


def test_second_derivatives_are_updated_only_if_this_is_precise(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4)).astype(np.float32)
    noisy = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=len(X))
    loss = Hinge(np.where(noisy > 0, 1, -1).astype(np.int8))
    c = 10 ** random.uniform(-6, 6, len(X))
    sample = Sample(ready_rows(X, 1e-3), c, [loss])

    def objective():
        (found,) = newton.polish(X[:120], [(np.zeros(120), 0.0)], sample, True, 1)
        return found.objective_after

    found = objective()
    monkeypatch.setattr(newton, "MOST_BENT", 0.0)  # recomputed in each step
    assert_allclose(found, objective(), rtol=1e-3)


def test_coefficients_of_duplicate_vectors_are_summed():
    vectors = np.array([[1, 0], [0, 2], [1, -0.0], [0, 2], [3, 3]], dtype=np.float32)
    joined, coefficients = newton.distinct(vectors, np.array([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]]))
    assert_array_equal(joined, vectors[[0, 1, 4]])
    assert_array_equal(coefficients, [[4, 6, 5], [2, 2, 1]])


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_large_c_converges(C):
    X, y = moons(1000)
    clf = BudgetedSVC(100, C, random_state=0).fit(X, y)  # warnings are errors
    assert clf.profile_.objective_after < clf.profile_.objective_before
    assert clf.score(X, y) > 0.95


def test_large_offsets_converge():
    X, y = moons(300)
    clf = BudgetedSVC(30, gamma=1.0, random_state=0).fit(X + 1e5, y)
    assert clf.score(X + 1e5, y) > 0.95
