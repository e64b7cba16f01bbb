"""Hostile files: bounds on lines, rows and memory, which hold before anything is allocated."""

import gzip
import tracemalloc

import numpy as np
import pytest

from pocketsvm import load_svmlight
from pocketsvm.files import arrow, chunks, delimited

from .samples import COMPRESSORS, parquet_bytes, read


@pytest.fixture
def short_lines(monkeypatch):
    monkeypatch.setattr(chunks, "MAX_LINE", 1000)
    monkeypatch.setattr(chunks, "PROBE", 64)
    monkeypatch.setattr(chunks, "CHUNK", 100)


@pytest.mark.parametrize("suffix", [".txt", *COMPRESSORS])
@pytest.mark.parametrize("place", [0, 1, 7, 60])
def test_a_long_line_is_refused(write_text, short_lines, suffix, place):
    lines = [b"1 1:1"] * 100
    lines[place] = b"1 1:1 2:" + b"0" * 900
    assert load_svmlight(write_text(b"\n".join(lines), suffix))[0].shape == (100, 2)
    lines[place] = b"1 1:1 2:" + b"0" * 2000
    with pytest.raises(ValueError, match="has a line of more than 1,000 bytes, which is the limit"):
        load_svmlight(write_text(b"\n".join(lines), suffix))


def test_a_file_of_carriage_returns_takes_little_memory(write):
    content = gzip.compress(b"\r" * 100_000_000)
    assert len(content) < 200_000
    path = write(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="a line of more than 67,108,864 bytes"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 3 * chunks.MAX_LINE
    finally:
        tracemalloc.stop()


def test_a_long_first_row_of_a_table_is_refused(write, monkeypatch):
    monkeypatch.setattr(delimited, "MAX_ROW", 1000)
    text = ",".join(f"a{k}" for k in range(100)) + "\n" + ",".join("1" * 100) + "\n"
    assert read(write(text, "a.csv")).X.shape == (1, 99)
    with pytest.raises(ValueError, match="its first row has more than 1,000 bytes, the limit"):
        read(write("a" * 1000 + text, "a.csv"))


@pytest.mark.parametrize("place", [1, 7, 60])
def test_a_long_row_of_a_table_is_refused(write, monkeypatch, place):
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(delimited, "BLOCK_ROWS", 1)
    rows = ["a,b,label"] + ["1,2,0"] * 100
    assert read(write("\n".join(rows), "a.csv")).X.shape == (100, 2)
    rows[place] = "1," + "2" * 3000 + ",0"
    with pytest.raises(ValueError, match="has a row of more than 1,000 bytes, which is the limit"):
        read(write("\n".join(rows), "a.csv"))


@pytest.mark.parametrize("available", [None, 100_000])
def test_a_part_of_a_table_that_exceeds_the_memory_is_refused(write, monkeypatch, available):
    path = write(
        parquet_bytes({"a": np.random.default_rng(0).normal(size=50_000), "y": [0] * 50_000})
    )
    monkeypatch.setattr(arrow, "available_memory", lambda: available)
    if available is None:
        assert read(path).X.shape == (50_000, 1)
        return
    with pytest.raises(ValueError, match="is too large: its rows take more than"):
        read(path)
