"""Data sets on disk: every format gives the same rows."""

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from models import assert_same_model, moons
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, open_dataset
from pocketsvm.rows import dataset, opening
from pocketsvm.rows.chunk import Needs
from pocketsvm.solving import all_rows, solve
from pocketsvm.training.settings import Settings

from .datasets import (
    PARTS,
    WRITERS,
    Batches,
    D,
    N,
    fit,
    problem,
    write_csv,
    write_npy,
    write_parquet,
    write_svmlight,
)

pytestmark = pytest.mark.usefixtures("own_temporary_folder")


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_all_rows_in_the_sample_give_the_bits_of_a_fit_in_memory(folder, write):
    X, y = problem()
    write(folder, X, y)
    found = BudgetedSVC(budget=20, random_state=0).fit(open_dataset(folder))
    in_memory = sp.csr_array(X.astype(np.float32)) if write is write_svmlight else X
    labels = y if write is write_parquet else y.astype(float)
    assert_same_model(found, BudgetedSVC(budget=20, random_state=0).fit(in_memory, labels))


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_more_rows_than_the_sample_are_all_read(folder, write):
    X, y = problem()
    write(folder, X, y)
    found = BudgetedSVC(budget=4, random_state=0).fit(open_dataset(folder))
    twin = BudgetedSVC(budget=4, random_state=0).fit(Batches(X, y, size=77))
    assert_allclose(found._state.vectors, twin._state.vectors, atol=1e-6)
    objective = found.profile_.objective_after
    assert objective == pytest.approx(twin.profile_.objective_after, rel=0.01)
    in_memory = BudgetedSVC(budget=4, random_state=0).fit(X, y)
    assert objective < 1.1 * in_memory.profile_.objective_after
    # lambda = 1 / (n C) with all rows, of which the passes see 512 for each vector.
    assert found.alpha_ == 1 / N
    assert found.profile_.steps <= found.n_iter_ * 512 * 4


@pytest.mark.parametrize("size", [1, 100, 2999])
def test_batches_do_not_change_the_vectors(size):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0.1, 9.0, N).round(2)
    one = BudgetedSVC(budget=4, random_state=0).fit(Batches(X, y, weight, size=size))
    other = BudgetedSVC(budget=4, random_state=0).fit(Batches(X, y, weight, size=640))
    assert_array_equal(one._state.vectors, other._state.vectors)
    assert_array_equal(one._state.dual_coef, other._state.dual_coef)
    assert_allclose(one.dual_coef_, other.dual_coef_, rtol=1e-6)


def test_rows_sorted_by_label_are_as_good_as_mixed_rows():
    X, y = problem()
    order = np.argsort(y, kind="stable")
    mixed, ordered = (
        BudgetedSVC(budget=5, max_iter=1, random_state=0).fit(Batches(X[at], y[at]))
        for at in (slice(None), order)
    )
    assert ordered.score(X, y) > mixed.score(X, y) - 0.03


def test_the_sample_is_that_of_rows_in_memory():
    X, y = problem()
    found = BudgetedSVC(budget=4, gamma=0.5, random_state=0).fit(Batches(X, y))
    in_memory = BudgetedSVC(budget=4, gamma=0.5, random_state=0).fit(X, y)
    assert_array_equal(found._state.vectors, in_memory._state.vectors)


@pytest.mark.parametrize("balanced", [False, True])
def test_weights_count_as_in_memory(balanced):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0, 2, N).round()
    parameters = {"budget": 4, "random_state": 0, "gamma": 0.5}
    parameters["class_weight"] = "balanced" if balanced else {0: 3.0, 1: 0.5}
    found = BudgetedSVC(**parameters).fit(Batches(X, y, weight))
    in_memory = BudgetedSVC(**parameters).fit(X, y, weight)
    assert found.alpha_ == in_memory.alpha_ == 1 / np.count_nonzero(weight)
    assert_array_equal(found._state.vectors, in_memory._state.vectors)
    assert_allclose(found.profile_.objective_after, in_memory.profile_.objective_after, rtol=0.05)


def test_a_class_without_weight_is_left_out():
    X, y = problem()
    y = y + (X[:, 3] > 1)
    weights = {0: 1.0, 1: 2.0, 2: 0.0}
    found = BudgetedSVC(budget=4, random_state=0, class_weight=weights).fit(Batches(X, y))
    assert_array_equal(found.classes_, [0, 1])
    assert found.alpha_ == 1 / np.count_nonzero(y < 2)


