"""The audit: what several strategies decide in the same state, against the reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference import MERGING, Audit, Reference
from sklearn.datasets import make_moons

from pocketsvm import BudgetedSVC, _core
from pocketsvm.paper.audit import audit

STRATEGIES = _core.strategies()
COUNTS = ("events", "merges", "factors", "equal", "tied")
SUMS = ("factor", "degradation", "least_degradation")


def noisy_data(n=400, d=5, seed=0):
    """Labels that nothing fits, and weights without ties."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] * X[:, 1] + 0.7 * rng.normal(size=n) > 0, 1, -1)
    return X, y, rng.uniform(0.5, 2, n)


def settings(X, maintenance):
    return {
        "n_features": X.shape[1],
        "budget": 15,
        "gamma": 0.2,
        "alpha": 1 / (10 * len(X)),
        "maintenance": maintenance,
        "fit_intercept": False,
    }


def audited(X, y, rows, maintenance, names, weight=None, passes=1):
    trainer = _core.Trainer(**settings(X, maintenance), seed=0, dtype=str(X.dtype))
    if names:
        trainer.observe(list(names))
    codes = (y > 0).astype(np.int32)
    orders = []
    for _ in range(passes):
        _core.train_pass([trainer], rows, "hinge", codes, [1], np.ones(2), weight, 1)
        orders.append(trainer.order())
    return trainer, np.concatenate(orders)


