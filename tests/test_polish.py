"""Tests of polishing: the solution is optimal, reported in the profile, and never worse."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs, make_classification, make_friedman1, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC
from threadpoolctl import threadpool_info, threadpool_limits

from pocketsvm import BudgetedSVC, BudgetedSVR, _core
from pocketsvm.solving import moving
from pocketsvm.solving import newton as module


def moons(n=600, noise=0.2):
    return make_moons(n, noise=noise, random_state=0)


def reference_objective(clf, X, signs, c, width=module.Hinge.width):
    """Return the objective of the module's docstring, with scikit-learn's kernel, in float64."""
    S = clf.support_vectors_.astype(float)
    K = rbf_kernel(S, gamma=clf.gamma_) + module.JITTER * np.eye(len(S))
    k = rbf_kernel(X, S, gamma=clf.gamma_)

    def objective(x):
        u = 1 - signs * (k @ x[:-1] + x[-1])
        inside = np.abs(u) <= width
        loss = np.where(inside, (u + width) ** 2 / (4 * width), np.maximum(u, 0))
        slope = np.where(inside, (u + width) / (2 * width), u > 0)
        pull = c * slope * signs
        gradient = np.append(K @ x[:-1] - k.T @ pull, -pull.sum())
        return x[:-1] @ K @ x[:-1] / 2 + c @ loss, gradient

    return objective


@pytest.mark.parametrize("budget", [5, 20, 60])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_general_solver_does_not_find_a_better_solution(budget, C):
    X, y = moons()
    clf = BudgetedSVC(budget, C, random_state=0).fit(X, y)
    objective = reference_objective(clf, X, np.where(y, 1.0, -1.0), np.full(len(X), C))
    start = np.append(clf.dual_coef_[0], clf.intercept_)
    value = objective(start)[0]
    assert_allclose(clf.profile_.objective_after, value, rtol=1e-4)
    limits = {"maxiter": 20000, "maxfun": 40000}
    with threadpool_limits(1):
        best = minimize(objective, start, jac=True, method="L-BFGS-B", options=limits)
        from_zero = minimize(
            objective,
            np.zeros_like(start),
            jac=True,
            method="L-BFGS-B",
            options={**limits, "ftol": 1e-14},
        )
    assert value <= min(best.fun, from_zero.fun) * (1 + 1e-4)


def regression_objective(model, X, y, c):
    """Return the objective for the epsilon-insensitive loss; y is the target minus the offset."""
    S = model.support_vectors_.astype(float)
    K = rbf_kernel(S, gamma=model.gamma_) + module.JITTER * np.eye(len(S))
    k = rbf_kernel(X, S, gamma=model.gamma_)
    width = 0.1 * np.median(np.abs(y))

    def objective(x):
        residual = y - k @ x[:-1] - x[-1]
        value, slope = 0.0, 0.0
        for sign in (1, -1):
            u = sign * residual - model.epsilon
            inside = np.abs(u) <= width
            value = value + np.where(inside, (u + width) ** 2 / (4 * width), np.maximum(u, 0))
            slope = slope - sign * np.where(inside, (u + width) / (2 * width), u > 0)
        gradient = np.append(K @ x[:-1] + k.T @ (c * slope), (c * slope).sum())
        return x[:-1] @ K @ x[:-1] / 2 + c @ value, gradient

    return objective


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize(("budget", "C"), [(5, 0.1), (20, 10.0), (60, 0.3)])
def test_general_solver_does_not_find_a_better_regression(budget, C, epsilon, moves, monkeypatch):
    if not moves:
        monkeypatch.setattr(moving, "LEAST_ROWS", 1000)
    X, y = make_friedman1(400, n_features=5, noise=0.5, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    model = BudgetedSVR(budget, C, epsilon=epsilon, random_state=0)
    model.fit(X, y, sample_weight=weight)
    unpolished = BudgetedSVR(budget, C, epsilon=epsilon, random_state=0, polish=False)
    unpolished.fit(X, y, sample_weight=weight)
    with threadpool_limits(1):
        y = y - model._offset
        objective = regression_objective(model, X, y, C * weight)
        start = np.append(model.dual_coef_[0], model.intercept_ - model._offset)
        value = objective(start)[0]
        options = {"maxiter": 3000, "ftol": 1e-12}
        best = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        before = regression_objective(unpolished, X, y, C * weight)
        before = before(
            np.append(unpolished.dual_coef_[0], unpolished.intercept_ - unpolished._offset)
        )[0]
    assert_allclose(model.profile_.objective_after, value, rtol=1e-4)
    assert_allclose(model.profile_.objective_before, before, rtol=1e-4)
    assert value <= best.fun * (1 + 1e-4)
    assert value <= before
    assert model.profile_.gradient_norm < 0.01


def test_second_derivatives_are_updated_only_if_this_is_precise(monkeypatch):
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 4)).astype(np.float32)
    noisy = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * random.normal(size=len(X))
    loss = module.Hinge(np.where(noisy > 0, 1, -1).astype(np.int8))
    c = 10 ** random.uniform(-6, 6, len(X))
    sample = module.Sample(X, _core.Rows.dense(X), c, [loss])

    def objective():
        (found,) = module.polish(X[:120], [(np.zeros(120), 0.0)], 1e-3, sample, True, 1)
        return found.objective_after

    found = objective()
    monkeypatch.setattr(module, "MOST_BENT", 0.0)  # recomputed in each step
    assert_allclose(found, objective(), rtol=1e-3)


def test_coefficients_of_duplicate_vectors_are_summed():
    vectors = np.array([[1, 0], [0, 2], [1, -0.0], [0, 2], [3, 3]], dtype=np.float32)
    joined, coefficients = module.distinct(vectors, np.array([[1.0, 2, 3, 4, 5], [1, 1, 1, 1, 1]]))
    assert_array_equal(joined, vectors[[0, 1, 4]])
    assert_array_equal(coefficients, [[4, 6, 5], [2, 2, 1]])


@pytest.mark.parametrize("maintenance", _core.strategies())
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
    vectors, _ = module.distinct(last.support_vectors_, last.dual_coef_)
    assert_array_equal(clf.support_vectors_, vectors)  # the vectors do not move
    objective = reference_objective(last, X, np.where(y, 1.0, -1.0), np.full(len(X), 10.0))
    before = objective(np.append(last.dual_coef_[0], last.intercept_))[0]
    assert_allclose(profile.objective_before, before, rtol=1e-4)


def test_weights_multiply_the_loss():
    X, y = moons(300)
    times = np.random.default_rng(0).integers(1, 4, len(X))
    clf = BudgetedSVC(15, 5.0, random_state=0).fit(X, y, sample_weight=times)
    objective = reference_objective(clf, X, np.where(y, 1.0, -1.0), 5.0 * times)
    value, gradient = objective(np.append(clf.dual_coef_[0], clf.intercept_))
    assert_allclose(clf.profile_.objective_after, value, rtol=1e-4)
    assert np.linalg.norm(gradient) < 0.01 * 5.0 * times.sum()


def test_class_weight_shifts_the_boundary():
    X, y = moons(2000, noise=0.4)
    plain = BudgetedSVC(30, random_state=0).fit(X, y)
    weighted = BudgetedSVC(30, class_weight={0: 1.0, 1: 5.0}, random_state=0).fit(X, y)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.05


def test_fit_intercept_false_gives_zero_intercept():
    X, y = moons()
    clf = BudgetedSVC(20, fit_intercept=False, random_state=0).fit(X, y)
    assert_array_equal(clf.intercept_, [0.0])


def test_every_class_uses_all_vectors():
    X, y = make_blobs(900, centers=5, cluster_std=2.0, random_state=0)
    clf = BudgetedSVC(50, random_state=0).fit(X, y)
    assert clf.dual_coef_.shape == (5, len(clf.support_vectors_))
    assert np.count_nonzero(clf.dual_coef_) > 4 * len(clf.support_vectors_)
    unpolished = BudgetedSVC(50, random_state=0, polish=False).fit(X, y)
    assert clf.score(X, y) >= unpolished.score(X, y) - 0.01


@pytest.mark.parametrize("layout", [np.asarray, csr_array])
def test_result_does_not_depend_on_threads_or_layout(layout):
    X, y = make_classification(9000, 12, n_informative=6, random_state=0)
    X = X.astype(np.float32)
    one = BudgetedSVC(40, random_state=0).fit(X, y)
    two = BudgetedSVC(40, random_state=0, n_jobs=3).fit(layout(X), y)
    assert_array_equal(one.dual_coef_, two.dual_coef_)
    assert_array_equal(one.intercept_, two.intercept_)


def test_concurrent_fits_are_reproducible_and_keep_blas_settings():
    X, y = make_classification(6000, 10, n_informative=6, random_state=0)

    def fit(seed):
        return BudgetedSVC(60, random_state=seed % 2).fit(X, y).dual_coef_

    alone = [fit(0), fit(1)]
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit, range(8)))
    for seed, coefficients in enumerate(together):
        assert_array_equal(coefficients, alone[seed % 2])
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_less_smoothing_is_closer_to_the_exact_svm(monkeypatch):
    X, y = make_classification(2100, 10, n_informative=6, flip_y=0.05, random_state=0)
    train, test = slice(0, 100), slice(100, None)
    exact = SVC(gamma=0.1).fit(X[train], y[train]).decision_function(X[test])

    def error(width):  # of a model that keeps all rows as vectors
        monkeypatch.setattr(module.Hinge.__init__, "__defaults__", (width,))
        clf = BudgetedSVC(100, gamma=0.1, random_state=0).fit(X[train], y[train])
        return np.abs(clf.decision_function(X[test]) - exact).mean()

    assert error(0.02) < 0.75 * error(0.1) < 0.75 * 0.5 * error(0.5)


@pytest.mark.parametrize("C", [1e4, 1e6])
def test_large_c_converges(C):
    X, y = moons(1000)
    clf = BudgetedSVC(100, C, random_state=0).fit(X, y)  # warnings are errors
    assert clf.profile_.objective_after < clf.profile_.objective_before
    assert clf.score(X, y) > 0.95


def test_large_data_sets_are_subsampled(monkeypatch):
    X, y = moons(4000)
    whole = BudgetedSVC(20, random_state=0).fit(X, y)
    monkeypatch.setattr(module, "LARGEST_BLOCK", 4 * 20 * 1000)
    assert module.sample_size(len(X), 20) == 1000
    clf = BudgetedSVC(20, random_state=0).fit(X, y)
    assert not np.array_equal(clf.dual_coef_, whole.dual_coef_)
    # The objective of the sample is scaled to all rows.
    assert_allclose(clf.profile_.objective_after, whole.profile_.objective_after, rtol=0.3)
    assert abs(clf.score(X, y) - whole.score(X, y)) < 0.01


def test_duplicate_vectors_are_joined():
    X, y = moons(40)
    X, y = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    clf = BudgetedSVC(500, 100.0, gamma=5.0, random_state=0).fit(X, y)
    assert len(np.unique(clf.support_vectors_, axis=0)) == len(clf.support_vectors_) <= 40
    assert clf.score(X, y) > 0.95


def test_reaching_the_step_limit_gives_a_warning(monkeypatch):
    monkeypatch.setattr(module, "MAX_STEPS", 1)
    X, y = moons()
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        BudgetedSVC(20, 100.0, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Newton steps"):
        BudgetedSVR(20, 100.0, random_state=0).fit(X, X[:, 0])


def test_few_vectors_come_close_to_the_exact_svm():
    X, y = moons(4000, noise=0.3)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    exact = SVC(C=10, gamma=2.0).fit(X, y)
    scores = [
        BudgetedSVC(30, 10.0, gamma=2.0, random_state=seed).fit(X, y).score(X_test, y_test)
        for seed in range(5)
    ]
    assert len(exact.support_vectors_) > 600
    assert np.mean(scores) > exact.score(X_test, y_test) - 0.01
    assert np.std(scores) < 0.005


@pytest.mark.parametrize(
    "data",
    [
        {"weights": [0.99], "n_samples": 4000},
        {"flip_y": 0.1, "n_samples": 2000},
        {"n_features": 2, "n_informative": 2, "n_redundant": 0, "n_samples": 2000},
        {"n_features": 500, "n_samples": 1000},
        {"n_classes": 3, "n_informative": 4, "n_samples": 2000},
        {"n_classes": 10, "n_informative": 8, "n_samples": 4000},
        {"n_samples": 100},
    ],
    ids=["1:100", "noise", "2 features", "500 features", "3 classes", "10 classes", "100 rows"],
)
def test_polishing_does_not_reduce_the_test_accuracy(data):
    X, y = make_classification(**{"random_state": 0} | data)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
    difference = [
        BudgetedSVC(60, random_state=seed).fit(X, y).score(X_test, y_test)
        - BudgetedSVC(60, random_state=seed, polish=False).fit(X, y).score(X_test, y_test)
        for seed in range(3)
    ]
    assert np.mean(difference) > -0.002 - 1 / len(y_test)


def test_large_offsets_converge():
    X, y = moons(300)
    clf = BudgetedSVC(30, gamma=1.0, random_state=0).fit(X + 1e5, y)
    assert clf.score(X + 1e5, y) > 0.95


def test_partial_fit_does_not_polish():
    X, y = moons()
    clf = BudgetedSVC(20, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert clf.profile_.newton_steps == 0
    # Polishing does not change the last iterate, from which partial_fit continues.
    fitted = BudgetedSVC(20, random_state=0).fit(X, y)
    plain = BudgetedSVC(20, random_state=0, polish=False).fit(X, y)
    for key in ("vectors", "coefficients", "generator"):
        assert_array_equal(fitted._states[0][key], plain._states[0][key])
