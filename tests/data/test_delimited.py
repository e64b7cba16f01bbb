"""CSV and TSV: delimiters, headers, and errors that name row and column."""

import pytest
from numpy.testing import assert_array_equal

from pocketsvm.data import Layout, delimited

from .samples import LABELS, ROWS, csv_text, read, spelled


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
        ("0,1,2\n2.5,4,1\n3,1,0\n", "first row counts from 0"),
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
        ("a,b,y\n1,2,x\n3,4,\n", "row 3, column 'y': the value is missing"),
        ("a,b,y\n1,nan,x\n", "row 2, column 'b': nan is not a finite number"),
        ("1,2,x\n3,-inf,x\n", "row 2, column '2': -inf is not a finite number"),
        ("a,b,y\n1,2,x\n3,x\n", "row 3: 2 columns, where the first row has 3"),
        ("a,b,y\n1,2,x\n3,4,5,x\n", "row 3: 4 columns, where the first row has 3"),
        ("a,,y\n1,2,x\n", "a column without a name"),
        ("a,a,y\n1,2,x\n", "two columns named 'a'"),
        ("y\nx\n", "no columns beside the label's"),
        ("a,b,y\n", "holds no rows"),
        ("", "holds no rows|is empty"),
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


def test_rows_are_counted_across_blocks(write, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4096)
    rows = ["a,b,y", *("1,2,x" for _ in range(9000)), "3,oops,x"]
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))
    rows[-1] = "3,inf,x"
    with pytest.raises(ValueError, match="row 9002, column 'b'"):
        read(write("\n".join(rows), "a.csv"))
