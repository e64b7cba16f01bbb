"""Downloads, and ``pocketsvm data``."""

import gc
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from paper_data import ENDINGS, PACKERS, TEST, TRAIN, small_source, write

from pocketsvm.cli.app import run
from pocketsvm.paper.datasets.download import WrongFileError, fetch

pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


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
    assert source.read(paths).X.shape == (4, 4)
    assert fetch(source, page=server.page) == paths
    assert len(server.served) == 2
    assert fetch(source, page=server.page, force=True) == paths
    assert len(server.served) == 4


BREAKAGES = {
    "missing": (None, OSError, "could not be downloaded: 404"),
    "lost half-way": ("lost", OSError, "could not be downloaded"),
    "another text": (lambda packed: b"1 1:1\n-1 4:1\n", ValueError, "deleted: its content"),
    "damaged": (lambda packed: packed[:20] + b"?!?!" + packed[24:], ValueError, "deleted"),
    "cut off": (lambda packed: packed[:-9], ValueError, "deleted"),
    "empty": (lambda packed: b"", ValueError, "deleted"),
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
    with pytest.raises(ValueError, match="deleted"):
        fetch(small_source(), page=server.page, force=True)
    assert [path.read_bytes() for path in paths] == [TRAIN, TEST]


def test_a_wrong_file_that_is_there_is_reported_and_replaced_by_force(server, cache):
    serve(server)
    write(cache, "small", b"1 1:1\n")
    with pytest.raises(WrongFileError, match="small is not small"):
        fetch(small_source(), page=server.page)
    fetch(small_source(), page=server.page, force=True)
    assert (cache / "small").read_bytes() == TRAIN


# --- the command ----------------------------------------------------------------------------------


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
    assert run(["data", "fetch", "small", "--page", server.page]) == 1
    assert "(--force downloads it again)" in capsys.readouterr().err
    assert run(["data", "list"]) == 1
    shown = capsys.readouterr().out
    assert "Made for a test." in shown
    assert "SHA-256" in shown
    assert "column 1" in " ".join(shown.split())


def test_a_failed_fetch_is_one_message_and_exit_code_1(server, cache, capsys):
    assert run(["data", "fetch", "adult", "--page", server.page]) == 1
    errors = capsys.readouterr().err
    assert errors.count("pocketsvm:") == 1
    assert "a9a could not be downloaded: 404" in errors
    assert run(["data", "fetch", "MNIST"]) == 2
    assert "There is no data set 'MNIST'" in capsys.readouterr().err
    assert left_in(cache) == []
