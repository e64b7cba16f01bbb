"""Pairs in the core: passes against the reference, and bad input."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from ranking import graded
from reference import Reference
from trainers import LAYOUTS, assert_same_bits, make_trainer, settings

from pocketsvm import _core
from pocketsvm.rows.checked import checked_rows
from pocketsvm.tasks.ranking import rank_targets
from pocketsvm.training.targets import Pass


def sorted_rows(**options):
    X, y, qid = graded(**options)
    rows, targets = rank_targets(checked_rows(X), y.astype(float), qid, None)
    return rows.X, targets


def pair_weight(queries):
    """Return the number of rows over the number of pairs of each row's query."""
    return np.repeat(queries.scales, np.diff(queries.begins))


def run_pass(trainer, rows, targets):
    targets.make_pass(Pass([trainer], rows, None))


@pytest.mark.parametrize("maintenance", ["gss-precise", "removal"])
def test_pass_makes_the_steps_of_the_reference(maintenance, core_rows):
    X, targets = sorted_rows()
    changes = {"maintenance": maintenance, "budget": 15, "fit_intercept": False}
    trainer = make_trainer(X, **changes)
    trainer.observe()
    run_pass(trainer, core_rows(X), targets)
    pairs = trainer.order().reshape(-1, 2)
    queries = targets.queries
    weights = (
        pair_weight(queries) / (1 / queries.n_partners[pairs]).sum(axis=1)[np.argsort(pairs[:, 0])]
    )
    reference = Reference(**settings(X, **changes))
    events = zip(*(trainer.events()[name] for name in ("first", "second", "h")), strict=True)
    for first, second in pairs:
        sign = 1 if queries.levels[first] > queries.levels[second] else -1
        for _ in reference.advance_pair(X[first], X[second], sign, weights[first]):
            reference.apply(*next(events))
    state = trainer.state()
    assert next(events, None) is None
    assert trainer.profile()["violations"] == reference.violations
    assert state["steps"] == len(X)
    assert_allclose(state["coefficients"], reference.coefficients, rtol=1e-9)
    assert_allclose(state["vectors"], reference.vectors, rtol=0, atol=1e-9)


def test_partners_are_of_the_same_query_and_another_relevance(core_rows):
    X, targets = sorted_rows()
    trainer = make_trainer(X)
    for _ in range(3):
        run_pass(trainer, core_rows(X), targets)
        rows, partners = trainer.order().reshape(-1, 2).T
        assert_array_equal(np.sort(rows), np.arange(len(X)))
        queries = targets.queries
        assert_array_equal(queries.numbers[rows], queries.numbers[partners])
        assert (queries.levels[rows] != queries.levels[partners]).all()


def test_every_partner_is_drawn_equally_often(core_rows):
    X = np.zeros((5, 1))
    y = np.array([0, 1, 1, 2, 2.0])
    _, targets = rank_targets(checked_rows(X), y, None, None)
    trainer, counts = make_trainer(X, seed=3), np.zeros((5, 5))
    for _ in range(4000):
        run_pass(trainer, core_rows(X), targets)
        np.add.at(counts, tuple(trainer.order().reshape(-1, 2).T), 1)
    expected = 4000 * (y[:, None] != y) / (y[:, None] != y).sum(axis=1, keepdims=True)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(1000)


@LAYOUTS
def test_resumed_pass_has_the_same_bits(layout, core_rows):
    X, targets = sorted_rows()
    whole, stopped, resumed = (make_trainer(X, fit_intercept=False) for _ in range(3))
    for _ in range(2):
        run_pass(whole, core_rows(X), targets)
    run_pass(stopped, core_rows(X, layout), targets)
    resumed.restore(**stopped.state())
    run_pass(resumed, core_rows(X, layout), targets)
    assert_same_bits(whole, resumed)


def test_bad_places_and_weights_are_refused(core_rows):
    X, targets = sorted_rows(n_queries=2)
    trainer, rows = make_trainer(X), core_rows(X)
    places, weight = targets.queries.places, pair_weight(targets.queries)
    for change in ([0, 0], [0, 3], [0, 2]):
        wrong = places.copy()
        wrong[tuple(change)] = len(X) + 1 if change != [0, 2] else places[0, 3]
        with pytest.raises(ValueError, match="places must have the query and the level"):
            _core.train_pass_on_pairs(trainer, rows, wrong, weight)
    with pytest.raises(ValueError, match="places must have one entry per row"):
        _core.train_pass_on_pairs(trainer, rows, places[:-1], weight)
    with pytest.raises(ValueError, match="places must have 4 columns"):
        _core.train_pass_on_pairs(trainer, rows, np.ascontiguousarray(places[:, :3]), weight)
    with pytest.raises(ValueError, match="sample_weight must be positive"):
        _core.train_pass_on_pairs(trainer, rows, places, 0 * weight)