def test_regressions_find_the_function_of_a_fit_in_memory(folder):
    X, _ = problem()
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 1
    write_parquet(folder, X, y)
    parameters = {"budget": 20, "C": 10, "gamma": 0.5, "random_state": 0}
    rows = open_dataset(folder)
    found = BudgetedSVR(**parameters, fit_intercept=False).fit(rows)
    in_memory = BudgetedSVR(**parameters, fit_intercept=False).fit(X, y)
    assert_array_equal(found._state.vectors, in_memory._state.vectors)
    assert_allclose(found.profile_.objective_after, in_memory.profile_.objective_after, rtol=0.05)
    # With an intercept, the offset is the median of the sample, not that of all rows.
    assert_allclose(BudgetedSVR(**parameters).fit(rows)._state.offset, np.median(y), atol=0.1)


def test_many_classes_and_texts(folder):
    X, y = problem()
    names = np.array(["a", "b", "c"])[y + (X[:, 3] > 1)]
    write_csv(folder, X, names)
    found = BudgetedSVC(budget=6, random_state=0).fit(open_dataset(folder / "*.csv"))
    assert found.classes_.tolist() == ["a", "b", "c"]
    assert_array_equal(found.feature_names_in_, ["x0", "x1", "x2", "x3"])


SCALERS = [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler()]


@pytest.mark.parametrize("scaler", SCALERS, ids=lambda scaler: type(scaler).__name__)
def test_a_scaler_is_fitted_and_saved(folder, tmp_path, scaler):
    X, y = problem()
    X = X * [1, 10, 1000, 0.1] + [0, 5, 1e4, 0]
    write_parquet(folder, X, y)
    rows = open_dataset(folder, scaler=scaler)
    frame = pq.read_table(folder).to_pandas().drop(columns="y")
    found = BudgetedSVC(budget=4, random_state=0).fit(rows)
    expected = type(scaler)().fit(X).transform(X)
    tolerance = 0.2 if isinstance(scaler, RobustScaler) else 1e-8
    assert_allclose(found.scaler_.transform(X), expected, rtol=tolerance, atol=tolerance)
    if not isinstance(scaler, RobustScaler):
        assert_allclose(found.gamma_, 1 / (D * expected.var()), rtol=1e-6)
    found.save(tmp_path / "model.psvm")
    loaded = load_model(tmp_path / "model.psvm")
    assert_array_equal(loaded.decision_function(frame), found.decision_function(frame))
    assert not hasattr(found.fit(expected, y), "scaler_")


def test_features_weights_and_label_are_found_by_name(folder):
    X, y = problem()
    weight = np.arange(N) % 3 * 1.0
    write_parquet(folder, X, y, weight)
    rows = open_dataset(folder, "y", features=["x2", "x0"], sample_weight="w", dtype="float32")
    found = list(rows.batches())
    assert all(batch[0].dtype == np.float32 for batch in found)
    assert_array_equal(np.concatenate([b[0] for b in found]), X[:, [0, 2]].astype(np.float32))
    assert_array_equal(np.concatenate([b[2] for b in found]), weight)
    assert_array_equal(np.concatenate([b[1] for b in found]), y)


def test_datasets_of_pyarrow(folder):
    X, y = problem()
    write_parquet(folder, X, y)
    rows = arrow_dataset.dataset(folder)
    found = BudgetedSVC(budget=4, random_state=0).fit(rows)
    twin = BudgetedSVC(budget=4, random_state=0).fit(open_dataset(folder))
    assert_array_equal(found._state.vectors, twin._state.vectors)


def test_a_database_can_be_wrapped_in_ten_lines():
    X, y = problem()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rows (a REAL, b REAL, c REAL, d REAL, y INTEGER)")
    values = np.column_stack([X, y]).tolist()
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", values)

    class Query:
        def batches(self):
            cursor = connection.execute("SELECT * FROM rows ORDER BY rowid")
            while found := cursor.fetchmany(500):
                values = np.array(found)
                yield values[:, :-1], values[:, -1]

    found = BudgetedSVC(budget=4, random_state=0).fit(Query())
    connection.close()
    assert_array_equal(
        found._state.vectors,
        BudgetedSVC(budget=4, random_state=0).fit(Batches(X, y))._state.vectors,
    )


