"""Passes: reports, stopping, continuing, and rows that are hard to train on."""

import warnings

import numpy as np
import pytest
from models import STRATEGIES, moons, small_svc
from numpy.testing import assert_array_equal

# --- rows that are hard to train on ---------------------------------------------------------------


def test_memory_is_not_reserved_for_an_unreachable_budget():
    X, y = moons()
    plain = small_svc(budget=3000).fit(X, y)
    assert_array_equal(small_svc(budget=10**15).fit(X, y).dual_coef_, plain.dual_coef_)


@STRATEGIES
@pytest.mark.parametrize(
    "make",
    [
        lambda X: np.zeros_like(X),  # identical rows: kappa = 1 everywhere
        lambda X: np.sign(X),  # a few distinct rows
        lambda X: X * 0 + np.arange(len(X))[:, None] * 5,  # rows far apart: kappa = 0
        lambda X: X,
    ],
    ids=["identical", "few", "far", "usual"],
)
@pytest.mark.parametrize("gamma", [1.0, 1e5])
def test_degenerate_rows_train_and_predict(maintenance, make, gamma):
    X, y = moons(200)
    X = make(X)
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        clf = small_svc(gamma=gamma, budget=10, maintenance=maintenance).fit(X, y)
        values = clf.decision_function(X)
    assert np.isfinite(values).all()
    assert np.isfinite(clf.dual_coef_).all()
    assert 1 <= len(clf.support_vectors_) <= 10


@STRATEGIES
def test_single_row_of_a_label_trains(maintenance):
    X, y = moons(200)
    y = np.zeros(200)
    y[17] = 1
    clf = small_svc(budget=4, maintenance=maintenance).fit(X, y)
    assert np.isfinite(clf.decision_function(X)).all()
    assert clf.score(X, y) > 0.9
