"""Data sets on disk: bad input gets a clear error, with file and row."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as arrow_dataset
import pyarrow.parquet as pq
import pytest
from models import assert_same_model

from pocketsvm import BudgetedSVC, BudgetedSVR, open_dataset
from pocketsvm.files import DataError
from pocketsvm.rows import npy

from .datasets import PARTS, Batches, D, N, fit, problem, write_csv, write_npy, write_parquet

pytestmark = pytest.mark.usefixtures("own_temporary_folder")


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
        (lambda X, y: Batches(X, y, y, y, y), r"batch 1: .* must yield .* got 5 values"),
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
    with pytest.raises(ValueError, match="path is empty: give a file"):
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


def test_several_targets_are_for_regressions(folder):
    class Pairs:
        def batches(self):
            yield np.ones((5, 2)), np.ones((5, 2))

    with pytest.raises(DataError, match=r"batch 1: y must have one value for each of the 5 rows"):
        BudgetedSVC().fit(Pairs())
    X, y = problem()
    write_parquet(folder, X, y)
    rows = open_dataset(folder, label=["x0", "y"])
    with pytest.raises(DataError, match="several targets, which only BudgetedSVR takes"):
        fit(rows)


def test_advice_is_that_for_open_dataset(folder):
    X, y = problem()
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"a": X[:, 0], "label": y, "class": y}), path)
    with pytest.raises(
        DataError, match=r"Say which one it is: open_dataset\(\.\.\., label=\.\.\.\)\."
    ):
        fit(open_dataset(path))
    pq.write_table(pa.table({"a": X[:, 0], "word": y.astype(str), "y": y}), path)
    for rows in (open_dataset(path), arrow_dataset.dataset(path)):
        with pytest.raises(
            DataError, match=r"use open_dataset\(\.\.\., label='word'\)\. .*features"
        ):
            fit(rows)
    pq.write_table(pa.table({"a": [1.0, None], "y": [0, 1]}), path)
    with pytest.raises(DataError, match=r"row 2, .* is missing\. .* open_dataset\(\.\.\., impute="):
        fit(open_dataset(path))


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_label_that_is_no_number_is_named(folder, form):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["1", "2", "high"]})
    path = folder / f"rows.{form}"
    frame.to_parquet(path) if form == "parquet" else frame.to_csv(path, index=False)
    with pytest.raises(DataError, match=rf"rows.{form}: the label 'high' is not a number, which"):
        BudgetedSVR(4).fit(open_dataset(path))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no NumPy file of numbers, or is damaged: No data left in file"),
        (b"text,1\n", "is no NumPy file of numbers, or is damaged"),
        (None, "holds several arrays"),
    ],
)
@pytest.mark.parametrize("is_label", [False, True])
def test_a_numpy_file_that_cannot_be_read_is_named(content, message, is_label, tmp_path):
    path = tmp_path / "wrong.npy"
    if content is None:
        with path.open("wb") as file:
            np.savez(file, a=np.ones(3), b=np.ones(3))
    else:
        path.write_bytes(content)
    np.save(tmp_path / "rows.npy", np.ones((3, 2)))
    opened, label = (tmp_path / "rows.npy", path) if is_label else (path, None)
    with pytest.raises(DataError, match=rf"wrong\.npy {message}"):
        open_dataset(opened, label=label)


def test_an_empty_list_of_files_is_refused():
    with pytest.raises(ValueError, match="path is empty: give a file, a folder or a pattern"):
        open_dataset([])
