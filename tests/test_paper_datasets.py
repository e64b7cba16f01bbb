"""The paper's data sets: what is known of them, how they load, how they are downloaded."""

import bz2
import gc
import gzip
import hashlib
import json
import lzma
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC
from pocketsvm.cli import data as command
from pocketsvm.cli.app import run
from pocketsvm.experiments.paper import datasets
from pocketsvm.experiments.paper.datasets import (
    DATA_SETS,
    DataSet,
    File,
    Source,
    load,
    named,
    susy_like,
)
from pocketsvm.experiments.paper.download import fetch

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENDINGS = pytest.mark.parametrize("ending", PACKERS)

# A label without features, trailing blanks, -1.0 beside -1, zeros written out, CRLF line ends, no
# last newline; the test part lacks the last feature.
TRAIN = b"-1.0 1:0.5 2:0.0 4:2 \n+1\n1 3:1\r\n-1 1:-3.5 4:1"
TEST = b"+1 1:1 \n-1 2:2\n"


def a_file(name, text, n_rows, *, all_features=True, **changes):
    digest = hashlib.sha256(text).hexdigest()
    return File(name, n_rows, 4, digest, all_features=all_features, **changes)


def small_source(ending=""):
    files = (
        a_file("small", TRAIN, 4, ending=ending),
        a_file("small.t", TEST, 2, ending=ending, all_features=False),
    )
    return Source("SMALL", files, "A made one.")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache folder, and no other one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("POCKETSVM_DATA", raising=False)
    return datasets.cache_folder()


@pytest.fixture
def small(monkeypatch):
    """The only data set there is."""
    source = small_source()
    data_set = DataSet("SMALL", 1, 1, (2, 3), 1, (source,), named("SUSY").published)
    monkeypatch.setattr(datasets, "DATA_SETS", (data_set,))
    monkeypatch.setattr(command, "DATA_SETS", (data_set,))
    return data_set


def write(folder, name, text, ending=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ending)).write_bytes(PACKERS[ending](text))


# --- the registry --------------------------------------------------------------------------------


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
        assert all(source.says.endswith(".") for source in data_set.sources)


def test_files_are_looked_for_in_the_data_folder_then_in_the_cache(cache, tmp_path, monkeypatch):
    assert datasets.find("small") is None
    write(cache, "small", TRAIN, ".xz")
    assert datasets.find("small") == cache / "small.xz"
    monkeypatch.setenv("POCKETSVM_DATA", str(tmp_path / "data"))
    assert datasets.find("small") == cache / "small.xz"
    write(tmp_path / "data", "small", TRAIN, ".bz2")
    assert datasets.find("small") == tmp_path / "data" / "small.bz2"
    assert datasets.find("small", tmp_path) == cache / "small.xz"


