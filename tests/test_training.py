"""Training in the core: every decision against the reference, and what holds whatever the data."""

import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import LOSSES, MERGING, REMOVING, Reference, epsilon_insensitive

from pocketsvm import _core

STRATEGIES = pytest.mark.parametrize("maintenance", _core.strategies())
MERGING_STRATEGIES = pytest.mark.parametrize(
    "maintenance", [name for name in _core.strategies() if name in MERGING]
)
DTYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
LAYOUTS = pytest.mark.parametrize("layout", ["dense", "csr"])


# --- data and runs -------------------------------------------------------------------------------


def noisy_data(n=500, d=5, dtype="float64", seed=0):
    """Continuous features, a third of them zero; labels that nothing fits; weights without ties."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 1 / 3, 0, rng.normal(size=(n, d))).astype(dtype)
    y = np.where(X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=n) > 0, 1, -1)
    return X, y, rng.uniform(0.5, 2, n)


def noisy_targets(**options):
    """The same rows and weights, with numbers for labels."""
    X, _, weight = noisy_data(**options)
    noise = np.random.default_rng(1).normal(size=len(X))
    return X, np.sin(2 * X[:, 0].astype(float)) + X[:, 1] + 0.3 * noise, weight


def tied_data(n=700, dtype="float64", seed=0):
    """Binary features and 60 different rows only: equal rows and equal coefficients everywhere."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (60, 12))[rng.integers(0, 60, n)].astype(dtype)
    y = np.where(X[:, :4].sum(axis=1) + rng.normal(size=n) > 2, 1, -1)
    return X, y


def settings(X, **changes):
    defaults = {
        "n_features": X.shape[1],
        "budget": 20,
        "gamma": 0.2,
        "alpha": 1 / (10 * len(X)),
        "maintenance": "merge",
        "fit_intercept": True,
    }
    return defaults | changes


def make_trainer(X, seed=0, **changes):
    return _core.Trainer(**settings(X, **changes), seed=seed, dtype=str(X.dtype))


def run_pass(trainers, rows, y, sample_weight=None, class_weight=(1.0, 1.0), n_threads=1):
    """One pass of one or several trainers over labels of -1 and 1."""
    trainers = trainers if isinstance(trainers, list) else [trainers]
    codes = (np.asarray(y) > 0).astype(np.int32)
    positives = [1] * len(trainers)
    class_weight = np.asarray(class_weight, dtype=float)
    labels = (codes, positives, class_weight)
    _core.train_pass(trainers, rows, "hinge", *labels, sample_weight, n_threads)


def run_pass_on_targets(trainer, rows, y, epsilon, sample_weight=None, n_threads=1):
    """One pass over target values."""
    loss = ("epsilon_insensitive", epsilon)
    _core.train_pass_on_targets(trainer, rows, *loss, y, sample_weight, n_threads)


def trained(X, y, core_rows, *, layout="dense", passes=1, sample_weight=None, seed=0, **changes):
    trainer = make_trainer(X, seed, **changes)
    trainer.observe()
    for _ in range(passes):
        run_pass(trainer, core_rows(X, layout), y, sample_weight)
    return trainer


def assert_same_bits(one, other):
    one, other = one.state(), other.state()
    assert one.keys() == other.keys()
    for key in one:
        assert_array_equal(one[key], other[key], err_msg=key, strict=True)


def squared_norm(vectors, coefficients, gamma):
    """||sum_j c_j phi(x_j)||^2 with digits to spare."""
    vectors, c = np.asarray(vectors, np.longdouble), np.asarray(coefficients, np.longdouble)
    return float(c @ np.exp(-gamma * np.sum((vectors[:, None] - vectors) ** 2, axis=2)) @ c)


# --- the same decisions as the reference ---------------------------------------------------------


@DTYPES
@LAYOUTS
@STRATEGIES
def test_the_reference_makes_the_same_decisions(maintenance, layout, dtype, core_rows):
    X, y, weight = noisy_data(dtype=dtype)
    options = {"maintenance": maintenance, "fit_intercept": layout == "dense"}
    trainer = make_trainer(X, **options)
    trainer.observe()
    expected = Reference(**settings(X, **options))
    for _ in range(2):
        run_pass(trainer, core_rows(X, layout), y, weight)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    assert_same_training(trainer, expected, maintenance, dtype)
    assert trainer.state()["steps"] == 2 * len(X)


