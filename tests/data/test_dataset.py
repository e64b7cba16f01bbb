"""Data sets on disk: every format gives the same rows, and bad input a clear error."""

import gzip
import os
import sqlite3
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, open_dataset
from pocketsvm.data import DataError, dataset, npy, opening

N, D = 3000, 4
PARTS = (0, 700, 701, 2000, N)


def problem(seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, D)).round(3)
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


def table(X, y, **more):
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y} | more)


def write_parquet(folder, X, y, weight=None):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        more = {} if weight is None else {"w": weight[begin:end]}
        pq.write_table(table(X[begin:end], y[begin:end], **more), folder / f"part-{k}.parquet")


def write_csv(folder, X, y, opened=open, suffix=".csv"):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        with opened(folder / f"part-{k}{suffix}", "wt") as file:
            file.write("x0,x1,x2,x3,y\n")
            for row, label in zip(X[begin:end].tolist(), y[begin:end], strict=True):
                file.write(",".join(map(repr, row)) + f",{label}\n")


def write_svmlight(folder, X, y):
    for k, (begin, end) in enumerate(pairwise(PARTS)):
        path = str(folder / f"part-{k}.svm")
        dump_svmlight_file(X[begin:end], y[begin:end], path, zero_based=False)


def write_npy(folder, X, y):
    np.save(folder / "rows.npy", np.column_stack([X, y]))


WRITERS = {
    "parquet": write_parquet,
    "csv": write_csv,
    "csv.gz": lambda folder, X, y: write_csv(folder, X, y, gzip.open, ".csv.gz"),
    "svmlight": write_svmlight,
    "npy": write_npy,
}


