"""Preparation: transformers in pipelines, in models and in files."""

import numpy as np
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
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from pocketsvm import BudgetedSVC, load_model, save_model
from pocketsvm.model import Model

SCALED = next(golden for golden in GOLDEN if golden.stem == "scaled-v3")


ALL_SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler((-1, 2)),
    MaxAbsScaler(),
    RobustScaler(quantile_range=(10.0, 80.0)),
    RobustScaler(with_centering=False, unit_variance=True),
    RobustScaler(with_scaling=False),
]


@pytest.mark.parametrize("scaler", ALL_SCALERS, ids=str)
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


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Normalizer(), "a Normalizer cannot be kept in it. Supported .* are StandardScaler, Min"),
        (
            FunctionTransformer(np.abs),
            "a FunctionTransformer cannot be kept in it. .* FeatureUnion",
        ),
        (SimpleImputer(missing_values=0), "missing_values=nan is. Replace 0 by NaN"),
        (SimpleImputer(strategy=np.min), "its strategy is a function. Use strategy='constant'"),
        (FeatureUnion([("a", Normalizer())]), "a Normalizer cannot be kept"),
        (FeatureUnion([("a", MaxAbsScaler())], transformer_weights={"a": 2.0}), "weights"),
        (ColumnTransformer([("a", StandardScaler(), 0)]), "0 as 1-D|1D data passed"),
        (
            ColumnTransformer([("a", "passthrough", [0])], transformer_weights={"a": 2.0}),
            "transformer_weights",
        ),
        (ColumnTransformer([("a", Normalizer(), [0])]), "a Normalizer cannot be kept"),
        (ColumnTransformer([("a", StandardScaler(), [0, 0])]), "branch 'a' takes a column twice"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_steps_that_a_file_cannot_keep_are_named_with_those_it_can(path, step, reason):
    X, y = problem()
    with pytest.raises(ValueError, match=reason):
        save_model(make_pipeline(step, small()).fit(np.round(X), y), path)
    assert not path.exists()


def test_the_steps_of_a_pipeline_must_be_fitted(path):
    X, y = problem()
    with pytest.raises(NotFittedError):
        save_model(make_pipeline(StandardScaler(), small().fit(X, y)), path)
    assert not path.exists()


def mixed(n=200):
    """Return a frame of numbers and texts with missing values, and classes."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "length": random.normal(size=n),
            "kind": random.choice(["oak", "ash", "elm"], n),
            "unused": random.normal(size=n),
            "weight": 100 + 10 * random.normal(size=n),
            "stars": random.choice([1, 2, 5], n),
        }
    )
    y = (frame["length"] + (frame["kind"] == "oak") > 0).to_numpy()
    frame.loc[3, "length"] = np.nan
    frame.loc[5, "kind"] = None
    return frame, y


def branches(kind="most_frequent", **encoding):
    """Return a ColumnTransformer with all kinds of branches."""
    texts = make_pipeline(SimpleImputer(strategy=kind), OneHotEncoder(**encoding))
    return ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(strategy="median"), RobustScaler()),
                ["length"],
            ),
            ("texts", texts, ["kind"]),
            ("stars", OneHotEncoder(), [4]),
            ("none", StandardScaler(), []),
            ("rest", "passthrough", slice(3, 4)),
        ]
    )


def check_chain(pipeline, X, path):
    """Check that a fitted chain is restored, and once more."""
    twin = round_trip(pipeline, path)
    assert_array_equal(twin.decision_function(X), pipeline.decision_function(X), strict=True)
    round_trip(twin, path)
    assert_array_equal(twin.decision_function(X), pipeline.decision_function(X), strict=True)
    return twin


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_of_numbers_and_texts_are_restored(path, sparse):
    X, y = mixed()
    steps = branches(handle_unknown="ignore", sparse_output=sparse)
    twin = check_chain(make_pipeline(steps, MaxAbsScaler(), small()).fit(X, y), X, path)
    assert list(twin.named_steps) == ["columns", "scale", "svm"]
    assert twin[0].feature_names_in_.tolist() == list(X)
    texts = Model.of(twin).preparation.program.inputs.texts
    assert {column: sorted(known) for column, known in texts.items()} == {1: ["ash", "elm", "oak"]}
    X.loc[0, "kind"] = "birch"
    twin.predict(X)


def test_unknown_categories_are_refused_after_loading_as_before(path):
    X, y = mixed()
    twin = round_trip(make_pipeline(branches(), small()).fit(X, y), path)
    X.loc[0, "kind"] = "birch"
    with pytest.raises(ValueError, match="unknown categories"):
        twin.predict(X)


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value=3.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_imputation_is_restored(path, imputer, dtype):
    X, y = problem()
    X = X.astype(dtype)
    X[7, 1] = np.nan
    for steps in ([imputer, StandardScaler()], [StandardScaler(), imputer], [imputer]):
        pipeline = make_pipeline(*map(clone, steps), small()).fit(X, y)
        twin = check_chain(pipeline, X, path)
        assert twin.named_steps["impute"].get_params() == imputer.get_params()


def test_texts_that_are_imputed_with_a_constant_are_restored(path):
    X, y = mixed()
    check_chain(make_pipeline(branches("constant"), small()).fit(X, y), X, path)
    chain = make_pipeline(OneHotEncoder(), small()).fit(X[["stars"]], y)
    check_chain(chain, X[["stars"]], path)


def test_a_column_without_values_cannot_be_imputed(path):
    X, y = problem()
    X[:, 1] = np.nan
    pipeline = make_pipeline(SimpleImputer(keep_empty_features=False), small())
    with pytest.warns(UserWarning, match="without any observed values"):
        pipeline.fit(X, y)
    with pytest.raises(ValueError, match="column 1 of its SimpleImputer has no values"):
        save_model(pipeline, path)


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
    ({"n_rows": 0}, "'n_rows' is out of range in a step of its preparation"),
    ({"parameters": {}}, "the parameters of its StandardScaler"),
    ({"parameters": {"with_mean": 1, "with_std": True}}, "not bool"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [1, 0]}}, "is empty"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [1]}}, "not a pair"),
    ({"kind": "MinMaxScaler", "parameters": {"feature_range": [0, 1]}}, "preparation.0.data_max"),
]


@pytest.mark.parametrize(("changes", "reason"), FORGERIES)
def test_forged_scaling_is_refused(path, changes, reason):
    header, data = opened(SCALED)
    header["sections"]["preparation"]["steps"][0] |= changes
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ({}, "'steps' is '{}' in its header, not list"),
        ([[]], "lacks 'kind'"),
        ([], "'preparation.0.mean' is float64 of shape .* but none is expected"),
    ],
)
def test_damaged_chains_are_refused(path, steps, reason):
    refused_after(value("preparation", "steps", to=steps), SCALED, path, reason)


def test_long_chains_are_refused(path):
    header, data = opened(SCALED)
    header["sections"]["preparation"]["steps"] *= 17
    refused(path, closed(header, data), "its preparation has 17 steps")


CHAIN_FORGERIES = [
    (lambda top, step: top.update(n_features=2**60), "5 feature names for"),
    (lambda top, step: top.update(n_features=0), "array|columns"),
    (lambda top, step: top.update(n_features=3), "columns outside of 3|feature names"),
    (lambda top, step: top.update(n_features=1.5), "not int"),
    (lambda top, step: step.update(branches=[]), "no names of their own"),
    (lambda top, step: step.update(branches=step["branches"][:2]), "preparation makes 4 columns"),
    (lambda top, step: step["branches"][0].update(name="texts"), "no names of their own"),
    (lambda top, step: step["branches"][0].update(name="a__b"), "no names of their own"),
    (lambda top, step: step["branches"][0].update(steps={}), "not list"),
    (lambda top, step: step["branches"][1]["steps"][0].update(values="date"), "of the kind 'date'"),
    (lambda top, step: step["branches"][1]["steps"][0].update(values="number"), "lacks the array"),
    (
        lambda top, step: step["branches"][1]["steps"][0]["parameters"].update(strategy="mode"),
        "strategy",
    ),
    (lambda top, step: step["branches"][1]["steps"][0]["parameters"].update(a=1), "parameters of"),
    (
        lambda top, step: step["branches"][1]["steps"][1]["parameters"].update(dtype="object"),
        "dtype 'object'",
    ),
    (
        lambda top, step: step["branches"][1]["steps"][1]["parameters"].update(sparse_output="no"),
        "sparse_output",
    ),
    (
        lambda top, step: step["branches"][1].update(steps=[dict(step, branches=[])]),
        "no names of their own",
    ),
    (lambda top, step: step.update(sparse_output=1), "not bool"),
]


@pytest.mark.parametrize(("forge", "reason"), CHAIN_FORGERIES)
def test_forged_chains_are_refused(path, forge, reason):
    X, y = mixed()
    save_model(make_pipeline(branches(), small()).fit(X, y), path)
    header, data = opened(path)
    top = header["sections"]["preparation"]
    forge(top, top["steps"][0])
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("preparation.0.0.columns", np.array([9]), "columns outside of 5"),
        ("preparation.0.1.columns", np.array([0]), "could not convert string|text and as a number"),
        ("preparation.0.1.1.counts", np.array([2]), "do not sum up to 3"),
        ("preparation.0.2.0.categories", np.array([2.0, 1.0, 5.0]), "not sorted, or not unique"),
        ("preparation.0.1.1.ends", np.array([1, 2, 3]), "do not fit the bytes"),
    ],
)
def test_forged_arrays_of_chains_are_refused(path, name, value, reason):
    X, y = mixed()
    save_model(make_pipeline(branches(), small()).fit(X, y), path)
    header, data = opened(path)
    assert len(data[name]) >= value.nbytes
    data[name] = value.tobytes() + data[name][value.nbytes :]
    refused(path, closed(header, data), reason)


def test_a_forged_branch_that_takes_a_column_twice_is_refused(path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(50, 2)), np.arange(50) % 2
    both = ColumnTransformer([("both", StandardScaler(), [0, 1])])
    save_model(make_pipeline(both, small()).fit(X, y), path)
    header, data = opened(path)
    data["preparation.0.0.columns"] = np.array([0, 0]).tobytes()
    refused(path, closed(header, data), "takes a column twice")


@pytest.mark.parametrize("remainder", ["passthrough", MaxAbsScaler()])
@pytest.mark.parametrize("name", ["a", "rest"])
def test_remaining_columns_of_a_column_transformer_are_kept(remainder, name, tmp_path):
    X = np.random.default_rng(0).normal(size=(100, 3))
    columns = ColumnTransformer([(name, StandardScaler(), [1])], remainder=remainder)
    model = make_pipeline(columns, BudgetedSVC(10, random_state=0)).fit(X, X[:, 0] > 0)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert_array_equal(loaded.decision_function(X), model.decision_function(X))
