"""The regularisation lambda: its value and range, and how weights and continuing change it."""

import re

import numpy as np
import pytest
from models import STRATEGIES, moons, small_svc
from numpy.testing import assert_allclose, assert_array_equal


def test_regularisation_is_one_over_n_times_c():
    X, y = moons(500)
    by_C = small_svc(C=4.0).fit(X, y)
    by_alpha = small_svc(C=123.0, alpha=1 / 2000).fit(X, y)
    assert by_C.alpha_ == pytest.approx(1 / 2000, rel=1e-15)
    assert_allclose(by_C.dual_coef_, by_alpha.dual_coef_, rtol=1e-12)


def test_partial_fit_without_alpha_assumes_ten_thousand_rows():
    X, y = moons()
    clf = small_svc(C=8.0).partial_fit(X, y, classes=[0, 1])
    assert clf.alpha_ == pytest.approx(1e-4 / 8, rel=1e-12)
    assert clf.partial_fit(X[:10], y[:10]).alpha_ == clf.alpha_
    fitted = small_svc(C=8.0).fit(X, y)
    alpha, gamma = fitted.alpha_, fitted.gamma_
    fitted.partial_fit(3 * X[:10], y[:10])
    assert (fitted.alpha_, fitted.gamma_) == (alpha, gamma)


@pytest.mark.parametrize(("half_life", "n_rows"), [(1.0, 2.0), (5000.0, 5000 / np.log(2))])
def test_partial_fit_with_a_half_life_assumes_the_weight_of_a_long_stream(half_life, n_rows):
    X, y = moons()
    clf = small_svc(C=8.0, half_life=half_life).partial_fit(X, y, classes=[0, 1])
    assert clf.alpha_ == pytest.approx(1 / n_rows / 8, rel=1e-3)


@pytest.mark.parametrize("parameters", [{"C": 1e300}, {"C": 1e-300}, {"alpha": 1e-31}])
def test_regularisation_out_of_range_is_rejected(parameters):
    ((name, value),) = parameters.items()
    with pytest.raises(
        ValueError, match=re.escape(f"{name}={value!r} makes the regularisation alpha=")
    ):
        small_svc(**parameters).fit(*moons())


def test_weights_too_large_for_c_are_rejected():
    X, y = moons()
    with pytest.raises(ValueError, match=r"C=10.0 makes .* for weights of about 1\.\d*e\+60"):
        small_svc().fit(X, y, sample_weight=np.full(len(y), 2e60))


@STRATEGIES
@pytest.mark.parametrize("factor", [2.0**-200, 2.0**10, 2.0**200])
def test_scaling_weights_and_c_changes_nothing(maintenance, factor):
    X, y = moons()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    plain = small_svc(maintenance=maintenance).fit(X, y, sample_weight=weight)
    scaled = small_svc(maintenance=maintenance, C=10 / factor)
    scaled.fit(X, y, sample_weight=weight * factor)
    assert_array_equal(scaled.dual_coef_, plain.dual_coef_)
    scaled.partial_fit(X, y, sample_weight=weight * factor)
    assert_array_equal(scaled.dual_coef_, plain.partial_fit(X, y, sample_weight=weight).dual_coef_)


def sure_row(clf, X, y):
    """Return a row outside the margin, which adds no vector."""
    sure = np.flatnonzero((2 * y - 1) * clf.decision_function(X) > 1.5)[0]
    return X[sure : sure + 1], y[sure : sure + 1]


@pytest.mark.parametrize("alpha", [1e-6, 1e-4, 1.0])
def test_new_alpha_keeps_the_model_continuous(alpha):
    X, y = moons()
    clf = small_svc().fit(X, y)
    vectors, coefficients, steps = clf.support_vectors_, clf.dual_coef_, clf.profile_.steps
    clf.set_params(alpha=alpha).partial_fit(*sure_row(clf, X, y))
    assert clf.profile_.violations == 0
    assert clf.alpha_ == alpha
    # One step scales the coefficients by (t - 1) / t, for any alpha.
    assert_array_equal(clf.support_vectors_, vectors)
    assert_allclose(clf.dual_coef_, coefficients * steps / (steps + 1), rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-25, 1e25])
def test_continuing_with_a_very_different_alpha_is_rejected(factor):
    X, y = moons()
    clf = small_svc().fit(X, y)
    clf.set_params(alpha=clf.alpha_ * factor)
    with pytest.raises(ValueError, match="differ too much from those of the model to be continued"):
        clf.partial_fit(X, y)
