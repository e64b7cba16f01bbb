"""Training in the core: every decision is the one that the reference makes."""

import numpy as np
import pytest
import reference
from numpy.testing import assert_allclose, assert_array_equal
from reference import MERGING, Reference, epsilon_insensitive
from trainers import (
    DTYPES,
    LAYOUTS,
    MERGING_STRATEGIES,
    STRATEGIES,
    make_trainer,
    noisy_data,
    noisy_targets,
    run_pass,
    run_pass_on_targets,
    settings,
    tied_data,
    trained,
)

from pocketsvm import _core

# --- the same decisions as the reference ----------------------------------------------------------


@DTYPES
@LAYOUTS
@STRATEGIES
def test_reference_makes_the_same_decisions(maintenance, layout, dtype, core_rows):
    X, y, weight = noisy_data(n=300, dtype=dtype)
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
def test_reference_makes_the_same_decisions_on_targets(maintenance, layout, dtype, core_rows):
    X, y, weight = noisy_targets(n=250, dtype=dtype)
    options = {"maintenance": maintenance, "fit_intercept": layout == "dense"}
    trainer = make_trainer(X, **options)
    trainer.observe()
    expected = Reference(**settings(X, **options), loss=epsilon_insensitive, parameter=0.3)
    for _ in range(2):
        run_pass_on_targets(trainer, core_rows(X, layout), y, 0.3, weight)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    assert 0 < expected.violations < expected.steps
    assert_same_training(trainer, expected, maintenance, dtype)


@DTYPES
@pytest.mark.parametrize("name", [*_core.class_losses(), *_core.target_losses()])
def test_reference_makes_the_same_steps_with_every_loss(name, dtype, core_rows):
    X, y, weight = noisy_data(n=100, dtype=dtype)
    options = {"budget": 200, "alpha": 1.0}  # with a smaller alpha, steep losses amplify rounding
    trainer, rows = make_trainer(X, **options), core_rows(X)
    loss = {"loss": getattr(reference, name), "parameter": 0.3}
    expected = Reference(**settings(X, **options), **loss)
    for _ in range(2):
        if name in _core.class_losses():
            labels = ((y > 0).astype(np.int8), [1], np.ones(2), weight)
            _core.train_pass([trainer], rows, name, *labels, 1)
        else:
            _core.train_pass_on_targets(trainer, rows, name, 0.3, y.astype(float), weight)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    state = trainer.state()
    assert_array_equal(state["births"], expected.births)
    assert_allclose(state["coefficients"], expected.coefficients, rtol=2e-3)


@DTYPES
@STRATEGIES
def test_reference_forgets_in_the_same_way(maintenance, dtype, core_rows):
    X, y, weight = noisy_data(n=300, dtype=dtype)
    # 15 half-lives in a pass: the unit of the coefficients changes within it.
    options = {"maintenance": maintenance, "alpha": 0.03, "half_life": 20.0}
    trainer = make_trainer(X, **options)
    trainer.observe()
    expected = Reference(**settings(X, **options))
    for _ in range(2):
        run_pass(trainer, core_rows(X), y, weight)
        for i in trainer.order():
            expected.step(X[i].astype(float), y[i], weight[i])
    assert len(expected.events) > 100
    events, state = trainer.events(), trainer.state()
    assert_array_equal(events["first"], [event.first for event in expected.events])
    assert_array_equal(events["second"], [event.second for event in expected.events])
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype == "float32" else {"rtol": 1e-6, "atol": 1e-8}
    assert_array_equal(state["births"], expected.births)
    assert_allclose(state["coefficients"], expected.coefficients, **tolerance)
    assert_allclose(state["vectors"], expected.vectors, **tolerance)
    assert state["bias"] == pytest.approx(expected.bias, rel=1e-9, abs=1e-9)
    assert state["weight"] == pytest.approx(expected.weight, rel=1e-12)


def assert_same_training(trainer, expected, maintenance, dtype):
    events = trainer.events()
    assert len(expected.events) > 200
    step, first, second, h, coefficient, degradation = map(
        np.array, zip(*expected.events, strict=True)
    )
    assert_array_equal(events["step"], step)
    assert_array_equal(events["first"], first)
    assert_array_equal(events["second"], second)
    single = dtype == "float32"
    tolerance = {"rtol": 1e-3, "atol": 1e-5} if single else {"rtol": 1e-6, "atol": 1e-8}
    if maintenance in MERGING:
        # A search in single precision may end in a neighbouring bracket.
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
    """Whether a first partner has the smallest coefficient, up to rounding."""
    magnitude = np.abs(reference.coefficients)
    if magnitude[first] <= magnitude.min() * (1 + 1e-6):
        return True
    alone = ~reference.candidates(int(np.argmin(magnitude))).any()
    same_sign = reference.candidates(first)
    return alone and magnitude[first] <= magnitude[same_sign].min() * (1 + 1e-6)