@DTYPES
@LAYOUTS
@STRATEGIES
def test_the_reference_makes_the_same_decisions_on_targets(maintenance, layout, dtype, core_rows):
    X, y, weight = noisy_targets(dtype=dtype)
    options = {"maintenance": maintenance, "fit_intercept": layout == "dense"}
    trainer = make_trainer(X, **options)
    trainer.observe()
    loss = partial(epsilon_insensitive, epsilon=0.3)
    expected = Reference(**settings(X, **options), loss=loss)
    for _ in range(2):
        run_pass_on_targets(trainer, core_rows(X, layout), y, 0.3, weight)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    assert 0 < expected.violations < expected.steps
    assert_same_training(trainer, expected, maintenance, dtype)


@DTYPES
@pytest.mark.parametrize("loss", [*_core.class_losses(), *_core.target_losses()])
def test_the_reference_takes_the_same_steps_with_every_loss(loss, dtype, core_rows):
    X, y, weight = noisy_data(n=100, dtype=dtype)
    options = {"budget": 200, "alpha": 1.0}  # with a smaller one, steep losses amplify rounding
    trainer, rows = make_trainer(X, **options), core_rows(X)
    parameters = (0.3,) if loss in _core.target_losses() else ()

    def slope(y, decision):
        return LOSSES[loss](y, decision, *parameters)

    expected = Reference(**settings(X, **options), loss=slope)
    for _ in range(2):
        if loss in _core.class_losses():
            labels = ((y > 0).astype(np.int8), [1], np.ones(2), weight)
            _core.train_pass([trainer], rows, loss, *labels, 1)
        else:
            _core.train_pass_on_targets(trainer, rows, loss, 0.3, y.astype(float), weight, 1)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    state = trainer.state()
    assert_array_equal(state["births"], expected.births)
    assert_allclose(state["coefficients"], expected.coefficients, rtol=2e-3)


def assert_same_training(trainer, expected, maintenance, dtype):
    events = trainer.events()
    assert len(expected.events) > 300
    step, first, second, h, coefficient, degradation = map(
        np.array, zip(*expected.events, strict=True)
    )
    assert_array_equal(events["step"], step)
    assert_array_equal(events["first"], first)
    assert_array_equal(events["second"], second)
    single = dtype == "float32"
    tolerance = {"rtol": 1e-3, "atol": 1e-5} if single else {"rtol": 1e-6, "atol": 1e-8}
    if maintenance in MERGING:
        # A search that compares in single precision may end one bracket away.
        h_tolerance = 0.01 if single and maintenance == "gss" else 1e-3 if single else 1e-6
        assert_allclose(events["h"], h, rtol=0, atol=h_tolerance)
    assert_allclose(events["coefficient"], coefficient, **tolerance)
    assert_allclose(events["degradation"], degradation, **tolerance)

    state = trainer.state()
    assert_array_equal(state["births"], expected.births)
    assert_allclose(state["coefficients"], expected.coefficients, **tolerance)
    assert_allclose(state["vectors"], expected.vectors, **tolerance)
    assert state["bias"] == pytest.approx(expected.bias, rel=1e-12, abs=1e-12)
    assert state["steps"] == expected.steps
    assert trainer.profile()["violations"] == expected.violations


def is_a_smallest(reference, first):
    """Whether a first partner has the smallest coefficient, rounding aside."""
    magnitude = np.abs(reference.coefficients)
    if magnitude[first] <= magnitude.min() * (1 + 1e-6):
        return True
    alone = ~reference.candidates(int(np.argmin(magnitude))).any()
    same_sign = reference.candidates(first)
    return alone and magnitude[first] <= magnitude[same_sign].min() * (1 + 1e-6)


@DTYPES
@LAYOUTS
@STRATEGIES
def test_with_ties_every_decision_is_minimal(maintenance, layout, dtype, core_rows):
    X, y = tied_data(dtype=dtype)
    gamma = 0.1
    trainer = make_trainer(X, maintenance=maintenance, gamma=gamma)
    trainer.observe()
    replay = Reference(**settings(X, maintenance=maintenance, gamma=gamma))
    done, exact_ties = 0, 0
    for _ in range(2):
        run_pass(trainer, core_rows(X, layout), y)
        events = trainer.events()
        for i in trainer.order():
            if not replay.advance(X[i].astype(float), y[i]):
                continue
            assert events["step"][done] == replay.steps
            first, second, h = (events[key][done].item() for key in ("first", "second", "h"))
            assert is_a_smallest(replay, first)
            magnitude = np.abs(replay.coefficients)
            near = magnitude <= magnitude.min() * (1 + 1e-6)
            if np.all(magnitude[near] == magnitude.min()):  # no rounding can decide
                assert first == replay.first_partner()
                exact_ties += near.sum() > 1
            if maintenance in MERGING:
                criterion = replay.criterion(first)
                assert criterion[second] <= criterion.min() * (1 + 1e-5) + 1e-9
                # Of equal rows with equal coefficients, the lowest slot.
                twins = np.all(replay.vectors == replay.vectors[second], axis=1)
                twins &= replay.coefficients == replay.coefficients[second]
                twins &= replay.candidates(first) & (magnitude == 1)
                assert not twins.any() or second == np.flatnonzero(twins)[0]
            else:
                assert second == -1
            replayed = replay.apply(first, second, h)
            assert_allclose(events["coefficient"][done], replayed.coefficient, rtol=1e-4)
            assert_allclose(events["degradation"][done], replayed.degradation, rtol=1e-3, atol=1e-6)
            done += 1
    assert done == len(events["step"]) > 300
    if maintenance != "projection":
        assert exact_ties > 20


