"""Dask: the model of rows in memory, on arrays and dataframes, with all of its methods."""

import pickle
from itertools import pairwise

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_rows import SETTINGS, Batches, D, N, arrays, frames, problem
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model
from pocketsvm.dask import DaskBudgetedSVC, DaskBudgetedSVR, partitions
from pocketsvm.rows import survey
from pocketsvm.rows.chunk import Needs
from pocketsvm.rows.drawing import Draw, Plan
from pocketsvm.rows.preparation import Preparing
from pocketsvm.rows.sampling import draw

# Dask leaves some sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]


def test_all_rows_in_the_sample_give_the_bits_of_a_fit_in_memory(client):
    X, y = problem()
    found = DaskBudgetedSVC(budget=20, random_state=0).fit(*arrays(X, y, chunks=700))
    local = found.to_local()
    assert type(local) is BudgetedSVC
    assert_same_model(local, BudgetedSVC(budget=20, random_state=0).fit(X, y))


def test_the_model_is_that_of_rows_on_disk(client):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0, 2, N).round(1)
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(X, y, weight, size=1000))
    found = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, weight))
    assert_same_model(found.to_local(), on_disk)
    other = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, weight, chunks=170))
    assert_array_equal(other._state.vectors, on_disk._state.vectors)
    assert_allclose(other.dual_coef_, on_disk.dual_coef_, rtol=1e-6)


def test_many_classes_and_regressions(client):
    X, y = problem()
    y = np.array(["a", "b", "c"])[y + (X[:, 3] > 1)]
    found = DaskBudgetedSVC(budget=6, random_state=0).fit(*arrays(X, y))
    on_disk = BudgetedSVC(budget=6, random_state=0).fit(Batches(X, y, size=1000))
    assert_same_model(found.to_local(), on_disk)
    lazy = da.from_array(X, chunks=(400, 2))  # columns are cut, too
    assert found.decision_function(lazy).chunks == ((400,) * 7 + (200,), (3,))
    assert_array_equal(found.decision_function(lazy).compute(), on_disk.decision_function(X))
    assert_array_equal(found.predict(lazy).compute(), on_disk.predict(X))
    targets = X[:, 0] + X[:, 1] ** 2
    regression = DaskBudgetedSVR(C=10, **SETTINGS).fit(*arrays(X, targets))
    local = BudgetedSVR(C=10, **SETTINGS).fit(Batches(X, targets, size=1000))
    assert_same_model(regression.to_local(), local)
    weight = np.arange(N) % 3 * 1.0
    rows = arrays(X, targets, weight, chunks=450)
    assert_allclose(regression.score(*rows), local.score(X, targets, weight), rtol=1e-9)


def test_dataframes_and_unknown_chunk_sizes(client):
    X, y = problem()
    frame, series = frames(X, y)
    found = DaskBudgetedSVC(**SETTINGS).fit(frame, series)
    assert found.feature_names_in_.tolist() == list("abcd")
    unknown = DaskBudgetedSVC(**SETTINGS).fit(frame.to_dask_array(), series.to_dask_array())
    assert np.isnan(frame.to_dask_array().chunks[0]).all()
    assert_array_equal(unknown.dual_coef_, found.dual_coef_)
    predicted = found.predict(frame)
    assert isinstance(predicted, dd.Series)
    expected = found.to_local().predict(pd.DataFrame(X, columns=list("abcd")))
    assert_array_equal(predicted.compute(), expected)
    assert_allclose(found.score(frame, series), (expected == y).mean())
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[list("dcba")])


def test_columns_of_one_frame_have_its_partitions(client, tmp_path):
    """Dask would join the small partitions of y, but not those of X."""
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame = frame.assign(**{f"more{k}": frame["a"] for k in range(20)})
    for k in range(8):
        frame[375 * k : 375 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(tmp_path)
    found = DaskBudgetedSVC(**SETTINGS).fit(rows[list("abcd")], rows["y"])
    expected = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, chunks=375))
    assert_same_model(found.to_local(), expected.to_local())


