"""Streams that change with time: forgetting, and the warning without it."""

import warnings

import numpy as np
import pytest
from models import assert_same_model, moons, small_svc, small_svr

from pocketsvm.estimators.drift import DriftWarning, warn_about_drift
from pocketsvm.profile import Profile


def batch(k, seed, n=1000):
    """Return rows whose distribution has moved by k twentieths of a standard deviation."""
    rng = np.random.default_rng((seed, k))
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=n) > 0
    return X + 0.05 * k * np.array([1, -1, 1, -1]), y.astype(int)


def stream(clf, n_batches):
    """Return the accuracies on the next batch."""
    scores = []
    for k in range(n_batches):
        clf.partial_fit(*batch(k, 0), classes=[0, 1])
        scores.append(clf.score(*batch(k, 1)))
    return scores


@pytest.mark.filterwarnings("ignore::pocketsvm.estimators.drift.DriftWarning")
def test_half_life_follows_a_stream_that_drifts():
    settings = {"budget": 100, "gamma": 0.5}
    forgetting = stream(small_svc(half_life=5000, **settings), 120)
    keeping = stream(small_svc(**settings), 120)
    fresh = small_svc(**settings).partial_fit(*batch(119, 2, n=7000), classes=[0, 1])
    assert np.mean(keeping[-20:]) < 0.7
    assert np.mean(forgetting[-20:]) > fresh.score(*batch(119, 1)) - 0.05
    assert np.mean(forgetting[-20:]) > np.mean(keeping[-20:]) + 0.1


@pytest.mark.filterwarnings("ignore:After more than:pocketsvm.estimators.drift.DriftWarning")
def test_drift_is_warned_about():
    with pytest.warns(DriftWarning, match="More than 90% of the rows .* set half_life"):
        stream(small_svc(budget=100, gamma=0.5), 120)


def test_half_life_needs_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DriftWarning)
        stream(small_svc(budget=100, gamma=0.5, half_life=5000), 120)


@pytest.mark.parametrize(
    ("before", "after", "warned"),
    [
        ((1000, 910), (1000, 910), True),
        ((1000, 890), (1000, 910), False),
        ((1000, 910), (1000, 890), False),
        ((50, 50), (1000, 1000), False),
        ((0, 0), (1000, 1000), False),
    ],
)
def test_warning_needs_two_calls_with_many_violations(before, after, warned):
    profiles = [Profile(steps=n, violations=v) for n, v in (before, after)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_about_drift(*profiles)
    assert len(caught) == warned


def test_half_life_changes_nothing_in_fit():
    X, y = moons()
    assert_same_model(small_svc(half_life=10).fit(X, y), small_svc().fit(X, y))


def test_very_long_half_life_is_none():
    X, y = moons()
    one = small_svc(half_life=1e30, alpha=1e-3).partial_fit(X, y, classes=[0, 1])
    assert_same_model(one, small_svc(alpha=1e-3).partial_fit(X, y, classes=[0, 1]))


def test_regression_forgets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(22_000, 2))
    y = np.sin(X[:, 0]) + np.repeat([0.0, 3.0], [20_000, 2000])  # a jump near the end
    errors = {}
    for half_life in (None, 500):
        model = small_svr(half_life=half_life, gamma=0.5, alpha=0.05)
        for i in range(0, len(X), 1000):
            model.partial_fit(X[i : i + 1000], y[i : i + 1000])
        errors[half_life] = np.abs(model.predict(X[-2000:]) - y[-2000:]).mean()
    assert errors[500] < 0.3 < 1.0 < errors[None]


@pytest.mark.parametrize("half_life", [0, 0.5, -3, "1000", np.nan])
def test_half_life_must_be_a_number_of_rows(half_life):
    X, y = moons()
    with pytest.raises(ValueError, match="half_life"):
        small_svc(half_life=half_life).partial_fit(X, y, classes=[0, 1])


def wide_stream(n_batches, *, gamma, **settings):
    """Fit rows of 50 features, of which three matter; a large gamma finds no structure."""
    rng = np.random.default_rng(0)
    clf = small_svc(budget=50, gamma=gamma, **settings)
    for _ in range(n_batches):
        X = rng.normal(size=(1000, 50))
        noise = 0.7 * rng.normal(size=1000)
        clf.partial_fit(X, X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + noise > 0.8, classes=[False, True])
    return clf


def test_a_long_stream_that_nothing_is_learnt_from_is_warned_about():
    message = "not better than predicting the most frequent class, which .* set alpha"
    with pytest.warns(DriftWarning, match=message):
        wide_stream(12, gamma=0.1)


@pytest.mark.parametrize(
    ("n_batches", "settings"),
    [
        (10, {"gamma": 0.1}),  # not long yet
        (14, {"gamma": 0.02}),
        (12, {"gamma": 0.1, "class_weight": {True: 3.0}}),  # another aim than accuracy
    ],
)
def test_other_streams_are_not_warned_about(n_batches, settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DriftWarning)
        wide_stream(n_batches, **settings)
