"""BudgetedSVR: what it learns, units of the targets, weights, and scikit-learn's own targets."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from models import (
    STRATEGIES,
    assert_same_model,
    assert_same_states,
    expected_failures,
    friedman,
    small_svr,
)
from numpy.testing import assert_allclose, assert_array_equal
from reference import REMOVING
from sklearn.base import clone
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from pocketsvm import BudgetedSVR, _core

# --- scikit-learn's own checks --------------------------------------------------------------------


@parametrize_with_checks(
    [
        BudgetedSVR(),
        BudgetedSVR(  # as many parameters as possible differ from their defaults
            budget=50,
            C=2.0,
            epsilon=0.0,
            gamma=0.01,
            max_iter=10,
            maintenance="lookup-wd",
            polish=False,
            fit_intercept=False,
            alpha=1e-3,
            n_jobs=2,
        ),
        BudgetedSVR(loss="squared_error"),
        BudgetedSVR(loss="squared_error", polish=False),
        BudgetedSVR(loss="huber", epsilon=1.0),
        BudgetedSVR(loss="quantile"),
        BudgetedSVR(loss="quantile", polish=False),
    ],
    expected_failed_checks=expected_failures,
)
@pytest.mark.filterwarnings("ignore:C.*=1 is small")  # for the targets of one check
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- what it learns -------------------------------------------------------------------------------


SETS = {
    "friedman1": lambda: make_friedman1(1500, noise=1.0, random_state=0),
    "friedman2": lambda: make_friedman2(1500, noise=50.0, random_state=0),
    "friedman3": lambda: make_friedman3(1500, noise=0.1, random_state=0),
    "regression": lambda: make_regression(1500, 10, n_informative=5, noise=20.0, random_state=0),
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "friedman1, no noise": lambda: make_friedman1(1500, random_state=0),
    "friedman3, no noise": lambda: make_friedman3(1500, random_state=0),
    "regression, no noise": lambda: make_regression(1500, 10, n_informative=5, random_state=0),
}


@pytest.mark.parametrize("name", SETS)
def test_one_tenth_of_the_vectors_of_svr_is_enough(name):
    X, y = SETS[name]()
    X, X_test, y, y_test = train_test_split(scale(X), scale(y), random_state=0)
    exact = SVR().fit(X, y)
    model = BudgetedSVR(len(exact.support_) // 10, random_state=0).fit(X, y)
    assert model.score(X_test, y_test) > exact.score(X_test, y_test) - 0.02


@STRATEGIES
@pytest.mark.parametrize("polish", [True, False])
def test_every_strategy_learns(maintenance, polish):
    X, y = friedman(600)
    model = BudgetedSVR(40, 1.0, maintenance=maintenance, polish=polish, random_state=0)
    least = 0.95 if polish else 0.0 if maintenance in REMOVING else 0.85
    assert model.fit(X, y).score(X, y) > least
    assert 30 < len(model.support_vectors_) <= 40


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_attributes_reproduce_the_prediction(polish, fit_intercept):
    X, y = friedman()
    model = small_svr(polish=polish, fit_intercept=fit_intercept).fit(X, y + 3)
    kernel = rbf_kernel(X, model.support_vectors_.astype(np.float64), gamma=model.gamma_)
    values = kernel @ model.dual_coef_[0] + model.intercept_
    tolerance = 1e-5 * np.abs(model.dual_coef_).sum()
    assert model.dual_coef_.shape == (1, len(model.support_vectors_))
    assert_allclose(model.predict(X), values, rtol=0, atol=tolerance)
    assert (model.intercept_[0] != 0) == fit_intercept


def test_few_rows_and_many_vectors_match_svr():
    X, y = friedman(120)
    exact = SVR(C=2.0).fit(X, y)
    model = BudgetedSVR(500, 2.0, random_state=0).fit(X, y)
    assert_allclose(model.predict(X), exact.predict(X), rtol=0, atol=0.15)


def test_outliers_have_little_effect():
    X, y = friedman()
    spoilt = y.copy()
    spoilt[::50] = 1e6
    good = np.ones(len(y), dtype=bool)
    good[::50] = False
    model = BudgetedSVR(40, random_state=0).fit(X, spoilt)
    assert model.score(X[good], y[good]) > 0.7


def test_larger_epsilon_needs_fewer_vectors():
    X, y = friedman()
    sizes = [
        len(small_svr(budget=5000, epsilon=e).fit(X, y).support_vectors_) for e in (0, 0.5, 1.5)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


@pytest.mark.parametrize("polish", [True, False])
def test_equal_targets_need_no_vectors(polish):
    X, y = friedman()
    model = small_svr(polish=polish).fit(X, np.full(len(X), -7.0))
    assert model.support_vectors_.shape == (0, 6)
    assert model.dual_coef_.shape == (1, 0)
    assert_array_equal(model.predict(X), -7.0)
    model.set_params(warm_start=True, C=0.3).fit(X, y - 7)
    assert model.score(X, y - 7) > 0.8


# --- units of the targets -------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40])
def test_targets_epsilon_and_c_scale_together(unit, polish):
    X, y = friedman()
    one = small_svr(polish=polish, C=2.0, epsilon=0.25).fit(X, y)
    other = small_svr(polish=polish, C=2.0 * unit, epsilon=0.25 * unit).fit(X, y * unit)
    assert_array_equal(other.support_vectors_, one.support_vectors_)
    assert_array_equal(other.dual_coef_, one.dual_coef_ * unit)
    assert_array_equal(other.predict(X), one.predict(X) * unit)


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("offset", [1e3, -1e6])
def test_offset_of_the_targets_shifts_the_predictions(offset, polish):
    X, y = friedman()
    y = np.round(1024 * y) / 1024  # sums with the offset are then exact
    one, other = small_svr(polish=polish).fit(X, y), small_svr(polish=polish).fit(X, y + offset)
    assert_array_equal(other.dual_coef_, one.dual_coef_)
    assert_allclose(other.predict(X) - offset, one.predict(X), rtol=0, atol=1e-9)


# --- the same bits --------------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [True, False])
@pytest.mark.parametrize("layout", [sp.csr_array, sp.csc_matrix, np.asfortranarray])
def test_model_does_not_depend_on_layout_or_threads(layout, polish):
    X, y = friedman(1100)
    X[X < 0] = 0
    one = small_svr(polish=polish, budget=150, C=1.0).fit(X, y)
    other = small_svr(polish=polish, budget=150, C=1.0, n_jobs=3).fit(layout(X), y)
    assert_same_model(one, other)
    assert_array_equal(one.predict(X), other.predict(layout(X)))


def test_same_seed_gives_same_model():
    X, y = friedman()
    assert_same_model(small_svr().fit(X, y), small_svr().fit(X, y))
    other = small_svr(random_state=1).fit(X, y)
    assert not np.array_equal(other.support_vectors_, small_svr().fit(X, y).support_vectors_)


# --- weights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("polish", [True, False])
def test_rows_with_zero_weight_are_ignored(polish):
    X, y = friedman()
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    kept = weight > 0
    spoilt = np.where(kept, y, 1e9)
    one = small_svr(polish=polish).fit(X, spoilt, sample_weight=weight)
    assert_same_model(
        one, small_svr(polish=polish).fit(X[kept], y[kept], sample_weight=weight[kept])
    )


@pytest.mark.parametrize("polish", [True, False])
def test_scaling_weights_equals_scaling_c(polish):
    X, y = friedman()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    one = small_svr(polish=polish, C=2.0).fit(X, y, sample_weight=weight)
    other = small_svr(polish=polish, C=2.0 / 1024).fit(X, y, sample_weight=1024 * weight)
    assert_allclose(one.predict(X), other.predict(X), rtol=0, atol=1e-6)
    plain = small_svr(polish=polish, C=2.0).fit(X, y)
    ones = small_svr(polish=polish, C=2.0).fit(X, y, sample_weight=np.ones(len(X)))
    assert_same_model(plain, ones)


def test_predictions_follow_the_heavier_rows():
    X, y = friedman()
    low, high = y - 1, y + 1
    both, targets = np.concatenate([X, X]), np.concatenate([low, high])
    for heavy, expected in ((slice(0, 400), low), (slice(400, 800), high)):
        weight = np.ones(800)
        weight[heavy] = 10
        model = BudgetedSVR(40, random_state=0).fit(both, targets, sample_weight=weight)
        assert np.abs(model.predict(X) - expected).mean() < 0.5


# --- continued training ---------------------------------------------------------------------------


@STRATEGIES
def test_warm_start_continues_from_the_last_fit(maintenance):
    X, y = friedman()
    whole = small_svr(maintenance=maintenance, max_iter=4).fit(X, y)
    parts = small_svr(maintenance=maintenance, max_iter=2, warm_start=True).fit(X, y).fit(X, y)
    assert_same_model(whole, parts)


@pytest.mark.filterwarnings("ignore:epsilon=100 is so large")
def test_warm_start_keeps_the_offset():
    X, y = friedman()
    model = small_svr(warm_start=True).fit(X, y + 5)
    before = model.predict(X)
    model.set_params(max_iter=1, epsilon=100.0).fit(X, y - 5)  # no row is added, the rest shrinks
    assert_allclose(model._state.offset, np.quantile(y + 5, 0.5, method="inverted_cdf"))
    assert_allclose(
        model.predict(X) - model._state.offset, (before - model._state.offset) * 5 / 6, atol=1e-4
    )


def test_partial_fit_makes_one_pass():
    X, y = friedman()
    one = small_svr(max_iter=1, alpha=1e-3).fit(X, y)
    assert_same_model(one, small_svr(alpha=1e-3).partial_fit(X, y))
    assert small_svr(C=2.0).partial_fit(X, y).alpha_ == pytest.approx(1e-4 / 2)


def test_partial_fit_in_batches_learns():
    X, y = friedman(4000)
    model = BudgetedSVR(60, 0.1, random_state=0)
    for _ in range(3):
        for begin in range(0, 4000, 500):
            model.partial_fit(X[begin : begin + 500], y[begin : begin + 500] + 1e4)
    assert model.profile_.solver_steps == 0
    assert model.score(X, y + 1e4) > 0.9


def test_polishing_improves_the_model_and_keeps_the_state():
    X, y = friedman(1000)
    polished = small_svr(polish=True).fit(X, y)
    plain = small_svr(fit_intercept=False, max_iter=1).fit(X, y)
    assert polished.score(X, y) > plain.score(X, y)
    without = small_svr(polish=True, fit_intercept=False, max_iter=1).fit(X, y)
    assert_same_states(without._state, plain._state)
    assert_array_equal(without.intercept_, [0.0])


# --- the rest -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:C=")
def test_pickle_clone_and_grid_search():
    X, y = friedman()
    model = small_svr().fit(X, y)
    assert_same_model(pickle.loads(pickle.dumps(model)), model)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(small_svr(polish=True), {"C": [0.01, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"C": 10.0}


def test_verbose_prints_one_line_per_pass(capsys):
    small_svr(verbose=1, polish=True, max_iter=2).fit(*friedman())
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.startswith("[BudgetedSVR] pass 1/2: 30 support vectors")
    assert second.startswith("[BudgetedSVR] pass 2/2")
    assert last.startswith("[BudgetedSVR] polished in")


@pytest.mark.parametrize("when", ["fit", "partial_fit"])
def test_interrupted_fit_leaves_the_estimator_unchanged(monkeypatch, when):
    X, y = friedman()
    model = small_svr(warm_start=True).fit(X, y)
    before = dict(vars(model))

    def interrupted_pass(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_core, "train_pass_on_targets", interrupted_pass)
        with pytest.raises(KeyboardInterrupt):
            getattr(model, when)(X, y)
    assert all(vars(model)[name] is before[name] for name in before)
    assert_same_model(model.fit(X, y), small_svr(warm_start=True).fit(X, y).fit(X, y))


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (np.array([1.0, np.nan, 2.0]), "Input y contains NaN"),
        (np.array([1.0, np.inf, 2.0]), "Input y contains infinity"),
        (np.array([1.0, 1e31, 2.0]), "largest of the targets y is 1e.31"),
        (np.array(["1", "two", "3"]), "could not convert string to float"),
        (np.zeros((3, 2, 2)), "dim 3"),
        (np.zeros(4), "inconsistent numbers of samples"),
    ],
)
def test_bad_targets_are_rejected(targets, message):
    with pytest.raises(ValueError, match=message):
        BudgetedSVR().fit(np.eye(3), targets)


@pytest.mark.parametrize("parameters", [{"epsilon": -0.1}, {"epsilon": "a"}, {"budget": 1}])
def test_bad_parameters_are_rejected(parameters):
    with pytest.raises(ValueError, match=f"The '{next(iter(parameters))}' parameter"):
        BudgetedSVR(**parameters).fit(*friedman())
