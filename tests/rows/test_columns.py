"""Columns of raw rows: texts, missing values, and the order of names."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from pocketsvm.files import DataError, Layout
from pocketsvm.rows.columns import as_numbers, check_finite, features_of, in_order, layout_of


def frame():
    colour = pd.Series(["red", None, "blue"], dtype=object)
    return pd.DataFrame({"size": [1.0, np.nan, 3.0], "colour": colour, "n": [1, 2, 3]})


@pytest.mark.parametrize("texts", [["colour"], ["2"], ["text"], ["text", "colour"]])
@pytest.mark.parametrize("change", ["object", "category", "string"])
def test_columns_to_encode_are_found_in_a_data_frame(texts, change):
    X = frame().astype({"colour": change})
    layout = layout_of(X, texts, missing=True, place="X")
    assert layout == Layout(3, ["size", "colour", "n"], texts=[1], missing=True)
    found = features_of(X, layout)
    assert found[:, 1].tolist()[::2] == ["red", "blue"]
    assert np.isnan(found[1, 1])
    assert_array_equal(found[:, [0, 2]].astype(float), [[1, 1], [np.nan, 2], [3, 3]])
    assert_array_equal(as_numbers(found, [1]), [[1, 0, 1], [np.nan, np.nan, 2], [3, 0, 3]])


def test_columns_to_encode_are_found_in_an_array():
    X = frame().to_numpy()
    for texts in (["2"], ["text"]):
        assert layout_of(X, texts, missing=False, place="X") == Layout(3, texts=[1])
    assert layout_of(X[:, [0, 2]].astype(float), ["text"], missing=False, place="X") == Layout(2)
    assert layout_of(sp.csr_array((2, 5)), ["text"], missing=False, place="X") == Layout(5)
    with pytest.raises(DataError, match="batch 1 has no column 'smell'; it has '1', '2', '3'"):
        layout_of(X, ["smell"], missing=False, place="batch 1")


def test_nullable_numbers_are_numbers():
    X = frame().astype({"size": "Float64", "n": "Int64"})
    layout = layout_of(X, ["text"], missing=True, place="X")
    assert layout.texts == [1]
    assert_array_equal(features_of(X, layout)[:, 0].astype(float), [1, np.nan, 3])


def test_numbers_in_a_column_to_encode_are_texts():
    X = frame().assign(colour=[1, 2.5, np.nan])
    found = features_of(X, Layout(3, ["size", "colour", "n"], texts=[1]))[:, 1]
    assert found.tolist()[:2] == ["1", "2.5"]
    assert found[2] != found[2]
    large = [2**60 + 1, 1e300, float("inf")]
    found = features_of(X.assign(colour=large), Layout(3, texts=[1]))[:, 1]
    assert found.tolist() == ["1.152921504606847e+18", "1e+300", "inf"]
    found = features_of(X.assign(colour=2**60 + 1), Layout(3, texts=[1]))[:, 1]
    assert found[0] == "1152921504606846977"


def test_dates_in_a_column_to_encode_are_refused():
    X = frame().assign(colour=pd.Timestamp("2024-05-01"))
    with pytest.raises(DataError, match=r"column 'colour' is to be encoded, .*, got Timestamp"):
        features_of(X, Layout(3, ["size", "colour", "n"], texts=[1]))
    with pytest.raises(DataError, match=r"column 2 is to be encoded"):
        features_of(X.to_numpy(dtype=object), Layout(3, texts=[1]))


@pytest.mark.parametrize("texts", [[], [1]])
def test_values_are_missing_only_if_they_are_imputed(texts):
    X = frame()[["size", "colour"]] if texts else frame()[["size", "n"]]
    layout = Layout(2, list(X.columns), texts=texts, missing=True)
    found = features_of(X, layout)
    check_finite(found, layout, "here")
    with pytest.raises(DataError, match=r"here, row 12, column 1: the value is missing"):
        check_finite(found, Layout(2, texts=texts), "here", 10)
    found[2, 0] = np.inf
    with pytest.raises(DataError, match=r"here, row 3, column 1: inf is not a finite number"):
        check_finite(found, layout, "here")


def test_columns_are_put_in_order():
    X = frame()
    assert list(in_order(X[["n", "colour", "size"]], list(X.columns), "here").columns) == list(X)
    with pytest.raises(DataError, match="here lacks the column 'n'"):
        in_order(X[["size", "colour"]], list(X.columns), "here")