@DTYPES
@LAYOUTS
@STRATEGIES
def test_decisions_are_minimal_with_ties(maintenance, layout, dtype, core_rows):
    X, y = tied_data(n=400, dtype=dtype)
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
            if np.all(magnitude[near] == magnitude.min()):  # rounding cannot affect the choice
                assert first == replay.first_partner()
                exact_ties += near.sum() > 1
            if maintenance in MERGING:
                criterion = replay.criterion(first)
                assert criterion[second] <= criterion.min() * (1 + 1e-5) + 1e-9
                # The lowest slot wins among equal rows with equal coefficients.
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
    assert done == len(events["step"]) > 200
    if maintenance != "projection":
        assert exact_ties > 20


@pytest.mark.parametrize(("maintenance", "factor"), [("merge", 1.001), ("gss-precise", 1 + 1e-5)])
@pytest.mark.parametrize("data", ["noisy", "tied"])
def test_chosen_pair_is_the_best_of_all_pairs(maintenance, factor, data, core_rows):
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
def test_best_partner_is_found_among_nearly_equal_rows(maintenance, dtype, core_rows):
    # Three clusters of rows 0.001 apart and far from the origin: kernel values in single precision
    # cannot distinguish the rows of a cluster.
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


# --- one step at a time ---------------------------------------------------------------------------


def squared_norm(vectors, coefficients, gamma):
    """Return ||sum_j c_j phi(x_j)||^2 with extra precision."""
    vectors, c = np.asarray(vectors, np.longdouble), np.asarray(coefficients, np.longdouble)
    return float(c @ np.exp(-gamma * np.sum((vectors[:, None] - vectors) ** 2, axis=2)) @ c)


@DTYPES
@STRATEGIES
def test_reported_degradation_is_the_loss_of_the_weight_vector(maintenance, dtype, core_rows):
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
def test_step_changes_only_the_slots_of_its_event(maintenance, core_rows):
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
            size = len(after["births"])  # one more if the row is a violation
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
def test_coefficients_of_unmerged_vectors_are_exactly_one(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(n=45, dtype=dtype)  # with 25 merges, some vectors are not merged yet
    trainer = trained(X, y, core_rows, maintenance=maintenance, alpha=1.0)
    assert len(trainer.events()["step"]) > 20
    state, order = trainer.state(), trainer.order()
    born_of = order[state["births"] - 1]
    unmerged = np.all(state["vectors"] == X[born_of], axis=1)
    assert unmerged.sum() >= 2
    assert_array_equal(state["coefficients"][unmerged], y[born_of][unmerged])


def test_first_step_starts_from_an_empty_model(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, fit_intercept=True)
    run_pass(trainer, core_rows(X), [1], np.array([0.25]))
    state = trainer.state()
    assert_array_equal(state["vectors"], X)
    assert_array_equal(state["coefficients"], [0.25])
    assert_array_equal(state["births"], [1])
    assert state["bias"] == 0.25


def test_row_exactly_on_the_margin_is_not_a_violation(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, alpha=1.0, fit_intercept=False)
    for _ in range(3):  # f = 0, then 1 / 1 = 1, then 1 / 2
        run_pass(trainer, core_rows(X), [1])
    assert_array_equal(trainer.state()["births"], [1, 3])


def test_row_exactly_on_the_tube_is_not_a_violation(core_rows):
    X = np.zeros((1, 2))
    trainer = make_trainer(X, alpha=1.0, fit_intercept=False)
    for target in (0.5, -0.5, 2.0, 2.5, 2.0 / 3 - 0.75):  # f = 0, 0, 0, then 1 / 3, then 1 / 2
        run_pass_on_targets(trainer, core_rows(X), np.array([target]), 0.5)
    state = trainer.state()
    assert_array_equal(state["births"], [3, 4, 5])
    assert_array_equal(state["coefficients"], [1.0, 1.0, -1.0])
