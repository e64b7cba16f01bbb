"""Every way of using the steps, through a file."""

import numpy as np
import prepared_models as prepared
import pytest
from model_files import closed, opened, problem, refused, round_trip, small
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
)

from pocketsvm import save_model
from pocketsvm.model.export import export_c, export_onnx

UNKNOWN = pytest.mark.filterwarnings("ignore:Found unknown categories")


@UNKNOWN
@prepared.EVERY_CHAIN
def test_a_chain_decides_the_same_after_loading(path, chain):
    clf, X, *_ = prepared.fitted(chain)
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)
    again = round_trip(twin, path)
    assert_array_equal(again.predict(X), clf.predict(X), strict=True)


@prepared.EVERY_CHAIN
def test_a_chain_takes_arrays_too(path, chain):
    """Numbers in float32, or objects, without names of columns."""
    kind, steps, _ = prepared.CHAINS[chain]
    X, y = prepared.frame(kind)
    try:
        steps = clone(steps).fit(X.to_numpy(dtype="object" if "city" in X else "float32"))
    except ValueError:
        pytest.skip("the steps name columns")
    X = X.to_numpy(dtype="object" if "city" in X else "float32")[:200]
    clf = make_pipeline(steps, small()).fit(X, y[:200])
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)


@pytest.mark.parametrize(
    ("categories", "options"),
    [
        (["a", "b", None], {}),
        ([1.0, 2.0, None], {}),
        (["a", None, None], {"drop": "first"}),
        ([None, None, None], {}),
        ([1.5, np.nan, np.nan], {"min_frequency": 2}),
        ([np.nan, np.nan, np.nan], {}),
        ([True, False, True], {"dtype": np.int8}),
        ([10, 2, 33], {"dtype": np.bool_, "sparse_output": False}),
        ([10**9, 2, 33], {"drop": [2, 33]}),
        (["", "a", "\ud800"], {}),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", [OneHotEncoder, OrdinalEncoder])
def test_categories_of_any_kind_are_kept(path, categories, options, cls):
    if cls is OrdinalEncoder:
        options = {"encoded_missing_value": -1} | {
            name: value for name, value in options.items() if name == "min_frequency"
        }
    X = np.array(20 * categories, dtype=None if None not in categories else object)[:, None]
    if isinstance(categories[0], str):
        X = X.astype(object)
    X = np.hstack([X, X[::-1]])
    clf = make_pipeline(cls(**options), small()).fit(X, np.arange(60) % 2)
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)
    for found, expected in zip(twin[0].categories_, clf[0].categories_, strict=True):
        assert_array_equal(found, expected)
    kept = twin[0].get_params()
    assert {name: kept[name] for name in options} == options
    assert_array_equal(twin.fit(X, np.arange(60) % 2).predict(X), clf.predict(X))


def test_dates_are_refused_with_what_to_do(path):
    X = np.array([["2024-01-01"], ["2025-01-01"]] * 10, dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"column 0 of its OneHotEncoder .* Convert the values"):
        save_model(make_pipeline(OneHotEncoder(), small()).fit(X, np.arange(20) % 2), path)


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
def test_columns_without_values_can_be_imputed(path, strategy):
    X, y = problem()
    X[:, 1] = np.nan
    imputer = SimpleImputer(strategy=strategy, keep_empty_features=True, add_indicator=True)
    clf = make_pipeline(imputer, small()).fit(X, y)
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)
    assert twin[0].get_params() == clf[0].get_params()
    assert_array_equal(twin[0].indicator_.features_, [1])


def test_an_encoder_of_computed_numbers_is_kept_and_not_exported(path, tmp_path):
    X, y = problem()
    X = np.round(X)
    clf = make_pipeline(StandardScaler(), OneHotEncoder(), small()).fit(X, y)
    twin = round_trip(clf, path)
    assert_array_equal(twin.decision_function(X), clf.decision_function(X), strict=True)
    for export in (export_c, export_onnx):
        with pytest.raises(ValueError, match=r"Put encoders before scalers.*`save_model` keeps it"):
            export(clf, tmp_path / "model.h")
    assert not (tmp_path / "model.h").exists()


def test_what_a_step_has_learnt_is_kept(path):
    X, y = problem(3)
    steps = (PowerTransformer(), QuantileTransformer(n_quantiles=9), PCA(2), TruncatedSVD(2))
    clf = make_pipeline(*steps, small()).fit(X, y)
    twin = round_trip(clf, path)
    names = ["power", "quantiles", "pca", "svd", "svm"]
    assert list(twin.named_steps) == names
    for found, expected in zip(twin[:-1], clf[:-1], strict=True):
        assert found.get_params() == expected.get_params()
        known = {name: each for name, each in vars(expected).items() if name != "_scaler"}
        for name, value in known.items():
            if not name.startswith("_"):
                assert_array_equal(getattr(found, name), value)
    assert_allclose(
        twin[2].inverse_transform(twin[:3].transform(X)),
        clf[2].inverse_transform(clf[:3].transform(X)),
    )