@pytest.mark.parametrize(("maintenance", "factor"), [("merge", 1.001), ("gss-precise", 1 + 1e-5)])
@pytest.mark.parametrize("data", ["noisy", "tied"])
def test_the_chosen_pair_is_the_best_of_all_pairs(maintenance, factor, data, core_rows):
    X, y = noisy_data()[:2] if data == "noisy" else tied_data()
    options = {"maintenance": maintenance, "gamma": 0.1}
    trainer = trained(X, y, core_rows, **options)
    events = trainer.events()
    replay = Reference(**settings(X, **options))
    done = 0
    for i in trainer.order():
        if replay.advance(X[i], y[i]):
            first, second, h = (events[key][done].item() for key in ("first", "second", "h"))
            exact = replay.degradations(first)
            assert exact[second] <= exact.min() * factor + 1e-12
            replay.apply(first, second, h)
            done += 1
    assert done > 100


@DTYPES
@MERGING_STRATEGIES
def test_the_nearest_of_near_rows_is_found(maintenance, dtype, core_rows):
    # Three heaps of rows, a thousandth apart and far from the origin: in single precision the
    # kernel row has no digits left to tell a heap's rows apart.
    rng = np.random.default_rng(0)
    X = (
        rng.normal(2, 1, (3, 5))[rng.integers(0, 3, 150)] + 1e-3 * rng.normal(size=(150, 5))
    ).astype(dtype)
    y = rng.choice([-1, 1], 150)
    options = {"maintenance": maintenance, "fit_intercept": False, "alpha": 1.0}
    trainer = make_trainer(X, **options)
    trainer.observe()
    judge, n_events = Reference(**settings(X, **options)), 0
    for i in range(len(X)):
        judge.load(trainer.state())
        run_pass(trainer, core_rows(X[i : i + 1]), y[i : i + 1])
        if not judge.advance(X[i].astype(float), y[i]):
            continue
        n_events += 1
        events = trainer.events()
        assert len(events["step"]) == n_events
        criterion = judge.criterion(events["first"][-1])
        assert criterion[events["second"][-1]] <= criterion.min() * (1 + 1e-5)
    assert n_events > 50


# --- one step at a time --------------------------------------------------------------------------


@DTYPES
@STRATEGIES
def test_the_reported_degradation_is_what_the_weight_vector_lost(maintenance, dtype, core_rows):
    X, y, weight = noisy_data(n=250, dtype=dtype)
    gamma, budget = 0.2, 12
    trainer = make_trainer(X, maintenance=maintenance, gamma=gamma, budget=budget)
    trainer.observe()
    events = 0
    for i in range(len(X)):
        before = trainer.state()
        run_pass(trainer, core_rows(X[i : i + 1]), y[i : i + 1], weight[i : i + 1])
        after = trainer.state()
        assert len(after["coefficients"]) <= budget
        assert after["steps"] == i + 1
        if len(trainer.events()["step"]) == events:
            continue
        events += 1
        lost = squared_norm(
            np.vstack([before["vectors"], X[i : i + 1], after["vectors"]]),
            np.concatenate([before["coefficients"], [y[i] * weight[i]], -after["coefficients"]]),
            gamma,
        )
        reported = trainer.events()["degradation"][-1]
        assert reported == pytest.approx(lost, rel=1e-5, abs=1e-12)
    assert events > 100


