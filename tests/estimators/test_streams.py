"""Streams: the reservoir is a fair sample, and polishing on it gives a better model."""

import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

from pocketsvm import BudgetedSVC, BudgetedSVR
from pocketsvm.estimators.streams import StreamReservoir
from pocketsvm.rows.chunk import Chunk


def batches(n=10, size=500, seed=0):
    random = np.random.default_rng(seed)
    for _ in range(n):
        X = random.normal(size=(size, 3))
        yield X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


def stream(**parameters):
    settings = {"budget": 20, "gamma": 0.5, "alpha": 1e-4, "random_state": 0}
    return BudgetedSVC(**settings | parameters)


def filled(n_rows, size, half_life, seed=0, step=100):
    found = StreamReservoir(seed)
    for begin in range(0, n_rows, step):
        at = np.arange(begin, min(begin + step, n_rows))
        found = found.added(Chunk(at[:, None] * 1.0, at, None, ""), size, half_life)
    return found


def test_the_reservoir_does_not_depend_on_the_batches():
    one, other = filled(3000, 100, 500.0), filled(3000, 100, 500.0, step=7)
    assert_array_equal(one.positions, other.positions)
    assert_array_equal(one.rows.y, one.positions)
    assert_array_equal(one.factors(500.0), other.factors(500.0))
    assert len(one.positions) == 100


def test_without_a_half_life_all_rows_are_kept_with_the_same_chance():
    counts = sum(
        np.bincount(filled(500, 50, math.inf, seed).positions // 100, minlength=5)
        for seed in range(200)
    )
    # 2,000 rows are expected in each fifth; the standard deviation is below 42.
    assert (np.abs(counts - 2000) < 200).all()
    assert_allclose(filled(500, 50, math.inf).factors(math.inf), 1.0)


@pytest.mark.parametrize("size", [40, 400])
def test_kept_rows_represent_weights_that_fall_with_age(size):
    """The mean age in the reservoir is that of all rows with their weights."""
    n_rows, half_life = 1000, 100.0
    ages = n_rows - np.arange(n_rows)
    weights = 0.5 ** (ages / half_life)
    expected = (weights @ ages) / weights.sum()
    found = []
    for seed in range(100):
        kept = filled(n_rows, size, half_life, seed)
        factors = kept.factors(half_life)
        found.append(factors @ (n_rows - kept.positions) / factors.sum())
    assert_allclose(np.mean(found), expected, rtol=0.06)


def test_a_long_stream_does_not_overflow():
    reservoir = StreamReservoir(0, n_seen=10**9)
    batch = Chunk(np.zeros((500, 1)), np.arange(500), None, "")
    found = reservoir.added(batch, 50, 100.0).factors(100.0)
    assert np.isfinite(found).all()
    assert_allclose(found.mean(), 1.0)


def test_polishing_gives_a_better_model_and_the_stream_goes_on():
    model, plain = stream(reservoir=2000), stream()
    for X, y in batches():
        model.partial_fit(X, y, classes=[0, 1])
        plain.partial_fit(X, y, classes=[0, 1])
    assert_same_model(model, plain)
    X, y = next(batches(1, 4000, seed=1))
    before = model.score(X, y)
    model.polish_stream()
    assert model.score(X, y) > before
    assert model.profile_.objective_after < model.profile_.objective_before
    for rows in batches(2, seed=2):
        assert_same_model(
            model.partial_fit(*rows), pickle.loads(pickle.dumps(plain)).partial_fit(*rows)
        )
        plain.partial_fit(*rows)
    twin = pickle.loads(pickle.dumps(model))
    assert_same_model(model.polish_stream(), twin.polish_stream())


def test_all_rows_in_the_reservoir_are_solved_for_as_fit_does():
    rows = list(batches(4))
    X, y = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    weight = np.arange(len(y)) % 3
    model = stream(reservoir=10_000)
    for k, (some, labels) in enumerate(rows):
        at = slice(500 * k, 500 * (k + 1))
        model.partial_fit(some, labels, classes=[0, 1], sample_weight=weight[at])
    assert model._reservoir.rows.n_rows == np.count_nonzero(weight)
    model.polish_stream()
    whole = stream(max_iter=1).fit(X, y, weight)
    assert_allclose(model.profile_.objective_after, whole.profile_.objective_after, rtol=0.1)


def test_sparse_rows_text_labels_and_regressions():
    model, twin = stream(reservoir=600), stream(reservoir=600)
    for X, y in batches(4):
        labels = np.array(["no", "yes"])[y]
        model.partial_fit(sp.csr_array(X), labels, classes=["no", "yes"])
        twin.partial_fit(X, labels, classes=["no", "yes"])
    assert_same_model(model.polish_stream(), twin.polish_stream())
    regression = BudgetedSVR(
        20, gamma=0.5, alpha=1e-4, random_state=0, reservoir=1000, half_life=2e3
    )
    for X, _ in batches(6):
        regression.partial_fit(X, X[:, 0] + X[:, 1] ** 2)
    X, _ = next(batches(1, 2000, seed=1))
    y = X[:, 0] + X[:, 1] ** 2
    before = regression.score(X, y)
    assert regression.polish_stream().score(X, y) > before


def test_the_reservoir_follows_a_change():
    """With a half-life, rows from before the change hardly count."""
    model = stream(reservoir=1000, half_life=300.0)
    for k, (X, y) in enumerate(batches(20)):
        model.partial_fit(X, y if k < 10 else 1 - y, classes=[0, 1])
    model.polish_stream()
    X, y = next(batches(1, 2000, seed=1))
    assert model.score(X, 1 - y) > 0.85


def test_misuse():
    X, y = next(batches(1))
    with pytest.raises(ValueError, match="set reservoir, the number of rows to keep"):
        stream().partial_fit(X, y, classes=[0, 1]).polish_stream()
    with pytest.raises(ValueError, match="reservoir"):
        stream(reservoir=0).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="no rows to polish on"):
        stream(reservoir=10).partial_fit(X, y, classes=[0, 1]).fit(X, y).polish_stream()


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        (stream(), {"loss": "log_loss"}),
        (BudgetedSVR(20), {"loss": "squared_error"}),
        (BudgetedSVR(20, loss="quantile", quantile=0.1), {"quantile": 0.9}),
    ],
)
def test_a_stream_keeps_its_loss(model, changed):
    X, y = next(batches(1))
    model = clone(model).set_params(reservoir=100).partial_fit(X[:250], y[:250], **classes(model))
    state = model.to_model()
    ((name, value),) = changed.items()
    before = getattr(model, name)
    model.set_params(**changed)
    message = rf"{name}={value!r} differs from {name}={before!r} of the model .* keep {name}"
    for again in (lambda: model.partial_fit(X[250:], y[250:]), model.polish_stream):
        with pytest.raises(ValueError, match=message):
            again()
    assert_array_equal(model.dual_coef_, state.dual_coef)
    model.set_params(**{name: before}).partial_fit(X[250:], y[250:]).polish_stream()
    model.set_params(**changed).fit(X, y)
    assert getattr(model, f"_{name}") == value


def classes(model):
    """The argument that only the stream of a classifier needs."""
    return {"classes": [0, 1]} if is_classifier(model) else {}


def test_one_weight_for_all_rows_of_a_batch():
    one, other = stream(reservoir=800), stream(reservoir=800)
    for k, (X, y) in enumerate(batches(3), 1):
        one.partial_fit(X, y, classes=[0, 1], sample_weight=k)
        other.partial_fit(X, y, classes=[0, 1], sample_weight=np.full(len(y), k))
    assert_same_model(one.polish_stream(), other.polish_stream())
