"""The protocol of the experiments: which runs there are, their order, and how each is made.

Strategies are interleaved: run 1 of all of them, then run 2 and so on, so that a slow period of the
machine affects all of them. All runs use one thread.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from math import isnan
from pathlib import Path
from typing import Any

from .. import _core
from ..estimators import BudgetedSVC
from ..profile import Profile
from . import models
from .audit import PRECISE, AuditRow, audit
from .datasets.problems import Problem
from .toolkit.measure import one_thread
from .toolkit.results import STAMP, Results, Row, stamp

PARTS = {
    "paper": "the paper's setting",
    "audit": "decisions compared",
    "defaults": "pocketsvm's defaults",
    "peers": "other approximations",
    "exact": "the exact SVM",
}
PAPER_STRATEGIES = ("gss-precise", "gss", "lookup-h", "lookup-wd")
OPTIONAL = ("removal", "projection")  # they do not merge: only run on request
BASELINE, OURS = "gss", "merge"

CURVE_BUDGETS = (50, 100, 200, 500)
DEFAULT_PASSES = BudgetedSVC().max_iter
MAX_PEER_RUNS, MAX_SCALE_RUNS = 3, 3  # these take long and vary little
MAX_ROWS = 1_000_000  # larger problems get one pass only
RUNS, QUICK_RUNS = 5, 2  # the paper makes five

# What a run is, and what it gave. The key decides whether a stored line is that of a planned run.
SETTING: dict[str, type] = {
    "part": str,
    "data": str,
    "strategy": str,
    "budget": int,
    "seed": int,
    "rows": int,
    "features": int,
    "passes": int,
    "C": float,
    "gamma": float,
}
OUTCOME: dict[str, Any] = {
    "accuracy": float,
    "vectors": int,
    "seconds_fit": float,
    "seconds_a_prediction": float,
    **{field.name: field.type for field in fields(Profile)},
    "merge_frequency": float,
    "events": int,
    "equal_exact": float,
    "equal_or_tied_exact": float,
    "equal_gss": float,
    "equal_or_tied_gss": float,
    "factor": float,
    "factor_of_sums": float,
}
COLUMNS = SETTING | OUTCOME | STAMP
KEY = (*SETTING, "program", "cpu", "instruction_set")


def open_results(folder: Path) -> Results:
    """Return the results in ``runs.csv`` of a folder."""
    return Results(folder / "runs.csv", COLUMNS, KEY)


def default_strategies() -> list[str]:
    """Return the paper's four strategies in its order, then all others that merge."""
    others = [s for s in _core.strategies() if s not in (*PAPER_STRATEGIES, *OPTIONAL)]
    return [*PAPER_STRATEGIES, *others]


# --- the runs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What is to be run."""

    strategies: Sequence[str]
    runs: int = RUNS
    budgets: Sequence[int] | None = None
    parts: Sequence[str] = tuple(PARTS)

    def budgets_of(self, problem: Problem) -> Sequence[int]:
        """Return the chosen budgets, or those of the paper."""
        return self.budgets or problem.data_set.budgets


@dataclass(frozen=True)
class Task:
    """One run on one problem; an audit asks several strategies and gives one line for each."""

    part: str
    problem: Problem
    strategies: tuple[str, ...]
    budget: int | None = None
    seed: int | None = None
    passes: int | None = None  # None if the model is not pocketsvm

    @property
    def strategy(self) -> str:
        """The names of the strategies."""
        return ", ".join(self.strategies)

    @property
    def lines(self) -> list[Row]:
        """The columns of the result that are known before the run, one line per strategy."""
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
                **self.problem.setting,
                **stamp(own),
            }
            for strategy in self.strategies
        ]

    @property
    def weight(self) -> float:
        """A rough estimate of the seconds that the run takes, for the progress bar."""
        # Seconds per row, or per row and vector, as measured on one machine.
        n_rows = self.problem.n_rows
        if self.part == "exact":
            return 2e-3 * n_rows
        assert self.budget is not None
        if self.part == "peers":
            return n_rows * self.budget * (6e-7 if self.strategies[0] == models.NYSTROEM else 1e-7)
        slow = {"gss": 2, "gss-precise": 8}
        cost = sum(slow.get(strategy, 1) for strategy in self.strategies)
        return n_rows * (self.passes or 1) * (2e-7 + 1e-9 * self.budget * cost)

    def fit(self) -> Row:
        """Fit the model and return what it gave."""
        own = self.passes is not None
        parameters: dict[str, Any] = {}
        if own:
            parameters = {"max_iter": self.passes, "maintenance": self.strategies[0], "n_jobs": 1}
        if self.part == "paper":
            parameters |= {"polish": False, "fit_intercept": False}
        model = models.make(
            models.POCKETSVM if own else self.strategies[0],
            **self.problem.setting,
            n_rows=self.problem.n_rows,
            budget=self.budget,
            seed=self.seed,
            **parameters,
        )
        outcome = models.fit_and_predict(model, self.problem.rows)._asdict()
        if own:
            profile = model.profile_
            outcome |= asdict(profile) | {"merge_frequency": profile.merge_frequency}
        return outcome

    def audit(self) -> list[Row]:
        """Compare the decisions of the strategies in the same states, one line for each."""
        assert self.budget is not None
        rows = audit(
            self.problem.rows.X,
            self.problem.rows.y,
            **self.problem.setting,
            budget=self.budget,
            max_iter=self.passes or 1,
            strategies=self.strategies,
            seed=self.seed or 0,
        )
        return [_audited(row) for row in rows]


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
    """Return all runs in their order."""
    parts = (_PLANS[part](problems, setting) for part in PARTS if part in setting.parts)
    return list(dict.fromkeys(chain.from_iterable(parts)))  # peers and defaults share runs


def _paper(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in problems:
        strategies, runs = setting.strategies, setting.runs
        if problem.generated:
            # The precise search would take longer there than all other runs together.
            strategies = [strategy for strategy in strategies if strategy != PRECISE]
            runs = min(runs, MAX_SCALE_RUNS)
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
            for seed in range(min(setting.runs, MAX_PEER_RUNS)):
                yield _default(problem, OURS, budget, seed)
                for name in models.APPROXIMATIONS:
                    yield Task("peers", problem, (name,), budget, seed)


def _exact(problems: Sequence[Problem], setting: Setting) -> Iterator[Task]:
    for problem in _small(problems):
        yield Task("exact", problem, (models.EXACT,))


def _small(problems: Sequence[Problem]) -> list[Problem]:
    return [p for p in problems if not p.generated and p.n_rows <= MAX_ROWS]


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
    return [{**line, **outcome} for line, outcome in zip(task.lines, outcomes, strict=True)]