# --- forged files ---------------------------------------------------------------------------------


def encoded(path):
    """Write a model with groups and missing values; return its header and arrays."""
    X = np.array(["a", "b", "b", "c", "c", np.nan] * 10, dtype=object)[:, None]
    y = np.arange(60) % 2
    encoder = OneHotEncoder(min_frequency=15, handle_unknown="infrequent_if_exist")
    save_model(make_pipeline(encoder, small()).fit(X, y), path)
    return opened(path)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("missing", np.array([3], np.uint8), "missing values of an unknown kind"),
        ("infrequent", np.array([0, 0, 0, 0], np.uint8), "does not make as many columns"),
        ("infrequent", np.array([1, 1, 1, 1], np.uint8), "does not make as many columns"),
        ("counts", np.array([2]), "do not sum up to 3"),
    ],
)
def test_forged_groups_are_refused(path, name, value, reason):
    header, data = encoded(path)
    at = f"preparation.0.{name}"
    data[at] = value.tobytes() + data[at][value.nbytes :]
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"n_outputs": 4}, "makes 4 columns, and its vectors have 3"),
        ({"n_outputs": -1}, "'n_outputs' is out of range"),
        ({"n_outputs": 2.0}, "not int"),
        ({"parameters": {"handle_unknown": "x"}}, "parameters of its OneHotEncoder"),
        ({"values": "mixed"}, "lacks the array 'preparation.0.categories'"),
    ],
)
def test_forged_headers_of_encoders_are_refused(path, changes, reason):
    header, data = encoded(path)
    header["sections"]["preparation"]["steps"][0] |= changes
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"min_frequency": None}, "groups categories without a limit"),
        ({"min_frequency": -1}, "min_frequency"),
        ({"drop": "last"}, "drop"),
        ({"drop": [{}]}, "not found in the training data"),
        ({"drop": ["c"]}, "does not make as many columns"),
        ({"dtype": "complex128"}, "dtype 'complex128'"),
        ({"handle_unknown": {}}, "not a value of 'handle_unknown'"),
        ({"max_categories": 1e999}, "its header holds Infinity"),
    ],
)
def test_forged_parameters_of_encoders_are_refused(path, changes, reason):
    header, data = encoded(path)
    header["sections"]["preparation"]["steps"][0]["parameters"] |= changes
    refused(path, closed(header, data), reason)


@pytest.mark.parametrize(
    ("step", "name", "value", "reason"),
    [
        (QuantileTransformer(n_quantiles=4), "quantiles", 1e9, "are not sorted"),
        (QuantileTransformer(n_quantiles=4), "references", np.nan, "not finite"),
        (PowerTransformer(), "lambdas", np.inf, "not finite"),
        (PowerTransformer(), "scale", 0.0, "scale that is not positive"),
        (PCA(2, whiten=True), "explained_variance", -1.0, "variance of its PCA is negative"),
        (TruncatedSVD(2), "components", np.nan, "not finite"),
    ],
    ids=str,
)
def test_forged_numbers_are_refused(path, step, name, value, reason):
    X, y = problem(3)
    save_model(make_pipeline(step, small()).fit(X, y), path)
    header, data = opened(path)
    at = f"preparation.0.{name}"
    data[at] = np.array([value]).tobytes() + data[at][8:]
    refused(path, closed(header, data), reason)


def test_forged_indicators_are_refused(path):
    X, y = problem()
    X[0] = np.nan
    save_model(make_pipeline(SimpleImputer(add_indicator=True), small()).fit(X, y), path)
    for forged in ([1, 0], [0, 0], [0, 2], [-1, 0]):
        header, data = opened(path)
        data["preparation.0.indicated"] = np.array(forged).tobytes()
        twin = path.with_name("forged.psvm")
        refused(twin, closed(header, data), "indicates columns outside of 2")


def test_steps_that_are_nested_too_deep_are_refused(path):
    X, y = problem()
    steps = StandardScaler()
    for _ in range(12):
        steps = ColumnTransformer([("a", steps, [0, 1])])
    with pytest.raises(ValueError, match="nested too deep"):
        save_model(make_pipeline(steps, small()).fit(X, y), path)
