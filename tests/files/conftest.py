"""What the tests of data files share: written files, and chunks and batches of a few rows."""

import pytest

from pocketsvm.files import chunks, delimited, file, parquet, svmlight

from .samples import COMPRESSORS


@pytest.fixture
def write(tmp_path):
    """A function that writes bytes, or text, to a file of this name, and returns its path."""

    def write(content, name="data"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


@pytest.fixture
def write_text(tmp_path):
    """A function that writes bytes to a file, compressed as its suffix says."""

    def write(text, suffix=".txt", name="file"):
        path = tmp_path / (name + suffix)
        path.write_bytes(COMPRESSORS.get(suffix, bytes)(text))
        return path

    return write


@pytest.fixture(params=[1, 10, 64])
def tiny_chunks(request, monkeypatch):
    """Cuts everywhere: within numbers, between lines, several in one line."""
    monkeypatch.setattr(chunks, "CHUNK", request.param)
    return request.param


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1000)
    monkeypatch.setattr(svmlight, "BATCH_CHUNKS", 1)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 200)  # pyarrow reads some blocks ahead
    monkeypatch.setattr(file, "HEAD_BYTES", 300)
    monkeypatch.setattr(parquet, "BATCH_VALUES", 100)
