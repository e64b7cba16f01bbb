"""Rows on a cluster get the same warnings, columns, checks and preparation as rows in memory."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from distributed import Client
from numpy.testing import assert_allclose, assert_array_equal
from one_road import (
    ALL,
    NAMES,
    SOME,
    Batches,
    N,
    about,
    assert_same_decisions,
    flowers,
    gist,
    prepared,
    problem,
    recorded,
    vectors_of,
)
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model
from pocketsvm.dask import DaskBudgetedSVC, DaskBudgetedSVR

# Dask leaves some sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]
BUDGETS = pytest.mark.parametrize("budget", [ALL, SOME], ids=["all", "some"])


@pytest.fixture(autouse=True, scope="module")
def client():
    """A client of one worker, which is a thread of this process."""
    with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
        yield client


def arrays(*values, chunks=1000):
    return [da.from_array(each, chunks=(chunks, *each.shape[1:])) for each in values]


def partition(k, frame, change):
    """Return one of three partitions, of which the second one is changed."""
    part = frame[1000 * k : 1000 * (k + 1)]
    return change(part) if k == 1 else part


def partitioned(values, change=lambda part: part):
    """Return a table or a column as partitions, which Dask does not check."""
    return dd.from_map(partition, range(3), frame=values, change=change, meta=values[:0])


def frames(change=lambda part: part):
    X, y = problem()
    return partitioned(pd.DataFrame(X, columns=NAMES), change), partitioned(pd.Series(y))


# --- warnings -------------------------------------------------------------------------------------


@BUDGETS
@pytest.mark.parametrize("cls", [DaskBudgetedSVC, DaskBudgetedSVR])
def test_unscaled_partitions_get_the_warnings_of_rows_in_memory(cls, budget):
    X, y = problem()
    y = y if cls is DaskBudgetedSVC else 1000.0 * X[:, 0]
    X = X * [1.0, 5000.0, 1.0, 0.5]
    model = cls(budget, max_iter=2, random_state=0)
    with recorded() as in_memory:
        model.to_local().fit(X, y)
    with recorded() as on_cluster:
        model.fit(*arrays(X, y))
    expected = [gist(warning) for warning in about(in_memory)]
    assert len(expected) == (1 if cls is DaskBudgetedSVC else 2)
    assert [gist(warning) for warning in about(on_cluster)] == expected
    assert {warning.filename for warning in about(on_cluster)} == {__file__}


def test_an_outlier_is_found_in_any_row():
    """One row in three is not drawn."""
    for row in range(0, N, 1000):
        X, y = problem()
        X[row, 1] = -1e4
        with pytest.warns(UserWarning, match=r"A few values of X.* in column 1 .*one is -1e\+04"):
            DaskBudgetedSVC(SOME, random_state=0).fit(*arrays(X, y))


# --- names of columns -----------------------------------------------------------------------------


@BUDGETS
@pytest.mark.parametrize("cls", [DaskBudgetedSVC, DaskBudgetedSVR])
def test_columns_of_partitions_are_found_by_name(cls, budget):
    model = cls(budget, random_state=0)
    expected = clone(model).fit(*frames()).to_local()
    found = clone(model).fit(*frames(lambda part: part[list("cadb")])).to_local()
    assert found.feature_names_in_.tolist() == NAMES
    assert_same_decisions(found, expected, pd.DataFrame(problem()[0], columns=NAMES))


@BUDGETS
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda part: part.drop(columns="b"), "b"),
        (lambda part: part.assign(z=1.0), "z"),
        (lambda part: part.rename(columns={"b": "z"}), "[bz]"),
    ],
    ids=["missing", "unknown", "renamed"],
)
def test_missing_and_unknown_columns_of_partitions_are_named(change, name, budget):
    with pytest.raises(ValueError, match=rf"partition 1\b.*'{name}'"):
        DaskBudgetedSVC(budget, random_state=0).fit(*frames(change))


# --- rows that change -----------------------------------------------------------------------------


def changing(values, change):
    """Return an array whose chunks are other ones each time they are computed."""

    def chunk(k):  # Dask copies it for each computation, so that it cannot count
        return change(values[1000 * k : 1000 * (k + 1)], np.random.default_rng())

    tasks = [delayed(chunk, pure=False, traverse=False)(k) for k in range(3)]
    shape = (1000, *values.shape[1:])
    return da.concatenate([da.from_delayed(task, shape, values.dtype) for task in tasks])


def with_another_value(X, random):
    X = X.copy()
    X[random.integers(len(X)), 0] += random.uniform(1e-3, 2e-3)
    return X


@pytest.mark.parametrize("changed", ["labels", "weights", "features", "targets"])
def test_partitions_that_change_between_two_readings_are_refused(changed):
    X, y = problem()
    weight = np.random.default_rng(0).uniform(1.0, 2.0, N)
    cls = DaskBudgetedSVR if changed == "targets" else DaskBudgetedSVC
    lazy = dict(zip(("X", "y", "sample_weight"), arrays(X, y, weight), strict=True))

    def shuffled(values, random):
        return random.permutation(values)

    lazy |= {
        "labels": {"y": changing(y, shuffled)},
        "targets": {"y": changing(X[:, 0], shuffled)},
        "weights": {"sample_weight": changing(weight, shuffled)},
        "features": {"X": changing(X, with_another_value)},
    }[changed]
    with pytest.raises(ValueError, match="changed between two scans"):
        cls(SOME, random_state=0).fit(**lazy)


# --- several outputs ------------------------------------------------------------------------------


def test_several_targets_of_partitions_give_the_model_of_rows_in_memory():
    X, _ = problem()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    model = BudgetedSVR(ALL, C=10.0, random_state=0).fit(X, y)
    found = DaskBudgetedSVR(ALL, C=10.0, random_state=0).fit(*arrays(X, y))
    assert_same_decisions(found.to_local(), model, X)
    predicted = found.predict(da.from_array(X, chunks=(700, 4)))
    assert_array_equal(predicted.compute(), model.predict(X))
    frame = partitioned(pd.DataFrame(y, columns=["s", "t"]))
    found = DaskBudgetedSVR(ALL, C=10.0, random_state=0).fit(frames()[0], frame)
    assert_array_equal(found.dual_coef_, model.dual_coef_)
    assert_allclose(found.score(*arrays(X, y)), model.score(X, y), rtol=1e-9)


def test_several_targets_are_fitted_to_all_partitions():
    X, _ = problem()
    y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    parameters = {"C": 10.0, "gamma": 0.5, "fit_intercept": False, "random_state": 0}
    in_memory = BudgetedSVR(SOME, **parameters).fit(X, y)
    found = DaskBudgetedSVR(SOME, **parameters).fit(*arrays(X, y)).to_local()
    assert_array_equal(vectors_of(found), vectors_of(in_memory))
    assert found.score(X, y) > in_memory.score(X, y) - 0.01


# --- preparation ----------------------------------------------------------------------------------


@BUDGETS
def test_a_scaler_is_fitted_on_the_cluster(budget, tmp_path):
    X, y = problem()
    X = X * [1.0, 5000.0, 1.0, 0.5]
    rows = Batches(X, y)
    rows.scaler = StandardScaler()
    expected = BudgetedSVC(budget, random_state=0).fit(rows)
    found = DaskBudgetedSVC(budget, random_state=0, scaler=StandardScaler()).fit(*arrays(X, y))
    assert_allclose(found.to_local().decision_function(X), expected.decision_function(X), rtol=1e-5)
    lazy = found.predict(da.from_array(X, chunks=(700, 4)))
    assert_array_equal(lazy.compute(), found.to_local().predict(X))
    found.save(tmp_path / "m.psvm")
    assert_array_equal(load_model(tmp_path / "m.psvm").predict(X), lazy.compute())


@pytest.mark.parametrize("one_hot", [["colour"], "text"])
def test_prepared_partitions_give_the_predictions_of_rows_in_memory(one_hot, tmp_path):
    X, y = flowers()
    expected = prepared(BudgetedSVC(ALL, random_state=0)).fit(X, y)
    steps = {"impute": "median", "one_hot": one_hot, "scaler": StandardScaler()}
    model = DaskBudgetedSVC(ALL, random_state=0, **steps)
    assert model.get_params()["impute"] == clone(model).impute == "median"
    frame, labels = partitioned(X), partitioned(pd.Series(y))
    found = model.fit(frame, labels)
    new, truth = flowers(1000, seed=1)
    assert_array_equal(found.to_local().predict(X), expected.predict(X))
    assert_array_equal(found.to_local().predict(new), expected.predict(new))
    assert_array_equal(found.predict(frame).compute(), expected.predict(X))
    assert_allclose(found.score(frame, labels), expected.score(X, y), rtol=1e-9)
    found.save(tmp_path / "m.psvm")
    loaded = load_model(tmp_path / "m.psvm")
    assert isinstance(loaded, Pipeline)
    assert_allclose(loaded.score(new, truth), expected.score(new, truth), rtol=1e-9)


def test_prepared_partitions_beyond_the_sample_predict_as_rows_in_memory():
    X, y = flowers(12_000)
    expected = prepared(BudgetedSVC(20, random_state=0)).fit(X, y)
    steps = {"impute": "median", "one_hot": ["colour"], "scaler": StandardScaler()}
    frame, labels = dd.from_pandas(X, npartitions=5), dd.from_pandas(pd.Series(y), npartitions=5)
    found = DaskBudgetedSVC(20, random_state=0, **steps).fit(frame, labels)
    assert np.mean(found.predict(frame).compute() == expected.predict(X)) >= 0.995


def test_streams_continue_a_preparation_but_learn_none():
    X, y = flowers()
    steps = {"impute": "median", "one_hot": ["colour"], "scaler": StandardScaler()}
    model = DaskBudgetedSVC(ALL, random_state=0, **steps)
    frame, labels = partitioned(X), partitioned(pd.Series(y))
    with pytest.raises(ValueError, match="call fit before partial_fit"):
        model.partial_fit(frame, labels, classes=["no", "yes"])
    model.fit(frame, labels).partial_fit(frame, labels)
    assert model.impute == "median"
    assert model.score(frame, labels) > 0.8
    with pytest.raises(ValueError, match="impute must be None or one of"):
        DaskBudgetedSVC(impute="middle").fit(frame, labels)
    with pytest.raises(ValueError, match="X has no column 'smell'"):
        DaskBudgetedSVC(one_hot=["smell"]).fit(frame, labels)


# --- feature scales -------------------------------------------------------------------------------


@BUDGETS
def test_feature_scales_multiply_the_rows_of_partitions(budget):
    X, y = problem()
    scales = np.array([2.0, 0.5, 1.0, 0.0])
    given = {"gamma": 0.5, "random_state": 0}
    one = DaskBudgetedSVC(budget, feature_scales=scales, **given).fit(*arrays(X, y))
    other = DaskBudgetedSVC(budget, **given).fit(*arrays(X * scales, y))
    assert_array_equal(one.feature_scales_, scales)
    lazy = one.decision_function(da.from_array(X, chunks=(700, 4)))
    expected = other.to_local().decision_function(X * scales)
    assert_array_equal(lazy.compute(), expected)
    assert clone(one).feature_scales.tolist() == scales.tolist()
