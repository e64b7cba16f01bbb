"""The files of a data set: how they are found, checked and split."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from paper_data import ENDINGS, TEST, TRAIN, write

from pocketsvm.paper.datasets.files import File, Source, cache_folder, find
from pocketsvm.paper.datasets.registry import named


def test_files_are_looked_for_in_the_data_folder_then_in_the_cache(cache, tmp_path, monkeypatch):
    assert find("small") is None
    write(cache, "small", TRAIN, ".xz")
    assert find("small") == cache / "small.xz"
    monkeypatch.setenv("POCKETSVM_DATA", str(tmp_path / "data"))
    assert find("small") == cache / "small.xz"
    write(tmp_path / "data", "small", TRAIN, ".bz2")
    assert find("small") == tmp_path / "data" / "small.bz2"
    assert find("small", tmp_path) == cache / "small.xz"


def test_the_cache_folder_is_poochs(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == pooch.os_cache("pocketsvm")


@ENDINGS
def test_all_traps_of_the_format_load(ending, cache, small):
    write(cache, "small", TRAIN, ending)
    write(cache, "small.t", TEST, ending)
    source, split = named("small").load()
    rows = [[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 0, 1, 0], [-3.5, 0, 0, 1]]
    assert_array_equal(split.X.toarray(), np.array(rows, np.float32), strict=True)
    assert_array_equal(split.y, [-1, 1, 1, -1])
    assert_array_equal(split.X_test.toarray(), [[1, 0, 0, 0], [0, 2, 0, 0]])
    assert_array_equal(split.y_test, [1, -1])
    assert source.description == "Made for a test."


def test_one_file_is_split_at_random_class_by_class_or_where_it_says(cache):
    text = b"".join(b"%d 1:%d\n" % (i % 4 == 0, i + 1) for i in range(40))
    write(cache, "one", text)
    file = File("one", 40, 1)
    split = Source("ONE", (file,), "One.").read([cache / "one"])
    assert split.X.shape == (30, 1)
    assert split.X_test.shape == (10, 1)
    assert abs(np.mean(split.y == 1) - 0.25) < 0.04
    values = np.concatenate([split.X.toarray(), split.X_test.toarray()]).ravel()
    assert_array_equal(np.sort(values), np.arange(1, 41))
    split = Source("ONE", (file,), "One.", n_train=36).read([cache / "one"])
    assert_array_equal(split.X.toarray().ravel(), np.arange(1, 37))
    assert_array_equal(split.X_test.toarray().ravel(), np.arange(37, 41))
