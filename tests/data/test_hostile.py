"""Hostile files: bounds on lines, rows and memory, which hold before anything is allocated."""

import gzip
import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from pocketsvm import load_svmlight
from pocketsvm.data import arrow, chunks, delimited, parquet

from .samples import COMPRESSORS, csv_text, parquet_bytes, read


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


PARQUET = parquet_bytes({"a": pa.array(np.zeros(100_000)), "y": ["x"] * 100_000})


def test_a_small_parquet_file_with_very_many_rows_is_refused(write, monkeypatch):
    path = write(PARQUET)
    assert len(PARQUET) < 5000
    assert read(path).X.shape == (100_000, 1)
    monkeypatch.setattr(parquet, "LEAST_SUSPICIOUS", 1 << 20)
    monkeypatch.setattr(parquet, "MAX_EXPANSION", 100)
    message = f"has {len(PARQUET):,} bytes, and claims to hold 100,000 rows: more than 100 bytes"
    with pytest.raises(ValueError, match=message):
        read(path)


@pytest.mark.parametrize("available", [100_000, 1_000_000])
def test_a_table_that_exceeds_the_memory_is_refused_before_it_is_read(
    write, monkeypatch, available
):
    monkeypatch.setattr(arrow, "available_memory", lambda: available)
    monkeypatch.setattr(parquet.ParquetTable, "record_batches", None)
    with pytest.raises(ValueError, match="is too large: its rows take more than"):
        read(write(PARQUET))


def test_text_that_exceeds_the_memory_is_refused_while_it_is_read(write, monkeypatch):
    rows = csv_text(header=False) * 5000
    path = write(rows, "a.csv")
    monkeypatch.setattr(arrow, "MEMORY_STEP", 1000)
    monkeypatch.setattr(delimited, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(arrow, "available_memory", lambda: 300_000)
    with pytest.raises(ValueError, match="is too large: its rows take more than"):
        read(path)
    monkeypatch.setattr(arrow, "available_memory", lambda: None)
    assert read(path).X.shape == (15_000, 3)
