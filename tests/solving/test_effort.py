"""What moving may cost."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from models import ready_rows
from pocketsvm.solving.effort import LEAST_ROWS, LEAST_STEPS, Effort
from solver_problems import class_problem

from pocketsvm.solving import effort
from pocketsvm.solving.class_losses import Hinge
from pocketsvm.solving.sample import Sample
from pocketsvm.training.settings import Choices, Settings


def settings(**changes):
    defaults = {
        "budget": 100,
        "alpha": 1e-3,
        "n_passes": 20,
        "maintenance": "merge",
        "fit_intercept": True,
        "polish": True,
        "thorough": False,
        "n_threads": 1,
        "random_state": np.random.RandomState(0),
    }
    return Settings(**defaults | changes)


def some_effort(*, values=False, **changes):
    return Effort.of(settings(**changes), class_problem(2000)[1], 2000, values=values)


def test_choices_limit_the_steps():
    choices = Choices(class_moves=7, value_moves=9)
    assert some_effort(choices=choices).steps(100, (100, 3), 1) == 7
    assert some_effort(choices=choices, values=True).steps(100, (100, 3), 1) == 9
    assert some_effort(choices=choices).rounds() == [7]
    assert some_effort(choices=Choices(class_moves=0)).rounds() == [0]


def test_few_rows_make_fewer_moves():
    few = replace(class_problem(500)[1], few=True)
    many = replace(few, few=False)
    found = [Effort.of(settings(), sample, 500, values=False) for sample in (few, many)]
    assert [each.rounds() for each in found] == [[10], [100]]
    found = [Effort.of(settings(), sample, 500, values=True) for sample in (few, many)]
    assert found[0].work < found[1].work
    assert found[0].tolerance > found[1].tolerance


def test_thorough_moves_have_no_limit_of_work():
    thorough = some_effort(thorough=True)
    assert len(thorough.rounds()) > 1
    assert thorough.steps(10**9, (500, 3), 26) == thorough.most_steps > 20
    assert thorough.tolerance < some_effort().tolerance


@pytest.fixture
def no_pairs(monkeypatch):
    """Let moving cost more than the exact SVM."""
    monkeypatch.setattr(effort, "CLASS_VALUES_PER_PAIR", 10**9)


def test_vectors_stay_if_there_are_too_few_rows_or_none_is_near(no_pairs):
    n_vectors = 2000 // LEAST_ROWS
    for thorough in (False, True):
        found = some_effort(thorough=thorough)
        assert found.steps(100, (n_vectors, 3), 1) > 0
        assert found.steps(100, (n_vectors + 1, 3), 1) == 0
        assert found.steps(0, (10, 3), 1) == 0


def test_vectors_stay_if_kernel_values_of_near_rows_are_not_kept(monkeypatch):
    monkeypatch.setattr(effort, "MOST_KEPT", 4 * 500 * 100)
    assert some_effort().most_near(100) == 500
    assert some_effort(thorough=True).most_near(100) == 2000


def test_steps_are_what_the_work_allows(no_pairs, monkeypatch):
    def found(least, **changes):
        monkeypatch.setattr(effort, "LEAST_CLASS_WORK", least)
        return some_effort(**changes).steps(1000, (100, 3), 1)

    many = [found(work, n_passes=1) for work in (3e7, 1.5e8, 2.5e8, 1e12)]
    most = Choices().class_moves
    assert many[-1] == most
    assert many == sorted(many)
    assert 0 < many[1] < many[2] < most
    assert found(3e7, n_passes=1) == 0  # fewer than the least
    assert found(3e7, n_passes=1000) == most  # as much work as the passes
    assert all(n == 0 or n >= LEAST_STEPS for n in many)


def test_moving_costs_no_more_than_the_exact_svm(monkeypatch):
    def found(n_rows, **changes):
        sample = class_problem(100)[1]
        return Effort.of(settings(**changes), sample, n_rows, values=False).work

    assert found(400) * 25 == found(2000) < found(10_000) < effort.LEAST_CLASS_WORK
    assert found(200_000) == found(200_000, n_passes=1) == effort.LEAST_CLASS_WORK
    assert found(2000, n_passes=10**6) == found(2000)
    assert Effort.of(settings(), class_problem(100)[1], 2000, values=True).work > found(2000)


@pytest.mark.parametrize("change", [(2000, (100, 3), 1), (1000, (200, 3), 1), (1000, (100, 3), 9)])
def test_more_rows_vectors_or_outputs_cost_more(change, monkeypatch):
    monkeypatch.setattr(effort, "LEAST_CLASS_WORK", 1.5e8)
    assert some_effort(n_passes=1).steps(*change) < some_effort(n_passes=1).steps(1000, (100, 3), 1)


@pytest.mark.parametrize(("share", "n_features"), [(0.9, 300), (0.02, 6.0)])
def test_features_are_counted_by_their_values_not_by_their_layout(share, n_features):
    X = np.zeros((100, 300), dtype=np.float32)
    X[:, : int(share * 300)] = 1.0
    for layout in (np.asarray, sp.csr_array, sp.csr_matrix):
        sample = Sample(ready_rows(layout(X), 1.0), np.ones(100), Hinge(np.ones(100), (1,), 0.5))
        assert sample.is_sparse == (share < 0.1)
        assert Effort.of(settings(), sample, 100, values=False).n_features == n_features