class Batches:
    """Batches of arrays, as a user would write them."""

    def __init__(self, *arrays, size=450):
        self.arrays, self.size = arrays, size

    def batches(self):
        for begin in range(0, self.arrays[0].shape[0], self.size):
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path, monkeypatch):
    """Give each test a folder for caches, and check that none is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert not list(folder.iterdir())


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "rows"
    path.mkdir()
    return path


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
        BudgetedSVC(budget=5, random_state=0).fit(Batches(X[at], y[at]))
        for at in (slice(None), order)
    )
    assert ordered.score(X, y) > mixed.score(X, y) - 0.03
    # Fits on sorted and on mixed rows in memory draw samples of the same size.
    assert ordered.profile_.steps == mixed.profile_.steps


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
        assert (rows.n_rows, rows.n_readings) == (0, 0)
        assert_array_equal(np.concatenate([batch[1] for batch in rows.batches()]), y)
        assert (rows.n_rows, rows.n_readings) == (len(y), 1)
        fit(rows)
        assert rows.n_rows == len(y)
        assert rows.n_readings >= 3


# --- bad input ------------------------------------------------------------------------------------


def fit(rows, **parameters):
    return BudgetedSVC(**{"budget": 4, "random_state": 0} | parameters).fit(rows)


def test_iterators_are_refused():
    X, y = problem()
    for rows in (iter([(X, y)]), Batches(X, y).batches()):
        with pytest.raises(TypeError, match="only once"):
            fit(rows)


def test_an_object_that_gives_its_rows_once_is_refused():
    class Once(Batches):
        def batches(self):
            self.found = getattr(self, "found", None) or super().batches()
            return self.found

    with pytest.raises(DataError, match=r"(?s)3,000 rows.*0|changed|none"):
        fit(Once(*problem()))


@pytest.mark.parametrize("change", ["remove", "append", "touch"])
def test_a_file_that_changes_between_readings_is_named(folder, change, monkeypatch):
    write_parquet(folder, *problem())
    rows, path = open_dataset(folder), folder / "part-2.parquet"
    counted = []

    def on_batch(progress):
        counted.append(progress.n_new)
        if sum(counted) == N:
            if change == "remove":
                path.unlink()
            elif change == "append":
                with open(path, "ab") as file:
                    file.write(b"x")
            else:
                os.utime(path, ns=(0, 0))

    rows.on_batch = on_batch
    text = {"remove": "no longer there", "append": "bytes", "touch": "written again"}[change]
    with pytest.raises(DataError, match=rf"part-2.parquet.*{text}"):
        fit(rows)


def test_a_missing_column_of_one_file_is_named(folder):
    X, y = problem()
    write_parquet(folder, X, y)
    pq.write_table(pa.table({"x0": X[:, 0], "x1": X[:, 1], "y": y}), folder / "part-9.parquet")
    with pytest.raises(DataError, match=r"part-9.parquet lacks the column 'x2'"):
        fit(open_dataset(folder))


def test_another_type_in_one_of_many_files(folder):
    """Numbers of any type are numbers; words are named by their file and column."""
    X, y = problem()
    X[:, 1] = X[:, 1].round()
    write_parquet(folder, X, y)
    expected = fit(open_dataset(folder))
    begin, end = PARTS[2:4]
    columns = {f"x{j}": X[begin:end, j] for j in range(D)} | {"y": y[begin:end]}
    whole = pa.array(X[begin:end, 1].astype(np.int16))
    pq.write_table(pa.table(columns | {"x1": whole}), folder / "part-2.parquet")
    assert_same_model(fit(open_dataset(folder)), expected)
    words = pa.array([f"word {k}" for k in range(end - begin)])
    pq.write_table(pa.table(columns | {"x1": words}), folder / "part-2.parquet")
    with pytest.raises(DataError, match=r"part-2.parquet, column 'x1': .* number, got string"):
        fit(open_dataset(folder))


def test_a_file_that_changes_while_it_is_read_is_named(folder):
    write_parquet(folder, *problem())
    rows, path = open_dataset(folder), folder / "part-3.parquet"

    def on_batch(progress):
        if path.stat().st_size and progress.reading == 2:
            os.truncate(path, 0)

    rows.on_batch = on_batch
    with pytest.raises(DataError, match=r"part-3.parquet"):
        fit(rows)


def test_a_missing_value_is_named_by_file_and_row(folder):
    X, y = problem()
    X[2500, 1] = np.nan
    write_parquet(folder, X, y)
    with pytest.raises(DataError, match=r"part-3.parquet, row 501, column 'x1': .* missing"):
        fit(open_dataset(folder))
    with pytest.raises(DataError, match=r"batch 6, row 251, column 2: .*missing"):
        fit(Batches(X, y))
    write_csv(folder, X, y)
    with pytest.raises(DataError, match=r"part-3.csv, row 502, column 'x1'"):
        fit(open_dataset(folder / "*.csv"))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            lambda X, y: Batches(X, y[:-7]),
            "batch 7: y must have one value for each of the 300 rows",
        ),
        (lambda X, y: Batches(X, y, -np.ones(N)), "batch 1, row 1: a weight"),
        (lambda X, y: Batches(X, y, np.zeros(N)), "no rows of positive weight"),
        (lambda X, y: Batches(X), r"batch 1: batches\(\) must yield"),
        (lambda X, y: Batches(X, np.arange(N) + 0.5), "label|Unknown"),
        (lambda X, y: Batches(X, np.array([1, "a"], dtype=object)[y]), "batch 1: labels must be"),
        (lambda X, y: Batches(X[:0], y[:0]), "there are no rows"),
    ],
)
def test_wrong_batches_are_named(rows, message):
    with pytest.raises(ValueError, match=message):
        fit(rows(*problem()))


def test_batches_must_have_the_same_features_and_kinds_of_labels():
    X, y = problem()

    class Mixed:
        def batches(self):
            yield X, y
            yield self.second

    rows = Mixed()
    rows.second = (X[:, :2], y)
    with pytest.raises(DataError, match=r"batch 2: .*4 features, others 2"):
        fit(rows)
    rows.second = (X, np.where(y, "a", "b"))
    with pytest.raises(DataError, match=r"batch 2: .*texts and others numbers"):
        fit(rows)


def test_passes_over_all_rows_on_disk_are_refused():
    with pytest.raises(ValueError, match="polish=False"):
        fit(Batches(*problem()), polish=False)


def test_labels_of_a_data_set_are_its_own():
    X, y = problem()
    with pytest.raises(ValueError, match="leave out y"):
        BudgetedSVC().fit(Batches(X, y), y)


def test_a_failed_fit_leaves_the_estimator_as_it_was():
    X, y = problem()
    found = fit(Batches(X, y))
    before = dict(vars(found))
    with pytest.raises(DataError):
        found.fit(Batches(X, y, -np.ones(N)))
    assert vars(found) == before


def test_paths_that_name_nothing(folder):
    for path in (folder, folder / "x.csv", str(folder / "*.csv")):
        with pytest.raises(FileNotFoundError, match=r"(?i)no such file|no files|no file"):
            open_dataset(path)


def test_hidden_files_of_a_folder_are_skipped(folder):
    write_parquet(folder, *problem())
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.parquet.crc").write_bytes(b"x")
    assert [Path(path).name for path in opening.found_files(folder)] == [
        f"part-{k}.parquet" for k in range(4)
    ]


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


dataset_file = dataset.DataFile


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


def test_arguments_that_a_source_has_no_use_for(tmp_path):
    X, y = problem()
    write_npy(tmp_path, X, y)
    path = tmp_path / "rows.npy"
    with pytest.raises(ValueError, match="for tables"):
        open_dataset(path, features=["1"])
    with pytest.raises(ValueError, match="for tables"):
        open_dataset(path, sample_weight="w")
    with pytest.raises(ValueError, match="opened alone, but path names 2"):
        open_dataset([path, path])
    with pytest.raises(DataError, match="number of a column, an array or a NumPy file, got 'y'"):
        BudgetedSVC().fit(open_dataset(path, "y"))
    write_csv(tmp_path, X, y)
    with pytest.raises(ValueError, match="label must be a column"):
        open_dataset(tmp_path / "part-0.csv", y)
    with pytest.raises(ValueError, match="names no file"):
        open_dataset([])


def test_a_row_far_inside_a_numpy_file_is_named(tmp_path):
    path, row = tmp_path / "rows.npy", 2 * npy.NPY_ROWS + 9
    rows = np.zeros((3 * npy.NPY_ROWS, 2))
    rows[row, 0] = np.nan
    np.save(path, rows)
    with pytest.raises(DataError, match=rf"rows.npy, row {row + 1}, column 1: .*missing"):
        fit(open_dataset(path))
    rows[row] = 0, np.inf
    np.save(path, rows)
    with pytest.raises(DataError, match=rf"rows.npy, row {row + 1}: .*not finite"):
        BudgetedSVR().fit(open_dataset(path))
    with pytest.raises(DataError, match=rf"rows.npy, row {row + 1}: the label"):
        fit(open_dataset(path))


def test_several_targets_need_rows_in_memory():
    class Pairs:
        def batches(self):
            yield np.ones((5, 2)), np.ones((5, 2))

    with pytest.raises(DataError, match=r"batch 1: .* Several targets need the rows in memory"):
        BudgetedSVR().fit(Pairs())
