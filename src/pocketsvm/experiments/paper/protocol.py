"""The experiments: which runs there are, in which order, and how each of them is made.

Strategies are interleaved: run 1 of all of them, then run 2 and so on, so that a slow moment of the
machine hits all alike. Everything works on one thread.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from math import isnan
from typing import Any

import numpy as np

from ... import _core
from ...estimators import BudgetedSVC
from . import peers
from .audit import PRECISE, AuditRow, audit
from .datasets import DataSet, Split, susy_like
from .measure import one_thread
from .results import Row, stamp

__all__ = ["PARTS", "Problem", "Setting", "Task", "execute", "layout", "load_problems", "plan"]

PARTS = {
    "paper": "the paper's setting",
    "audit": "decisions compared",
    "defaults": "pocketsvm's defaults",
    "peers": "other approximations",
    "exact": "the exact SVM",
}
PAPER_STRATEGIES = ("gss-precise", "gss", "lookup-h", "lookup-wd")
ASIDE = ("removal", "projection")  # neither merge nor in the paper's tables: only when asked for
BASELINE, OURS = "gss", "merge"

CURVE_BUDGETS = (50, 100, 200, 500)
DEFAULT_PASSES = BudgetedSVC().max_iter
MOST_PEER_RUNS = 3
MOST_SCALE_RUNS = 3
MOST_ROWS = 1_000_000  # for what costs more than one pass
SCALE_ROWS = 4_500_000
SCALE_TEST_ROWS = 100_000

QUICK_ROWS, QUICK_TEST_ROWS, QUICK_SCALE_ROWS = 2_000, 4_000, 50_000
QUICK_RUNS, RUNS = 2, 5


def default_strategies() -> list[str]:
    """Return the paper's four in its order, then all others but those aside."""
    others = [s for s in _core.strategies() if s not in (*PAPER_STRATEGIES, *ASIDE)]
    return [*PAPER_STRATEGIES, *others]


# --- the data, ready to train on ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows of a data set, dense where most entries are not zero, and what they stand for."""

    data_set: DataSet
    label: str
    says: str
    make: Callable[[], tuple[Any, Any, Any, Any]]
    n_rows: int
    generated: bool = False

    @cached_property
    def rows(self) -> tuple[Any, Any, Any, Any]:
        """Training rows and labels, test rows and labels; generated ones only when needed."""
        return self.make()


def load_problems(
    data_sets: Iterable[DataSet], folder: Any = None, quick: bool = False
) -> list[Problem]:
    """Read the data sets; where SUSY is not whole, rows generated to its size follow it."""
    problems = []
    for data_set in data_sets:
        split = data_set.load(folder)
        X, y, X_test, y_test = layout(split)
        if quick:
            X, y = _some(X, y, QUICK_ROWS)
            X_test, y_test = _some(X_test, y_test, QUICK_TEST_ROWS)
        rows = (X, y, X_test, y_test)
        source = split.source
        problems.append(Problem(data_set, source.label, source.says, lambda r=rows: r, len(y)))
        if data_set.name == "SUSY" and source is not data_set.sources[0]:
            problems.append(_scale(data_set, QUICK_SCALE_ROWS if quick else SCALE_ROWS))
    return problems


def layout(split: Split) -> tuple[Any, Any, Any, Any]:
    """Return training rows and labels, test rows and labels: dense where most are not zero."""
    X, X_test = split.X_train, split.X_test
    if X.nnz > 0.5 * X.shape[0] * X.shape[1]:
        X, X_test = X.toarray(), X_test.toarray()
    return X, split.y_train, X_test, split.y_test


def _some(X: Any, y: np.ndarray, n_rows: int) -> tuple[Any, np.ndarray]:
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[chosen], y[chosen]


def _scale(susy: DataSet, n_rows: int) -> Problem:
    return Problem(
        susy,
        f"SUSY ({n_rows:,} generated)",
        f"{n_rows:,} generated rows of 18 features, two overlapping classes: they stand for SUSY's "
        "scale (time and merging frequency), not for its accuracy.",
        lambda: (*susy_like(n_rows), *susy_like(SCALE_TEST_ROWS, seed=1)),
        n_rows,
        generated=True,
    )


# --- the runs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What was chosen on the command line."""

    strategies: Sequence[str]
    runs: int = RUNS
    budgets: Sequence[int] | None = None
    parts: Sequence[str] = tuple(PARTS)

    def budgets_of(self, problem: Problem) -> Sequence[int]:
        """Return the budgets of the tables: those chosen, else the paper's."""
        return self.budgets or problem.data_set.budgets


