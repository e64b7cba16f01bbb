"""Compressed files: told by their first bytes; damaged ones are refused by name."""

import io
import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.datasets import load_svmlight_file

from pocketsvm import load_svmlight
from pocketsvm.files import chunks, svmlight

from .samples import (
    COMPRESSORS,
    PARQUET,
    SVM_TEXT,
    assert_equal_rows,
    csv_text,
    random_text,
    read,
    spelled,
    zipped,
)


@pytest.mark.parametrize("compress", [*COMPRESSORS.values(), zipped])
@pytest.mark.parametrize(
    ("content", "name"), [(SVM_TEXT, "a.txt"), (csv_text().encode(), "a.csv"), (PARQUET, "a.pq")]
)
def test_compressed_files_are_recognised_by_their_content(write, compress, content, name):
    plain, packed = read(write(content, name)), read(write(compress(content), f"packed-{name}"))
    dense = [t.X.toarray() if scipy.sparse.issparse(t.X) else t.X for t in (plain, packed)]
    assert_array_equal(*dense)
    assert spelled(plain.labels) == spelled(packed.labels)
    with pytest.raises(ValueError, match="damaged"):
        read(write(compress(content)[:-5], f"cut-{name}"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(b"1 1:1\n", b"2 1:1\n"), "a ZIP archive of 2 files"),
        (b"7z\xbc\xaf\x27\x1c\0\0", "a 7z archive; unpack it"),
        (b"Rar!\x1a\x07", "a RAR archive; unpack it"),
        (b"\x04\x22\x4d\x18abc", "compressed with LZ4; unpack it"),
        (b"\x1f\x9dabc", r"compressed with compress \(.Z\); unpack it"),
        (b"\x93NUMPY\1\0", "a NumPy array"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"ARROW1\0\0", r"an Arrow \(Feather\) file"),
        (b"PKTSVM\r\n", "a model file of pocketsvm"),
    ],
)
def test_files_that_cannot_be_read_are_named(write, content, message):
    path = write(content)
    for load in (read, load_svmlight):
        with pytest.raises(ValueError, match=message) as caught:
            load(path)
        assert str(caught.value).count(path) == 1


def test_a_zip_archive_from_a_pipe_is_refused(monkeypatch):
    stream = io.BytesIO(zipped(SVM_TEXT))
    monkeypatch.setattr("sys.stdin", type("Input", (), {"buffer": stream}))
    with pytest.raises(ValueError, match=r"standard input .* a ZIP archive.*not from a pipe"):
        read("-")


def test_an_archive_of_several_members(tmp_path, tiny_chunks):
    text = random_text(np.random.default_rng(0), 20)
    (tmp_path / "plain").write_bytes(text)
    for suffix, compress in COMPRESSORS.items():
        path = tmp_path / f"file{suffix}"
        parts = [compress(text[:700]), compress(b""), compress(text[700:])]
        for padding in (0, 20) if suffix == ".gz" else (0,):
            path.write_bytes(b"".join(part + bytes(padding) for part in parts))
            assert_equal_rows(load_svmlight(path), load_svmlight_file(str(tmp_path / "plain")))


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_the_name_of_a_file_does_not_decide_on_its_compression(suffix, tmp_path, write):
    plain, packed = tmp_path / f"plain{suffix}", tmp_path / "packed.txt"
    plain.write_bytes(SVM_TEXT)
    packed.write_bytes(COMPRESSORS[suffix](SVM_TEXT))
    expected = load_svmlight_file(write(SVM_TEXT))
    assert_equal_rows(load_svmlight(plain), expected)
    assert_equal_rows(load_svmlight(packed), expected)


def test_an_empty_archive(tmp_path, write_text):
    for suffix in COMPRESSORS:
        assert load_svmlight(write_text(b"", suffix))[0].shape == (0, 1)
    (tmp_path / "nothing.gz").touch()
    assert load_svmlight(tmp_path / "nothing.gz")[0].shape == (0, 1)


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_damaged_archives_are_named(n_jobs, suffix, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1000)
    text = random_text(np.random.default_rng(0))
    whole = COMPRESSORS[suffix](text)
    path = tmp_path / f"file{suffix}"
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=re.escape(f"{path} is damaged")):
            load_svmlight(path, n_jobs=n_jobs)
    path.write_bytes(whole[:middle] + bytes(50) + whole[middle + 50 :])
    with pytest.raises(ValueError, match=re.escape(str(path))):  # the text may go wrong first
        load_svmlight(path, n_jobs=n_jobs)
    if suffix == ".zst":
        return  # pyarrow decompresses a block ahead
    # What is wrong with the text before the damage comes first.
    path.write_bytes(COMPRESSORS[suffix](b"1 1:2\nbad\n" + text)[:-5])
    with pytest.raises(ValueError, match="line 2, column 1: expected a label"):
        load_svmlight(path, n_jobs=n_jobs)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_file_that_becomes_shorter_is_refused(suffix, write_text, monkeypatch):
    numbers = np.random.default_rng(0).random(30_000)  # more than gzip reads at once
    path = write_text("".join(f"1 1:{number}\n" for number in numbers).encode(), suffix)
    monkeypatch.setattr(chunks, "CHUNK", 6000)
    monkeypatch.setattr(svmlight.ParsedText, "append", lambda *_: os.truncate(path, 12))
    with pytest.raises(ValueError, match=re.escape(str(path)) + " (became shorter|is damaged)"):
        load_svmlight(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that fails to read")
def test_a_read_that_fails_names_the_file():
    with pytest.raises(OSError, match="/proc/self/mem"):
        load_svmlight("/proc/self/mem")