def test_the_cache_folder_is_poochs(monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert datasets.cache_folder() == pooch.os_cache("pocketsvm")


@ENDINGS
def test_all_traps_of_the_format_load(ending, cache, small):
    write(cache, "small", TRAIN, ending)
    write(cache, "small.t", TEST, ending)
    split = load("small")
    rows = [[0.5, 0, 0, 2], [0, 0, 0, 0], [0, 0, 1, 0], [-3.5, 0, 0, 1]]
    assert_array_equal(split.X_train.toarray(), np.array(rows, np.float32), strict=True)
    assert_array_equal(split.y_train, [-1, 1, 1, -1])
    assert_array_equal(split.X_test.toarray(), [[1, 0, 0, 0], [0, 2, 0, 0]])
    assert_array_equal(split.y_test, [1, -1])
    assert split.source.says == "A made one."


def test_the_papers_own_source_comes_before_its_stand_in(cache):
    own, stand_in = small_source(), Source("OTHER", (a_file("other", TEST + TEST, 4),), "Other.")
    data_set = DataSet("X", 1, 1, (2, 3), 1, (own, stand_in), named("SUSY").published)
    write(cache, "other", TEST + TEST)
    write(cache, "small", TRAIN)
    assert data_set.find() == (stand_in, [cache / "other"])  # half of the own one is none
    write(cache, "small.t", TEST)
    assert data_set.find() == (own, [cache / "small", cache / "small.t"])


def test_one_file_is_split_at_random_class_by_class_or_where_it_says(cache):
    text = b"".join(b"%d 1:%d\n" % (i % 4 == 0, i + 1) for i in range(40))
    write(cache, "one", text)
    file = File("one", 40, 1)
    split = Source("ONE", (file,), "One.").read([cache / "one"])
    assert split.X_train.shape == (30, 1)
    assert split.X_test.shape == (10, 1)
    assert abs(np.mean(split.y_train == 1) - 0.25) < 0.04
    values = np.concatenate([split.X_train.toarray(), split.X_test.toarray()]).ravel()
    assert_array_equal(np.sort(values), np.arange(1, 41))
    split = Source("ONE", (file,), "One.", n_train=36).read([cache / "one"])
    assert_array_equal(split.X_train.toarray().ravel(), np.arange(1, 37))
    assert_array_equal(split.X_test.toarray().ravel(), np.arange(37, 41))


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
    with pytest.raises(FileNotFoundError, match=r"WEB is not there: no w6a with w6a.t or w8a with"):
        load("web")
    with pytest.raises(ValueError, match=r"no data set 'MNIST'; there are SUSY, SKIN"):
        load("MNIST")


@pytest.mark.skipif("POCKETSVM_DATA" not in os.environ, reason="POCKETSVM_DATA is not set")
@pytest.mark.parametrize("data_set", DATA_SETS, ids=lambda d: d.name)
def test_the_real_files_load(data_set):
    if data_set.find() is None:
        pytest.skip(f"{data_set.name} is not in $POCKETSVM_DATA")
    split = data_set.load()
    n_features = data_set.published.n_features
    for X, y in ((split.X_train, split.y_train), (split.X_test, split.y_test)):
        assert X.format == "csr"
        assert X.dtype == np.float32
        assert X.shape == (len(y), n_features)
        assert_array_equal(np.unique(y), [-1, 1])
    assert len(split.y_train) + len(split.y_test) == sum(f.n_rows for f in split.source.files)


# --- rows like SUSY's ----------------------------------------------------------------------------


def test_generated_rows_follow_from_their_seed_and_merge_as_often_as_the_papers():
    X, y = susy_like(500_000)
    assert X.dtype == np.float32
    assert X.shape == (500_000, 18)
    again, labels = susy_like(20_000)
    assert_array_equal(again, X[:20_000])
    assert_array_equal(labels, y[:20_000])
    assert not np.array_equal(susy_like(10, seed=1)[0], X[:10])
    susy = named("SUSY")
    model = BudgetedSVC(
        100, susy.C, gamma=susy.gamma, max_iter=1, polish=False, fit_intercept=False, random_state=0
    )
    frequency = model.fit(X, y).profile_.merge_frequency
    assert frequency == pytest.approx(susy.published.merge_frequency / 100, abs=0.02)


# --- downloads -----------------------------------------------------------------------------------


@pytest.fixture
def server():
    """A web server of what is in its `texts`; those in `lost` break off half-way."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            text = self.server.texts.get(self.path.removeprefix("/data/"))
            if text is None:
                self.send_error(404)
                return
            self.server.served.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            lost = self.path.removeprefix("/data/") in self.server.lost
            self.wfile.write(text[: len(text) // 2] if lost else text)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.texts, server.lost, server.served = {}, set(), []
    server.page = f"http://127.0.0.1:{server.server_port}/data"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
    gc.collect()  # pooch leaves the connections of failed downloads to it


def serve(server, ending=""):
    server.texts = {
        "small" + ending: PACKERS[ending](TRAIN),
        "small.t" + ending: PACKERS[ending](TEST),
    }


def left_in(folder):
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


@ENDINGS
def test_a_download_is_checked_and_kept(ending, server, cache):
    serve(server, ending)
    source = small_source(ending)
    paths = fetch(source, page=server.page)
    assert paths == [cache / ("small" + ending), cache / ("small.t" + ending)]
    assert left_in(cache) == sorted(path.name for path in paths)
    assert source.read(paths).X_train.shape == (4, 4)
    assert fetch(source, page=server.page) == paths
    assert len(server.served) == 2
    assert fetch(source, page=server.page, force=True) == paths
    assert len(server.served) == 4


BREAKAGES = {
    "missing": (None, OSError, "could not be downloaded: 404"),
    "lost half-way": ("lost", OSError, "could not be downloaded"),
    "another text": (lambda packed: b"1 1:1\n-1 4:1\n", ValueError, "thrown away: what it holds"),
    "damaged": (lambda packed: packed[:20] + b"?!?!" + packed[24:], ValueError, "thrown away"),
    "cut off": (lambda packed: packed[:-9], ValueError, "thrown away"),
    "empty": (lambda packed: b"", ValueError, "thrown away"),
}


@ENDINGS
@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_download_leaves_nothing_behind(breakage, ending, server, cache):
    change, error, message = BREAKAGES[breakage]
    serve(server, ending)
    name = "small.t" + ending  # the second one: the first has been downloaded already
    if change is None:
        del server.texts[name]
    elif change == "lost":
        server.lost.add(name)
    else:
        server.texts[name] = change(server.texts[name])
    with pytest.raises(error, match=message) as caught:
        fetch(small_source(ending), page=server.page)
    assert f"{server.page}/{name}" in str(caught.value)
    assert left_in(cache) == []


def test_a_server_that_is_not_there_is_named(server, cache):
    with pytest.raises(
        OSError, match=r"1/small could not be downloaded: 127.0.0.1 cannot be reached"
    ):
        fetch(small_source(), page="http://127.0.0.1:1/")
    assert left_in(cache) == []


def test_a_download_that_fails_keeps_what_was_there(server, cache):
    serve(server)
    paths = fetch(small_source(), page=server.page)
    server.texts["small"] = b"1 1:1\n"
    with pytest.raises(ValueError, match="thrown away"):
        fetch(small_source(), page=server.page, force=True)
    assert [path.read_bytes() for path in paths] == [TRAIN, TEST]


def test_a_wrong_file_that_is_there_is_reported_and_replaced_by_force(server, cache):
    serve(server)
    write(cache, "small", b"1 1:1\n")
    with pytest.raises(ValueError, match=r"small is not small: .*--force downloads it again"):
        fetch(small_source(), page=server.page)
    fetch(small_source(), page=server.page, force=True)
    assert (cache / "small").read_bytes() == TRAIN


# --- the command ---------------------------------------------------------------------------------


def test_fetch_and_list_on_the_command_line(server, cache, small, capsys):
    serve(server)
    assert run(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["file"], row["path"], row["checked_by"]) for row in rows] == [
        ("small", None, None),
        ("small.t", None, None),
    ]
    assert run(["data", "fetch", "small", "--page", server.page]) == 0
    assert f"small: {cache / 'small'}, checked" in capsys.readouterr().out
    write(cache, "small.t", TEST + b"?")
    assert run(["data", "list", "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [row["checked_by"] for row in rows] == ["SHA-256", None]
    assert "small.t, line 3, column 1" in rows[1]["problem"]
    assert run(["data", "list", "--json", "--no-check"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["checked_by"] or row["problem"] for row in rows] == [None, None]
    assert run(["data", "list"]) == 1
    shown = capsys.readouterr().out
    assert "A made one." in shown
    assert "SHA-256" in shown
    assert "column 1" in " ".join(shown.split())


def test_a_failed_fetch_is_one_message_and_exit_code_1(server, cache, capsys):
    assert run(["data", "fetch", "adult", "--page", server.page]) == 1
    errors = capsys.readouterr().err
    assert errors.count("pocketsvm:") == 1
    assert "a9a could not be downloaded: 404" in errors
    assert run(["data", "fetch", "MNIST"]) == 2
    assert "there is no data set 'MNIST'" in capsys.readouterr().err
    assert left_in(cache) == []