@STRATEGIES
def test_a_step_moves_only_what_it_must(maintenance, core_rows):
    X, y, weight = noisy_data(n=200)
    trainer = make_trainer(X, maintenance=maintenance, budget=10)
    trainer.observe()
    for i in range(len(X)):
        before, n_events = trainer.state(), len(trainer.events()["step"])
        run_pass(trainer, core_rows(X[i : i + 1]), y[i : i + 1], weight[i : i + 1])
        after, events = trainer.state(), trainer.events()
        vectors = np.vstack([before["vectors"], X[i : i + 1]])
        births = np.append(before["births"], i + 1)
        if len(events["step"]) == n_events:
            size = len(after["births"])  # one more where the row violates
            assert_array_equal(after["vectors"], vectors[:size])
            continue
        first, second = events["first"][-1], events["second"][-1]
        if second >= 0:
            h = events["h"][-1]
            vectors[second] = h * vectors[first] + (1 - h) * vectors[second]
            births[second] = i + 1
        vectors[first], births[first] = vectors[-1], births[-1]
        assert_allclose(after["vectors"], vectors[:-1], rtol=1e-12, atol=1e-12)
        assert_array_equal(after["births"], births[:-1])


@DTYPES
@pytest.mark.parametrize(
    "maintenance", [name for name in _core.strategies() if name != "projection"]
)
def test_unmerged_vectors_have_coefficients_of_exactly_one(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(n=45, dtype=dtype)  # 25 merges: some have met no partner yet
    trainer = trained(X, y, core_rows, maintenance=maintenance, alpha=1.0)
    assert len(trainer.events()["step"]) > 20
    state, order = trainer.state(), trainer.order()
    born_of = order[state["births"] - 1]
    unmerged = np.all(state["vectors"] == X[born_of], axis=1)
    assert unmerged.sum() >= 2
    assert_array_equal(state["coefficients"][unmerged], y[born_of][unmerged])


def test_the_first_step_sees_an_empty_model(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, fit_intercept=True)
    run_pass(trainer, core_rows(X), [1], np.array([0.25]))
    state = trainer.state()
    assert_array_equal(state["vectors"], X)
    assert_array_equal(state["coefficients"], [0.25])
    assert_array_equal(state["births"], [1])
    assert state["bias"] == 0.25


def test_a_row_exactly_on_the_margin_is_no_violation(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, alpha=1.0, fit_intercept=False)
    for _ in range(3):  # f = 0, then 1 / 1 = 1, then 1 / 2
        run_pass(trainer, core_rows(X), [1])
    assert_array_equal(trainer.state()["births"], [1, 3])


# --- rows and weights ----------------------------------------------------------------------------


def test_every_pass_takes_all_rows_in_an_order_of_its_own(core_rows):
    X, y, _ = noisy_data()
    trainer = make_trainer(X)
    orders = []
    for _ in range(2):
        run_pass(trainer, core_rows(X), y)
        orders.append(trainer.order())
        assert_array_equal(np.sort(orders[-1]), np.arange(len(X)))
    assert not np.array_equal(*orders)
    assert not np.array_equal(orders[0], np.arange(len(X)))


def test_orders_are_uniform():
    rows = _core.Rows.dense(np.zeros((4, 1)))
    trainer = make_trainer(np.zeros((4, 1)), seed=5)
    counts = np.zeros((4, 4))
    for _ in range(4000):
        run_pass(trainer, rows, [1, 1, 1, 1])
        counts[np.arange(4), trainer.order()] += 1
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000 * 3 / 4)


@STRATEGIES
def test_class_weights_multiply_sample_weights(maintenance, core_rows):
    X, y, weight = noisy_data()
    one, other = make_trainer(X, maintenance=maintenance), make_trainer(X, maintenance=maintenance)
    run_pass(one, core_rows(X), y, weight, class_weight=[0.5, 4.0])
    run_pass(other, core_rows(X), y, weight * np.where(y > 0, 4.0, 0.5))
    assert_same_bits(one, other)


@DTYPES
@STRATEGIES
@pytest.mark.parametrize("power", [-40, 40, -70, 70])
def test_the_unit_of_the_weights_cancels_against_alpha(power, maintenance, dtype, core_rows):
    X, y, weight = noisy_data(dtype=dtype)
    options, unit = {"maintenance": maintenance, "fit_intercept": False}, 2.0**power
    one = trained(X, y, core_rows, sample_weight=weight, alpha=0.001, **options).state()
    other = trained(X, y, core_rows, sample_weight=weight * unit, alpha=0.001 * unit, **options)
    assert_array_equal(other.state()["vectors"], one["vectors"])
    assert_array_equal(other.state()["coefficients"], one["coefficients"] * unit)


@DTYPES
@STRATEGIES
@pytest.mark.parametrize("unit", [1e-60, 1e25])
def test_weights_of_any_size_leave_a_finite_model(unit, maintenance, dtype, core_rows):
    X, y, weight = noisy_data(dtype=dtype)
    state = trained(X, y, core_rows, sample_weight=weight * unit, maintenance=maintenance).state()
    assert len(state["coefficients"]) <= 20
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))


