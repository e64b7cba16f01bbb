"""Columns of very different scales, large offsets and outliers give a warning."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from models import LAYOUTS, moons, small_svc
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import make_friedman1, make_moons
from sklearn.preprocessing import RobustScaler, StandardScaler, normalize

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.rows.scales import ScaleWarning, TargetWarning


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_very_different_scale_give_a_warning(layout, dtype):
    X, y = moons()
    X = np.column_stack([X, np.full(len(X), 7.0)])  # constant columns are ignored
    scaled = layout((X * [1.0, 5000.0, 1.0]).astype(dtype))
    message = r"column 1 \(counted from 0\) ranges over .*, column 0 over .*StandardScaler"
    with pytest.warns(UserWarning, match=message) as caught:
        small_svc().fit(scaled, y)
    assert caught[0].filename == __file__
    small_svc().fit(layout((X * [1.0, 300.0, 1.0]).astype(dtype)), y)


def test_harmless_scales_give_no_warning():
    random = np.random.default_rng(0)
    n = 6000
    y = np.arange(n) % 2
    rare = sp.random_array((n, 300), density=1e-3, format="csr", random_state=random)
    rare.data[:] = 1.0
    small_svc().fit(sp.csr_array(sp.hstack([y[:, None], rare])), y)  # binary, some rare
    rare.data[:] = random.uniform(size=len(rare.data)) ** 9
    small_svc().fit(rare, y)  # columns with few values
    small_svc(gamma=1.0).fit(np.column_stack([y + 1.6e5, y]), y)  # gamma does not depend on it
    skewed = random.lognormal(0.0, 2.0, size=(n, 3))
    small_svc().fit((skewed - skewed.mean(axis=0)) / skewed.std(axis=0), y)


def test_large_targets_give_a_warning():
    X, y = make_friedman1(200, random_state=0)  # with a standard deviation of 5
    svr = BudgetedSVR(10, max_iter=1, random_state=0)
    svr.fit(X, y)
    with pytest.warns(TargetWarning, match="C=1 is small for these targets, .* is 3") as w:
        svr.fit(X, 1000 * y)
    assert w[0].filename == __file__
    with pytest.warns(TargetWarning, match=r"C \* epsilon=0.5 is small for these targets"):
        BudgetedSVR(10, 5.0, epsilon=0.1, loss="huber", max_iter=1).fit(X, 1000 * y)
    svr.set_params(C=5000.0).fit(X, 1000 * y)
    svr.set_params(C=1.0, alpha=1e-9).fit(X, 1000 * y)
    TransformedTargetRegressor(BudgetedSVR(10), transformer=StandardScaler()).fit(X, 1e5 * y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_epsilon_beyond_all_targets_gives_a_warning(fit_intercept):
    X, y = make_friedman1(200, random_state=0)
    y = y - (y.min() + y.max()) / 2  # without an intercept, zero is the middle
    reach = y.max()
    svr = BudgetedSVR(10, 100.0, fit_intercept=fit_intercept, max_iter=1, random_state=0)
    svr.set_params(epsilon=0.9 * reach).fit(X, y)
    message = "epsilon=.* is so large for these targets .* middle|zero .* the model is constant"
    with pytest.warns(TargetWarning, match=message):
        svr.set_params(epsilon=1.1 * reach).fit(X, y)
    assert np.ptp(svr.predict(X)) == 0.0
    with pytest.warns(TargetWarning, match=r"for the targets \[1\]"):
        svr.set_params(epsilon=0.1).fit(X, np.column_stack([y, y / (20 * reach)]))
    svr.fit(X, np.ones(200) if fit_intercept else np.zeros(200))  # nothing is hidden


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_normalised_sparse_rows_give_no_warning(norm):
    random = np.random.default_rng(0)
    X = sp.random_array((2000, 50), density=0.3, format="csr", random_state=random)
    X = sp.csr_array(X * np.geomspace(1e-4, 1.0, 50))
    y = np.arange(2000) % 2
    with pytest.warns(ScaleWarning, match="differ in scale"):
        small_svc().fit(X, y)
    small_svc().fit(normalize(X, norm=norm), y)


@LAYOUTS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_large_offset_gives_a_warning(layout, dtype):
    X, y = moons()
    years = np.random.default_rng(0).integers(1990, 2020, len(X))
    X = np.column_stack([X, years])
    message = r"Column 2 \(counted from 0\) of X has a large offset: its mean is 2.*StandardScaler"
    with pytest.warns(ScaleWarning, match=message) as caught:
        small_svc().fit(layout(X.astype(dtype)), y)
    assert caught[0].filename == __file__
    assert caught[0].message.scale == "standard"
    small_svc().fit(layout(StandardScaler().fit_transform(X).astype(dtype)), y)
    small_svc(gamma=0.1).fit(layout((X - [0, 0, 2000]).astype(dtype)), y)


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("offset", [1000, -1000])
def test_of_two_columns_the_one_with_the_large_offset_is_named(column, offset):
    X, y = moons()
    X[:, column] += offset
    message = rf"Column {column} \(counted from 0\) of X has a large offset: its mean is -?1e\+03"
    with pytest.warns(ScaleWarning, match=message):
        small_svc().fit(X, y)


@LAYOUTS
@pytest.mark.parametrize("sign", [1, -1])
def test_a_few_outliers_give_a_warning(layout, sign):
    X, y = make_moons(15_000, noise=0.2, random_state=0)
    X[7::4000, 1] = sign * 1e4  # four values
    message = r"A few values of X lie far.*: in column 1 \(counted from 0\), .*RobustScaler.*'auto'"
    for rows in (X, StandardScaler().fit_transform(X)):
        with pytest.warns(ScaleWarning, match=message) as caught:
            small_svc().fit(layout(rows), y)
        assert caught[0].message.scale == "robust"
    robust = RobustScaler(unit_variance=True).fit_transform(X)
    small_svc(gamma="auto").fit(layout(robust), y)


def test_rare_flags_give_no_warning():
    random = np.random.default_rng(0)
    flags = random.uniform(size=(400, 40)) < random.uniform(0.001, 0.02, 40)
    X = np.column_stack([random.normal(size=(400, 5)), flags])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (X, StandardScaler().fit_transform(X)):
            BudgetedSVC(20, random_state=0).fit(rows, rows[:, 0] > 0)
