"""Files at URLs: in the memory of fsspec, and on a local server that speaks S3."""

import gzip
import zipfile

import fsspec
import numpy as np
import pytest
from models import assert_same_model
from numpy.testing import assert_array_equal

from pocketsvm import BudgetedSVC, load_svmlight, open_dataset
from pocketsvm.cli.app import run
from pocketsvm.files import DataError
from pocketsvm.files.remote import RemotePath, _is_hidden

from .datasets import WRITERS, problem

MADE = {name: write for name, write in WRITERS.items() if name != "npy"}


class Memory:
    """The file system of fsspec in memory."""

    url = "memory://rows"

    def __init__(self):
        self.system = fsspec.filesystem("memory")

    def put(self, name, content):
        self.system.pipe(f"/rows/{name}", content)

    def remove(self):
        if self.system.exists("/rows"):
            self.system.rm("/rows", recursive=True)


class S3:
    """A bucket of a server on this machine."""

    url = "s3://rows"

    def __init__(self):
        from pyarrow import fs

        self.system, _ = fs.FileSystem.from_uri("s3://rows?allow_bucket_creation=true")
        self.system.create_dir("rows")

    def put(self, name, content):
        with self.system.open_output_stream(f"rows/{name}", compression=None) as file:
            file.write(content)

    def remove(self):
        self.system.delete_dir_contents("rows", missing_dir_ok=True)


@pytest.fixture(scope="module")
def server():
    """The address of a server that speaks S3."""
    moto = pytest.importorskip(
        "moto.server", reason="moto is not there: make ecosystem installs it"
    )
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield "http://{}:{}".format(*server.get_host_and_port())
    server.stop()


@pytest.fixture(params=[Memory, S3], ids=["memory", "s3"])
def store(request, monkeypatch):
    """A place for files, which are at URLs."""
    if request.param is S3:
        monkeypatch.setenv("AWS_ENDPOINT_URL", request.getfixturevalue("server"))
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "someone")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = request.param()
    yield store
    store.remove()


def put_all(store, folder, inside=""):
    for path in folder.iterdir():
        store.put(inside + path.name, path.read_bytes())


@pytest.mark.parametrize("write", MADE.values(), ids=MADE)
@pytest.mark.parametrize("budget", [4, 20], ids=["some", "all"])
def test_a_folder_gives_the_model_of_local_files(store, tmp_path, write, budget):
    write(tmp_path, *problem())
    put_all(store, tmp_path, "deep er/")
    store.put("deep er/_SUCCESS", b"")
    rows = open_dataset(f"{store.url}/deep er")
    found = BudgetedSVC(budget=budget, random_state=0).fit(rows)
    local = open_dataset(tmp_path)
    assert_same_model(found, BudgetedSVC(budget=budget, random_state=0).fit(local))
    assert found.score(rows) == found.score(local)
    assert rows.n_rows == local.n_rows


def test_patterns_and_single_files(store, tmp_path):
    WRITERS["parquet"](tmp_path, *problem())
    put_all(store, tmp_path, "year=2025/")
    put_all(store, tmp_path, "year=2026/")
    n_local = len(list(tmp_path.iterdir()))

    def n_found(pattern):
        return len(open_dataset(store.url + pattern).paths)

    assert n_found("/year=2025/part-0.parquet") == 1
    assert n_found("/year=*/part-0.parquet") == 2
    assert n_found("/year=2025/*.parquet") == n_local
    assert n_found("/**/*.parquet") == n_found("") == 2 * n_local
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.csv"):
        n_found("/*/*.csv")
    with pytest.raises(FileNotFoundError, match=r"No such file.*none"):
        n_found("/none")


def test_keys_may_hold_two_slashes():
    folder = RemotePath("s3://rows/data")
    folder.key = "rows/data"
    for key, hidden in (("a//b.csv", False), ("a//_b.csv", True), (".a/b.csv", True)):
        file = RemotePath(f"s3://rows/data/{key}")
        file.key = f"rows/data/{key}"
        assert _is_hidden(file, folder) == hidden


def test_archives_are_unpacked(store):
    text = b"1 1:2 3:4\n0 2:1\n"
    store.put("rows.svm.gz", gzip.compress(text))
    X, y = load_svmlight(f"{store.url}/rows.svm.gz")
    assert_array_equal(X.toarray(), [[2, 0, 4], [0, 1, 0]])
    assert_array_equal(y, [1, 0])


def test_a_zip_archive_is_unpacked(store, tmp_path):
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("rows.csv", "a,b,y\n1,2,0\n3,4,1\n")
    put_all(store, tmp_path)
    ((X, y, _),) = open_dataset(f"{store.url}/rows.zip").batches()
    assert_array_equal(X, [[1, 2], [3, 4]])
    assert_array_equal(y, [0, 1])


def test_a_file_that_changes_is_refused(store):
    store.put("rows.csv", b"a,b,y\n1,2,0\n3,4,1\n")
    rows = open_dataset(f"{store.url}/rows.csv")
    store.put("rows.csv", b"a,b,y\n1,2,0\n3,4,1\n5,6,0\n")
    with pytest.raises(DataError, match=r"rows.csv changed between two scans"):
        BudgetedSVC().fit(rows)
    store.remove()
    with pytest.raises(FileNotFoundError, match=rf"No such file.*{store.url}/rows.csv"):
        BudgetedSVC().fit(rows)


def test_mistakes_name_the_url_and_the_place(store):
    store.put("rows.csv", b"a,b,y\n1,2,0\n3,x,1\n")
    with pytest.raises(DataError, match=rf"{store.url}/rows.csv, row 3, column 'b'"):
        BudgetedSVC().fit(open_dataset(f"{store.url}/rows.csv"))
    store.put("rows.npy", b"\x93NUMPY")
    with pytest.raises(ValueError, match=r"rows.npy: a NumPy file must be on a disk"):
        open_dataset(f"{store.url}/rows.npy")
    store.put("rows.parquet", b"PAR1" + bytes(100))
    with pytest.raises(DataError, match=r"rows.parquet is damaged"):
        open_dataset(f"{store.url}/rows.parquet")


def test_the_command_line_takes_urls(store, tmp_path, capsys):
    X, y = problem()
    WRITERS["csv"](tmp_path, X, y)
    put_all(store, tmp_path)
    model = str(tmp_path / "model.psvm")
    assert run(["train", store.url, model, "--budget", "4", "--seed", "0"]) == 0
    assert run(["evaluate", model, f"{store.url}/part-0.csv"]) == 0
    assert "accuracy" in capsys.readouterr().out.lower()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nowhere://rows", "nowhere://rows cannot be read: Protocol not known: nowhere"),
        ("s3://a b%zz/", "is no URL of a file"),
    ],
)
def test_other_urls_are_refused(url, message):
    with pytest.raises(DataError, match=message):
        open_dataset(url)


def test_a_server_that_does_not_answer_is_named(monkeypatch):
    url = "s3://rows/a.csv?endpoint_override=127.0.0.1:1&scheme=http"
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(DataError, match=r"s3://rows/a.csv\S* cannot be read: "):
        open_dataset(url)


def test_numbers_are_those_of_the_file(store):
    store.put("rows.csv", b"a,b,y\n1.5,2,0\n3,-4,1\n")
    (batch,) = open_dataset(f"{store.url}/rows.csv").batches()
    assert_array_equal(batch[0], np.array([[1.5, 2], [3, -4]]))
