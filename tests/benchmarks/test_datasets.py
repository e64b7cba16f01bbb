"""Tasks: scores, subsets, the data sets beyond the paper, and generated rows."""

import gzip
import hashlib

import numpy as np
import pytest
from benchmark_tasks import a_task
from numpy.testing import assert_allclose, assert_array_equal

from benchmarks.datasets import functions, hard, tasks, tuned
from benchmarks.datasets.cases import CASES, TEST_ROWS
from benchmarks.datasets.generated import many_classes, sparse_rows
from benchmarks.datasets.paper import available, paper_task
from pocketsvm.paper.datasets.files import File


class Fixed:
    """A model that predicts given values."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def predict(self, X):
        return self.values

    decision_function = predict


@pytest.mark.parametrize(
    ("measure", "y", "predicted", "expected"),
    [
        (tasks.ACCURACY, [0, 0, 0, 1], [0, 0, 0, 0], 75),
        (tasks.BALANCED, [0, 0, 0, 1], [0, 0, 0, 0], 50),
        (tasks.PRECISION, [0, 0, 1, 1], [0.1, 0.3, 0.2, 0.4], 100 * (1 + 2 / 3) / 2),
        (tasks.R2, [1.0, 2.0, 3.0], [1.0, 2.0, 2.0], 50),
    ],
)
def test_scores_are_in_per_cent(measure, y, predicted, expected):
    rows = a_task().rows._replace(y_test=np.array(y))
    task = tasks.Task("", rows, 1.0, 1.0, measure=measure)
    assert task.score(Fixed(predicted)) == pytest.approx(expected)


def test_subsets_keep_settings_and_weights():
    task = a_task()
    weighted = tasks.Task("", task.rows, 1.0, 1.0, sample_weight=task.rows.X[:, 0])
    for part in (weighted.some(30, 20), weighted.held_out(0.25, 0)):
        assert_array_equal(part.sample_weight, part.rows.X[:, 0])
    assert weighted.some(30, 20).rows.X_test.shape == (20, 2)
    held_out = task.held_out(0.25, 0).rows
    together = np.concatenate([held_out.y, held_out.y_test])
    assert_array_equal(np.sort(together), np.sort(task.rows.y))
    assert not np.array_equal(held_out.X, task.held_out(0.25, 1).rows.X)


@pytest.mark.parametrize("values", [False, True])
def test_both_machines_learn_the_task(values):
    task = a_task(values=values)
    for model in (task.exact(), task.budgeted(20, seed=0)):
        assert task.score(task.fit(model)) > 80


# --- files ----------------------------------------------------------------------------------------


def write_set(folder, epsilon):
    files = []
    for name, n_rows in (("waves", 40), ("waves.t", 10)):
        lines = (f"{3 * k} 1:{k} 2:{k % 7}\n" for k in range(1, n_rows + 1))
        text = "".join(lines).encode()
        (folder / name).write_bytes(text)
        files.append(File(name, n_rows, 2, hashlib.sha256(text).hexdigest()))
    return tuned.TunedSet("waves", *files, C=10.0, gamma=4.0, epsilon=epsilon)


def test_columns_and_targets_are_standardised_by_training_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("POCKETSVM_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    task = write_set(tmp_path, epsilon=0.1).load()
    for part in (task.rows.X, task.rows.y):
        assert_allclose(part.mean(axis=0), 0, atol=1e-6)
        assert_allclose(part.std(axis=0), 1, rtol=1e-5)
    assert task.rows.y_test.max() < 0  # the ten test rows are the smallest of the training rows
    assert (task.gamma, task.measure) == (2.0, tasks.R2)
    labelled = write_set(tmp_path, epsilon=None).load()
    assert labelled.rows.y.max() == 120
    (tmp_path / "waves.t").unlink()
    assert write_set(tmp_path, None).load() is not None
    (tmp_path / "waves.t").unlink()
    assert tuned.TunedSet("x", File("none", 1, 1), File("none.t", 1, 1), 1.0, 1.0).load() is None


def test_fashion_mnist_is_read_from_idx_files(tmp_path, monkeypatch):
    monkeypatch.setenv("POCKETSVM_DATA", str(tmp_path))
    monkeypatch.setattr(tuned, "DEBIAN_FOLDER", tmp_path / "debian")
    assert tuned.fashion_mnist() is None
    folder = tmp_path / "debian" / tuned.FASHION
    folder.mkdir(parents=True)
    pixels = np.arange(3 * 784, dtype=np.int64).astype(np.uint8)
    for part in ("train", "t10k"):
        images = gzip.compress(bytes(16) + pixels.tobytes())
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(images)
        labels = gzip.compress(bytes(8) + bytes([9, 0, 4]))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(labels)
    task = tuned.fashion_mnist()
    assert_array_equal(task.rows.y, [9, 0, 4])
    assert_allclose(task.rows.X, pixels.reshape(3, 784) / 255, rtol=1e-6)
    assert task.gamma == pytest.approx(1 / (784 * task.rows.X.var()), rel=1e-5)


def test_the_grid_is_listed_from_its_best_setting(monkeypatch):
    monkeypatch.setattr(tuned, "GRID_C", (1e-3, 10.0))
    monkeypatch.setattr(tuned, "GRID_GAMMA", (1e-3, 4.0))
    for values in (False, True):
        found = list(tuned.choose(a_task(values=values)))
        assert len(found) == 4
        assert found[0][:2] == (10.0, 4.0)
        assert found[0][2] == max(score for *_, score in found) > 0.8


# --- generated rows -------------------------------------------------------------------------------


def test_the_labels_of_a_board_follow_its_cells():
    clean = hard.chequerboard(2_000, side=3)
    X, y, X_test, y_test = clean.rows
    for rows, labels in ((X, y), (X_test, y_test)):
        assert_array_equal(labels, (np.floor(rows[:, 0]) + np.floor(rows[:, 1])) % 2)
        assert 0 <= rows.min() < rows.max() < 3
    noisy = hard.chequerboard(2_000, side=3, flipped=0.1).rows
    assert 0.05 < np.mean(noisy.y != y) < 0.15
    assert_array_equal(noisy.y_test, y_test)


def test_classes_are_rare_or_unequal():
    rare = hard.rare_class(20_000).rows
    assert 10 <= rare.y.sum() <= 40
    sizes = np.bincount(hard.unequal_classes(5_000).rows.y)
    assert len(sizes) == 26
    assert sizes.max() > 50 * sizes.min() > 0


def test_heavy_rows_are_right():
    task = hard.weighted_rows(4_000)
    X, y = task.rows[:2]
    weight = task.sample_weight
    assert weight.max() / weight.min() > 5_000
    wrong = y != X.astype(int).sum(axis=1) % 2
    assert wrong[weight < 0.1].mean() > 0.25
    assert wrong[weight > 10].mean() < 0.1


def test_text_rows_are_sparse_and_of_length_one():
    task = hard.text_rows(300, n_words=500)
    X = task.rows.X
    assert X.shape == (300, 500)
    assert X.dtype == np.float32
    assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1, rtol=1e-5)
    assert task.score(task.fit(task.exact())) > 40  # four classes


def test_only_training_targets_have_heavy_tails():
    rows = hard.heavy_tails(3_000).rows
    assert np.abs(rows.y).max() > 2 * np.abs(rows.y_test).max()


@pytest.mark.parametrize("n_classes", hard.GENERATED_CLASSES)
def test_generated_classes_have_the_shape_of_letter(n_classes):
    rows = hard.letter_like(n_classes).rows
    assert (rows.X.shape, rows.X_test.shape) == ((15_000, 16), (5_000, 16))
    assert len(np.unique(rows.y)) == n_classes


def test_a_row_belongs_to_the_nearest_centre():
    X, y = many_classes(500, 3, 5)
    centres = np.random.default_rng(0).standard_normal((5, 3), dtype=np.float32)
    distances = ((X[:, None] - centres) ** 2).sum(axis=2)
    assert_array_equal(y, distances.argmin(axis=1))


def test_sparse_rows_have_equally_many_non_zeros():
    X, y = sparse_rows(50, 64, 8)
    assert X.shape == (50, 64)
    assert_array_equal(np.diff(X.indptr), 8)
    assert X.has_canonical_format
    assert set(y) == {-1, 1}


@pytest.mark.parametrize("case", ["100 rows", "every row ten times", "scales from 1 to 10,000"])
def test_cases_have_training_and_test_rows(case):
    (X, y), (X_test, y_test) = CASES[case]()
    assert X.shape == (len(y), 20)
    assert X_test.shape == (TEST_ROWS, 20) == (len(y_test), 20)


def test_missing_data_sets_are_skipped(data, capsys):
    (data / "two.t").unlink()
    (one,) = available()
    assert one.label == "ONE"
    assert one.rows.X.shape == (240, 2)
    assert one.setting == {"C": 8, "gamma": 2}
    assert "not in $POCKETSVM_DATA: TWO." in capsys.readouterr().out
    assert available(names=["TWO"]) == []
    assert paper_task("ONE").rows.X.shape == (240, 2)
    assert paper_task("TWO") is None


@pytest.mark.parametrize(
    ("function", "X", "expected"),
    [
        # The published values of the functions at the middle of their ranges.
        (functions._borehole, [[0.1, 25_050, 89_335, 1050, 89.55, 760, 1400, 10_950]], 70.8729),
        (functions._piston, [[45, 0.0125, 0.006, 3000, 100_000, 293, 350]], 0.464394),
        (functions._ishigami, [[np.pi / 2, np.pi / 2, 1.0]], 8.1),
    ],
)
def test_smooth_functions_have_known_values(function, X, expected):
    assert function(np.array(X, dtype=float))[0] == pytest.approx(expected, rel=1e-3)


def test_noise_is_relative_to_the_values():
    X, clean = functions.ishigami(20_000, noise=0.0, random_state=0)
    again, noisy = functions.ishigami(20_000, noise=0.5, random_state=0)
    assert_array_equal(X, again)
    assert np.std(noisy - clean) / np.std(clean) == pytest.approx(0.5, abs=0.02)
