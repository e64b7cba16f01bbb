"""Data files: every format gives the same rows and labels, whole or in batches."""

import gzip
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC, save_model
from pocketsvm.files import DataFile, Layout, file

from .samples import (
    LABELS,
    PARQUET,
    ROWS,
    SVM_TEXT,
    csv_text,
    parquet_bytes,
    random_table,
    read,
    spelled,
    stream,
)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (csv_text(), "a.csv"),
        (csv_text(), "no-ending"),
        (csv_text("\t"), "a.tsv"),
        (csv_text("\t"), "no-ending"),
        (csv_text(";"), "a.csv"),
        (csv_text(newline="\r\n"), "a.csv"),
        (csv_text(end=False), "a.csv"),
        (csv_text(newline="\r\n", end=False, quote='"'), "a.csv"),
        ("\ufeff" + csv_text(), "a.csv"),
        ("\n\n" + csv_text(newline="\n\n"), "a.csv"),
        (csv_text(" , ".strip() + " "), "a.csv"),
        (PARQUET, "a.parquet"),
        (PARQUET, "no-ending"),
    ],
)
def test_tables_of_every_kind_are_the_same(write, content, name):
    table = read(write(content, name))
    assert_array_equal(table.X, ROWS)
    assert table.X.dtype == np.float64
    assert spelled(table.labels) == LABELS
    assert table.layout == Layout(3, ["a", "b", "c"], "kind")


def test_without_pyarrow_a_message_says_what_to_install(write, monkeypatch):
    monkeypatch.setattr(file, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'pocketsvm\[data\]'"):
        read(write(csv_text(), "a.csv"))
    assert read(write("1 1:2\n")).X.shape == (1, 1)


@pytest.mark.parametrize(
    "content", [SVM_TEXT, csv_text().encode(), gzip.compress(SVM_TEXT, mtime=0), PARQUET]
)
def test_standard_input(monkeypatch, content):
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    with open(reader) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        table = read("-")
    assert table.X.shape in ((4, 4), (3, 3))


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        DataFile(str(tmp_path / "none"))
    with pytest.raises(IsADirectoryError):
        DataFile(str(tmp_path))


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "parquet", "libsvm"])
def test_batches_are_the_whole(write, small_batches, kind):
    X, labels = random_table()
    if kind == "libsvm":
        codes = {"u": "+1", "v": "2.0", "w": "-1"}
        labels = [codes[label] for label in labels]
        lines = [
            f"{label} " + " ".join(f"{j + 1}:{value!r}" for j, value in enumerate(row))
            for label, row in zip(labels, X.tolist(), strict=True)
        ]
        path = write("\n".join(lines))
    elif kind == "csv":
        rows = [",".join(map(repr, row)) for row in X.tolist()]
        lines = [f"{row},{label}" for row, label in zip(rows, labels, strict=True)]
        path = write("\n".join(["a,b,c,y", *lines]), "a.csv")
    else:
        columns = dict(zip("abc", X.T, strict=True))
        path = write(parquet_bytes(columns | {"y": labels}))
    table = read(path)
    batches = stream(path, table.layout)
    assert len(batches) > 10
    if kind == "libsvm":
        whole = scipy.sparse.vstack([batch.X for batch in batches])
        assert_array_equal(whole.toarray(), table.X.toarray())
        assert_array_equal(table.X.toarray(), X.astype(np.float32))
        numbers = np.concatenate([batch.labels.numbers() for batch in batches])
        assert_array_equal(numbers, table.labels.numbers())
    else:
        assert_array_equal(np.concatenate([batch.X for batch in batches]), X)
        assert_array_equal(table.X, X)
        assert [name for batch in batches for name in spelled(batch.labels)] == labels
    assert spelled(table.labels) == labels
    assert all(batch.labels is None for batch in stream(path, table.layout, labels=False))


KINDS = ["rows.txt", "rows.csv", "rows.parquet"]


