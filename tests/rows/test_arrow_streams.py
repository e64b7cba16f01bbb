"""Objects that give their rows as a stream of Arrow: tables, data frames and queries."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pytest
from models import assert_same_model
from numpy.testing import assert_array_equal
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVCCV, BudgetedSVR, open_dataset
from pocketsvm.files import tables

from .datasets import Batches, fit, problem, table

polars = pytest.importorskip("polars")
pytestmark = pytest.mark.filterwarnings("ignore:The 'future.infer_string' option")  # ibis


def relation(given):
    """The table as a query of DuckDB, which gives all rows anew each time."""
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("given", given)
    return connection.sql("SELECT * FROM given")


def expression(given):
    ibis = pytest.importorskip("ibis", reason="ibis is not there: make ecosystem installs it")
    return ibis.polars.connect({"given": polars.from_arrow(given)}).table("given")


class Stream:
    """The least that an object needs."""

    def __init__(self, given):
        self.given = given

    def __arrow_c_stream__(self, requested_schema=None):
        return self.given.__arrow_c_stream__(requested_schema)


# What gives its rows without holding them, and what holds them.
QUERIES = {
    "duckdb": relation,
    "polars.LazyFrame": lambda given: polars.from_arrow(given).lazy(),
    "ibis": expression,
    "pyarrow.dataset": arrow_dataset.dataset,
    "stream": Stream,
}
FRAMES = {
    "polars": polars.from_arrow,
    "pandas": pa.Table.to_pandas,
    "pyarrow": lambda given: given,
}
KINDS = QUERIES | FRAMES


def kinds(given):
    return pytest.mark.parametrize("make", given.values(), ids=given)


@kinds(KINDS)
def test_streams_give_the_model_of_their_rows(make):
    X, y = problem()
    found = fit(make(table(X, y)))
    assert_array_equal(found.feature_names_in_, ["x0", "x1", "x2", "x3"])
    twin = fit(Batches(X, y))
    assert_array_equal(found._state.vectors, twin._state.vectors)
    assert found.alpha_ == twin.alpha_ == 1 / len(X)
    assert_same_model(found, fit(open_dataset(make(table(X, y)), "y")))


@kinds(QUERIES)
def test_a_query_is_predicted_and_scored(make):
    X, y = problem()
    rows, model = make(table(X, y)), fit(Batches(X, y))
    named = fit(table(X, y))
    assert_array_equal(named.predict(rows), named.predict(table(X, y).select(range(4)).to_pandas()))
    assert named.score(rows) == model.score(X, y)


@kinds(FRAMES)
def test_a_frame_with_targets_is_rows_in_memory(make):
    X, y = problem()
    frame = make(table(X, y).select(["x0", "x1", "x2", "x3"]))
    found = BudgetedSVC(budget=4, random_state=0).fit(frame, y)
    assert_same_model(found, BudgetedSVC(budget=4, random_state=0).fit(X, y))
    assert found.feature_names_in_.tolist() == ["x0", "x1", "x2", "x3"]
    assert_array_equal(found.predict(frame), found.predict(table(X, y).select(range(4))))
    novelties = BudgetedOneClassSVM(budget=4, gamma=0.5, random_state=0)
    novelties.fit(frame)
    assert novelties.n_features_in_ == 4


@kinds(KINDS)
def test_options_mean_what_they_mean_for_files(make):
    X, y = problem()
    weight = np.arange(len(y)) % 3 * 1.0
    words = np.array(["a", "b", "c"])[np.arange(len(y)) % 3]
    given = make(table(X * [1, 10, 100, 1000], y, w=weight, word=words))
    rows = open_dataset(
        given,
        "y",
        features=["x2", "word"],
        sample_weight="w",
        one_hot="text",
        scaler=StandardScaler(),
    )
    batches = list(rows.batches())
    assert_array_equal(np.concatenate([batch[0][:, 0] for batch in batches]), X[:, 2] * 100)
    assert_array_equal(np.concatenate([batch[0][:, 1] for batch in batches]), words)
    assert_array_equal(np.concatenate([batch[2] for batch in batches]), weight)
    assert BudgetedSVC(budget=10, random_state=0).fit(rows).n_features_in_ == 2


def test_batches_do_not_depend_on_those_of_the_stream(monkeypatch):
    X, y = problem()
    whole = table(X, y)
    cut = pa.concat_tables([whole.slice(0, 7), whole.slice(7, 1000), whole.slice(1007)])
    monkeypatch.setattr(tables, "BATCH_VALUES", 5 * 400)
    sizes = [[len(batch[0]) for batch in open_dataset(each).batches()] for each in (whole, cut)]
    assert sizes[0] == sizes[1] == [400] * 7 + [200]
    assert_same_model(fit(whole), fit(cut))


@kinds(KINDS)
def test_the_search_takes_streams(make):
    X, y = problem()
    search = BudgetedSVCCV(budget=4, Cs=[1.0], gammas=[0.3], cv=2, random_state=0)
    assert search.fit(make(table(X, y))).best_score_ > 0.7


def test_the_index_of_a_data_frame_is_no_feature():
    X, y = problem()
    frame = table(X, y).to_pandas()
    frame.index = [f"row {k}" for k in range(len(frame))]
    assert open_dataset(frame, "y").columns == ["x0", "x1", "x2", "x3"]


def test_decimals_categories_and_string_views_are_read():
    X, y = problem()
    names = np.array(["no", "yes"])[y]
    frame = polars.DataFrame(X, schema=["x0", "x1", "x2", "x3"]).with_columns(
        polars.col("x0").cast(polars.Decimal(20, 3)),
        polars.Series("y", names).cast(polars.Categorical),
    )
    found = fit(frame.lazy())
    assert found.classes_.tolist() == ["no", "yes"]
    assert_array_equal(found._state.vectors, fit(Batches(X, names))._state.vectors)


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        (lambda given: given.to_reader(), "RecordBatchReader"),
        (lambda given: polars.from_arrow(given).lazy().collect_batches(), "_CollectBatches"),
        (lambda given: relation(given).to_arrow_reader(), "RecordBatchReader"),
    ],
    ids=["pyarrow", "polars", "duckdb"],
)
@pytest.mark.parametrize("opened", [BudgetedSVC().fit, open_dataset], ids=["fit", "open_dataset"])
def test_a_reader_that_gives_its_rows_once_is_refused(reader, name, opened):
    with pytest.raises(TypeError, match=f"A {name} gives its rows only once.*Pass the table"):
        opened(reader(table(*problem())))


def test_a_stream_that_can_be_opened_only_once_is_refused():
    given = Stream(table(*problem()))
    capsule = given.__arrow_c_stream__()
    given.__arrow_c_stream__ = None

    class Once:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    with pytest.raises(ValueError, match=r"the Once gives no stream of Arrow: .* several times"):
        fit(Once())


def test_rows_in_another_order_are_refused():
    X, y = problem()

    class Shuffled:
        n_scans = 0

        def __arrow_c_stream__(self, requested_schema=None):
            self.n_scans += 1
            order = np.random.default_rng(self.n_scans).permutation(len(y))
            return table(X[order], y[order]).__arrow_c_stream__()

    with pytest.raises(ValueError, match=r"the rows changed between two scans.*same order"):
        fit(Shuffled())


def test_messages_name_the_object_and_the_place():
    X, y = problem()
    X[1234, 2] = np.nan
    lazy = polars.DataFrame(X, schema=["x0", "x1", "x2", "x3"]).with_columns(y=y).lazy()
    with pytest.raises(ValueError, match=r"the LazyFrame, row 1235, column 'x2': the value is mis"):
        fit(lazy)
    with pytest.raises(ValueError, match="leave out y"):
        BudgetedSVC().fit(lazy, y)
    with pytest.raises(ValueError, match="the LazyFrame has no column 'z'"):
        open_dataset(lazy, "z")
    with pytest.raises(TypeError, match="X must be rows in memory"):
        BudgetedSVC().partial_fit(lazy, y, classes=[0, 1])


def test_a_query_that_fails_is_named():
    lazy = polars.LazyFrame({"a": ["1", "x"], "y": [0, 1]}).with_columns(
        polars.col("a").cast(float)
    )
    with pytest.raises(ValueError, match="the LazyFrame cannot be read: conversion"):
        fit(lazy)


def test_a_series_is_no_data_set():
    with pytest.raises(ValueError, match="2-dim"):
        BudgetedSVR().fit(pd.Series([1.0, 2.0]), [0.0, 1.0])
