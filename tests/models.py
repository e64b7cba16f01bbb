"""Small models and data sets that several tests share."""

from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs, make_friedman1, make_moons
from sklearn.preprocessing import scale

from pocketsvm import BudgetedSVC, BudgetedSVR, _core
from pocketsvm.rows.checked import Rows, check_rows, check_rows_and_targets
from pocketsvm.rows.precision import training_rows
from pocketsvm.rows.survey import AtHand

STRATEGIES = pytest.mark.parametrize("maintenance", _core.strategies())
LAYOUTS = pytest.mark.parametrize("layout", [np.asarray, sp.csr_array], ids=["dense", "csr"])
SMALL = {"budget": 30, "C": 10.0, "random_state": 0, "max_iter": 5, "polish": False}


def moons(n=600, noise=0.2, dtype=np.float64):
    X, y = make_moons(n, noise=noise, random_state=0)
    return X.astype(dtype), y


def blobs(n_classes=3, n=900):
    return make_blobs(n, n_features=5, centers=n_classes, cluster_std=2.0, random_state=1)


def friedman(n=400, noise=0.5):
    X, y = make_friedman1(n, n_features=6, noise=noise, random_state=0)
    return scale(X).astype(np.float32), scale(y)


def small_svc(**parameters):
    return BudgetedSVC(**SMALL | parameters)


def small_svr(**parameters):
    return BudgetedSVR(**SMALL | parameters)


def checked_rows(X):
    """Return rows as the estimators check them."""
    return check_rows(BudgetedSVC(), X, reset=True)


def ready_rows(X, gamma):
    """Return rows that are ready for training, in the precision that they have."""
    checked = checked_rows(X)
    return Rows(checked, checked.core(str(X.dtype)), gamma)


def ready_for(machine, X, y):
    """Return the rows, targets and settings of a machine, as `pocketsvm.fit` makes them."""
    rows, y = check_rows_and_targets(machine, X, y, reset=True)
    task, parameters = machine._what(), machine._parameters()
    rows, targets = task.targets(AtHand(rows, y, None), parameters, None)
    ready = training_rows(rows, machine.gamma)
    random = parameters.random_state
    alpha = task.alpha(ready, targets, rows.n_rows, parameters, random, None)
    return ready, targets, task.adapted(parameters.settings(alpha))


def assert_same_states(one, other):
    """Assert that further passes over two sets of vectors would give the same bits."""
    for name in ("gamma", "unit_alpha", "offset"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for a, b in zip(one.states, other.states, strict=True):
        for field in fields(a):
            assert_array_equal(getattr(a, field.name), getattr(b, field.name), field.name)


def assert_same_model(one, other):
    """Assert the same bits: vectors, coefficients, intercepts and the state of the passes."""
    names = ["support_vectors_", "dual_coef_", "intercept_", "gamma_", "alpha_"]
    for name in names + ["classes_"] * hasattr(one, "classes_"):
        assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    assert_same_states(one._state, other._state)


def differs(one, other):
    return not np.array_equal(one.support_vectors_, other.support_vectors_)


def expected_failures(estimator):
    """Return the scikit-learn checks that cannot pass, with the reason."""
    reason = "a weight scales the step of a row, but a repeated row makes two steps"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
        "check_array_api_same_namespace": "a model predicts the arrays of any library",
    }
