"""Training in the core on rows that are equal, far apart, extreme or of one label."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import REMOVING, Reference
from trainers import DTYPES, MERGING_STRATEGIES, STRATEGIES, noisy_data, settings, trained


@DTYPES
@STRATEGIES
def test_budget_above_the_number_of_rows_merges_nothing(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(n=40, dtype=dtype)
    trainer = trained(X, y, core_rows, maintenance=maintenance, budget=1000)
    state = trainer.state()
    assert len(trainer.events()["step"]) == 0
    assert len(state["coefficients"]) == trainer.profile()["violations"]
    born_of = trainer.order()[state["births"] - 1]
    assert_array_equal(state["vectors"], X[born_of])
    assert_array_equal(state["coefficients"], y[born_of])
    assert state["bias"] == y[born_of].sum()


@DTYPES
@STRATEGIES
def test_smallest_budget_trains(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(dtype=dtype)
    state = trained(X, y, core_rows, maintenance=maintenance, budget=2).state()
    assert len(state["coefficients"]) == 2
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))


@DTYPES
@STRATEGIES
def test_equal_rows_merge_without_loss(maintenance, dtype, core_rows):
    X = np.tile(np.array([0.3, -1.7, 1000.1], dtype=dtype), (60, 1))
    # With alpha = 10 every row is a violation, so 60 vectors with coefficient 1 are added.
    trainer = trained(
        X,
        np.ones(60),
        core_rows,
        maintenance=maintenance,
        budget=4,
        alpha=10.0,
        fit_intercept=False,
    )
    state = trainer.state()
    assert_allclose(state["vectors"], X[:4], rtol=1e-6)
    if maintenance in REMOVING:
        assert_array_equal(state["coefficients"], 1)
    else:
        assert state["coefficients"].sum() == pytest.approx(60, rel=1e-5)
        assert_allclose(trainer.events()["degradation"], 0, atol=1e-5)


@pytest.mark.parametrize("gamma", [1e3, 1e8, 1e30])
@DTYPES
@STRATEGIES
def test_merging_distant_rows_nearly_removes_one(maintenance, dtype, gamma, core_rows):
    X = (10 * np.random.default_rng(0).permutation(300)[:, None]).astype(dtype)
    y = np.where(np.arange(300) % 3, 1, -1)
    trainer = trained(X, y, core_rows, maintenance=maintenance, gamma=gamma, fit_intercept=False)
    state, events = trainer.state(), trainer.events()
    assert len(events["step"]) == 280  # every row is a violation
    # Merging at kappa = 0 does not move the larger vector and loses the smaller coefficient, so
    # the remaining vectors are rows with their labels.
    rows = np.argmin(np.abs(X.ravel() - state["vectors"].astype(float)), axis=1)
    assert_allclose(state["vectors"], X[rows], atol=1e-3)
    assert_allclose(state["coefficients"], y[rows], rtol=1e-3)
    assert_allclose(events["degradation"], 1, rtol=1e-3)


@DTYPES
@STRATEGIES
def test_values_of_any_size_leave_a_finite_model(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(n=100, dtype=dtype)
    largest = np.sqrt(np.finfo(dtype).max) / 10  # squared norms do not overflow
    scale = 10 ** np.random.default_rng(1).uniform(-30, np.log10(largest) - 1, X.shape)
    X = (X * scale).astype(dtype)
    state = trained(X, y, core_rows, maintenance=maintenance, budget=8).state()
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))
    assert np.isfinite(state["bias"])


@DTYPES
@STRATEGIES
@pytest.mark.parametrize("unit", [1e-60, 1e25])
def test_weights_of_any_size_leave_a_finite_model(unit, maintenance, dtype, core_rows):
    X, y, weight = noisy_data(dtype=dtype)
    state = trained(X, y, core_rows, sample_weight=weight * unit, maintenance=maintenance).state()
    assert len(state["coefficients"]) <= 20
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))


@MERGING_STRATEGIES
def test_only_vector_of_its_label_is_not_merged(maintenance, core_rows):
    X, _, weight = noisy_data(n=200)
    y = np.full(200, -1)
    y[7], weight[7] = 1, 0.01  # the smallest coefficient, without a partner
    options = {"maintenance": maintenance, "budget": 6, "fit_intercept": False, "alpha": 10.0}
    trainer = trained(X, y, core_rows, sample_weight=weight, **options)
    expected = Reference(**settings(X, **options))
    for i in trainer.order():
        expected.step(X[i], y[i], weight[i])
    state = trainer.state()
    lone = state["coefficients"] > 0
    assert_array_equal(state["vectors"][lone], X[7:8])
    assert_array_equal(state["coefficients"][lone], [0.01])
    events = trainer.events()
    assert len(events["step"]) == 194
    assert_array_equal(events["first"], [event.first for event in expected.events])
    assert_array_equal(events["second"], [event.second for event in expected.events])


@STRATEGIES
def test_single_label_trains(maintenance, core_rows):
    X, _, _ = noisy_data()
    for label in (-1, 1):
        y = np.full(len(X), label)
        state = trained(X, y, core_rows, maintenance=maintenance, alpha=1.0).state()
        assert len(state["coefficients"]) <= 20
        if maintenance != "projection":
            assert np.all(np.sign(state["coefficients"]) == label)


@STRATEGIES
def test_all_zero_rows_train(maintenance, core_rows):
    X = np.zeros((50, 3))
    y = np.where(np.arange(50) % 2, 1, -1)
    state = trained(X, y, core_rows, maintenance=maintenance, layout="csr", budget=4).state()
    assert_array_equal(state["vectors"], 0)
    assert np.all(np.isfinite(state["coefficients"]))
