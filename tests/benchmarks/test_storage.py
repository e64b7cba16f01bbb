"""Benchmarks of rows on disk and on a cluster, with few rows."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from benchmarks import cluster, storage
from benchmarks.targets import targets
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.generated import susy_like
from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.datasets.registry import named


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
    assert (small["scans"], small["slope"]) == (1, None)
    assert large["scans"] >= 3  # more than 512 rows per vector
    assert small["accuracy"] == pytest.approx(small["in_memory"])
    lines = targets({"disk_growth": table.rows}).lines
    assert [line[0].ours for line in lines][-1] == "rows on disk, peak memory, MB"


def test_without_space_nothing_is_measured(capsys):
    assert not storage.growth(10**15)
    assert "GB of disk are needed" in capsys.readouterr().out


def test_targets_of_a_cluster():
    common = {"form": "NumPy", "budget": 500, "batch": 20.0}
    workers = [
        {"where": "1 worker", "speedup": 1.0, "ratio": 4.0, "peak": 430.0, **common},
        {"where": "2 workers", "speedup": 1.9, "ratio": 2.5, "peak": 410.0, **common},
    ]
    partitions = [{"data": "A", "order": "random", "worst": 0.2}]
    lines = targets({"workers": workers, "partitions": partitions}).lines
    assert [[line[2].ours, line[4].ours] for line in lines] == [
        ["1.90", "yes"],
        ["2.50", "yes"],
        ["390", "yes"],
        ["0.20", "**no**"],
    ]


def test_what_travels_is_as_the_formula_says(monkeypatch):
    monkeypatch.setattr(cluster, "BUDGET", 20)
    monkeypatch.setattr(storage, "FILE_ROWS", 10_000)
    table = cluster.by_reduction(40_000)
    found = {row["reading"]: row for row in table.rows}
    assert list(found) == ["Summarise", "Draw", "ReadFirst"]  # no step was too long
    near = found["ReadFirst"]["total"] / 4 - found["ReadFirst"]["formula"]
    assert 0 < near < 10_000 * (4 * 18 + 16) / 1e3  # few rows: all near ones travel, too
    for row in table.rows:
        assert row["partitions"] == 4
        more = near if row["reading"] == "ReadFirst" else 0.0
        # Pickling adds the names of the classes.
        assert row["formula"] < row["result"] < 1.3 * row["formula"] + 2.0 + more


def test_accuracies_by_partitions(monkeypatch):
    monkeypatch.setattr(cluster, "PARTITIONS", (2, 3))
    monkeypatch.setattr(cluster, "available", lambda quick: [small_problem()])
    table = cluster.by_partitions(quick=True)
    assert [row["order"] for row in table.rows] == list(cluster.ORDERS)
    for row in table.rows:  # the sample holds all rows, and the models are the same
        assert row["on 2"] == row["on 3"] == row["alone"]
        assert row["worst"] == 0


def small_problem():
    rows = TrainTest(*susy_like(600), *susy_like(300, seed=1))
    data_set = replace(named("SUSY"), budgets=(10, 20))
    return Problem(data_set, "small", "", lambda: rows, 600)
