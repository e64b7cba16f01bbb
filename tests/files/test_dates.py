"""Columns of dates: never numbers or categories by accident, but parts if the user says so."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC, load_model, open_dataset
from pocketsvm.files import DataError, DataFile, Options
from pocketsvm.files.dates import are_dates

PARTS = ["when.year", "when.month", "when.weekday", "when.hour"]


def rows(n=300):
    """Return times, numbers, and labels that tell weekends."""
    rng = np.random.default_rng(0)
    begin = dt.datetime(1968, 12, 30, 1, 30)
    times = [begin + dt.timedelta(hours=int(h)) for h in rng.integers(0, 24 * 800, n)]
    return times, rng.normal(size=n), [int(time.weekday() >= 5) for time in times]


def write_csv(path, times, x, y, spell=dt.datetime.isoformat):
    lines = [
        f"{number},{spell(time)},{label}" for time, number, label in zip(times, x, y, strict=True)
    ]
    path.write_text("\n".join(["x,when,label", *lines]) + "\n")
    return str(path)


def write_parquet(path, times, x, y, kind=None):
    pq.write_table(pa.table({"x": x, "when": pa.array(times, kind), "label": y}), path)
    return str(path)


class Streamed:
    """An object that gives its rows as a stream of Arrow."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def read(path, **options):
    with DataFile(path, Options(**options)) as file:
        layout = file.layout()
        return layout, np.concatenate([batch.X for batch in file.batches(layout)])


@pytest.mark.parametrize(
    "kind", ["csv", "seconds", "nanoseconds", "days", "dataset", "texts", "dictionary", "stream"]
)
def test_a_date_becomes_year_month_weekday_and_hour(kind, tmp_path):
    times, x, y = rows()
    if kind == "csv":
        path = write_csv(tmp_path / "a.csv", times, x, y)
    else:
        units = {"seconds": pa.timestamp("s"), "nanoseconds": pa.timestamp("ns")}
        path = write_parquet(tmp_path / "a.parquet", times, x, y, units.get(kind))
        if kind == "days":
            path = write_parquet(tmp_path / "a.parquet", [t.date() for t in times], x, y)
        elif kind in ("texts", "dictionary", "stream"):
            type_ = pa.dictionary(pa.int32(), pa.string()) if kind == "dictionary" else None
            spelt = pa.array([t.isoformat() for t in times], type_)
            pq.write_table(pa.table({"x": x, "when": spelt, "label": y}), path)
    expected = [(t.year, t.month, t.weekday(), 0 if kind == "days" else t.hour) for t in times]
    if kind in ("dataset", "stream"):
        given = pa.dataset.dataset(path)
        given = Streamed(given.to_table()) if kind == "stream" else given
        found = open_dataset(given, label="label", dates=True)
        X = np.concatenate([batch[0] for batch in found.batches()])
        names = list(found.columns)
    else:
        layout, X = read(path, dates=True)
        names = layout.names
    assert names == ["x", *PARTS]
    assert_array_equal(X[:, 0], x)
    assert_array_equal(X[:, 1:], expected)


def write_texts(path, times, x, y):
    return write_parquet(path, [time.isoformat() for time in times], x, y)


@pytest.mark.parametrize("write", [write_csv, write_parquet, write_texts])
@pytest.mark.parametrize("texts", [(), ("text",)])
def test_dates_are_named_and_no_categories(write, texts, tmp_path):
    path = write(tmp_path / "rows", *rows())
    with pytest.raises(
        DataError, match=r"column 'when'.*(is a date, not|got timestamp|look like dates)"
    ):
        read(path, texts=texts)
    with pytest.raises(ValueError, match=r"column 'when'.*open_dataset\(\.\.\., dates=True\)"):
        BudgetedSVC(20).fit(open_dataset(path, one_hot="text" if texts else None))


def test_a_column_of_dates_that_is_named_has_categories(tmp_path):
    path = write_csv(tmp_path / "a.csv", *rows(), spell=lambda time: time.date().isoformat())
    layout, X = read(path, texts=["when"])
    assert layout.names == ["x", "when"]
    assert X[0, 1] == rows()[0][0].date().isoformat()


def test_a_model_finds_the_parts_in_other_files(tmp_path):
    """The columns stand in another order, in another format, without the label."""
    times, x, y = rows()
    data = open_dataset(write_csv(tmp_path / "a.csv", times, x, y), dates=True)
    clf = BudgetedSVC(50, C=100.0, gamma=0.5, random_state=0).fit(data)
    assert clf.feature_names_in_.tolist() == ["x", *PARTS]
    assert clf.score(data) > 0.9
    pq.write_table(pa.table({"when": times, "other": x, "x": x}), tmp_path / "b.parquet")
    clf.save(tmp_path / "model.psvm")
    for model in (clf, load_model(tmp_path / "model.psvm")):
        found = model.predict(open_dataset(tmp_path / "b.parquet", label="other"))
        assert_array_equal(found, clf.predict(data))


