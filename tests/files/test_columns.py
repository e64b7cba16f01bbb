"""Columns: features and label are found by name, by position, or as the user says."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm.files import DataFile, Layout, Options

from .samples import COMPRESSORS, PARQUET, ROWS, csv_text, read, spelled, stream


@pytest.mark.parametrize("label", ["kind", "4", "-1", None])
def test_the_label_by_name_and_number(write, label):
    assert read(write(csv_text(), "a.csv"), label=label).layout.label == "kind"


def test_the_label_has_a_usual_name_or_is_the_last(write):
    text = "x,Label,z\n1,cat,2\n3,dog,4\n"
    assert read(write(text, "a.csv")).layout == Layout(2, ["x", "z"], "Label")


@pytest.mark.parametrize(
    ("names", "label", "rule", "options"),
    [
        ("a,Target,b", "a", "option", {"label": "a"}),
        ("a,Target,b", "Target", "name", {}),
        ("a,label,class", "class", "name", {"drop": ["label"]}),
        ("a,y,b", "y", "name", {}),
        ("x,y,b", "y", "option", {"label": "y"}),
        ("x,y,b", "y", "name", {"drop": ["x"]}),
        ("x,y,b", "b", "last", {"drop": ["y"]}),
        ("x,y", "y", "name", {}),  # no third column that could be the label of coordinates
        ("a,b,kind", "kind", "last", {}),
    ],
)
def test_the_table_tells_why_a_column_is_the_label(write, names, label, rule, options):
    values = ",".join("1" for _ in names.split(","))
    table = read(write(f"{names}\n{values}\n", "a.csv"), **options)
    assert (table.layout.label, table.layout.label_rule) == (label, rule)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("y,label,z", "several columns that could be the label: 'y', 'label'"),
        ("Class,b,target", "several columns that could be the label: 'Class', 'target'"),
        ("x,y,kind", "column 'y' could be the label or, beside a column 'x', a coordinate"),
        ("kind,X,Y", "column 'Y' could be the label or"),
    ],
)
def test_the_label_must_be_named_if_it_is_ambiguous(write, names, message):
    path = write(f"{names}\n1,2,3\n4,5,6\n", "a.csv")
    with pytest.raises(ValueError, match=rf"{message}.* Options\(label=\.\.\.\)"):
        read(path)
    with pytest.raises(ValueError, match=message):
        stream(path, Layout(2))  # LIBSVM text has no names: one of the three must be the label
    (batch,) = stream(path, Layout(2, names.split(",")[:2], names.split(",")[2]))
    assert_array_equal(batch.X, [[1, 2], [4, 5]])


def test_columns_can_be_dropped(write):
    text = "id,a,when,kind\n7,1,2020-01-01,x\n8,2,2020-01-02,y\n"
    table = read(write(text, "a.csv"), drop=["id", "3"])
    assert table.layout == Layout(1, ["a"], "kind")
    assert_array_equal(table.X, [[1], [2]])
    table = read(write(text.split("\n", 1)[1], "b.csv"), drop=["1", "3"], header=False)
    assert table.layout == Layout(1, None, 3, [0, 2])


def test_unknown_columns_are_named(write):
    path = write(csv_text(), "a.csv")
    for wrong in ({"label": "none"}, {"label": "0"}, {"label": "5"}, {"drop": ["none"]}):
        with pytest.raises(ValueError, match=r"no column '.*'; it has 'a', 'b', 'c', 'kind'"):
            read(path, **wrong)
    with pytest.raises(ValueError, match="both label and dropped"):
        read(path, label="a", drop=["a"])
    with pytest.raises(ValueError, match="all columns are dropped"):
        read(path, drop=["a", "b", "c", "kind"])


def test_columns_are_found_by_name(write):
    layout = Layout(2, ["b", "a"], "kind")
    path = write("x,a,kind,b\n9,1,cat,2\n", "a.csv")
    (batch,) = stream(path, layout)
    assert_array_equal(batch.X, [[2, 1]])
    assert spelled(batch.labels) == ["cat"]
    path = write("a,b\n1,2\n", "b.csv")
    (batch,) = stream(path, layout, labels=False)
    assert_array_equal(batch.X, [[2, 1]])
    with pytest.raises(ValueError, match=r"no column for the label.*Options\(label=\.\.\.\)"):
        stream(path, layout)
    with pytest.raises(ValueError, match="lacks the column 'a', which the model needs; it has 'b'"):
        stream(write("b,c\n1,2\n", "c.csv"), layout)


@pytest.mark.parametrize(
    ("text", "layout", "X", "labels"),
    [
        ("1,2,cat\n", Layout(2, None, 2), [[1, 2]], ["cat"]),
        ("1,2\n", Layout(2, None, 2), [[1, 2]], None),
        ("cat,1,2\n", Layout(2, None, 0), [[1, 2]], ["cat"]),
        ("7,cat,1,8,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], ["cat"]),
        ("7,1,8,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], None),
        ("1,2\n", Layout(2, None, 1, [0, 3]), [[1, 2]], None),
        ("1,2,cat\n", Layout(2, ["a", "b"], "kind"), [[1, 2]], ["cat"]),
        ("u,label,v\n1,cat,2\n", Layout(2), [[1, 2]], ["cat"]),
        ("u,v\n1,2\n", Layout(2), [[1, 2]], None),
    ],
)
def test_columns_are_found_by_position(write, text, layout, X, labels):
    path = write(text, "a.csv")
    (batch,) = stream(path, layout, labels=labels is not None)
    assert_array_equal(batch.X, X)
    assert labels is None or spelled(batch.labels) == labels


def test_a_wrong_number_of_columns_is_refused(write):
    with pytest.raises(ValueError, match="has 4 columns; the model needs 2 features, and at most"):
        stream(write("1,2,3,cat\n", "a.csv"), Layout(2, None, 2))


def test_a_table_with_other_names_is_refused(write):
    layout = Layout(2, ["a", "b"], "kind")
    with pytest.raises(ValueError, match=r"a.csv lacks the column 'a', .* it has 'u', 'v', 'kind'"):
        stream(write("u,v,kind\n1,2,cat\n", "a.csv"), layout)


def test_a_missing_label_is_named(write):
    path = write("b,a\n1,2\n", "a.csv")
    with pytest.raises(ValueError, match=r"no column for the label, 'kind'; it has 'b', 'a'"):
        stream(path, Layout(2, ["a", "b"], "kind"))


def test_options_name_the_columns(write):
    given = Options(label="-1", drop=["1"], weights="b", ids="3", texts=["text", "2"])
    expected = Options(label="kind", drop=("a",), weights="b", ids="c", texts=("text", "b"))
    with DataFile(write(csv_text(), "a.csv"), given) as file:
        assert file.table.named_options() == expected
    with DataFile(write("1,2,cat\n", "b.csv"), Options(label="-1", ids="1")) as file:
        assert file.table.named_options() == Options(label="3", ids="1")
    with (
        DataFile(write(csv_text(), "a.csv"), Options(label="5")) as file,
        pytest.raises(ValueError, match=r"a.csv has no column '5'"),
    ):
        file.table.named_options()


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("content", [csv_text().encode(), PARQUET])
def test_columns_are_known_before_the_rows_are_read(write, content, suffix):
    path = write(COMPRESSORS.get(suffix, bytes)(content), "a")
    with DataFile(path, Options(label="-1")) as file:
        assert file.table.names == ["a", "b", "c", "kind"]
        assert file.layout() == Layout(3, ["a", "b", "c"], "kind")
        (batch,) = file.batches(Layout(2, ["c", "a"], "kind"), labels=True)
    assert_array_equal(batch.X, np.array(ROWS)[:, [2, 0]])


def test_all_files_have_names_of_columns_or_none(write):
    named, nameless = write(csv_text(), "a.csv"), write(csv_text(header=False), "b.csv")
    with_names, without = Layout(3, ["c", "b", "a"], "kind"), Layout(3, None, 3)
    with DataFile(named) as file:
        file.table.check_names(with_names, "first.csv")
        with pytest.raises(ValueError, match=r"a.csv names its columns, such as 'a', but first"):
            file.table.check_names(without, "first.csv")
    with DataFile(nameless) as file:
        file.table.check_names(without, "first.csv")
        with pytest.raises(ValueError, match=r"b.csv has no names .* such as 'c' in first.csv"):
            file.table.check_names(with_names, "first.csv")