def test_labels_in_another_array(folder):
    X, y = problem()
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    one = open_dataset(folder / "X.npy", label=y)
    other = open_dataset(folder / "X.npy", label=str(folder / "y.npy"))
    for rows in (one, other):
        assert_array_equal(np.concatenate([batch[1] for batch in rows.batches()]), y)


def test_labels_and_queries_of_a_numpy_file_are_not_converted(tmp_path):
    classes = [20_000_000, 20_000_001] * 3
    rows = np.column_stack([np.linspace(0, 1, 6), classes, 10**9 + np.arange(6)])
    np.save(tmp_path / "rows.npy", rows)
    data = open_dataset(tmp_path / "rows.npy", 2, qid=3, dtype="float32")
    for regression in (False, True):
        with data.opened(Needs(numbers=regression, queries=True)) as source:
            (batch,) = source.read()
        assert batch.X.dtype == np.float32
        assert batch.X.shape == (6, 1)
        assert_array_equal(batch.y, classes)
        assert_array_equal(batch.qid, rows[:, 2])


def test_every_kind_yields_batches_and_counts_rows_and_readings(tmp_path):
    X, y = problem()
    write_npy(tmp_path, X, y)
    parquet = tmp_path / "parquet"
    parquet.mkdir()
    write_parquet(parquet, X, y)
    kinds = (
        open_dataset(parquet, "y"),
        open_dataset(arrow_dataset.dataset(parquet), "y"),
        open_dataset(tmp_path / "rows.npy"),
    )
    for rows in kinds:
        assert (rows.n_rows, rows.n_scans) == (0, 0)
        assert_array_equal(np.concatenate([batch[1] for batch in rows.batches()]), y)
        assert (rows.n_rows, rows.n_scans) == (len(y), 1)
        fit(rows)
        assert rows.n_rows == len(y)
        assert rows.n_scans >= 3


def test_hidden_files_of_a_folder_are_skipped(folder):
    write_parquet(folder, *problem())
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"x")
    assert [Path(path).name for path in opening.found_files(folder)] == [
        f"part-{k}.parquet" for k in range(4)
    ]


dataset_file = dataset.DataFile


def test_text_is_parsed_once_into_a_cache_that_is_removed(folder, monkeypatch):
    write_csv(folder, *problem())
    opened, said = [], []
    monkeypatch.setattr(
        dataset, "DataFile", lambda *args: opened.append(args[0]) or dataset_file(*args)
    )
    rows = open_dataset(folder)
    rows.say = said.append
    opened.clear()
    fit(rows)
    assert len(opened) == 1 + len(rows.paths)  # one for the layout
    assert "temporary cache of" in said[0]


def test_features_of_an_arrow_data_set(tmp_path):
    X, y = problem()
    write_parquet(tmp_path, X, y, weight=np.ones(N))
    every = open_dataset(
        arrow_dataset.dataset(tmp_path), "y", features=["x0", "2"], sample_weight="w"
    )
    model = BudgetedSVC(5, random_state=0).fit(every)
    assert model.feature_names_in_.tolist() == ["x0", "x1"]
    assert_same_model(
        model,
        BudgetedSVC(5, random_state=0).fit(
            open_dataset(tmp_path, "y", features=["x0", "x1"], sample_weight="w")
        ),
    )


def test_a_file_may_be_named_twice(tmp_path):
    X, y = problem()
    write_parquet(tmp_path, X, y)
    path, shares = tmp_path / "part-3.parquet", []
    rows = open_dataset([path, path], "y")
    rows.on_batch = lambda progress: shares.append(progress.share)
    BudgetedSVC(5, random_state=0).fit(rows)
    assert rows.n_rows == 2 * (PARTS[4] - PARTS[3])
    assert shares[-1] == 1.0


def board(n=12_000):
    """Rows of a board, with some labels flipped: its vectors are far better where they move."""
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, size=(n, 2))
    y = np.floor(1.5 * X).sum(axis=1) % 2
    return X, np.where(random.random(n) < 0.05, 1 - y, y)


def test_vectors_move_as_in_memory_where_near_rows_fit_into_one_block(monkeypatch):
    X, y = board()
    model = {"budget": 20, "C": 10.0, "gamma": 2.0, "random_state": 0}
    in_memory = BudgetedSVC(**model).fit(X, y).profile_
    found = BudgetedSVC(**model).fit(Batches(X, y)).profile_
    assert found.moves == in_memory.moves > 0
    assert_allclose(found.objective_after, in_memory.objective_after, rtol=1e-9)
    monkeypatch.setattr(solve, "MOST_KEPT", 0)
    monkeypatch.setattr(Settings, "few_rows", 32 * 20)  # fewer than there are near rows
    still = BudgetedSVC(**model).fit(Batches(X, y)).profile_
    assert still.moves == 0
    thorough = BudgetedSVC(**model, polish="thorough").fit(Batches(X, y)).profile_
    assert thorough.moves > 0  # on the sample
    assert thorough.objective_after < still.objective_after


