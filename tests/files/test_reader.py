"""What readers give: labels as the file spells them, and as numbers."""

import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal

from pocketsvm.files.reader import Labels, meaning, number

from .samples import parquet_bytes, read, spelled


def test_labels_keep_their_spelling(write):
    text = 'a,label\n1,+1\n2, 007 \n3,"x, y"\n4,Größe\n5,1.0\n'
    assert spelled(read(write(text, "a.csv")).labels) == ["+1", "007", "x, y", "Größe", "1.0"]
    for values, expected in [
        (pa.array([1, 2, 10]), ["1", "2", "10"]),
        (pa.array([True, False, True]), ["true", "false", "true"]),
        (pa.array(["u", "v", "u"]).dictionary_encode(), ["u", "v", "u"]),
    ]:
        table = read(write(parquet_bytes({"a": [1, 2, 3], "y": values})))
        assert spelled(table.labels) == expected


def test_labels_are_numbers_if_all_of_them_are():
    assert_array_equal(Labels([1, 0, 1], ["2.0", "+1"]).numbers(), [1, 2, 1])
    assert Labels([0, 1], ["1", "one"]).numbers() is None


def test_spellings_of_one_number_are_merged_unless_they_have_leading_zeros():
    merged = Labels([0, 1, 2, 3, 4, 5], ["1.0", "01", "1", "+1", "001", "2"]).merged()
    assert spelled(merged) == ["1.0", "01", "1.0", "1.0", "001", "2"]
    assert merged.names == ["1.0", "01", "001", "2"]
    assert meaning("-0") == meaning("0.0") == 0
    for text in ("01", "-00", "+007.5", "one", "9007199254740993"):
        assert meaning(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-2.5e3", -2500), ("one", None), ("nan", None), ("inf", None), ("1_0", None)],
)
def test_a_number_is_finite_and_plain(text, value):
    assert number(text) == value