def test_no_sample_weights_are_weights_of_one(core_rows):
    X, y, _ = noisy_data()
    one, other = make_trainer(X), make_trainer(X)
    run_pass(one, core_rows(X), y)
    run_pass(other, core_rows(X), y, np.ones(len(X)))
    assert_same_bits(one, other)


# --- targets -------------------------------------------------------------------------------------


def test_a_row_exactly_on_the_tube_is_no_violation(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, alpha=1.0, fit_intercept=False)
    for target in (0.5, -0.5, 2.0, 2.5, 2.0 / 3 - 0.75):  # f = 0, 0, 0, then 1 / 3, then 1 / 2
        run_pass_on_targets(trainer, core_rows(X), np.array([target]), 0.5)
    state = trainer.state()
    assert_array_equal(state["births"], [3, 4, 5])
    assert_array_equal(state["coefficients"], [1.0, 1.0, -1.0])


@DTYPES
@STRATEGIES
def test_targets_and_their_alpha_share_a_unit(maintenance, dtype, core_rows):
    """A power of two in the targets, epsilon and 1 / alpha changes no decision."""
    X, y, weight = noisy_targets(dtype=dtype)
    states = []
    for unit in (1.0, 2.0**30, 2.0**-30):
        trainer = make_trainer(X, maintenance=maintenance, alpha=0.001 / unit)
        run_pass_on_targets(trainer, core_rows(X), unit * y, unit * 0.3, weight)
        states.append(trainer)
    for other in states[1:]:
        assert_same_bits(states[0], other)


@DTYPES
@STRATEGIES
def test_targets_give_the_same_bits_in_every_layout_and_number_of_threads(
    maintenance, dtype, core_rows
):
    X, y, weight = noisy_targets(n=1500, dtype=dtype)
    trainers = []
    for layout, n_threads in (("dense", 1), ("csr", 1), ("dense", 3)):
        trainers.append(make_trainer(X, maintenance=maintenance, budget=70))
        rows = core_rows(X, layout)
        run_pass_on_targets(trainers[-1], rows, y, 0.1, weight, n_threads)
    for other in trainers[1:]:
        assert_same_bits(trainers[0], other)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": np.zeros(3)}, "targets must have one entry per row, 4, got 3"),
        ({"targets": np.array([0, 1, np.nan, 0])}, "targets must be finite, got nan in row 2"),
        ({"parameter": -0.1}, "parameter must be finite and not negative"),
        ({"parameter": np.inf}, "parameter must be finite and not negative"),
        ({"loss": "hinge"}, "loss 'hinge' is not known; known are: epsilon_insensitive"),
        ({"sample_weight": np.ones(5)}, "sample_weight must have one entry per row, 4, got 5"),
        ({"sample_weight": np.zeros(4)}, "sample_weight must be positive and finite"),
        ({"rows": _core.Rows.dense(np.zeros((4, 3)))}, "rows must have 2 features, got 3"),
        ({"rows": _core.Rows.dense(np.zeros((0, 2)))}, "rows must not be empty"),
    ],
)
def test_bad_targets_are_refused(change, message):
    arguments = {
        "trainer": make_trainer(np.zeros((4, 2))),
        "rows": _core.Rows.dense(np.zeros((4, 2))),
        "loss": "epsilon_insensitive",
        "parameter": 0.1,
        "targets": np.zeros(4),
        "sample_weight": None,
        "n_threads": 1,
    }
    with pytest.raises(ValueError, match=message):
        _core.train_pass_on_targets(**arguments | change)


# --- the same bits -------------------------------------------------------------------------------


@DTYPES
@STRATEGIES
def test_a_seed_decides_every_bit(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(dtype=dtype)
    options = {"maintenance": maintenance, "passes": 2}
    dense = trained(X, y, core_rows, **options)
    assert_same_bits(dense, trained(X, y, core_rows, **options))
    assert_same_bits(dense, trained(X, y, core_rows, layout="csr", **options))
    another = trained(X, y, core_rows, seed=1, **options)
    assert not np.array_equal(dense.state()["vectors"], another.state()["vectors"])


@DTYPES
@pytest.mark.parametrize("d", [1, 17, 40])
def test_dense_and_sparse_rows_give_the_same_bits_at_any_width(d, dtype, core_rows):
    X, y, _ = noisy_data(d=max(d, 2), dtype=dtype)
    X = np.ascontiguousarray(X[:, :d])
    X[:3] = 0  # empty rows too
    X[5:8] = -0.0
    options = {"gamma": 1 / d, "budget": 33}
    assert_same_bits(
        trained(X, y, core_rows, **options), trained(X, y, core_rows, layout="csr", **options)
    )


def test_stored_zeros_change_nothing(core_rows):
    X, y, _ = noisy_data()
    n, d = X.shape
    stored = _core.Rows.csr(X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d), d)
    one, other = make_trainer(X), make_trainer(X)
    run_pass(one, stored, y)
    run_pass(other, core_rows(X, "csr"), y)
    assert_same_bits(one, other)


