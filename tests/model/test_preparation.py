"""Preparation: scalers in pipelines, in models and in files."""

import pandas as pd
import pytest
from model_files import (
    GOLDEN,
    assert_equal,
    closed,
    opened,
    problem,
    refused,
    refused_after,
    round_trip,
    small,
    value,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from pocketsvm import save_model
from pocketsvm.model import Model

SCALED = {golden.stem: golden for golden in GOLDEN if golden.stem.startswith("scaled")}


@pytest.mark.parametrize(
    "scaler",
    [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler((-1, 2))],
    ids=str,
)
@pytest.mark.parametrize("kind", ["float64", "float32", "names"])
def test_scaling_is_restored(path, scaler, kind):
    X, y = problem()
    X = X.astype("float64" if kind == "names" else kind) * [1, 1000]
    if kind == "names":
        X = pd.DataFrame(X, columns=["a", "b"])
    pipeline = make_pipeline(clone(scaler), small()).fit(X, y)
    twin = round_trip(pipeline, path)
    assert list(twin.named_steps) == ["scale", "svm"]
    assert_array_equal(twin.decision_function(X), pipeline.decision_function(X), strict=True)
    assert_equal(vars(twin[-1]), vars(pipeline[-1]))
    expected, found = vars(pipeline[0]), vars(twin[0])
    assert found.keys() == expected.keys()
    for name in expected:
        assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 2))], ids=str)
def test_scaling_is_the_affine_map_of_the_scaler(scaler):
    X, y = problem()
    pipeline = make_pipeline(scaler, small()).fit(X, y)
    model = Model.of(pipeline)
    (step,) = model.preparation
    assert model.scaling is step
    assert step.scaler is pipeline[0]
    assert_allclose((X - step.offset) * step.factor, scaler.transform(X), rtol=1e-12, atol=1e-12)
    assert Model.of(pipeline[-1]).scaling is None


def test_scaling_that_a_file_cannot_keep_is_refused(path):
    X, y = problem()
    for scaler in (MinMaxScaler(clip=True), StandardScaler(with_std=False)):
        with pytest.raises(ValueError, match="This Pipeline cannot be saved"):
            save_model(make_pipeline(scaler, small()).fit(X, y), path)
    for pipeline in (make_pipeline(MaxAbsScaler(), small()), make_pipeline(small())):
        with pytest.raises(TypeError, match="Only the estimators of pocketsvm"):
            save_model(pipeline.fit(X, y), path)
    with pytest.raises(NotFittedError):
        save_model(make_pipeline(StandardScaler(), small().fit(X, y)), path)
    assert not path.exists()


def test_a_scale_must_be_positive(path):
    X, y = problem()
    pipeline = make_pipeline(StandardScaler(), small()).fit(X, y)
    pipeline[0].scale_[1] = 0
    with pytest.raises(ValueError, match="scale that is not positive"):
        save_model(pipeline, path)
    pipeline[0].scale_[1] = 1e-320
    with pytest.raises(ValueError, match="scale out of range"):
        save_model(pipeline, path)


FORGERIES = [
    ({"kind": "Other"}, "preparation has a 'Other', which this pocketsvm does not know"),
    ({"n_rows": 0}, "number of rows of its scaling"),
    ({"parameters": {}}, "the parameters of its StandardScaler"),
    ({"parameters": {"with_mean": 1, "with_std": True}}, "not bool"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [1, 0]}}, "is empty"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [1]}}, "not a pair"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [0, 1]}}, "preparation.0.data_max"),
]


@pytest.mark.parametrize(("changes", "reason"), FORGERIES)
def test_forged_scaling_is_refused(path, changes, reason):
    header, data = opened(SCALED["scaled-v3"])
    header["sections"]["preparation"]["steps"][0] |= changes
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(("changes", "reason"), FORGERIES)
def test_forged_scaling_of_version_2_is_refused(path, changes, reason):
    header, data = opened(SCALED["scaled-v2"])
    header["scaling"] |= {"scaler" if key == "kind" else key: v for key, v in changes.items()}
    refused(path, closed(header, data, 2), reason)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ({}, "'steps' is '{}' in its header, not list"),
        ([[]], "lacks 'kind'"),
        ([], "'preparation.0.mean' is float64 of shape .* but none is expected"),
    ],
)
def test_damaged_chains_are_refused(path, steps, reason):
    refused_after(value("preparation", "steps", to=steps), SCALED["scaled-v3"], path, reason)


def test_chains_of_two_steps_are_refused(path):
    header, data = opened(SCALED["scaled-v3"])
    header["sections"]["preparation"]["steps"] *= 2
    refused(path, closed(header, data), "its preparation has 2 steps")
