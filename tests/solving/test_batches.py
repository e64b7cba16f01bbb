"""Feature scales, vectors and coefficients that mini-batches refine."""

import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from pocketsvm import BudgetedRanker, BudgetedSVC, BudgetedSVR
from pocketsvm.backends.batches import Batches
from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.precision import training_rows
from pocketsvm.solving.batches import refined, start_of
from pocketsvm.solving.sample import sample_of
from pocketsvm.tasks.classification import class_targets
from pocketsvm.training.settings import Choices, Settings


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(1500, noise=0.2, random_state=1)
    return np.c_[X, np.random.default_rng(1).normal(size=(1500, 4))], y


def settings(*, n_threads=1, budget=20, **choices):
    return Settings(
        budget=budget,
        alpha=1e-3,
        n_passes=1,
        maintenance="merge",
        fit_intercept=True,
        polish=True,
        thorough=True,
        n_threads=n_threads,
        random_state=np.random.RandomState(0),
        choices=Choices(**choices),
    )


def sample(X, y, loss="hinge"):
    rows, targets = class_targets(checked_rows(X), y, None, None, loss)
    ready = training_rows(rows, 0.3)
    return sample_of(ready, targets, settings())


def refine(part, given, *, scales=True):
    return refined(part, given, np.random.default_rng(0), scales=scales)


def objective(part, batches, unknowns):
    """Return the objective over the sum of C, in float64."""
    factors = np.exp(unknowns.logs.astype(np.float64))
    Z = (part.rows.dense().astype(np.float64) - batches.centre) * batches.unit * factors
    u = unknowns.vectors.astype(np.float64) * factors
    kernel = np.exp(-np.square(Z[:, None] - u).sum(axis=2))
    among = np.exp(-np.square(u[:, None] - u).sum(axis=2))
    beta = unknowns.coefficients.astype(np.float64)
    losses, _, _ = part.derivatives(kernel @ beta + unknowns.intercepts, 1)
    return (losses.sum() + 0.5 * np.sum(beta * (among @ beta))) / part.total_c


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
def test_the_gradient_agrees_with_finite_differences(moons, loss):
    X, y = moons
    part = sample(X[:400], (y + (X[:, 2] > 1))[:400], loss)
    random = np.random.default_rng(0)
    start = start_of(part, settings(), np.arange(400), random, scales=True)
    batches = Batches(part, start, 1)
    logs = random.normal(0, 0.2, X.shape[1]).astype(np.float32)
    batches.unknowns = replace(batches.unknowns, logs=logs)
    gradient = batches._gradient(np.arange(400))
    for name in ("logs", "vectors", "coefficients", "intercepts"):
        values = getattr(batches.unknowns, name).astype(np.float64)
        found = getattr(gradient, name)
        for entry in list(np.ndindex(values.shape))[::17]:
            ends = []
            for sign in (1, -1):
                changed = values.copy()
                changed[entry] += sign * 1e-4
                moved = replace(batches.unknowns, **{name: changed})
                ends.append(objective(part, batches, moved))
            difference = (ends[0] - ends[1]) / 2e-4
            assert found[entry] == pytest.approx(difference, rel=1e-2, abs=1e-4), (name, entry)


def test_batches_lower_the_objective_and_the_scales_of_noise(moons):
    X, y = moons
    part = sample(X, y)
    factors, vectors = refine(part, settings(batches=300))
    assert vectors.shape == (20, X.shape[1])
    assert factors[2:].max() < 0.5 * factors[:2].min()


def test_scales_that_were_not_learnt_stay(moons):
    X, y = moons
    factors, vectors = refine(sample(X, y), settings(batches=100), scales=False)
    np.testing.assert_array_equal(factors, 1.0)
    nearest = np.abs(vectors[:, None] - X).max(axis=2).min(axis=1)
    assert nearest.min() > 0.01  # they have moved away from the rows


def test_any_number_of_threads_and_sparse_rows_give_the_same_bits(moons):
    X, y = moons
    X = np.where(np.abs(X) < 1.2, 0.0, X)  # so few values that dense rows count as sparse, too
    X[:, 2:] = 0.0
    part = sample(X, y)
    found = refine(part, settings(batches=40))
    for again in (
        refine(part, settings(batches=40, n_threads=3)),
        refine(sample(sp.csr_array(X), y), settings(batches=40)),
    ):
        np.testing.assert_array_equal(again[0], found[0])
        np.testing.assert_array_equal(again[1], found[1])


def test_too_few_rows_are_not_refined(moons):
    X, y = moons
    assert refine(sample(X[:40], y[:40]), settings()) is None


def test_a_thorough_fit_learns_better_scales():
    X, y = make_moons(6000, noise=0.2, random_state=1)
    X = np.c_[X, np.random.default_rng(1).normal(size=(6000, 12))]
    svc = BudgetedSVC(budget=30, C=10, feature_scales="learn", random_state=0, polish="thorough")
    svc._choices = Choices(batches=800)
    svc.fit(X[:3000], y[:3000])
    plain = BudgetedSVC(budget=30, C=10, random_state=0, polish="thorough")
    plain.fit(X[:3000], y[:3000])
    assert svc.score(X[3000:], y[3000:]) > max(0.955, plain.score(X[3000:], y[3000:]) + 0.02)
    assert svc.feature_scales_[2:].max() < 0.1 * svc.feature_scales_[:2].min()
    assert svc.support_vectors_.shape == (30, 14)


def test_other_tasks(moons):
    X, y = moons
    options = {"feature_scales": "learn", "polish": "thorough", "random_state": 0}
    svr = BudgetedSVR(budget=30, loss="quantile", quantile=[0.1, 0.9], **options)
    predicted = svr.fit(X, X[:, 0] + y).predict(X)
    assert np.mean(predicted[:, 0] < predicted[:, 1]) > 0.95
    ranker = BudgetedRanker(budget=30, **options)
    ranker.fit(X, y, qid=np.repeat(np.arange(150), 10))
    assert ranker.score(X, y, qid=np.repeat(np.arange(150), 10)) > 0.9


def test_batches_move_the_vectors_that_lbfgs_cannot(monkeypatch):
    """Of noisy labels, most rows are near the margin; of others, few."""
    seen, seconds = [], []

    def counted(*args, **options):
        seen.append(options)
        begin = time.perf_counter()
        found = refined(*args, **options)
        seconds.append(time.perf_counter() - begin)
        return found

    monkeypatch.setattr("pocketsvm.fit.refined", counted)
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 3))
    values = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    noisy = values + random.logistic(size=3000) > 0

    def fitted(y, budget, C, polish="thorough"):
        svc = BudgetedSVC(budget, C=C, gamma=1.0, polish=polish, random_state=0)
        svc._choices = Choices(batches=100, batch_rows=512)
        return svc.fit(X, y)

    moved = fitted(noisy, 400, 10.0)
    assert seen == [{"scales": False}]
    stays = fitted(noisy, 400, 10.0, polish=True)
    assert moved.profile_.moves == stays.profile_.moves == 0
    assert moved.profile_.seconds_polish > max(seconds)
    assert not np.isin(moved.support_vectors_, stays.support_vectors_).all(axis=1).any()
    assert fitted(values > 0, 30, 10.0).profile_.moves > 0
    assert len(seen) == 1
