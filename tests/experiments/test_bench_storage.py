"""Benchmarks of rows on disk and on a cluster, with few rows."""

import pyarrow.parquet as pq
import pytest

from pocketsvm.experiments.bench import storage
from pocketsvm.experiments.bench.targets import targets


def test_sizes_are_powers_of_ten():
    assert storage.sizes(10**7) == [10**5, 10**6, 10**7]
    assert storage.sizes(150_000) == [100_000, 150_000]
    assert storage.sizes(100_000) == [100_000]


def test_files_of_a_size_are_the_first_ones_of_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "FILE_ROWS", 40)
    found = storage.write_rows(tmp_path, [100, 250])
    assert [len(files) for files in found.values()] == [3, 7]
    assert found[250][:3] == found[100]
    for n_rows, files in found.items():
        assert sum(pq.read_metadata(path).num_rows for path in files) == n_rows
    assert pq.read_schema(found[100][0]).names == [f"x{j}" for j in range(18)] + ["y"]


def test_growth_of_few_rows(monkeypatch):
    monkeypatch.setattr(storage, "FIRST", 1000)
    monkeypatch.setattr(storage, "BUDGET", 10)
    table = storage.growth(6000)
    assert [row["rows"] for row in table.rows] == [1000, 6000]
    small, large = table.rows
    assert (small["readings"], small["slope"]) == (1, None)
    assert large["readings"] >= 3  # more than 512 rows per vector
    assert small["accuracy"] == pytest.approx(small["in_memory"])
    lines = targets({"disk_growth": table.rows}).lines
    assert [line[0].ours for line in lines][-1] == "rows on disk, peak memory, MB"


def test_without_space_nothing_is_measured(capsys):
    assert not storage.growth(10**15)
    assert "GB of disk are needed" in capsys.readouterr().out


def test_targets_of_a_cluster():
    workers = [
        {"budget": 500, "where": "1 worker", "speedup": 1.0, "ratio": 4.0},
        {"budget": 500, "where": "2 workers", "speedup": 1.9, "ratio": 2.5},
    ]
    lines = targets({"workers": workers, "partitions": [{"data": "A", "worst": 0.2}]}).lines
    assert [[line[2].ours, line[4].ours] for line in lines] == [
        ["1.90", "yes"],
        ["2.50", "yes"],
        ["0.20", "**no**"],
    ]