def test_columns_by_number_are_those_of_the_file(tmp_path):
    path = write_csv(tmp_path / "a.csv", *rows())
    assert read(path, dates=True, drop=["1"], label="3")[0].names == PARTS
    data = open_dataset(path, label="label", features=["when"], dates=True)
    assert list(data.columns) == PARTS
    assert BudgetedSVC(20, gamma=0.1).fit(data).n_features_in_ == 4


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "x,when,label\n1,31.01.2024,0\n",
            {},
            "'31.01.2024' looks like a date, and can be read if",
        ),
        ("x,when,label\n1,31.01.2024,0\n", {"dates": True}, "is not a date such as 2024-01-31"),
        (
            "x,when,label\n1,2024-13-31,0\n",
            {"dates": True},
            "row 2, column 'when': '2024-13-31' is",
        ),
        ("x,label\n1,0\n", {"dates": True}, "has no column of dates"),
        ("1,2024-01-31,0\n", {"dates": True, "header": False}, "if columns have names: give it"),
        ("x,when\n1,2024-01-31\n", {"dates": True}, "the last column, 'when', holds dates"),
        ("x,when,label\n1,2024-01-31,0\n2,,1\n", {"dates": True}, "row 3, .*value is missing"),
    ],
)
def test_what_cannot_be_read_as_dates_is_named(text, options, message, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DataError, match=message):
        read(str(tmp_path / "a.csv"), **options)


def test_missing_dates_may_be_filled_in(tmp_path):
    times, x, y = rows()
    path = write_csv(tmp_path / "a.csv", times, x, y)
    text = (tmp_path / "a.csv").read_text().replace(times[3].isoformat(), "NA", 1)
    (tmp_path / "a.csv").write_text(text)
    _, X = read(path, dates=True, missing=True)
    assert np.isnan(X[:, 1:]).sum() == 4
    BudgetedSVC(20, gamma=0.1).fit(open_dataset(path, dates=True, impute="median"))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-01-31", "2024-01-31T10:00", "2024-01-31 10:00:00.5"], True),
        (["31.01.2024", "1/2/24", "2024/1/2"], True),
        (["1.2.3", "10.0.0.1", "2024-1", "12-34-5678-9"], False),
        (["2024-01-31", "red", "green"], False),
        ([], False),
    ],
)
def test_which_texts_look_like_dates(texts, expected):
    assert are_dates(texts) is (expected and bool(texts))


@pytest.mark.parametrize("kind", ["file", "dataset"])
def test_texts_of_parquet_that_are_no_dates_are_named(kind, tmp_path):
    times, x, y = rows()
    spelt = [time.isoformat() for time in times[:-1]]
    path = write_parquet(tmp_path / "a.parquet", [*spelt, "31.01.2024"], x, y)
    given = path if kind == "file" else pa.dataset.dataset(path)
    with pytest.raises(ValueError, match=r"column 'when': '31\.01\.2024' is not a date such as"):
        BudgetedSVC(20).fit(open_dataset(given, label="label", dates=True))


def test_a_model_reads_dates_that_are_spelt_in_parquet(tmp_path):
    times, x, y = rows()
    path = write_texts(tmp_path / "a.parquet", times, x, y)
    model = BudgetedSVC(20, gamma=0.1, random_state=0).fit(open_dataset(path, dates=True))
    other = write_parquet(tmp_path / "b.parquet", times, x, y)
    found = [model.predict(open_dataset(each, dates=True)) for each in (path, other)]
    assert_array_equal(*found)


def test_texts_that_are_no_dates_have_categories(tmp_path):
    _, x, y = rows()
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": x, "colour": ["red", "blue", "green"] * 100, "label": y}), path)
    assert read(str(path), texts=("text",))[0].names == ["x", "colour"]


@pytest.mark.parametrize("damage", ["page", "text"])
def test_damaged_texts_of_parquet_are_named(damage, tmp_path):
    times, x, y = rows()
    path = tmp_path / "a.parquet"
    spelt = [time.isoformat() for time in times]
    pq.write_table(pa.table({"when": spelt, "x": x, "label": y}), path, compression="none")
    content = bytearray(path.read_bytes())
    at = 4 if damage == "page" else content.index(spelt[0].encode())
    content[at : at + 4] = b"\xff" * 4
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"a\.parquet is damaged or cannot be read"):
        read(str(path), dates=True)