@STRATEGIES
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_trainers_side_by_side_are_trainers_alone(maintenance, n_threads, core_rows):
    X, _, weight = noisy_data()
    codes = np.random.default_rng(0).integers(0, 3, len(X)).astype(np.int32)
    class_weight = np.array([1.0, 2.0, 0.5])
    rows = core_rows(X)

    def trainers():
        return [make_trainer(X, seed=k, maintenance=maintenance) for k in range(3)]

    together, alone = trainers(), trainers()
    for _ in range(2):
        labels = (class_weight, weight)
        _core.train_pass(together, rows, "hinge", codes, [0, 1, 2], *labels, n_threads)
        for k, trainer in enumerate(alone):
            _core.train_pass([trainer], rows, "hinge", codes, [k], *labels, 1)
    for one, other in zip(together, alone, strict=True):
        assert_same_bits(one, other)


@DTYPES
@STRATEGIES
def test_a_restored_state_goes_on_as_if_never_interrupted(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(dtype=dtype)
    whole = trained(X, y, core_rows, maintenance=maintenance, passes=3)
    first = trained(X, y, core_rows, maintenance=maintenance, passes=1)
    resumed = make_trainer(X, seed=99, maintenance=maintenance)
    resumed.restore(**first.state())
    assert_same_bits(resumed, first)
    for _ in range(2):
        run_pass(resumed, core_rows(X), y)
    assert_same_bits(resumed, whole)


def test_a_state_is_a_copy(core_rows):
    X, y, _ = noisy_data()
    trainer = trained(X, y, core_rows)
    before = trainer.state()
    kept = {key: np.copy(value) for key, value in before.items()}
    run_pass(trainer, core_rows(X), y)
    for key in before:
        assert_array_equal(before[key], kept[key])
    restored = make_trainer(X)
    restored.restore(**before)
    before["coefficients"][:] = np.nan
    before["vectors"][:] = np.nan
    assert_array_equal(restored.state()["coefficients"], kept["coefficients"])
    assert_array_equal(restored.state()["vectors"], kept["vectors"])


@STRATEGIES
def test_a_state_above_the_budget_is_brought_down_to_it(maintenance, core_rows):
    X, y, weight = noisy_data()
    large = trained(X, y, core_rows, maintenance=maintenance, budget=60, sample_weight=weight)
    small = make_trainer(X, maintenance=maintenance, budget=7)
    small.restore(**large.state())
    state = small.state()
    assert len(state["coefficients"]) == len(state["vectors"]) == len(state["births"]) == 7
    assert np.all(np.isfinite(state["coefficients"]))
    run_pass(small, core_rows(X), y)
    assert len(small.state()["coefficients"]) == 7


@pytest.mark.parametrize(
    ("key", "damage"),
    [
        ("vectors", lambda v: v[:, :-1].copy()),
        ("vectors", lambda v: v[:-1].copy()),
        ("vectors", lambda v: v.ravel().copy()),
        ("coefficients", lambda v: v[:-1].copy()),
        ("births", lambda v: v[:-1].copy()),
        ("generator", lambda v: v[:-1].copy()),
    ],
)
def test_a_damaged_state_is_refused(key, damage, core_rows):
    X, y, _ = noisy_data()
    trainer = trained(X, y, core_rows)
    state = trainer.state()
    state[key] = damage(state[key])
    names = r"vectors|coefficients" if key == "vectors" else key
    with pytest.raises((TypeError, ValueError), match=names):
        make_trainer(X).restore(**state)


@pytest.mark.parametrize("key", ["vectors", "coefficients", "births", "bias", "steps", "generator"])
def test_a_state_with_a_key_missing_is_refused(key, core_rows):
    X, y, _ = noisy_data()
    state = trained(X, y, core_rows).state()
    del state[key]
    with pytest.raises(TypeError, match=key):
        make_trainer(X).restore(**state)


# --- the profile ---------------------------------------------------------------------------------


@STRATEGIES
def test_the_profile_adds_up(maintenance, core_rows):
    X, y, _ = noisy_data(n=2000)
    trainer = trained(X, y, core_rows, maintenance=maintenance, passes=2, budget=50)
    profile, n_events = trainer.profile(), len(trainer.events()["step"])
    assert profile["steps"] == 4000
    assert profile["merges"] + profile["removals"] == n_events > 100
    assert profile["merges" if maintenance in MERGING else "removals"] == n_events
    assert profile["violations"] == n_events + len(trainer.state()["coefficients"])
    if maintenance in MERGING:
        assert profile["seconds_solve"] > 0


@STRATEGIES
def test_the_parts_of_the_time_are_no_more_than_the_whole(maintenance, core_rows):
    X, y, _ = noisy_data(n=2000)
    for _ in range(5):  # the clocks are sampled: on a busy machine one sample may count too much
        profile = trained(X, y, core_rows, maintenance=maintenance, budget=50).profile()
        parts = [profile[f"seconds_{part}"] for part in ("margin", "solve", "rest")]
        assert all(seconds >= 0 for seconds in parts)
        if 0 < sum(parts) <= 1.2 * profile["seconds_total"]:
            return
    pytest.fail(f"{parts} are more than {profile['seconds_total']}")


def test_an_observer_changes_nothing(core_rows):
    X, y, _ = noisy_data()
    silent, observed = make_trainer(X), make_trainer(X)
    observed.observe()
    for trainer in (silent, observed):
        run_pass(trainer, core_rows(X), y)
    assert len(silent.events()["step"]) == 0
    assert len(observed.events()["step"]) == observed.profile()["merges"] > 0
    assert_same_bits(silent, observed)


# --- unusual data --------------------------------------------------------------------------------


@DTYPES
@STRATEGIES
def test_a_budget_above_the_number_of_rows_merges_nothing(maintenance, dtype, core_rows):
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
def test_the_smallest_budget_trains(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(dtype=dtype)
    state = trained(X, y, core_rows, maintenance=maintenance, budget=2).state()
    assert len(state["coefficients"]) == 2
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))