def test_coefficients_converge_as_in_memory_if_the_classes_hardly_overlap(monkeypatch):
    monkeypatch.setattr(solve, "MOST_KEPT", 0)  # the sample has the least number of rows
    monkeypatch.setattr(Settings, "few_rows", 15 * 10)
    X, y = moons(6000, noise=0.1)
    model = BudgetedSVC(10, 1000.0, gamma=2.0, random_state=0)
    in_memory = model.fit(X, y).profile_.objective_after
    found = model.fit(Batches(X, y)).profile_.objective_after
    assert_allclose(found, in_memory, rtol=1e-5)
    monkeypatch.setattr(all_rows, "MOST_ROUNDS", 1)
    with pytest.warns(ConvergenceWarning, match="Polishing stopped before it converged"):
        assert model.fit(Batches(X, y)).profile_.objective_after > found


# --- predictions ----------------------------------------------------------------------------------


def write_table(name, X, y, header=True):
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2", "x3"])
    frame = frame if y is None else frame.assign(y=y)
    frame.to_csv(name, index=False, header=header)


FILES = {
    "rows.csv": lambda name, X, y: write_table(name, X, None),
    "labelled.csv": write_table,
    "nameless.csv": lambda name, X, y: write_table(name, X, None, header=False),
    "nameless-labelled.csv": lambda name, X, y: write_table(name, X, y, header=False),
    "rows.npy": lambda name, X, y: np.save(name, X),
    "labelled.npy": lambda name, X, y: np.save(name, np.column_stack([X, y])),
    "narrow.svm": lambda name, X, y: dump_svmlight_file(X, y, name, zero_based=False),
    "wide.svm": lambda name, X, y: dump_svmlight_file(
        np.column_stack([X, X]), y, name, zero_based=False
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_predicted_with_and_without_labels(name, folder):
    X, y = problem()
    if name == "narrow.svm":
        X[:, 3] = 0  # no row mentions the last feature
    model = BudgetedSVC(budget=4, random_state=0).fit(X, y)
    FILES[name](str(folder / name), X, y)
    rows = open_dataset(folder / name)
    assert_array_equal(model.predict(rows), model.predict(X))
    if "labelled" in name or "svm" in name:
        assert model.score(rows) == model.score(X, y)


def test_other_columns_of_files_are_not_predicted(folder):
    X, y = problem()
    names = ["x0", "x1", "x2", "x3"]
    frame = pd.DataFrame(X, columns=names)
    model = BudgetedSVC(budget=4, random_state=0).fit(frame, y)
    frame.assign(z=1.0, w=2.0)[["z", "x3", "w", "x1", "x0", "x2"]].to_parquet(folder / "a.parquet")
    for rows in (open_dataset(folder), open_dataset(folder, sample_weight="w", label="z")):
        assert_array_equal(model.predict(rows), model.predict(frame))
    frame[names[:3]].to_parquet(folder / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet lacks the column 'x3', which the model needs"):
        model.predict(open_dataset(folder))
    np.save(folder / "c.npy", X[:, :2])
    with pytest.raises(ValueError, match=r"c.npy: some rows have 4 features, others 2"):
        model.predict(open_dataset(folder / "c.npy"))


def test_two_files_with_and_without_a_header_are_refused(folder):
    X, y = problem()
    write_table(folder / "a.csv", X, y)
    write_table(folder / "b.csv", X, y, header=False)
    with pytest.raises(ValueError, match=r"b.csv has no names of columns"):
        fit(open_dataset(folder))


@pytest.mark.parametrize("target", ["word", "empty"])
def test_more_targets_must_be_numbers(target, folder):
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y, word="x", empty=np.nan)
    features = list("abcd")
    for form in ("csv", "parquet"):
        path = folder / f"rows.{form}"
        frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
        rows = open_dataset(path, ["y", target], features=features)
        with pytest.raises(ValueError, match=rf"rows.{form}.*column '{target}'.*number"):
            BudgetedSVR(4).fit(rows)