@pytest.mark.parametrize("order", ["label", "feature"])
def test_sorted_partitions_give_the_vectors_of_rows_in_memory(client, order):
    X, y = problem()
    at = np.argsort(y if order == "label" else X[:, 0], kind="stable")
    parameters = SETTINGS | {"gamma": 0.25}  # "scale" would differ by the rounding of float32
    found = DaskBudgetedSVC(**parameters).fit(*arrays(X[at], y[at], chunks=300))
    in_memory = BudgetedSVC(**parameters).fit(X[at], y[at])
    assert_array_equal(found._state.vectors, in_memory._state.vectors)
    assert_allclose(found.profile_.objective_after, in_memory.profile_.objective_after, rtol=0.05)


def test_partitions_may_be_empty_small_or_of_another_dtype(client):
    X, y = problem()
    cuts = [0, 0, 1, 1500, 1500, 2400, N, N]
    parts = [slice(*cut) for cut in pairwise(cuts)]
    blocks = [da.from_array(X[at], chunks=(-1, -1)) for at in parts]
    blocks[2] = blocks[2].astype(np.float32)
    labels = [da.from_array(y[at].astype(np.int8), chunks=-1) for at in parts]
    labels[3] = labels[3].astype(np.int64)
    found = DaskBudgetedSVC(**SETTINGS).fit(da.concatenate(blocks), da.concatenate(labels))
    mixed = X.copy()
    mixed[1:1500] = mixed[1:1500].astype(np.float32)
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(mixed, y, size=600))
    assert_array_equal(found._state.vectors, on_disk._state.vectors)
    empty = found.predict(da.concatenate(blocks)).compute()
    assert_array_equal(empty, found.to_local().predict(mixed))


def test_parameters_clones_pickles_and_files(client, tmp_path):
    X, y = problem()
    found = DaskBudgetedSVC(**SETTINGS, client=client).fit(*arrays(X, y))
    more = {"client": client, "scaler": None, "impute": None, "one_hot": None}
    assert found.get_params() == BudgetedSVC(**SETTINGS).get_params() | more
    assert clone(found).client is client
    assert not hasattr(clone(found), "classes_")
    twin = pickle.loads(pickle.dumps(found))
    assert twin.client is None
    assert_array_equal(twin.predict(X), found.to_local().predict(X))  # rows in memory: at once
    found.save(tmp_path / "model.psvm")
    loaded = load_model(tmp_path / "model.psvm")
    assert type(loaded) is BudgetedSVC
    assert_array_equal(loaded.predict(X), twin.predict(X))


@pytest.mark.parametrize("heavy", [0, 40])
def test_the_sample_is_that_of_rows_in_memory(client, heavy, monkeypatch):
    """Rows with most of the weight are drawn for sure, so that a guess finds too few others."""
    X, y = problem()
    weight = np.random.default_rng(1).uniform(1, 2, N)
    weight[:heavy] = 1e6
    drawn = []
    monkeypatch.setattr(survey, "Draw", lambda *given: drawn.append(given) or Draw(*given))
    blocks = partitions.blocks_of(*arrays(X, y, weight, chunks=700))
    rows = partitions.Partitions(client, blocks, Needs(), list(range(5)))
    found = survey.survey(rows, Needs(), Plan(1000, 100, 7), Preparing())
    numbers, factors = draw(y.astype(np.int8), weight, 1000, 100, 7)
    assert_array_equal(found.rows.X, X[numbers])
    assert_allclose(found.survey.factors, factors, rtol=1e-6)
    assert len(drawn) == (2 if heavy else 1)


