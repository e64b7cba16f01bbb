"""Parquet: wrong types and missing values are named, and the index of pandas is not data."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from pocketsvm.files import DataError, DataFile, Layout

from .samples import parquet_bytes, read, spelled, stream

FRAME = pd.DataFrame({"a": [0.5, 1.0, 0.25], "b": [-2, 0, 4], "kind": ["cat", "dog", "cat"]})
INDEXES = {
    "range": pd.RangeIndex(3),
    "unnamed": pd.Index([7, 3, 5]),
    "named": pd.Index([7, 3, 5], name="id"),
    "text": pd.Index(["u", "v", "w"], name="target"),
    "multi": pd.MultiIndex.from_tuples([("u", 1), ("u", 2), ("v", 1)], names=["site", "year"]),
}


@pytest.fixture
def write_frame(tmp_path):
    """A function that writes FRAME with one of the indexes, and returns the path."""

    def write_frame(index):
        path = tmp_path / f"{index}.parquet"
        FRAME.set_index(INDEXES[index]).to_parquet(path)
        return str(path)

    return write_frame


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["u"], "y": [1]}, r"column 'a': a feature must be a number, got string.*label='a'"),
        ({"a": [1], "y": [[1]]}, "column 'y': a label must be text or a number"),
        ({"a": [1.0, None], "y": [1, 2]}, "row 2, column 'a': the value is missing"),
        ({"a": [1.0, 2.0], "y": [1, None]}, "row 2, column 'y': the label is missing"),
        ({"a": [1.0, np.nan], "y": [1, 2]}, "row 2, column 'a': the value is missing"),
        ({"y": [1]}, "no columns beside"),
    ],
)
def test_an_error_names_the_column(write, columns, message):
    with pytest.raises(ValueError, match=message):
        read(write(parquet_bytes(columns)))


@pytest.mark.parametrize("index", INDEXES)
def test_the_index_of_pandas_is_not_data(write_frame, index):
    table = read(write_frame(index))
    assert table.layout == Layout(2, ["a", "b"], "kind")
    assert_array_equal(table.X, FRAME[["a", "b"]])
    assert spelled(table.labels) == ["cat", "dog", "cat"]
    assert read(write_frame(index), label="-1").layout.label == "kind"
    (batch,) = stream(write_frame(index), Layout(2, None, 2))
    assert_array_equal(batch.X, FRAME[["a", "b"]])
    assert spelled(batch.labels) == ["cat", "dog", "cat"]


def test_the_index_of_pandas_can_be_named(write_frame):
    path = write_frame("named")
    assert spelled(read(path, label="id", drop=["kind"]).labels) == ["7", "3", "5"]
    assert read(path, label="kind", drop=["id"]).layout == Layout(2, ["a", "b"], "kind")
    (batch,) = stream(path, Layout(2, ["id", "a"], "kind"))  # features of the training file
    assert_array_equal(batch.X, [[7, 0.5], [3, 1.0], [5, 0.25]])
    (batch,) = stream(path, Layout(2, ["a", "b"], "id"))
    assert spelled(batch.labels) == ["7", "3", "5"]


def test_a_frame_of_nothing_but_an_index_is_refused(tmp_path):
    FRAME[[]].set_index(INDEXES["named"]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no columns beside an index"):
        read(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize(
    "described",
    [b"", b"{", b"[]", b'{"index_columns": 3}', b'{"index_columns": [[]]}', b"[" * 9999],
)
def test_a_damaged_description_by_pandas_is_ignored(write, described):
    columns = pa.table({"a": [1.0, 2.0], "y": [1, 2]})
    path = write(parquet_bytes(columns.replace_schema_metadata({b"pandas": described})))
    assert read(path).layout == Layout(1, ["a"], "y")


def test_missing_values_booleans_and_texts(write):
    columns = {
        "a": [1.0, None, float("nan")],
        "flag": [True, None, False],
        "wood": pa.array(["oak", None, "ash"]).dictionary_encode(),
        "y": ["u", "v", "u"],
    }
    path = write(parquet_bytes(columns))
    with pytest.raises(ValueError, match=r"column 'wood': a feature must be a number.*texts="):
        read(path)
    with pytest.raises(ValueError, match=r"row 2, column 'a': the value is missing.*missing=True"):
        read(path, texts=["text"])
    table = read(path, texts=["text"], missing=True)
    rows = [[1.0, 1.0, "oak"], [None, None, None], [None, 0.0, "ash"]]
    assert [[None if v != v else v for v in row] for row in table.X.tolist()] == rows
    assert table.layout.texts == [2]


def test_names_of_columns_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"first": [1.0, 2.0], "label": [0, 1]}), path)
    path.write_bytes(path.read_bytes().replace(b"first", b"\x8birst"))
    message = r"a\.parquet is damaged or cannot be read"
    with DataFile(str(path)) as file, pytest.raises(DataError, match=message):
        file.layout()
