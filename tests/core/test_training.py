"""Training in the core: orders, weights, the same bits, states and bad input."""

import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import MERGING
from trainers import (
    DTYPES,
    STRATEGIES,
    assert_same_bits,
    make_trainer,
    noisy_data,
    noisy_targets,
    run_pass,
    run_pass_on_targets,
    settings,
    trained,
)

from pocketsvm import _core

# --- rows and weights -----------------------------------------------------------------------------


def test_every_pass_visits_all_rows_in_a_new_order(core_rows):
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
def test_scaling_weights_and_alpha_changes_nothing(power, maintenance, dtype, core_rows):
    X, y, weight = noisy_data(dtype=dtype)
    options, unit = {"maintenance": maintenance, "fit_intercept": False}, 2.0**power
    one = trained(X, y, core_rows, sample_weight=weight, alpha=0.001, **options).state()
    other = trained(X, y, core_rows, sample_weight=weight * unit, alpha=0.001 * unit, **options)
    assert_array_equal(other.state()["vectors"], one["vectors"])
    assert_array_equal(other.state()["coefficients"], one["coefficients"] * unit)


def test_no_sample_weights_means_weights_of_one(core_rows):
    X, y, _ = noisy_data()
    one, other = make_trainer(X), make_trainer(X)
    run_pass(one, core_rows(X), y)
    run_pass(other, core_rows(X), y, np.ones(len(X)))
    assert_same_bits(one, other)


@DTYPES
@STRATEGIES
def test_targets_and_alpha_scale_together(maintenance, dtype, core_rows):
    """A power of two in the targets, epsilon and 1 / alpha changes no decision."""
    X, y, weight = noisy_targets(dtype=dtype)
    states = []
    for unit in (1.0, 2.0**30, 2.0**-30):
        trainer = make_trainer(X, maintenance=maintenance, alpha=0.001 / unit)
        run_pass_on_targets(trainer, core_rows(X), unit * y, unit * 0.3, weight)
        states.append(trainer)
    for other in states[1:]:
        assert_same_bits(states[0], other)


# --- the same bits --------------------------------------------------------------------------------


@DTYPES
@STRATEGIES
def test_same_seed_gives_the_same_bits(maintenance, dtype, core_rows):
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
    X[:3] = 0  # includes empty rows
    X[5:8] = -0.0
    options = {"gamma": 1 / d, "budget": 33}
    assert_same_bits(
        trained(X, y, core_rows, **options), trained(X, y, core_rows, layout="csr", **options)
    )


@DTYPES
@STRATEGIES
def test_targets_give_the_same_bits_for_any_layout(maintenance, dtype, core_rows):
    X, y, weight = noisy_targets(n=1500, dtype=dtype)
    trainers = []
    for layout in ("dense", "csr"):
        trainers.append(make_trainer(X, maintenance=maintenance, budget=70))
        run_pass_on_targets(trainers[-1], core_rows(X, layout), y, 0.1, weight)
    assert_same_bits(*trainers)


def test_explicit_zeros_change_nothing(core_rows):
    X, y, _ = noisy_data()
    n, d = X.shape
    stored = _core.Rows.csr(X.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d), d)
    one, other = make_trainer(X), make_trainer(X)
    run_pass(one, stored, y)
    run_pass(other, core_rows(X, "csr"), y)
    assert_same_bits(one, other)


@STRATEGIES
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_concurrent_trainers_equal_single_trainers(maintenance, n_threads, core_rows):
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


def test_concurrent_training(core_rows):
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


def test_observer_changes_nothing(core_rows):
    X, y, _ = noisy_data()
    silent, observed = make_trainer(X), make_trainer(X)
    observed.observe()
    for trainer in (silent, observed):
        run_pass(trainer, core_rows(X), y)
    assert len(silent.events()["step"]) == 0
    assert len(observed.events()["step"]) == observed.profile()["merges"] > 0
    assert_same_bits(silent, observed)


# --- states ---------------------------------------------------------------------------------------


@DTYPES
@STRATEGIES
def test_restored_state_continues_without_a_difference(maintenance, dtype, core_rows):
    X, y, _ = noisy_data(dtype=dtype)
    whole = trained(X, y, core_rows, maintenance=maintenance, passes=3)
    first = trained(X, y, core_rows, maintenance=maintenance, passes=1)
    resumed = make_trainer(X, seed=99, maintenance=maintenance)
    resumed.restore(**first.state())
    assert_same_bits(resumed, first)
    for _ in range(2):
        run_pass(resumed, core_rows(X), y)
    assert_same_bits(resumed, whole)


@STRATEGIES
def test_restored_state_forgets_without_a_difference(maintenance, core_rows):
    X, y, _ = noisy_data()
    options = {"maintenance": maintenance, "half_life": 123.0}
    whole = trained(X, y, core_rows, passes=2, **options)
    first = trained(X, y, core_rows, passes=1, **options)
    resumed = make_trainer(X, seed=99, **options)
    resumed.restore(**first.state())
    run_pass(resumed, core_rows(X), y)
    assert_same_bits(resumed, whole)