def test_partial_fit_takes_one_partition_after_the_other(client):
    X, y = problem()
    weight = np.arange(N) % 3 * 1.0
    cuts = [0, 700, 1400, 2100, 2800, N]
    stream = {"alpha": 1e-3, "reservoir": 500}
    local = BudgetedSVC(**SETTINGS, **stream)
    regression = BudgetedSVR(**SETTINGS, **stream)
    for begin, end in pairwise(cuts):
        at = slice(begin, end)
        local.partial_fit(X[at], y[at], classes=[0, 1], sample_weight=weight[at])
        regression.partial_fit(X[at], X[at, 0])
    lazy = arrays(X, y, weight, chunks=700)
    found = DaskBudgetedSVC(**SETTINGS, **stream)
    found.partial_fit(lazy[0], lazy[1], classes=[0, 1], sample_weight=lazy[2])
    assert_same_model(found.to_local(), local)
    assert_same_model(found.polish_stream().to_local(), local.polish_stream())
    other = DaskBudgetedSVR(**SETTINGS, **stream).partial_fit(lazy[0], lazy[0][:, 0])
    assert_same_model(other.to_local(), regression)
    before = dict(vars(found))
    wrong = y.copy()
    wrong[2500] = 7
    with pytest.raises(ValueError, match="label 7"):
        found.partial_fit(lazy[0], *arrays(wrong, chunks=700))
    assert vars(found) == before
    rows = DaskBudgetedSVC(**SETTINGS, **stream).partial_fit(X[:700], y[:700], classes=[0, 1])
    assert rows.n_features_in_ == D


def test_callbacks_see_each_pass_and_may_stop_the_fit(client, capsys):
    found = DaskBudgetedSVC(budget=4, random_state=0, verbose=1).fit(*arrays(*problem()))
    said = capsys.readouterr().out
    assert said.count("] pass ") == found.n_iter_
    assert "polish" in said


def test_probabilities_and_quantiles_are_lazy(client):
    X, y = problem()
    lazy = da.from_array(X, chunks=(700, D))
    clf = DaskBudgetedSVC(loss="log_loss", **SETTINGS).fit(lazy, da.from_array(y, chunks=700))
    assert_same_model(clf, BudgetedSVC(loss="log_loss", **SETTINGS).fit(Batches(X, y, size=700)))
    found = clf.predict_proba(lazy)
    assert found.chunks == (lazy.chunks[0], (2,))
    assert_array_equal(found.compute(), clf.to_local().predict_proba(X))
    assert_array_equal(clf.predict_log_proba(lazy).compute(), clf.predict_log_proba(X))
    assert not hasattr(DaskBudgetedSVC(), "predict_proba")
    setting = SETTINGS | {"loss": "quantile", "quantile": [0.1, 0.9]}
    target = X[:, 0] + X[:, 1] ** 2
    svr = DaskBudgetedSVR(**setting).fit(lazy, da.from_array(target, chunks=700))
    local = BudgetedSVR(**setting).fit(Batches(X, target, size=700))
    assert_array_equal(svr.dual_coef_, local.dual_coef_)
    assert_array_equal(svr.predict(lazy).compute(), svr.to_local().predict(X))
    with pytest.raises(ValueError, match="score of quantiles needs all rows"):
        svr.score(lazy, da.from_array(target, chunks=700))


def test_predictions_before_a_fit():
    X = da.zeros((10, 2), chunks=5)
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(DaskBudgetedSVC(), method)(X)
    with pytest.raises(NotFittedError):
        DaskBudgetedSVR().score(X, X[:, 0])


def test_vectors_move_as_in_memory(client):
    """All near rows of all partitions fit into one block."""
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, size=(12_000, 2))
    y = np.floor(1.5 * X).sum(axis=1) % 2
    model = {"budget": 20, "C": 10.0, "gamma": 2.0, "random_state": 0}
    in_memory = BudgetedSVC(**model).fit(X, y).profile_
    found = DaskBudgetedSVC(**model).fit(*arrays(X, y)).profile_
    assert found.moves == in_memory.moves > 0
    assert_allclose(found.objective_after, in_memory.objective_after, rtol=1e-6)