@dataclass(frozen=True)
class Task:
    """One run on one problem. An audit asks several strategies at once, and gives a line each."""

    part: str
    problem: Problem
    strategies: tuple[str, ...]
    budget: int | None = None
    seed: int | None = None
    passes: int | None = None  # None where the model is not pocketsvm's

    @property
    def strategy(self) -> str:
        """The strategy, or all of them."""
        return ", ".join(self.strategies)

    @property
    def lines(self) -> list[Row]:
        """What is known of the result's lines before the run."""
        data_set = self.problem.data_set
        own = self.passes is not None
        return [
            {
                "part": self.part,
                "data": self.problem.label,
                "strategy": strategy,
                "budget": self.budget,
                "seed": self.seed,
                "rows": self.problem.n_rows,
                "features": data_set.published.n_features,
                "passes": self.passes,
                "C": data_set.C,
                "gamma": data_set.gamma,
                **stamp(own),
            }
            for strategy in self.strategies
        ]

    @property
    def weight(self) -> float:
        """About how many seconds the run takes, to tell the time that is left."""
        n_rows = self.problem.n_rows
        if self.part == "exact":
            return 2e-3 * n_rows
        assert self.budget is not None
        if self.part == "peers":
            return n_rows * self.budget * (6e-7 if self.strategies[0] == peers.NYSTROEM else 1e-7)
        slow = {"gss": 2, "gss-precise": 8}
        cost = sum(slow.get(strategy, 1) for strategy in self.strategies)
        return n_rows * (self.passes or 1) * (2e-7 + 1e-9 * self.budget * cost)

    def fit(self) -> Row:
        """Fit the model and return what it gave."""
        data_set, own = self.problem.data_set, self.passes is not None
        setting = {"C": data_set.C, "gamma": data_set.gamma}
        if own:
            if self.part == "paper":
                setting |= {"polish": False, "fit_intercept": False}
            model = BudgetedSVC(
                self.budget,
                **setting,
                max_iter=self.passes,
                maintenance=self.strategies[0],
                n_jobs=1,
                random_state=self.seed,
            )
        else:
            model = peers.make(
                self.strategies[0],
                **setting,
                n_rows=self.problem.n_rows,
                budget=self.budget,
                seed=self.seed,
            )
        outcome = peers.fit_and_predict(model, *self.problem.rows)._asdict()
        if own:
            profile = model.profile_
            outcome |= asdict(profile) | {"merge_frequency": profile.merge_frequency}
        return outcome

    def audit(self) -> list[Row]:
        """Compare the decisions of the strategies in the same states; return a line for each."""
        X, y, *_ = self.problem.rows
        data_set = self.problem.data_set
        asked = audit(
            X,
            y,
            budget=self.budget,
            C=data_set.C,
            gamma=data_set.gamma,
            max_iter=self.passes,
            strategies=self.strategies,
            seed=self.seed,
        )
        return [_audited(row) for row in asked]


def _audited(row: AuditRow) -> Row:
    outcome = {
        "merge_frequency": row.merge_frequency,
        "events": row.events,
        "equal_exact": row.equal_share(PRECISE),
        "equal_or_tied_exact": row.equal_share(PRECISE, ties=True),
        "equal_gss": row.equal_share(BASELINE),
        "equal_or_tied_gss": row.equal_share(BASELINE, ties=True),
        "factor": row.factor,
        "factor_of_sums": row.factor_of_sums,
    }
    return {name: value for name, value in outcome.items() if not isnan(value)}


def plan(problems: Sequence[Problem], setting: Setting) -> list[Task]:
    """Return all runs in the order in which they are made."""
    parts = (_PLANS[part](problems, setting) for part in PARTS if part in setting.parts)
    return list(dict.fromkeys(chain.from_iterable(parts)))  # the curves share runs with a table


def _paper(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in problems:
        strategies, runs = setting.strategies, setting.runs
        if problem.generated:
            # A run of the precise search would take longer there than those of all others.
            strategies = [strategy for strategy in strategies if strategy != PRECISE]
            runs = min(runs, MOST_SCALE_RUNS)
        for budget in setting.budgets_of(problem):
            for seed in range(runs):
                for strategy in strategies:
                    passes = problem.data_set.passes
                    yield Task("paper", problem, (strategy,), budget, seed, passes)


def _audits(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    asked = tuple(dict.fromkeys((*setting.strategies, PRECISE, BASELINE)))
    for problem in problems:
        if not problem.generated:
            for passes in sorted({1, problem.data_set.passes}):
                budget = min(setting.budgets_of(problem))
                yield Task("audit", problem, asked, budget, 0, passes)


def _defaults(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in _small(problems):
        for budget in setting.budgets_of(problem):
            for seed in range(setting.runs):
                for strategy in setting.strategies:
                    yield _default(problem, strategy, budget, seed)


def _default(problem: Problem, strategy: str, budget: int, seed: int) -> Task:
    return Task("defaults", problem, (strategy,), budget, seed, DEFAULT_PASSES)


def _peers(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in _small(problems):
        for budget in setting.budgets or CURVE_BUDGETS:
            for seed in range(min(setting.runs, MOST_PEER_RUNS)):
                yield _default(problem, OURS, budget, seed)
                for name in peers.APPROXIMATIONS:
                    yield Task("peers", problem, (name,), budget, seed)


def _exact(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in _small(problems):
        yield Task("exact", problem, (peers.EXACT,))


def _small(problems: Sequence[Problem]) -> list[Problem]:
    return [p for p in problems if not p.generated and p.n_rows <= MOST_ROWS]


_PLANS = {
    "paper": _paper,
    "audit": _audits,
    "defaults": _defaults,
    "peers": _peers,
    "exact": _exact,
}


def execute(task: Task) -> list[Row]:
    """Make a run on one thread and return its lines."""
    with one_thread():
        outcomes = task.audit() if task.part == "audit" else [task.fit()]
    return [dict(line) | outcome for line, outcome in zip(task.lines, outcomes, strict=True)]
