"""The benchmark of novelty detection and ranking, on small data."""

import numpy as np
import pytest

from benchmarks import tasks
from benchmarks.datasets.novelties import NOVELTIES
from benchmarks.datasets.rankings import graded_queries
from benchmarks.rankers import LinearRanker
from benchmarks.targets import targets
from pocketsvm.metrics import pairwise_accuracy


@pytest.fixture
def small(monkeypatch):
    for name, value in {"TEST_ROWS": 1_000, "QUICK_QUERIES": 20}.items():
        monkeypatch.setattr(tasks, name, value)
    monkeypatch.setattr(tasks, "BUDGET", 40)
    monkeypatch.setattr(tasks, "TREES", {"n_estimators": 20})


def test_the_tables_have_all_figures(small):
    novelty, ranking, exact = tasks.measure(quick=True)
    for row in novelty.rows:
        assert row["vectors"] <= max(row["exact_vectors"] // 10, 2)
        assert row["auc"] == pytest.approx(row["exact_auc"], abs=0.02)
        assert row["outliers"] == pytest.approx(row["nu"], abs=0.01)
        assert row["speedup"] > 0
    models = [row["model"] for row in ranking.rows]
    assert models[:2] == [tasks.OURS, tasks.LINEAR]
    for row in ranking.rows:
        assert 0 < row["ndcg"] < 1
    assert [row["vectors"] for row in exact.rows] == [300, 300, 30]
    found = {
        row["what"] for row in targets({t.name: t.rows for t in (novelty, ranking, exact)}).rows
    }
    assert {what for what in found if what.startswith("novelty")} == {
        "novelty detection, ROC-AUC below OneClassSVM",
        "novelty detection, share of outliers minus nu",
    }  # the speedup counts at 20,000 rows only
    assert "ranking, NDCG@10 above a linear ranker" in found


def test_targets_are_the_worst_figures():
    novelty = [
        {"data": name, "fall": fall, "off_nu": 0.001, "speedup": 11.0, "rows": rows}
        for name, fall, rows in (("ring", 0.02, 20_000), ("digits", 0.0, 120))
    ]
    first, second = tasks.RANKINGS
    ranking = [
        {"data": data, "model": model, "ndcg": ndcg}
        for data in (first, second)
        for model, ndcg in ((tasks.OURS, 0.9), (tasks.LINEAR, 0.6), (tasks.LIGHTGBM, 0.92))
    ]
    exact = [
        {"model": model, "vectors": vectors, "accuracy": accuracy}
        for model, vectors, accuracy in (
            (tasks.EXACT, 300, 87.0),
            (tasks.OURS, 300, 87.2),
            (tasks.OURS, 30, 86.0),
        )
    ]
    lines = targets({"novelty": novelty, "ranking": ranking, "ranking_exact": exact}).lines
    assert [[cell.ours for cell in line][1:] for line in lines] == [
        ["≤ 0.0100", "0.0200", "ring", "**no**"],
        ["≤ 0.0200", "0.0010", "ring", "yes"],
        ["≥ 10.0", "11.0", "ring", "yes"],
        ["≥ 0.0500", "0.3000", first, "yes"],
        ["≤ 0.0100", "0.0200", first, "**no**"],
        ["≤ 0.50", "1.00", "30 vectors", "**no**"],
    ]


@pytest.mark.parametrize("name", NOVELTIES)
def test_novelties_differ_by_seed_and_have_odd_rows(name):
    one, two = (NOVELTIES[name](50, 200, seed) for seed in (0, 1))
    assert one.X.shape == two.X.shape
    assert not np.array_equal(one.X, two.X)
    assert len(one.X_test) == len(one.normal)
    assert 0 < one.normal.sum() < len(one.normal)


def test_queries_have_all_grades_and_the_same_relevance_with_useless_features():
    queries = graded_queries(200, 10, seed=0)
    assert set(queries.y) == {0, 1, 2, 3, 4}
    assert np.bincount(queries.qid).tolist() == [10] * 200
    assert graded_queries(5, 10, 0, n_useless=3).X.shape == (50, 9)


def test_the_linear_ranker_learns_a_linear_order():
    random = np.random.default_rng(0)
    queries = graded_queries(20, 10, seed=0)
    weights = random.normal(size=queries.X.shape[1])
    linear = type(queries)(queries.X, np.round(queries.X @ weights).astype(int), queries.qid)
    shuffled = random.permutation(200)
    model = LinearRanker(5, 0).fit(
        type(queries)(linear.X[shuffled], linear.y[shuffled], linear.qid[shuffled])
    )
    assert pairwise_accuracy(linear.y, model.predict(linear.X), linear.qid) > 0.99