def many(kind):
    """3,000 rows of two features."""
    if kind == "rows.parquet":
        return parquet_bytes({"a": np.arange(3000.0), "b": np.arange(3000.0)})
    row = "1 1:1 2:0.5\n" if kind == "rows.txt" else "0.5,1\n"
    return (row * 3000).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_vanishes_is_read_to_its_end(write, small_batches, kind):
    path = write(many(kind), kind)
    with DataFile(path) as file:
        batches = file.batches(Layout(2))
        n_rows = next(batches).X.shape[0]
        os.unlink(path)
        assert n_rows < 3000
        assert n_rows + sum(batch.X.shape[0] for batch in batches) == 3000


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_becomes_shorter_is_refused(write, small_batches, kind):
    path = write(many(kind), kind)
    with DataFile(path) as file:
        batches = file.batches(Layout(2), n_jobs=1)
        next(batches)
        os.truncate(path, os.path.getsize(path) // 2)
        with pytest.raises(ValueError, match=f"{kind} (became shorter|is damaged)"):
            list(batches)


# --- mutations ------------------------------------------------------------------------------------


def mutated(random, content):
    """Flip, cut, double, insert or extend bytes."""
    content = bytearray(content)
    for _ in range(random.integers(1, 4)):
        at = int(random.integers(len(content) + 1))
        size = int(random.integers(1, 20))
        match random.integers(5):
            case 0:
                content[at : at + 1] = bytes([random.integers(256)])
            case 1:
                del content[at:]
            case 2:
                del content[at : at + size]
            case 3:
                content[at:at] = random.bytes(size)
            case 4:
                content[at:at] = content[at : at + size]
    return bytes(content)


def many_rows():
    X, labels = random_table(40)
    rows = [",".join(f"{value:.4g}" for value in row) for row in X.tolist()]
    table = "\n".join(["a,b,c,y", *map(",".join, zip(rows, labels, strict=True))])
    text = [
        f"{'+1' if row[0] > 0 else '-1'} " + " ".join(f"{j + 1}:{v:.4g}" for j, v in enumerate(row))
        for row in X.tolist()
    ]
    columns = dict(zip("abc", X.T, strict=True)) | {"y": labels}
    return {
        "libsvm": "\n".join(text).encode(),
        "csv": table.encode(),
        "tsv": table.replace(",", "\t").encode(),
        "parquet": parquet_bytes(columns),
        "gz": gzip.compress(table.encode(), mtime=0),
    }


def attempt(path):
    try:
        return read(path), None
    except ValueError as error:
        return None, str(error)


@pytest.mark.parametrize("kind", ["libsvm", "csv", "tsv", "parquet", "gz"])
def test_mutated_files_give_an_error_or_valid_rows(write, kind):
    """Batches agree with the whole table on the number of rows."""
    content = many_rows()[kind]
    n_read = 0
    for seed in range(200):
        random = np.random.default_rng([seed, len(kind)])
        path = write(mutated(random, content), f"data.{kind}")
        table, reason = attempt(path)
        if table is None:
            assert path in reason
            continue
        n_read += 1
        n_rows = table.X.shape[0]
        assert len(table.labels.codes) == n_rows
        values = table.X.data if scipy.sparse.issparse(table.X) else table.X
        assert np.isfinite(np.asarray(values, dtype=np.float64)).all()
        assert all(table.labels.names)
        batches = stream(path, table.layout)
        assert sum(batch.X.shape[0] for batch in batches) == n_rows
    assert n_read >= (0 if kind == "gz" else 5)


# --- memory ---------------------------------------------------------------------------------------


# Peak memory of the process itself; getrusage would start from that of its parent.
PREDICT = """
import re, sys
from pathlib import Path
from pocketsvm.cli.app import run
code = run(["predict", *sys.argv[1:], "-o", "/dev/null", "-q", "--n-jobs", "1"])
status = Path("/proc/self/status").read_text()
print(code, int(re.search("VmHWM: *(.*) kB", status.replace("\\t", " "))[1]) // 1024)
"""


def write_rows(path, X, times):
    """Write the same rows many times; a Parquet file has them in one row group."""
    if path.suffix == ".parquet":
        columns = {f"f{j}": np.tile(column, times) for j, column in enumerate(X.T)}
        n_rows = len(X) * times
        pq.write_table(pa.table(columns), path, row_group_size=n_rows, use_dictionary=False)
        return
    if path.suffix == ".csv":
        lines = [",".join(map(repr, row)) for row in X.tolist()]
    else:
        texts = ([f"{j}:{value!r}" for j, value in enumerate(row, 1)] for row in X.tolist())
        lines = ["1 " + " ".join(row) for row in texts]
    text = "\n".join(lines) + "\n"
    with path.open("w") as file:
        for _ in range(times):
            file.write(text)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize(
    ("ending", "small", "large"), [("libsvm", 20, 50), ("csv", 20, 50), ("parquet", 60, 120)]
)
def test_memory_of_predict_does_not_grow_with_the_file(tmp_path, ending, small, large):
    """Peak memory does not depend on the size of the file."""
    X = np.random.default_rng(0).normal(size=(5000, 20))
    model = tmp_path / "m.psvm"
    save_model(BudgetedSVC(2, gamma=0.1, max_iter=1, random_state=0).fit(X, X[:, 0] > 0), model)

    def peak(times):
        path = tmp_path / f"{times}.{ending}"
        write_rows(path, X, times)
        command = [sys.executable, "-c", PREDICT, str(model), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        path.unlink()
        code, megabytes = map(int, done.stdout.split())
        assert code == 0, done.stderr
        return megabytes

    assert peak(large) - peak(small) < 15  # the file grows by at least 45 MB
