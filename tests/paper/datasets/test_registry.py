"""The paper's data sets and published figures."""

import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from paper_data import TEST, TRAIN, a_file, small_source, write

from pocketsvm.paper.datasets.files import Source
from pocketsvm.paper.datasets.registry import DATA_SETS, DataSet, named


def test_the_six_are_those_of_the_paper():
    assert [d.name for d in DATA_SETS] == ["SUSY", "SKIN", "IJCNN", "ADULT", "WEB", "PHISHING"]
    for data_set in DATA_SETS:
        published = data_set.published
        assert tuple(published.accuracy) == tuple(published.time_saved) == data_set.budgets
        assert all(len(line) == 4 for line in published.accuracy.values())
        assert data_set.passes == (1 if data_set.name == "SUSY" else 20)
        own = data_set.sources[0]
        assert own.files[0].n_features == published.n_features
        if len(own.files) == 2 or own.n_train:
            assert (own.n_train or own.files[0].n_rows) == published.n_rows
        assert all(source.description.endswith(".") for source in data_set.sources)


def test_published_figures_are_the_papers():
    printed = {data_set.name: data_set.published for data_set in DATA_SETS}
    assert printed["SKIN"].accuracy[200]["lookup-wd"] == pytest.approx((99.75, 0.09), abs=0.005)
    assert printed["IJCNN"].accuracy[100]["gss"] == pytest.approx((96.81, 0.34), abs=0.005)
    assert printed["WEB"].time_saved[500] == pytest.approx(
        {"lookup-h": 7.5, "lookup-wd": 0.5}, abs=0.05
    )
    assert printed["SUSY"].merge_frequency == 43
    assert printed["PHISHING"].factor == {"gss": 1.00055, "lookup-wd": 1.00008}
    assert [p.exact_accuracy for p in printed.values()] == [
        79.79,
        99.96,
        98.77,
        84.82,
        98.81,
        97.55,
    ]


def test_the_papers_own_source_comes_before_its_stand_in(cache):
    own, stand_in = small_source(), Source("OTHER", (a_file("other", TEST + TEST, 4),), "Other.")
    data_set = DataSet("X", 1, 1, (2, 3), 1, (own, stand_in), named("SUSY").published)
    write(cache, "other", TEST + TEST)
    write(cache, "small", TRAIN)
    assert data_set.find() == (stand_in, [cache / "other"])  # half of the own one is none
    write(cache, "small.t", TEST)
    assert data_set.find() == (own, [cache / "small", cache / "small.t"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TRAIN + b"\n1 1:1", "has 5 rows and 4 features, not 4 and 4"),
        (TRAIN.replace(b"4:", b"5:"), "has 4 rows and 5 features, not 4 and 4"),
        (TRAIN.replace(b"4:", b"3:"), "has 4 rows and 3 features, not 4 and 4"),
        (TRAIN.replace(b"-3.5", b"-3.4"), "the SHA-256 of its text is"),
        (b"<html>not found</html>", "line 1, column 1"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(text, message, cache):
    write(cache, "small", text)
    with pytest.raises(ValueError, match=message):
        a_file("small", TRAIN, 4).read(cache / "small")


def test_where_the_digest_is_not_the_only_one_rows_and_features_are_checked(cache):
    write(cache, "small", TRAIN.replace(b"-3.5", b"-3.50"))
    file = a_file("small", TRAIN, 4, one_text=False)
    assert file.check(cache / "small") == "rows and features"
    write(cache, "small", TRAIN)
    assert file.check(cache / "small") == "SHA-256"


def test_what_is_missing_or_unknown_is_named(cache):
    with pytest.raises(FileNotFoundError, match=r"WEB is missing: no w6a with w6a.t or w8a with"):
        named("web").load()
    with pytest.raises(ValueError, match=r"no data set 'MNIST'; there are SUSY, SKIN"):
        named("MNIST")


@pytest.mark.skipif("POCKETSVM_DATA" not in os.environ, reason="POCKETSVM_DATA is not set")
@pytest.mark.parametrize("data_set", DATA_SETS, ids=lambda d: d.name)
def test_the_real_files_load(data_set):
    if data_set.find() is None:
        pytest.skip(f"{data_set.name} is not in $POCKETSVM_DATA")
    source, split = data_set.load()
    n_features = data_set.published.n_features
    for X, y in ((split.X, split.y), (split.X_test, split.y_test)):
        assert X.format == "csr"
        assert X.dtype == np.float32
        assert X.shape == (len(y), n_features)
        assert_array_equal(np.unique(y), [-1, 1])
    assert len(split.y) + len(split.y_test) == sum(f.n_rows for f in source.files)