@pytest.mark.parametrize("follow", STRATEGIES)
def test_the_reference_counts_the_same(follow, core_rows):
    X, y, weight = noisy_data()
    trainer, order = audited(X, y, core_rows(X), follow, STRATEGIES, weight)
    state, expected = Reference(**settings(X, follow)), Audit(STRATEGIES)
    for i in order:
        if state.advance(X[i], y[i], weight[i]):
            expected.ask(state)
            state.apply(*state.decide())
    assert expected.counts["gss-precise"]["events"] > 150
    assert trainer.audit().keys() == expected.counts.keys()
    for name, counts in trainer.audit().items():
        for key in COUNTS:
            assert counts[key] == expected.counts[name][key], (name, key)
        for key in SUMS:
            assert_allclose(counts[key], expected.counts[name][key], rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equal_rows_are_ties_and_cost_nothing(dtype, core_rows):
    # Four places, far apart: all vectors of a place are the same, and to merge them is free.
    rng = np.random.default_rng(0)
    place = rng.integers(0, 4, 300)
    X = 100 * np.eye(4, dtype=dtype)[place]
    y = np.where(place < 2, 1, -1)
    y = np.where(rng.random(300) < 0.4, -y, y)
    trainer, _ = audited(X, y, core_rows(X), "gss", MERGING)
    for name, counts in trainer.audit().items():
        agreed = counts["equal"]["gss-precise"] + counts["tied"]["gss-precise"]
        assert agreed == counts["events"] > 0, name
        assert_allclose(counts["degradation"], counts["least_degradation"])
        assert counts["factors"] == round(counts["least_degradation"]) < counts["events"] / 4


def test_distant_rows_are_ties_to_nine_digits(core_rows):
    # kappa is 1e-6 or so: every candidate costs a^2 (1 - kappa^2), a being the first coefficient.
    rng = np.random.default_rng(0)
    X = 6 * np.eye(60) + 0.02 * rng.normal(size=(60, 60))
    y = np.where(np.arange(60) % 2, 1, -1)
    trainer, _ = audited(X, y, core_rows(X), "gss", MERGING, rng.uniform(0.5, 2, 60))
    for name, counts in trainer.audit().items():
        agreed = counts["equal"]["gss-precise"] + counts["tied"]["gss-precise"]
        assert agreed == counts["factors"] == counts["events"] > 0, name
    assert trainer.audit()["lookup-wd"]["tied"]["gss-precise"] > 0


@pytest.mark.parametrize("follow", STRATEGIES)
def test_to_be_asked_changes_nothing(follow, core_rows):
    X, y, weight = noisy_data()
    X = X.astype(np.float32)
    rows = core_rows(X)
    one, _ = audited(X, y, rows, follow, STRATEGIES, weight, passes=2)
    other, _ = audited(X, y, rows, follow, [], weight, passes=2)
    assert other.audit() == {}
    one, other = one.state(), other.state()
    for key in one:
        assert_array_equal(one[key], other[key], strict=True)


def test_the_audit_goes_on_in_a_state_that_is_too_large(core_rows):
    X, y, weight = noisy_data()
    large = _core.Trainer(**settings(X, "merge") | {"budget": 40}, seed=0, dtype="float64")
    labels = ((y > 0).astype(np.int32), [1], np.ones(2), weight)
    _core.train_pass([large], core_rows(X), "hinge", *labels, 1)
    small = _core.Trainer(**settings(X, "merge"), seed=0, dtype="float64")
    small.observe(STRATEGIES)
    small.restore(**large.state())
    assert {counts["events"] for counts in small.audit().values()} == {25}


def test_names_are_checked():
    trainer = _core.Trainer(**settings(np.zeros((3, 2)), "gss"), seed=0, dtype="float64")
    with pytest.raises(ValueError, match="strategy 'best' is not known; known are: merge, "):
        trainer.observe(["gss-precise", "best"])
    with pytest.raises(ValueError, match="strategies must include 'gss-precise'"):
        trainer.observe(["gss"])


def test_an_observer_starts_over(core_rows):
    X, y, weight = noisy_data()
    trainer, _ = audited(X, y, core_rows(X), "merge", STRATEGIES, weight)
    assert len(trainer.events()["step"]) == trainer.profile()["merges"] > 0
    trainer.observe()
    assert len(trainer.events()["step"]) == 0
    assert trainer.audit() == {}


# --- the function --------------------------------------------------------------------------------


def test_every_strategy_is_asked_in_a_run_like_any_other():
    X, y = make_moons(1500, noise=0.3, random_state=0)
    setting = {"budget": 20, "C": 10, "gamma": 2, "max_iter": 2}
    rows = audit(X, y, **setting, follow="merge", seed=3)
    assert [row.strategy for row in rows] == STRATEGIES
    plain = BudgetedSVC(
        **setting, maintenance="merge", polish=False, fit_intercept=False, random_state=3
    ).fit(X, y)
    by_name = {row.strategy: row for row in rows}
    for row in rows:
        assert row.events == plain.profile_.merges
        assert row.merge_frequency == plain.profile_.merge_frequency
        assert row.merges == (row.events if row.strategy in MERGING else 0)
        assert row.factors <= row.events
    assert by_name["gss-precise"].equal_share() == by_name["gss-precise"].factor_of_sums == 1
    assert by_name["merge"].equal_share(ties=True) >= 0.998
    assert by_name["merge"].factor < 1.00001
    assert 1 < by_name["lookup-wd"].factor < by_name["gss"].factor
    assert by_name["gss"].equal_share("lookup-wd") == by_name["lookup-wd"].equal_share("gss")
    assert np.isnan(by_name["removal"].equal_share())
    assert by_name["removal"].factor > by_name["projection"].factor


def test_the_measure_is_always_among_those_asked():
    X, y = make_moons(300, noise=0.3, random_state=0)
    rows = audit(X, y, budget=10, C=1, gamma=1, strategies=["gss", "gss"])
    assert [row.strategy for row in rows] == ["gss", "gss-precise"]
    nothing = audit(X, y, budget=400, C=1, gamma=1, strategies=[])[0]
    assert nothing.events == 0
    assert np.isnan([nothing.factor, nothing.factor_of_sums, nothing.equal_share()]).all()


def test_bad_input_is_refused():
    X, y = make_moons(30, random_state=0)
    with pytest.raises(ValueError, match="strategy 'best' is not known"):
        audit(X, y, budget=10, C=1, gamma=1, strategies=["best"])
    with pytest.raises(ValueError, match="maintenance"):
        audit(X, y, budget=10, C=1, gamma=1, follow="best")
    with pytest.raises(ValueError, match="y must have two classes, got 3"):
        audit(X, np.arange(30) % 3, budget=10, C=1, gamma=1)
