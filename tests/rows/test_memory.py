"""Rows in memory as a source: chunks of them, and memory maps."""

import numpy as np
import pytest
from models import checked_rows
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification

from pocketsvm import BudgetedOneClassSVM, BudgetedSVC, BudgetedSVR
from pocketsvm.rows import memory
from pocketsvm.rows.chunk import Needs
from pocketsvm.rows.memory import InMemory


@pytest.fixture
def mapped(tmp_path):
    """Return more rows than the passes see, in memory and as a memory map, and their labels."""
    X, y = make_classification(3000, 4, n_informative=3, n_redundant=0, random_state=0)
    np.save(tmp_path / "X.npy", X)
    return X, np.load(tmp_path / "X.npy", mmap_mode="r"), y


def chunks_of(source, **needs):
    return list(source.in_chunks(Needs(**needs)).read())


def test_chunks_hold_all_rows(monkeypatch):
    monkeypatch.setattr(memory, "ROWS_AT_ONCE", 7)
    X, y, weight = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30), np.ones(30)
    found = chunks_of(InMemory(checked_rows(X), y, weight))
    assert [chunk.n_rows for chunk in found] == [7, 7, 7, 7, 2]
    assert_array_equal(np.concatenate([chunk.X for chunk in found]), X)
    assert_array_equal(np.concatenate([chunk.y for chunk in found]), y)
    assert_array_equal(np.concatenate([chunk.weight for chunk in found]), weight)


def test_one_weight_is_that_of_all_rows():
    (chunk,) = chunks_of(InMemory(checked_rows(np.ones((5, 1))), np.arange(5), 2.0))
    assert_array_equal(chunk.weight, np.full(5, 2.0))


@pytest.mark.parametrize("qid", [[5, 5, 2, 2, 9], ["b", "b", "a", "a", "c"], None])
def test_contiguous_queries_stay_in_their_order(qid, monkeypatch):
    monkeypatch.setattr(memory, "ROWS_AT_ONCE", 2)
    rows = checked_rows(np.arange(5.0)[:, None])
    (chunk,) = chunks_of(InMemory(rows, np.arange(5), None, qid), queries=True)
    assert_array_equal(chunk.X[:, 0], range(5))
    assert_array_equal(chunk.qid, np.zeros(5) if qid is None else qid)


def test_mixed_queries_are_sorted():
    rows, weight = checked_rows(np.arange(6.0)[:, None]), np.repeat([[1.0, 2.0]], 3, axis=0).ravel()
    source = InMemory(rows, np.arange(6), weight, [[7], [2], [7], [2], [7], [2]])
    (chunk,) = chunks_of(source, queries=True)
    assert_array_equal(chunk.X[:, 0], [1, 3, 5, 0, 2, 4])
    assert_array_equal(chunk.y, [1, 3, 5, 0, 2, 4])
    assert_array_equal(chunk.weight, [2, 2, 2, 1, 1, 1])
    assert_array_equal(chunk.qid, [2, 2, 2, 7, 7, 7])


def test_only_memory_maps_are_maps(mapped):
    X, on_disk, y = mapped
    for rows, is_map in (
        (X, False),
        (on_disk, True),
        (on_disk[10:], True),
        (np.asarray(on_disk), True),
        (on_disk[np.arange(2500)], False),  # a copy, as scikit-learn makes for folds
        (np.array(on_disk), False),
    ):
        assert InMemory(checked_rows(rows), y).is_map == is_map


@pytest.mark.parametrize(
    "machine", [BudgetedSVC(4, random_state=0), BudgetedSVR(4), BudgetedOneClassSVM(4)]
)
def test_memory_maps_are_fitted_without_the_solver_and_in_streams(machine, mapped):
    X, on_disk, y = mapped
    options = {"classes": [0, 1]} if isinstance(machine, BudgetedSVC) else {}
    machine.set_params(polish=False, max_iter=2, random_state=0)
    for method, more in (("fit", {}), ("partial_fit", options)):
        found, expected = (getattr(machine, method)(rows, y, **more) for rows in (on_disk, X))
        assert_array_equal(found.support_vectors_, expected.support_vectors_)
        assert_array_equal(found.dual_coef_, expected.dual_coef_)


def test_memory_maps_leave_out_classes_without_weight(mapped):
    X, on_disk, y = mapped
    labels = np.where(X[:, 0] > 1, 7, y)
    weights = {7: 0.0, 0: 2.0}
    found, expected = (
        BudgetedSVC(4, class_weight=weights, random_state=0).fit(rows, labels)
        for rows in (on_disk, X)
    )
    assert_array_equal(found.classes_, expected.classes_)
    assert found.score(X, labels) == pytest.approx(expected.score(X, labels), abs=0.05)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(3000, -1.0), "Negative values in data passed to `sample_weight`"),
        (np.full(3000, np.nan), "Input sample_weight contains NaN"),
        (np.ones(2999), r"sample_weight.shape == \(2999,\), expected \(3000,\)"),
    ],
)
def test_bad_weights_of_memory_maps_are_refused(weight, message, mapped):
    _, on_disk, y = mapped
    with pytest.raises(ValueError, match=message):
        BudgetedSVC(4, random_state=0).fit(on_disk, y, weight)
