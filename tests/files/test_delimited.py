"""CSV and TSV: delimiters, headers, and errors that name row and column."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm.files import DataError, DataFile, Layout, Options, delimited

from .samples import LABELS, ROWS, csv_text, read, spelled, stream


def test_a_table_without_header(write):
    path = write(csv_text(header=False), "a.csv")
    table = read(path)
    assert_array_equal(table.X, ROWS)
    assert table.layout == Layout(3, None, 3)
    assert spelled(table.labels) == LABELS


def test_a_header_is_recognised(write):
    assert read(write("1,2\n3,4\n", "a.csv")).X.shape == (2, 1)
    assert read(write("1,cat\n3,dog\n5,cat\n", "a.csv")).X.shape == (3, 1)
    assert read(write("0,1,cat\n", "a.csv")).X.shape == (1, 2)
    assert read(write("0,1,cat\n1,0,dog\n1,1,cat\n", "a.csv")).X.shape == (3, 2)
    assert read(write("i7,0,cat\ni8,1,dog\ni9,1,cat\n", "a.csv"), drop=["1"]).X.shape == (3, 1)
    assert read(write("a,b\n3,dog\n", "a.csv")).X.shape == (1, 1)
    assert read(write("a,b\n3,dog\n", "a.csv"), header=True).X.shape == (1, 1)
    assert read(write("0,1\n3,4\n", "a.csv"), header=True).layout.names == ["0"]
    with pytest.raises(ValueError, match=r"mixes names and numbers.*Options\(header=True\) or"):
        read(write("0,1,label\n3,4,1\n", "a.csv"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,1,kind\n" + "2.5,4,cat\n3,1,dog\n" * 10_000, "'kind' stands in no other row"),
        ("400,401,kind\n2.5,4,cat\n3,1,cat\n", "'kind' stands in no other row"),
        ("0,1,2\n2.5,4,1\n3,1,0\n", "the first row is 0, 1, 2 and so on, which may be names or"),
    ],
)
def test_an_ambiguous_header_is_refused(write, text, reason):
    path = write(text, "a.csv")
    with pytest.raises(ValueError, match=rf"{reason}.*Options\(header=True\) or"):
        read(path)
    n_lines = text.count("\n")
    assert read(path, header=False).X.shape == (n_lines, 2)
    assert read(path, header=True).X.shape == (n_lines - 1, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a,b,y\n1,2,x\n3,oops,x\n",
            r"row 3, column 'b': 'oops' is not a number.*label='b'",
        ),
        ("a,b,y\n1,2,x\n3,,x\n", "row 3, column 'b': the value is missing"),
        ("a,b,y\n1,2,x\n3,4,\n", "row 3, column 'y': the label is missing"),
        ("a,b,y\n1,nan,x\n", "row 2, column 'b': the value is missing"),
        ("1,2,x\n3,-inf,x\n", "row 2, column '2': -inf is not a finite number"),
        ("a,b,y\n1,2,x\n3,x\n", "row 3: 2 columns, where the first row has 3"),
        ("a,b,y\n1,2,x\n3,4,5,x\n", "row 3: 4 columns, where the first row has 3"),
        ("a,,y\n1,2,x\n", "a column without a name"),
        ("a,a,y\n1,2,x\n", "two columns named 'a'"),
        ("y\nx\n", "no columns beside the label's"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        (b"a,b,y\n1,2,x\n1,2,\xff\n", "row 3, column 'y': the text is not UTF-8"),
        (b"\xff,b,y\n1,2,3\n", "not text in UTF-8"),
        ('a,y\n1,"x\ny"\n', "a label must be one line"),
    ],
)
def test_an_error_names_row_and_column(write, text, message):
    path = write(text, "a.csv")
    with pytest.raises(ValueError, match=message) as caught:
        read(path)
    assert path in str(caught.value)


MISSING = ["", "?", "NA", " NA", "N/A", "nan", "NaN", "null", "NULL", "#N/A", "<NA>", "None"]


@pytest.mark.parametrize("word", MISSING)
def test_missing_values_are_recognised(write, word):
    path = write(f"a,b,y\n1,2,x\n3,{word},x\n{word},4,z\n", "a.csv")
    with pytest.raises(ValueError, match=r"row 4, column 'a': the value is missing.*missing=True"):
        read(path)
    table = read(path, missing=True)
    assert_array_equal(table.X, [[1, 2], [3, np.nan], [np.nan, 4]])
    assert table.layout == Layout(2, ["a", "b"], "y", missing=True)
    with pytest.raises(ValueError, match=r"the value is missing\. The model was trained without"):
        stream(path, Layout(2, ["a", "b"], "y"))
    (batch,) = stream(path, table.layout)
    assert_array_equal(batch.X, table.X)


def test_a_missing_value_in_the_first_row_is_no_name(write):
    assert read(write("?,1,x\n2,3,x\n", "a.csv"), missing=True).X.shape == (2, 2)
    assert read(write("5,?,x\n2,3,z\n6,1,x\n", "a.csv"), missing=True).X.shape == (3, 2)


@pytest.mark.parametrize("label", ["NA", "?", "nan", "null"])
def test_a_missing_label_is_refused(write, label):
    with pytest.raises(ValueError, match=r"row 3, column 'y': the label is missing\. Leave"):
        read(write(f"a,b,y\n1,2,x\n3,4,{label}\n", "a.csv"), missing=True)


def test_a_class_may_be_called_none(write):
    table = read(write("a,y\n1,None\n3,Mild\n", "a.csv"))
    assert spelled(table.labels) == ["None", "Mild"]


@pytest.mark.parametrize("words", [("true", "false"), ("True", " False"), ("TRUE", "FALSE")])
def test_booleans_are_numbers(write, words):
    yes, no = words
    table = read(write(f"a,b,y\n{yes},2,x\n{no},4,x\nNA,1,z\n", "a.csv"), missing=True)
    assert_array_equal(table.X, [[1, 2], [0, 4], [np.nan, 1]])


def test_columns_of_words_are_read_when_asked(write):
    text = 'a,city,y\n1,Rome,x\n3,?,x\n5,"Bonn, NRW",z\n7, Rome ,z\n'
    path = write(text, "a.csv")
    with pytest.raises(ValueError, match=r"'Rome' is not a number.*texts=\['city'\].*drop="):
        read(path)
    with pytest.raises(ValueError, match="row 3, column 'city': the value is missing"):
        read(path, texts=["text"])
    for texts in (["text"], ["city"], ["2"], ["city", "text"]):
        table = read(path, texts=texts, missing=True)
        assert table.X.tolist()[0] == [1.0, "Rome"]
        assert table.X.tolist()[2:] == [[5.0, "Bonn, NRW"], [7.0, "Rome"]]
        assert np.isnan(table.X[1, 1])
        assert table.layout.texts == [1]
    (batch,) = stream(path, table.layout)
    assert batch.X.tolist()[2:] == table.X.tolist()[2:]
    with pytest.raises(ValueError, match="column 'y' is not a feature"):
        read(path, texts=["y"])


def test_numbers_are_categories_only_when_they_are_named(write):
    path = write("a,grade,y\n1,2,x\n3,1,z\n", "a.csv")
    assert read(path, texts=["text"]).X.dtype == float
    assert read(path, texts=["grade"]).X.tolist() == [[1.0, "2"], [3.0, "1"]]


def test_a_word_among_numbers_is_a_mistake(write):
    path = write("a,b,y\n1,2,x\n3,1O,z\n4,7,z\n", "a.csv")
    with pytest.raises(ValueError, match="row 3, column 'b': '1O' is not a number"):
        read(path, texts=["text"])


@pytest.mark.parametrize("sep", [",", ";", "|", "\t", " ", "   ", " \t"])
@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
@pytest.mark.parametrize("header", [True, False])
def test_separators_are_detected(write, sep, name, header):
    text = csv_text(sep, header)
    if sep.strip(" ") != sep:
        text = "".join(f"  {line} \n" for line in text.splitlines())
    for newline in ("\n", "\r\n"):
        table = read(write(text.replace("\n", newline), name))
        assert_array_equal(table.X, ROWS)
        assert spelled(table.labels) == LABELS


def test_blanks_are_single_across_blocks(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 7)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 30)
    rows = [[k, -k / 4] for k in range(200)]
    text = "".join(f"  {a}     {b} {'u' if a % 2 else 'v'}  \n" for a, b in rows)
    assert_array_equal(read(write(text, "a.txt")).X, rows)


def test_a_separator_can_be_given(write):
    text = csv_text("~")
    assert_array_equal(read(write(text, "a.dat"), sep="~").X, ROWS)
    assert_array_equal(read(write("a;b,5;y\n1;2;x\n", "a.csv"), sep=";").X, [[1, 2]])
    with pytest.raises(ValueError, match="is libsvm, which has no separator"):
        read(write("1 1:1\n", "a"), sep=";", format="libsvm")


def test_libsvm_text_is_not_taken_for_a_table(write):
    for text in ("1 1:2 x\n", "1 a:2\n"):
        with pytest.raises(ValueError, match="line 1, column"):
            read(write(text, "a.txt"))


def test_rows_are_counted_across_blocks(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4096)
    rows = ["a,b,y", *("1,2,x" for _ in range(9000)), "3,oops,x"]
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))
    rows[-1] = "3,inf,x"
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_decimal_commas_are_recognised(sep, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(sep.join(["a", "b", "y"]) + f"\n39,1{sep}-,5{sep}1,25\n+2{sep}0,5{sep}7\n")
    with DataFile(str(path)) as file:
        (batch,) = file.batches(file.layout(), labels=True)
    assert_array_equal(batch.X, [[39.1, -0.5], [2.0, 0.5]])
    assert_array_equal(batch.labels.numbers(), [1.25, 7])


@pytest.mark.parametrize("texts", [(), ("text",)])
@pytest.mark.parametrize(
    "value", ["1.360.159,76", "1,360,159.76", "'1 360 159'", "1'360'159,5", "-12.360.159"]
)
def test_marks_of_thousands_are_named(value, texts, tmp_path):
    path, value = tmp_path / "a.csv", value.strip("'")
    path.write_text(f"a;b;y\n2,5;{value};0\n3,5;{value};1\n" + f"4,5;{value};1\n" * 5)
    message = rf"row 2, column 'b': {re.escape(repr(value))} is not .* without marks of thousands"
    with DataFile(str(path), Options(texts=texts)) as file:
        layout = file.layout()
        with pytest.raises(DataError, match=message):
            list(file.batches(layout))


def test_words_that_look_like_numbers_with_marks_may_be_categories(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("phone,y\n557 100,0\n557 200,1\n" * 3)
    with DataFile(str(path), Options(texts=("text",))) as file:
        layout = file.layout()
        with pytest.raises(DataError, match="without marks of thousands") as caught:
            list(file.batches(layout, labels=True))
    assert "drop" in {hint.option for hint in caught.value.hints}


def test_dates_with_a_time_zone_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when,y\n2024-05-04T23:00:00Z,0\n2024-05-05T23:00:00Z,1\n")
    with DataFile(str(path), Options(dates=True)) as file:
        layout = file.layout()
        message = (
            "row 2, column 'when': '2024-05-04T23:00:00Z' is not a date .* without a time zone"
        )
        with pytest.raises(DataError, match=message):
            list(file.batches(layout, labels=True))


def test_decimal_marks_that_are_mixed_are_named(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;y\n39,1;0.5;1\n2;0.25;2\n")
    message = r"'39,1' is not a number.*Options\(decimal=','\)"
    with DataFile(str(path)) as file, pytest.raises(DataError, match=message):
        list(file.batches(file.layout()))
    path.write_text('a,b,y\n"39,1",5,1\n2,"0,25",2\n')
    with DataFile(str(path), Options(decimal=",")) as file:
        (batch,) = file.batches(file.layout())
    assert_array_equal(batch.X, [[39.1, 5], [2, 0.25]])
