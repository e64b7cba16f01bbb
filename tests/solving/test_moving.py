"""Tests of moving the vectors: correct gradient, smaller objective, only with enough rows."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from models import ready_rows
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.solving import moving
from pocketsvm.solving.losses import EpsilonInsensitive, Hinge
from pocketsvm.solving.newton import polish
from pocketsvm.solving.sample import Sample

GAMMA = 0.4


def problem(n=200, dtype=np.float64, n_outputs=1, offset=0.0):
    """Return vectors and a sample of rows for one or more smooth functions."""
    random = np.random.default_rng(0)
    X = (random.normal(size=(n, 3)) + offset).astype(dtype)
    targets = [np.sin(X[:, 0] - offset) + k * X[:, 1] for k in range(n_outputs)]
    losses = [EpsilonInsensitive(y.astype(float), 0.05, 0.1) for y in targets]
    return X[:8].copy(), Sample(ready_rows(X, GAMMA), np.full(n, 3.0), losses)


def solved(vectors, sample):
    start = [(np.zeros(len(vectors)), 0.0) for _ in sample.losses]
    return polish(vectors, start, sample, True, 1)


def journey(vectors, sample, weighted=False):
    start = [(s.coefficients, s.intercept) for s in solved(vectors, sample)]
    return moving.Path(vectors, start, sample, True, 1, weighted)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_gradient_matches_the_objective(n_outputs, offset, weighted):
    vectors, sample = problem(n_outputs=n_outputs, offset=offset)
    path = journey(vectors, sample, weighted)
    position = path.position(vectors)
    _, gradient = path.look(position)
    random = np.random.default_rng(1)
    for _ in range(5):
        direction = random.normal(size=len(position))
        step = 1e-3 * direction
        rise = path.look(position + step)[0] - path.look(position - step)[0]
        assert_allclose(rise / 2e-3, gradient @ direction, rtol=0.02, atol=1e-3)


def test_positions_convert_back_to_vectors():
    vectors, sample = problem(offset=100.0, dtype=np.float32)
    path = journey(vectors, sample)
    assert_array_equal(path.vectors(path.position(vectors)), vectors, strict=True)


def test_objective_decreases_and_steps_are_summed():
    vectors, sample = problem()
    before = solved(vectors, sample)
    moved, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert after[0].objective_after < 0.5 * before[0].objective_after
    assert after[0].objective_before == before[0].objective_before
    assert after[0].steps > before[0].steps
    assert moved.dtype == vectors.dtype
    again = solved(moved, sample)
    assert_allclose(again[0].objective_after, after[0].objective_after, rtol=1e-3)


def test_vectors_move_in_classification():
    vectors, sample = problem()
    X = sample.rows.dense()
    labels = np.where(X[:, 0] * X[:, 1] > 0, 1, -1).astype(np.int8)
    sample = replace(sample, losses=[Hinge(labels)])
    before = solved(vectors, sample)
    _, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert after[0].objective_after < 0.8 * before[0].objective_after


@pytest.mark.parametrize("layout", [sp.csr_array, np.asfortranarray])
def test_result_does_not_depend_on_layout_or_threads(layout):
    vectors, sample = problem(5000, dtype=np.float32)
    twin = replace(sample, rows=ready_rows(layout(sample.rows.dense()), GAMMA))
    before = solved(vectors, sample)
    one = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    two = moving.move(vectors, before, twin, True, 3, np.random.default_rng(0))
    assert_array_equal(one[0], two[0])
    assert_array_equal(one[1][0].coefficients, two[1][0].coefficients)


def test_large_data_sets_are_subsampled(monkeypatch):
    vectors, sample = problem(2000)
    before = solved(vectors, sample)
    seen = []

    def look(path, position):
        seen.append(len(path.sample.c))
        assert_allclose(path.sample.c.sum(), sample.c.sum())
        return looked(path, position)

    looked = moving.Path.look
    monkeypatch.setattr(moving.Path, "look", look)
    monkeypatch.setattr(moving, "MOST_VALUES", 300 * len(vectors))
    _, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert set(seen) == {300}
    assert after[0].objective_after < before[0].objective_after


def test_vectors_stay_if_there_are_too_few_rows():
    vectors, sample = problem(31)
    before = solved(vectors, sample)
    moved, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert moved is vectors
    assert after is before


def test_result_with_a_larger_objective_is_discarded(monkeypatch):
    vectors, sample = problem()
    before = solved(vectors, sample)

    def look(path, position):
        objective, gradient = looked(path, position)
        return -objective, -gradient

    looked = moving.Path.look
    monkeypatch.setattr(moving.Path, "look", look)
    moved, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert moved is vectors
    assert after is before


def test_sparse_rows_can_have_many_features():
    X = sp.random_array(
        (1000, 5_000), density=0.002, random_state=np.random.default_rng(0), format="csr"
    )
    y = np.asarray(X.sum(axis=1)).ravel()
    model = BudgetedSVR(5, random_state=0, max_iter=1, epsilon=0.0).fit(X.astype(np.float32), y)
    assert np.isfinite(model.dual_coef_).all()


def test_vectors_stay_if_the_sample_has_fewer_rows_than_features(monkeypatch):
    vectors, sample = problem()
    before = solved(vectors, sample)
    monkeypatch.setattr(moving, "LEAST_ROWS", 0)
    monkeypatch.setattr(moving, "minimize", None)
    monkeypatch.setattr(moving, "MOST_VALUES", 2 * len(vectors))
    moved, after = moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    assert moved is vectors
    assert after is before


# --- classification ------------------------------------------------------------------------------


def chequered(n=3000):
    X = np.random.default_rng(0).uniform(-2, 2, (n, 2)).astype(np.float32)
    return X, np.floor(X).sum(axis=1) % 2


def test_classifier_moves_its_vectors_and_reports_it(capsys):
    X, y = chequered()
    moved = BudgetedSVC(16, 10.0, gamma=2.0, random_state=0, verbose=True).fit(X, y)
    last = BudgetedSVC(16, 10.0, gamma=2.0, random_state=0, polish=False).fit(X, y)
    assert 0 < moved.profile_.moves <= 20
    assert f"vectors moved in {moved.profile_.moves} steps" in capsys.readouterr().out
    assert not np.isin(moved.support_vectors_, last.support_vectors_).all()
    assert moved.profile_.objective_after < moved.profile_.objective_before
    assert moved.score(X, y) > 0.9


@pytest.mark.parametrize("n_classes", [2, 3])
def test_moved_classifier_does_not_depend_on_threads(n_classes):
    X, y = chequered(9000)
    y = y + (X[:, 0] > 1) * (n_classes == 3)
    one, two = (
        BudgetedSVC(24, 10.0, gamma=2.0, max_iter=40, random_state=0, n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert one.profile_.moves > 0
    assert_array_equal(one.support_vectors_, two.support_vectors_)
    assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_vectors_stay_if_the_budget_allows_too_few_steps():
    X, y = chequered()
    settings = {"gamma": 2.0, "random_state": 0}
    assert BudgetedSVC(16, 10.0, max_iter=2, **settings).fit(X, y).profile_.moves == 0
    effort = moving.Effort.for_classes(100_000)
    assert effort.steps(100, 100, 1) == 0  # each step costs 400 values per row: 2 steps
    assert effort.steps(20, 100, 1) == 12
    assert effort.steps(1, 100, 1) == 20
    assert moving.FOR_VALUES.steps(10**9, 100, 1) == 20


@pytest.mark.parametrize("limit", ["MOST_VALUES", "MOST_FRUGAL_VALUES"])
def test_classifier_vectors_stay_if_near_rows_would_be_subsampled(limit, monkeypatch):
    X, y = chequered()
    monkeypatch.setattr(moving, limit, 16 * 500)
    assert BudgetedSVC(16, 10.0, gamma=2.0, random_state=0).fit(X, y).profile_.moves == 0


def test_rows_far_from_the_margin_are_ignored(monkeypatch):
    vectors, sample = problem()
    labels = np.where(sample.rows.dense()[:, 0] > 0, 1, -1).astype(np.int8)
    sample = replace(sample, losses=[Hinge(labels)])
    before = solved(vectors, sample)
    seen = []
    looked = moving.Path.look

    def look(path, position):
        seen.append(len(path.sample.c))
        return looked(path, position)

    monkeypatch.setattr(moving.Path, "look", look)
    moving.move(vectors, before, sample, True, 1, np.random.default_rng(0))
    near = 1 - labels * before[0].decisions > -moving.REACH * sample.losses[0].width
    assert set(seen) == {np.count_nonzero(near)}
    assert 0 < seen[0] < len(sample.c)