@DTYPES
@STRATEGIES
def test_equal_rows_merge_without_loss(maintenance, dtype, core_rows):
    X = np.tile(np.array([0.3, -1.7, 1000.1], dtype=dtype), (60, 1))
    # alpha = 10: every row violates, so 60 vectors of coefficient 1 come in
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
def test_rows_far_apart_are_all_but_dropped(maintenance, dtype, gamma, core_rows):
    X = (10 * np.random.default_rng(0).permutation(300)[:, None]).astype(dtype)
    y = np.where(np.arange(300) % 3, 1, -1)
    trainer = trained(X, y, core_rows, maintenance=maintenance, gamma=gamma, fit_intercept=False)
    state, events = trainer.state(), trainer.events()
    assert len(events["step"]) == 280  # every row violates
    # Merging at kappa = 0 keeps the larger vector where it is: what is left are rows with their
    # labels, and each merge loses its smaller coefficient.
    rows = np.argmin(np.abs(X.ravel() - state["vectors"].astype(float)), axis=1)
    assert_allclose(state["vectors"], X[rows], atol=1e-3)
    assert_allclose(state["coefficients"], y[rows], rtol=1e-3)
    assert_allclose(events["degradation"], 1, rtol=1e-3)


@DTYPES
@STRATEGIES
def test_values_of_any_size_leave_a_finite_model(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(n=100, dtype=dtype)
    largest = np.sqrt(np.finfo(dtype).max) / 10  # squared norms still fit
    scale = 10 ** np.random.default_rng(1).uniform(-30, np.log10(largest) - 1, X.shape)
    X = (X * scale).astype(dtype)
    state = trained(X, y, core_rows, maintenance=maintenance, budget=8).state()
    assert np.all(np.isfinite(state["coefficients"]))
    assert np.all(np.isfinite(state["vectors"]))
    assert np.isfinite(state["bias"])


@MERGING_STRATEGIES
def test_a_lone_vector_of_its_label_is_left_alone(maintenance, core_rows):
    X, _, weight = noisy_data(n=200)
    y = np.full(200, -1)
    y[7], weight[7] = 1, 0.01  # the smallest of all, and no partner for it
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
def test_a_single_label_trains(maintenance, core_rows):
    X, _, _ = noisy_data()
    for label in (-1, 1):
        y = np.full(len(X), label)
        state = trained(X, y, core_rows, maintenance=maintenance, alpha=1.0).state()
        assert len(state["coefficients"]) <= 20
        if maintenance != "projection":
            assert np.all(np.sign(state["coefficients"]) == label)


@STRATEGIES
def test_rows_without_any_value_train(maintenance, core_rows):
    X = np.zeros((50, 3))
    y = np.where(np.arange(50) % 2, 1, -1)
    state = trained(X, y, core_rows, maintenance=maintenance, layout="csr", budget=4).state()
    assert_array_equal(state["vectors"], 0)
    assert np.all(np.isfinite(state["coefficients"]))


# --- what a long run owes to others --------------------------------------------------------------

LONG_RUN = """
import signal, time
import numpy as np
from pocketsvm import _core

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)

def train(n, budget, n_trainers):
    X = rng.normal(size=(n, 18)).astype(np.float32)
    codes = rng.integers(0, 2, n).astype(np.int32)
    trainers = [
        _core.Trainer(
            n_features=18, budget=budget, gamma=0.1, alpha=1 / n, maintenance="gss-precise",
            fit_intercept=True, seed=seed, dtype="float32",
        )
        for seed in range(n_trainers)
    ]
    rows = _core.Rows.dense(X)
    print("started", flush=True)
    labels = (codes, [1] * n_trainers, np.ones(2), None)
    _core.train_pass(trainers, rows, "hinge", *labels, N_THREADS)

try:
    train(400_000, 1000, 2)
    print("never interrupted", flush=True)
except KeyboardInterrupt:
    print(time.time(), flush=True)
train(1000, 10, 1)
print("healthy", flush=True)
"""


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_ends_a_long_pass(n_threads):
    child = subprocess.Popen(
        [sys.executable, "-c", LONG_RUN.replace("N_THREADS", str(n_threads))],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "started\n"
        time.sleep(0.3)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        answer = child.stdout.readline().strip()
        assert answer != "never interrupted"
        assert float(answer) - sent < 2
        assert child.stdout.read() == "started\nhealthy\n"
        assert child.wait(timeout=30) == 0
    finally:
        child.kill()
        child.communicate()


def test_other_threads_run_while_training_does(core_rows):
    X, y, _ = noisy_data(n=20_000, d=18, dtype="float32")
    trainer = make_trainer(X, budget=500, maintenance="gss", gamma=0.05)
    worker = threading.Thread(target=run_pass, args=(trainer, core_rows(X), y))
    ticks, start = 0, time.perf_counter()
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    seconds = time.perf_counter() - start
    worker.join()
    assert seconds > 0.05  # or the count would say nothing
    assert ticks > 20 * seconds


def test_threads_may_train_at_once(core_rows):
    X, y, _ = noisy_data(n=3000)
    rows = core_rows(X)
    alone, at_once = (
        [make_trainer(X, seed=k, maintenance=name) for k, name in enumerate(_core.strategies())]
        for _ in range(2)
    )
    for trainer in alone:
        run_pass(trainer, rows, y)
    workers = [threading.Thread(target=run_pass, args=(trainer, rows, y)) for trainer in at_once]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for one, other in zip(alone, at_once, strict=True):
        assert_same_bits(one, other)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "value"),
    [("maintenance", "magic"), ("dtype", "float16"), ("budget", 0), ("n_features", 0)],
)
def test_a_trainer_that_cannot_be_is_refused(argument, value):
    arguments = settings(np.zeros((10, 3))) | {"seed": 0, "dtype": "float64"}
    with pytest.raises(ValueError, match=argument if argument != "maintenance" else "magic"):
        _core.Trainer(**(arguments | {argument: value}))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("codes", np.zeros(9, np.int32)),
        ("codes", np.zeros(11, np.int32)),
        ("codes", np.full(10, 2, np.int32)),
        ("codes", np.full(10, -1, np.int32)),
        ("codes", np.r_[np.zeros(9, np.int32), np.int32(2**31 - 1)]),
        ("positives", []),
        ("positives", [0, 1]),
        ("positives", [2]),
        ("positives", [-1]),
        ("class_weight", np.ones(1)),
        ("class_weight", np.empty(0)),
        ("sample_weight", np.ones(9)),
        ("sample_weight", np.ones(11)),
        ("loss", "squared"),
        ("rows", _core.Rows.dense(np.zeros((10, 2)))),
        ("rows", _core.Rows.dense(np.zeros((10, 4)))),
        ("rows", _core.Rows.dense(np.zeros((10, 3), np.float32))),
    ],
)
def test_arrays_of_the_wrong_size_are_refused(argument, value):
    X = np.zeros((10, 3))
    codes = np.arange(10, dtype=np.int32) % 2
    trainer = make_trainer(X)
    arguments = {
        "trainers": [trainer],
        "rows": _core.Rows.dense(X),
        "loss": "hinge",
        "codes": codes,
        "positives": [1],
        "class_weight": np.ones(2),
        "sample_weight": None,
        "n_threads": 1,
    }
    names = "rows|n_features|features|dtype|float" if argument == "rows" else argument
    names = "class_weight|codes|positives" if argument == "class_weight" else names
    with pytest.raises(ValueError, match=names):
        _core.train_pass(**(arguments | {argument: value}))
    assert trainer.profile()["steps"] == 0
