"""The rows of a stream in a model file: training resumes as if nothing had happened."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from model_files import (
    assert_equal,
    closed,
    entry,
    numbers,
    opened,
    refused,
    refused_after,
    remove,
    round_trip,
    value,
)
from models import assert_same_model
from sklearn.preprocessing import StandardScaler

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model, open_dataset

STREAM = {"gamma": 0.5, "alpha": 1e-3, "random_state": 0, "reservoir": 300}


def batches(n=6, size=200):
    random = np.random.default_rng(0)
    for _ in range(n):
        X = random.normal(size=(size, 3))
        yield X, (np.sin(2 * X[:, 0]) > X[:, 1]).astype(int), random.uniform(0, 2, size).round()


def feed(model, rows):
    for X, y, weight in rows:
        more = {"classes": [0, 1]} if isinstance(model, BudgetedSVC) else {}
        model.partial_fit(X, y, sample_weight=weight, **more)
    return model


def sparse(rows):
    for X, y, weight in rows:
        yield sp.csr_array(np.where(X > 0, X, 0)), y, weight


def single(rows):
    for X, y, _ in rows:
        yield X.astype(np.float32), y, None


def dense(model):
    """Return the rows that a model has kept, with dense rows."""
    found = model._reservoir
    X = found.rows.X.toarray() if sp.issparse(found.rows.X) else found.rows.X
    return replace(found, rows=replace(found.rows, X=X, y=found.rows.y.astype(float)))


def targets(rows):
    for X, _, weight in rows:
        yield X, X[:, :2] ** 2, weight


@pytest.mark.parametrize("half_life", [None, 400.0])
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (BudgetedSVC, iter),
        (BudgetedSVC, sparse),
        (BudgetedSVC, single),
        (BudgetedSVR, iter),
        (BudgetedSVR, targets),
    ],
)
def test_a_stream_goes_on_from_a_file(tmp_path, kind, change, half_life):
    rows = list(change(batches()))
    model = feed(kind(12, half_life=half_life, **STREAM), rows[:4])
    twin = round_trip(model, tmp_path / "model.psvm")
    assert_equal(dense(twin), dense(model))
    for each in (model, twin):
        feed(each, rows[4:]).polish_stream()
    assert_same_model(model, twin)
    assert_equal(dense(twin), dense(model))


def test_labels_may_be_texts(tmp_path):
    model = BudgetedSVC(12, **STREAM)
    for X, y, _ in batches():
        model.partial_fit(X, np.array(["no", "maybe"])[y], classes=["maybe", "no"])
    twin = round_trip(model, tmp_path / "model.psvm")
    assert_equal(twin._reservoir, model._reservoir)
    assert_same_model(twin.polish_stream(), model.polish_stream())


def test_rows_are_kept_as_the_kernel_sees_them(tmp_path):
    """A model with a scaler comes back as a pipeline, whose machine gets scaled rows."""
    X, y, _ = next(batches(size=1000))
    np.save(tmp_path / "rows.npy", np.column_stack([100 * X, y]))
    rows = open_dataset(tmp_path / "rows.npy", scaler=StandardScaler())
    model = BudgetedSVC(12, warm_start=True, **STREAM).fit(rows)
    model._reservoir = feed(BudgetedSVC(12, **STREAM), [(100 * X, y, None)])._reservoir
    twin = round_trip(model, tmp_path / "model.psvm")
    scaled = model.scaler_.transform(model._reservoir.rows.X)
    assert_equal(twin[-1]._reservoir.rows.X, scaled)


def test_a_model_without_rows_has_no_section(tmp_path):
    model = BudgetedSVC(12, **STREAM | {"reservoir": None})
    feed(model, batches(1)).save(tmp_path / "model.psvm")
    assert "reservoir" not in opened(tmp_path / "model.psvm")[0]["sections"]
    assert load_model(tmp_path / "model.psvm")._reservoir is None


def test_a_reader_that_ignores_the_rows_gets_the_same_model(tmp_path):
    path = tmp_path / "model.psvm"
    model = feed(BudgetedSVC(12, **STREAM), batches())
    model.save(path)
    header, data = opened(path)
    section = header["sections"].pop("reservoir")
    assert section["required"] is False
    for name in [name for name in data if name.startswith("reservoir.")]:
        remove(header, data, name)
    path.write_bytes(closed(header, data))
    found = load_model(path)
    assert_same_model(found, model)
    with pytest.raises(ValueError, match="no rows to polish on"):
        found.polish_stream()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (value("reservoir", "seed", to=-1), "seed of its reservoir is out of range"),
        (value("reservoir", "seed", to=2**64), "seed of its reservoir is out of range"),
        (value("reservoir", "seed", to="1"), "'seed' is"),
        (value("reservoir", "n_seen", to=2**62 + 1), "rows of its stream is out of range"),
        (value("reservoir", "n_seen", to=7), "rows that it has not seen"),
        (value("reservoir", "dropped", to="x"), "'dropped' is"),
        (numbers("reservoir.positions", 5, -1, "int64"), "positions .* do not increase"),
        (numbers("reservoir.priorities", 5, np.nan, "float64"), "not finite"),
        (numbers("reservoir.codes", 5, 2, "int32"), "an unknown class"),
        (numbers("reservoir.weight", 5, 0.0, "float64"), "has no weight"),
        (numbers("reservoir.rows", 5, np.inf, "float64"), "not finite"),
        (entry("reservoir.rows", shape=[150, 6]), "'reservoir.rows' is float64 of shape"),
        (entry("reservoir.codes", dtype="uint32"), "'reservoir.codes' is uint32"),
        (lambda header, data: remove(header, data, "reservoir.codes"), "'reservoir.codes' is none"),
        (lambda header, data: remove(header, data, "reservoir.positions"), "lacks the array"),
        (lambda header, data: header["sections"].pop("reservoir"), "but none is expected"),
    ],
)
def test_damaged_sections_are_refused(tmp_path, change, reason):
    saved = tmp_path / "saved.psvm"
    feed(BudgetedSVC(12, **STREAM), batches()).save(saved)
    refused_after(change, saved, tmp_path / "changed.psvm", reason)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (numbers("reservoir.indices", 5, 3, "int64"), "an unknown feature"),
        (numbers("reservoir.indices", 5, -1, "int64"), "an unknown feature"),
        (numbers("reservoir.ends", 5, 2**40, "int64"), "do not fit their ends"),
        (numbers("reservoir.ends", -1, 0, "int64"), "do not fit their ends"),
        (numbers("reservoir.data", 5, np.inf, "float64"), "not finite"),
    ],
)
def test_damaged_sparse_rows_are_refused(tmp_path, change, reason):
    saved = tmp_path / "saved.psvm"
    feed(BudgetedSVC(12, **STREAM), sparse(batches())).save(saved)
    refused_after(change, saved, tmp_path / "changed.psvm", reason)


def test_labels_take_memory_for_each_row(tmp_path):
    """A small file must not claim labels that are long for every row."""
    path = tmp_path / "model.psvm"
    model = BudgetedSVC(12, **STREAM)
    for X, y, _ in batches():
        model.partial_fit(X, np.array(["no", "yes"])[y], classes=["no", "yes"])
    model.save(path)
    header, data = opened(path)
    header["sections"]["classes"]["width"] = 10**7
    refused(path, closed(header, data), "bytes more in memory")