@DTYPES
@pytest.mark.parametrize("half_life", [1.0, 2.5, 30.0, 1e9, np.inf])
def test_a_row_loses_half_of_its_weight_in_a_half_life(half_life, dtype, core_rows):
    X, y, _ = noisy_data(n=200, dtype=dtype)
    # Every row violates the margin at this alpha, and none is merged.
    trainer = trained(X, y, core_rows, budget=200, alpha=10.0, half_life=half_life)
    state = trainer.state()
    assert_array_equal(state["births"], np.arange(1, 201))
    ages = 200.0 - state["births"]
    weights = 2 ** (-ages / half_life)
    smallest = 2.0**-126 if dtype == "float32" else 0.0
    expected = np.maximum(weights, smallest) * y[trainer.order()]
    single = dtype == "float32"
    assert_allclose(state["coefficients"], expected, rtol=1e-5 if single else 1e-12)
    assert state["weight"] == pytest.approx(weights.sum(), rel=1e-12)
    assert state["steps"] == 200


@pytest.mark.parametrize("half_life", [0.0, 0.99, -1.0, np.nan])
def test_half_life_of_less_than_a_row_is_rejected(half_life):
    with pytest.raises(ValueError, match="half_life must be at least 1 row"):
        make_trainer(np.zeros((4, 2)), half_life=half_life)


@pytest.mark.parametrize(("steps", "weight"), [(3, 0.0), (3, -1.0), (3, np.nan), (0, 1.0)])
def test_weight_that_no_state_has_is_rejected(steps, weight, core_rows):
    X, y, _ = noisy_data()
    state = trained(X, y, core_rows).state() | {"steps": steps, "weight": weight}
    with pytest.raises(ValueError, match="weight must be positive and finite"):
        make_trainer(X).restore(**state)


def test_state_is_a_copy(core_rows):
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
def test_state_above_the_budget_is_reduced_to_it(maintenance, core_rows):
    X, y, weight = noisy_data()
    large = trained(X, y, core_rows, maintenance=maintenance, budget=60, sample_weight=weight)
    small = make_trainer(X, maintenance=maintenance, budget=7)
    small.restore(**large.state())
    state = small.state()
    assert len(state["coefficients"]) == len(state["vectors"]) == len(state["births"]) == 7
    assert np.all(np.isfinite(state["coefficients"]))
    assert small.profile()["merges"] == small.profile()["removals"] == 0  # those of passes
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
def test_damaged_state_is_rejected(key, damage, core_rows):
    X, y, _ = noisy_data()
    trainer = trained(X, y, core_rows)
    state = trainer.state()
    state[key] = damage(state[key])
    names = r"vectors|coefficients" if key == "vectors" else key
    with pytest.raises((TypeError, ValueError), match=names):
        make_trainer(X).restore(**state)


@pytest.mark.parametrize(
    "key", ["vectors", "coefficients", "births", "bias", "steps", "weight", "generator"]
)
def test_state_with_a_missing_key_is_rejected(key, core_rows):
    X, y, _ = noisy_data()
    state = trained(X, y, core_rows).state()
    del state[key]
    with pytest.raises(TypeError, match=key):
        make_trainer(X).restore(**state)


# --- the profile ----------------------------------------------------------------------------------


@STRATEGIES
def test_profile_counts_are_consistent(maintenance, core_rows):
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
def test_partial_times_do_not_exceed_the_total(maintenance, core_rows):
    X, y, _ = noisy_data(n=2000)
    for _ in range(5):  # clocks are sampled, so one sample can be off
        profile = trained(X, y, core_rows, maintenance=maintenance, budget=50).profile()
        parts = [profile[f"seconds_{part}"] for part in ("margin", "solve", "rest")]
        assert all(seconds >= 0 for seconds in parts)
        if 0 < sum(parts) <= 1.2 * profile["seconds_total"]:
            return
    pytest.fail(f"{parts} are more than {profile['seconds_total']}")


# --- bad input ------------------------------------------------------------------------------------


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
def test_bad_targets_are_rejected(change, message):
    arguments = {
        "trainer": make_trainer(np.zeros((4, 2))),
        "rows": _core.Rows.dense(np.zeros((4, 2))),
        "loss": "epsilon_insensitive",
        "parameter": 0.1,
        "targets": np.zeros(4),
        "sample_weight": None,
    }
    with pytest.raises(ValueError, match=message):
        _core.train_pass_on_targets(**arguments | change)


@pytest.mark.parametrize(
    ("argument", "value"),
    [("maintenance", "magic"), ("dtype", "float16"), ("budget", 0), ("n_features", 0)],
)
def test_invalid_trainer_arguments_are_rejected(argument, value):
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
def test_arrays_of_the_wrong_size_are_rejected(argument, value):
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
