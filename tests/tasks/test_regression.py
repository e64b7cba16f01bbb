"""Regression: the targets of rows, their offsets and spreads."""

from dataclasses import replace

import numpy as np
import pytest
from models import checked_rows
from numpy.testing import assert_allclose, assert_array_equal
from one_road import Batches, problem
from sklearn.base import clone

from pocketsvm import BudgetedSVR
from pocketsvm.rows.chunk import Chunk
from pocketsvm.rows.survey import AtHand
from pocketsvm.tasks.regression import TARGET_RANGE, Regression, value_targets
from pocketsvm.training import settings
from pocketsvm.training.settings import Choices, Settings
from pocketsvm.training.targets import Pass


def targets_of(y, weight=None, loss="epsilon_insensitive", parameters=(0.1,), offset=None):
    """Return the targets of rows, of which only the number counts."""
    rows = checked_rows(np.ones((len(y), 1)))
    return value_targets(rows, np.asarray(y, float), weight, loss, parameters, offset)[1]


def test_values_are_less_the_weighted_median():
    found = targets_of([5.0, 1.0, 9.0, 2.0], [1.0, 1.0, 0.0, 4.0])
    assert found.offset == 2.0
    assert_array_equal(found.values, [[3.0], [-1.0], [0.0]])
    assert_array_equal(found.row_weight(), [1.0, 1.0, 4.0])


def test_quantiles_of_one_target_have_offsets_of_their_own():
    y = np.arange(11.0)
    found = targets_of(y, loss="quantile", parameters=(0.1, 0.5, 0.9))
    assert_array_equal(found.offset, np.quantile(y, [0.1, 0.5, 0.9], method="inverted_cdf"))
    assert_array_equal(found.values, y[:, None] - found.offset)


def test_spreads_are_medians_or_means_or_one():
    y = np.zeros((9, 3))
    y[:, 0], y[0, 1] = np.arange(9.0), 18.0
    found = targets_of(y, parameters=(0.1,) * 3, offset=0.0)
    assert_array_equal(found.spreads(), [4.0, 2.0, 1.0])
    assert_array_equal(found.take(np.array([1]), np.ones(1)).spreads(), [1.0, 1.0, 1.0])
    others = targets_of(3 * y, parameters=(0.1,) * 3, offset=0.0)
    known = found.learnt_from(others)
    assert_array_equal(known.spreads(), [12.0, 6.0, 1.0])
    assert_array_equal(known.take(np.array([1]), np.ones(1)).spreads(), [12.0, 6.0, 1.0])
    assert_array_equal(known.values, found.values)


@pytest.mark.parametrize(("loss", "unit"), [("epsilon_insensitive", 2.5), ("squared_error", 1.0)])
def test_the_unit_of_c_is_that_of_a_bounded_slope(loss, unit):
    found = targets_of([[0.0, 0.0], [1.0, 5.0], [-1.0, 9.0]], loss=loss, parameters=(0.1,) * 2)
    assert_array_equal(found.spreads(), [1.0, 4.0])
    assert found.unit_of_c == unit


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile"])
def test_targets_of_a_chunk_are_those_of_its_rows(loss):
    random = np.random.default_rng(0)
    y, weight, some = random.normal(size=60), random.uniform(0.5, 9.0, 60), slice(7, 20)
    parameters = (0.1, 0.9) if loss == "quantile" else (0.1,)
    targets = targets_of(y, weight, loss, parameters)
    nothing = targets.learnt_from(targets).take(np.arange(0), np.empty(0))
    found = nothing.of(Chunk(np.zeros((13, 1)), y[some], weight[some], "rows"))
    assert_array_equal(found.values, targets.values[some])
    assert_allclose(found.row_weight(), targets.row_weight()[some])
    assert_array_equal(found.spreads(), targets.spreads())


def test_several_targets_of_a_chunk():
    y = np.random.default_rng(0).normal(size=(30, 2))
    targets = targets_of(y, parameters=(0.1, 0.1))
    nothing = targets.learnt_from(targets).take(np.arange(0), np.empty(0))
    found = nothing.of(Chunk(np.zeros((4, 1)), y[5:9], None, "rows"))
    assert_array_equal(found.values, targets.values[5:9])


def test_passes_before_the_solver_use_a_tube(monkeypatch):
    slopes = []
    monkeypatch.setattr(
        "pocketsvm.tasks.regression._core.train_pass_on_targets",
        lambda trainer, rows, *given: slopes.append(given[:2]),
    )
    parameters = BudgetedSVR()._parameters()
    for loss, polish in (("huber", True), ("huber", False), ("squared_error", False)):
        targets = targets_of([0.0, -2.0, 4.0], loss=loss, parameters=(0.5,))
        settings = replace(parameters.settings(1.0), polish=polish)
        targets.make_pass(Pass([None], None, settings))
    spread = settings.choices.relative_width * 2.0
    assert slopes == [("epsilon_insensitive", spread), ("huber", 0.5), ("huber", 4.0)]


@pytest.mark.parametrize("few_solved", [False, True])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "quantile"])
def test_a_sample_in_memory_gives_the_model_of_batches(loss, few_solved, monkeypatch):
    """The width of the loss is a share of the spread of targets, which the sample tells."""
    if few_solved:
        monkeypatch.setattr("pocketsvm.solving.solve.sample_size", lambda *_: 1000)
    choices = Choices(moves=8 * 2)  # after many moves, models differ by rounding
    monkeypatch.setattr(
        settings, "Settings", lambda **given: Settings(**given | {"choices": choices})
    )
    X, _ = problem(9000)
    y = np.sin(X[:, 0]) + X[:, 1] ** 3
    model = BudgetedSVR(8, 10.0, loss=loss, gamma=0.5, fit_intercept=False, random_state=0)
    found, in_memory = clone(model).fit(Batches(X, y)), clone(model).fit(X, y)
    assert found.profile_.moves > 0
    after = found.profile_.objective_after, in_memory.profile_.objective_after
    if few_solved and loss == "epsilon_insensitive":
        # Rows without a loss are represented by some of them, and only rows in memory tell how many
        # there are before they are drawn.
        assert_allclose(*after, rtol=1e-3)
        return
    assert_allclose(*after, rtol=1e-7)
    assert_allclose(found.support_vectors_, in_memory.support_vectors_, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "y", "message"),
    [
        ({"loss": "huber", "epsilon": 0.0}, np.zeros(9), "epsilon must be positive with the Huber"),
        (
            {"loss": "quantile", "quantile": (0.1, 0.9)},
            np.zeros((9, 2)),
            "2 quantiles need one target, but y has 2 columns",
        ),
        ({}, np.zeros((9, 11)), "budget=20 is too small for 11 outputs: .* at least 22"),
        (
            {},
            np.full(9, 2 * TARGET_RANGE[1]),
            r"targets y is 2e\+15; it must lie between 1e-15 and",
        ),
        ({}, np.full(9, 0.5 * TARGET_RANGE[0]), r"targets y is 5e-16; it must lie between"),
    ],
)
def test_bad_targets_are_refused(parameters, y, message):
    at_hand = AtHand(checked_rows(np.ones((9, 1))), y, None)
    with pytest.raises(ValueError, match=message):
        Regression(**parameters).targets(at_hand, BudgetedSVR(20)._parameters(), None)
