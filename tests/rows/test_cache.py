"""LIBSVM text as a data set: the cache of its parsed batches."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import load_svmlight, open_dataset
from pocketsvm.files import chunks, svmlight

RANDOM = np.random.default_rng(0)
HELD = 2.0**30 + 128 * RANDOM.integers(0, 9, 300)  # by float32
OFFSET = 2.0**30 + np.round(RANDOM.uniform(0, 100, 300), 2)
COLUMNS = {
    "decimals": (np.round(RANDOM.normal(size=600), 2), np.float32),
    "an offset": (OFFSET, np.float64),
    "an offset after numbers that float32 holds": (np.append(HELD, OFFSET), np.float64),
    "an offset before numbers that float32 holds": (np.append(OFFSET, HELD), np.float64),
    "an offset that is constant in each batch": (2.0**30 + np.repeat([1, 90], 300), np.float64),
    "an offset, and far numbers": (np.append(OFFSET, RANDOM.normal(size=300)), np.float32),
    "a constant before decimals": (np.repeat([0.1, 0.2], 300), np.float32),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("files", [1, 2])
def test_all_batches_have_the_precision_of_the_whole_text(name, files, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 2000)
    monkeypatch.setattr(svmlight, "BATCH_CHUNKS", 1)
    column, dtype = COLUMNS[name]
    paths = [tmp_path / f"{k}.txt" for k in range(files)]
    for path, part in zip(paths, np.array_split(column, files), strict=True):
        path.write_text("".join(f"1 1:{v!r} 2:1\n" for v in part.tolist()))
    batches = [X for X, _, _ in open_dataset(paths).batches()]
    assert len(batches) > 3
    assert {X.dtype for X in batches} == {np.dtype(dtype)}
    found = np.concatenate([X.toarray()[:, 0] for X in batches])
    assert np.abs(found - column).max() <= 1e-6 * np.ptp(column)
    whole = load_svmlight(paths)[::2]
    assert {X.dtype for X in whole} == {np.dtype(dtype)}
    assert_array_equal(found, np.concatenate([X.toarray()[:, 0] for X in whole]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_precision_may_be_given(dtype, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 1:1700000001\n-1 1:1700000002\n")
    ((X, _, _),) = open_dataset(path, dtype=dtype).batches()
    assert_array_equal(X.toarray(), np.array([[1700000001], [1700000002]], dtype=dtype))


@pytest.mark.parametrize(
    ("text", "rows"), [("1 0:5\n-1 0:3\n", [[5], [3]]), ("1\n-1\n", [[0], [0]])]
)
def test_text_of_one_feature_or_none(text, rows, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text(text)
    ((X, y, _),) = open_dataset(path, format="libsvm").batches()
    assert_array_equal(X.toarray(), rows)
    assert_array_equal(y, [1, -1])
