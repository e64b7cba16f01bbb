"""Novelty detection and ranking, beside exact and other models, with their targets."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from itertools import product
from statistics import fmean, median, stdev
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from pocketsvm.estimators import BudgetedOneClassSVM, BudgetedRanker
from pocketsvm.metrics import mean_ndcg, pairwise_accuracy
from pocketsvm.paper.models import CACHE_MEGABYTES
from pocketsvm.paper.toolkit.measure import one_thread, timed
from pocketsvm.paper.toolkit.tables import Table

from .datasets.novelties import NOVELTIES, Novelties
from .datasets.rankings import GRADES, Queries, graded_queries
from .measure import fastest
from .pieces import table_piece
from .rankers import ExactRanker, LinearRanker

SEEDS, QUICK_SEEDS = 3, 1
ROUNDS = 3  # the fastest fit of several counts, if it is short
ENOUGH_SECONDS = 2.0


def measure(quick: bool) -> list[Table]:
    """Return a table of novelty detection and two of ranking."""
    with one_thread():
        return [
            table_piece("novelty", lambda: _novelty(quick)),
            table_piece("ranking", lambda: _ranking(quick)),
            table_piece("exact ranking", lambda: _ranking_exactly(quick)),
        ]


# --- novelty detection ----------------------------------------------------------------------------

ROWS, QUICK_ROWS = 20_000, 2_000
TEST_ROWS = 6_000
NU = 0.1
# By data set: nu and gamma. At nu = 0.1, the exact machine has fewer than 20 vectors on digits.
# With a wider kernel, the inside of the ring is normal.
SETTINGS: dict[str, dict[str, Any]] = {
    "digits, 0 against rest": {"nu": 0.5},
    "ring": {"gamma": 1.0},
}
SHARE = 10  # the exact machine has ten times as many vectors


def _novelty(quick: bool) -> Table:
    table = Table(
        "novelty",
        f"BudgetedOneClassSVM with a tenth of the vectors of OneClassSVM, one thread{_less(quick)}",
        {
            "data": ("data", ""),
            "rows": ("rows", ",d"),
            "nu": ("nu", ".1f"),
            "gamma": ("gamma", ""),
            "exact_vectors": ("vectors of OneClassSVM", ",d"),
            "vectors": ("vectors", ",d"),
            "exact_auc": ("ROC-AUC of OneClassSVM", ".4f"),
            "auc": ("ROC-AUC", ".4f"),
            "deviation": ("±", ".4f"),
            "outliers": ("outliers in training rows", ".4f"),
            "exact_fit": ("OneClassSVM, s", ",.3f"),
            "fit": ("fit, s", ",.3f"),
            "speedup": ("speedup", ".1f"),
            "seeds": ("seeds", "d"),
        },
        "Means over the seeds, on test rows that are normal and odd; times are medians over the "
        f"seeds, for each of which the fastest of up to {ROUNDS} interleaved fits counts. Other "
        f"parameters have their defaults, but OneClassSVM has a cache of {CACHE_MEGABYTES:,} MB.",
        progress=True,
    )
    for name, make in NOVELTIES.items():
        setting: dict[str, Any] = {"nu": NU, "gamma": "scale"} | SETTINGS.get(name, {})
        runs = []
        for seed in range(QUICK_SEEDS if quick else SEEDS):
            rows = make(QUICK_ROWS if quick else ROWS, TEST_ROWS, seed)
            runs.append(_novelty_run(rows, setting, seed))
        table.add(
            data=name,
            rows=len(rows.X),
            **setting,
            exact_vectors=max(run.exact_vectors for run in runs),
            vectors=max(run.vectors for run in runs),
            exact_auc=fmean(run.exact_auc for run in runs),
            auc=fmean(run.auc for run in runs),
            deviation=_deviation([run.auc for run in runs]),
            outliers=fmean(run.outliers for run in runs),
            exact_fit=median(run.exact_seconds for run in runs),
            fit=median(run.seconds for run in runs),
            speedup=median(run.exact_seconds / run.seconds for run in runs),
            seeds=len(runs),
            fall=fmean(run.exact_auc - run.auc for run in runs),
            off_nu=max(abs(run.outliers - setting["nu"]) for run in runs),
        )
    return table


class _NoveltyRun(NamedTuple):
    exact_vectors: int
    vectors: int
    exact_auc: float
    auc: float
    outliers: float
    exact_seconds: float
    seconds: float


def _novelty_run(rows: Novelties, setting: Mapping[str, Any], seed: int) -> _NoveltyRun:
    machine = OneClassSVM(**setting, cache_size=CACHE_MEGABYTES)
    budget = max(len(machine.fit(rows.X).support_) // SHARE, 2)
    model = BudgetedOneClassSVM(budget, **setting, random_state=seed)
    calls = {"exact": partial(machine.fit, rows.X), "ours": partial(model.fit, rows.X)}
    runs = fastest(calls, ROUNDS, ENOUGH_SECONDS)
    exact_auc, auc = (
        float(roc_auc_score(rows.normal, svm.decision_function(rows.X_test)))
        for svm in (machine, model)
    )
    return _NoveltyRun(
        len(machine.support_),
        len(model.support_vectors_),
        exact_auc,
        auc,
        float(np.mean(model.predict(rows.X) < 0)),
        runs["exact"].seconds,
        runs["ours"].seconds,
    )


# --- ranking --------------------------------------------------------------------------------------

QUERIES, QUERY_ROWS, QUICK_QUERIES = 1_000, 50, 60
BUDGET, C = 500, 10.0
LIGHTGBM = "LightGBM, LambdaRank"
LINEAR = "linear RankSVM"
OURS, EXACT = "pocketsvm", "exact"
PARTNERS = 10  # of each row for the linear ranker: all pairs are 25 times as many
TOP = 10
# The best settings of a grid on queries of another seed. The gains are those of our NDCG.
TREES: dict[str, Any] = {"n_estimators": 400, "learning_rate": 0.1, "num_leaves": 31}
# By name: the number of features that do not matter.
RANKINGS = {"six features": 0, "six features, four useless ones": 4}


def _ranking(quick: bool) -> Table:
    n_queries = QUICK_QUERIES if quick else QUERIES
    table = Table(
        "ranking",
        f"Rankers on {n_queries:,} generated queries of {QUERY_ROWS} rows, one thread",
        {
            "data": ("data", ""),
            "model": ("model", ""),
            "ndcg": (f"NDCG@{TOP}", ".4f"),
            "deviation": ("±", ".4f"),
            "accuracy": ("pairs in the right order, %", ".2f"),
            "fit": ("fit, s", ",.2f"),
            "seeds": ("seeds", "d"),
        },
        "Means over the seeds, on as many other queries; times are medians of single fits. Rows "
        f"are graded from 0 to {len(GRADES)}, and their relevance is not linear in the features. "
        f"pocketsvm has B = {BUDGET} and C = {C:g}, LightGBM "
        + ", ".join(f"{name}={value}" for name, value in TREES.items())
        + ": settings that were chosen on the queries of another seed. LightGBM is measured if it "
        "is installed.",
        progress=True,
    )
    names = [OURS, LINEAR] + ([LIGHTGBM] if find_spec("lightgbm") else [])
    for (data, n_useless), name in product(RANKINGS.items(), names):
        runs = []
        for seed in range(QUICK_SEEDS if quick else SEEDS):
            train, test = (
                graded_queries(n_queries, QUERY_ROWS, 2 * seed + k, n_useless=n_useless)
                for k in (0, 1)
            )
            run = timed(partial(_fitted, name, train, seed))
            runs.append((run.seconds, *_scores(run.value, test)))
        seconds, ndcg, accuracy = zip(*runs, strict=True)
        table.add(
            data=data,
            model=name,
            ndcg=fmean(ndcg),
            deviation=_deviation(ndcg),
            accuracy=100 * fmean(accuracy),
            fit=median(seconds),
            seeds=len(runs),
        )
    return table


def _fitted(name: str, queries: Queries, seed: int) -> Any:
    if name == LINEAR:
        return LinearRanker(PARTNERS, seed).fit(queries)
    if name == OURS:
        model = BudgetedRanker(BUDGET, C, random_state=seed)
        return model.fit(queries.X, queries.y, qid=queries.qid)
    import lightgbm

    gains = list(range(len(GRADES) + 1))
    model = lightgbm.LGBMRanker(**TREES, label_gain=gains, n_jobs=1, random_state=seed, verbose=-1)
    return model.fit(queries.X, queries.y, group=np.bincount(queries.qid))


def _scores(model: Any, queries: Queries) -> tuple[float, float]:
    scores = model.predict(queries.X)
    return (
        mean_ndcg(queries.y, scores, queries.qid, k=TOP),
        pairwise_accuracy(queries.y, scores, queries.qid),
    )


SMALL_QUERIES, SMALL_ROWS, SMALL_GAMMA = 20, 15, 0.15
TEST_QUERIES, QUICK_TEST_QUERIES = 1_000, 100


def _ranking_exactly(quick: bool) -> Table:
    n_test = QUICK_TEST_QUERIES if quick else TEST_QUERIES
    table = Table(
        "ranking_exact",
        f"The exact ranker of all pairs on {SMALL_QUERIES} queries of {SMALL_ROWS} rows",
        {
            "model": ("model", ""),
            "vectors": ("vectors", ",d"),
            "accuracy": ("pairs in the right order, %", ".2f"),
            "ndcg": (f"NDCG@{TOP}", ".4f"),
            "seeds": ("seeds", "d"),
        },
        f"Means over the seeds, on {n_test:,} other queries. "
        f"All have C = {C:g} and gamma = {SMALL_GAMMA:g}.",
        progress=True,
    )
    n_rows = SMALL_QUERIES * SMALL_ROWS
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for seed in range(QUICK_SEEDS if quick else SEEDS):
        train = graded_queries(SMALL_QUERIES, SMALL_ROWS, 2 * seed)
        test = graded_queries(n_test, SMALL_ROWS, 2 * seed + 1)
        exact = ExactRanker(C, SMALL_GAMMA).fit(train)
        found.setdefault((EXACT, n_rows), []).append(_scores(exact, test))
        for budget in (n_rows, n_rows // SHARE):
            model = BudgetedRanker(budget, C, gamma=SMALL_GAMMA, random_state=seed)
            model.fit(train.X, train.y, qid=train.qid)
            found.setdefault((OURS, budget), []).append(_scores(model, test))
    for (name, vectors), scores in found.items():
        ndcg, accuracy = zip(*scores, strict=True)
        table.add(
            model=name,
            vectors=vectors,
            accuracy=100 * fmean(accuracy),
            ndcg=fmean(ndcg),
            seeds=len(scores),
        )
    return table


def _deviation(values: Any) -> float | None:
    return stdev(values) if len(values) > 1 else None


def _less(quick: bool) -> str:
    return f", at most {QUICK_ROWS:,} rows" if quick else ""
