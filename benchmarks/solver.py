"""The solver beside the exact SVM: scores and times with their targets."""

import statistics
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from pocketsvm.paper.datasets.problems import QUICK_ROWS, QUICK_TEST_ROWS
from pocketsvm.paper.models import n_vectors
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.tables import Table, met

from .data_sets import TASKS
from .datasets.flights import FLIGHTS
from .datasets.hard import (
    GENERATED_CLASSES,
    chequerboard,
    heavy_tails,
    letter_like,
    rare_class,
    text_rows,
    unequal_classes,
    weighted_rows,
)
from .datasets.tasks import Task
from .datasets.tuned import FASHION
from .measure import fastest
from .pieces import each, piece

SEEDS, QUICK_SEEDS = 5, 2
ROUNDS, QUICK_ROUNDS = 3, 1  # the fastest fit of several counts, if it is short
ENOUGH_SECONDS = 2.0  # a fit that took longer in total is not repeated
EXACT_SECONDS = 30.0  # the exact SVM is not fitted again for the next seed after this time
QUICK_BUDGET = 500  # quick runs skip larger ones
EXACT, THOROUGH = "exact", "thorough"


@dataclass(frozen=True)
class Line:
    """A line of the table: a model, and its targets.

    Attributes
    ----------
    budget : int
        The most vectors.

    polish : bool or str
        The parameter of the estimators.

    least, stretch : float or None
        The target of the score in per cent, and a goal beyond it.

    slowest : float or None
        The target of the time to fit, relative to that of the exact SVM.
    """

    budget: int
    polish: bool | str = True
    least: float | None = None
    stretch: float | None = None
    slowest: float | None = None

    @property
    def name(self) -> str:
        """What identifies the line in its case."""
        return f"{self.budget}, {self.polish}"


@dataclass(frozen=True)
class Case:
    """A task and the lines to measure on it.

    Attributes
    ----------
    make : callable
        Returns the task, whose size depends on its argument: whether the run is quick. It returns
        None if files are missing.

    name : str
        Its name, to say that it is missing.

    lines : tuple of Line
        What is measured.

    exact_rows : int or None
        The exact SVM is trained on this many rows, which is then not comparable in time; None: on
        all rows, 0: not at all.

    seeds : int
        The most seeds.

    slow : bool
        Whether quick runs skip it.
    """

    name: str
    make: Callable[[bool], Task | None]
    lines: tuple[Line, ...]
    exact_rows: int | None = None
    seeds: int = SEEDS
    slow: bool = False


def _real(name: str) -> Callable[[bool], Task | None]:
    return lambda quick: _sized(TASKS[name](), quick)


def _sized(task: Task | None, quick: bool) -> Task | None:
    return task.some(QUICK_ROWS, QUICK_TEST_ROWS) if quick and task is not None else task


def _letter_like(n_classes: int) -> Case:
    lines = (Line(500, slowest=1.0),)
    make = partial(_sized_letter_like, n_classes)
    return Case(f"{n_classes} classes", make, lines)


def _sized_letter_like(n_classes: int, quick: bool) -> Task | None:
    return _sized(letter_like(n_classes), quick)


def _board(n_rows: int, side: int, flipped: float, quick: bool) -> Task:
    return chequerboard(n_rows // 10 if quick else n_rows, side, flipped)


CASES: tuple[Case, ...] = (
    Case(
        "letter",
        _real("letter"),
        (
            Line(500, slowest=1.0),
            Line(520, least=96.6, slowest=0.6),
            Line(2000, slowest=2.0),
        ),
    ),
    # Minutes for each seed.
    Case(
        "letter",
        _real("letter"),
        (Line(520, THOROUGH, least=96.8, stretch=97.0),),
        seeds=2,
        slow=True,
    ),
    *map(_letter_like, GENERATED_CLASSES),
    Case(
        "eeg",
        _real("eeg"),
        (
            Line(100),
            Line(100, THOROUGH),
            Line(500, least=96.2, slowest=1.0),
            Line(500, THOROUGH, least=96.6),
        ),
    ),
    Case("PHISHING", _real("PHISHING"), (Line(100, least=96.9), Line(100, THOROUGH, least=97.0))),
    Case(
        "IJCNN",
        _real("IJCNN"),
        (
            Line(20),
            Line(20, THOROUGH, least=98.3),
            Line(100, least=98.55),
            Line(100, THOROUGH, least=98.8),
        ),
    ),
    Case(
        "Fashion-MNIST",
        lambda quick: TASKS[FASHION](),
        (Line(500, least=89.0, stretch=89.5, slowest=0.3),),
        seeds=1,
        slow=True,
    ),
    Case(
        "cpusmall",
        _real("cpusmall"),
        (
            Line(100, least=96.7, stretch=96.8, slowest=1.0),
            Line(500, least=97.0, stretch=97.1, slowest=1.0),
        ),
    ),
    Case("abalone", _real("abalone"), (Line(100, slowest=1.0), Line(500, slowest=1.0))),
    Case("board", partial(_board, 100_000, 8, 0.0), (Line(100),), exact_rows=10_000),
    Case("flipped", partial(_board, 100_000, 8, 0.05), (Line(100, least=95.0),), exact_rows=10_000),
    Case(FLIGHTS, _real(FLIGHTS), (Line(500, THOROUGH, least=75.0),), 0, seeds=1, slow=True),
    *(
        Case("large board", partial(_board, 2_000_000, 16, flipped), (Line(500),), 10_000, seeds=2)
        for flipped in (0.0, 0.05)
    ),
    Case("rare", lambda quick: rare_class(20_000 if quick else 200_000), (Line(100), Line(500))),
    Case("unequal", lambda quick: unequal_classes(5_000 if quick else 30_000), (Line(500),)),
    Case("weighted", lambda quick: weighted_rows(2_000 if quick else 20_000), (Line(100),)),
    Case("text", lambda quick: text_rows(1_000 if quick else 10_000), (Line(500),)),
    Case(
        "tails",
        lambda quick: heavy_tails(2_000 if quick else 10_000),
        (Line(100, slowest=1.0), Line(500, slowest=1.0)),
    ),
)


def measure(quick: bool, jobs: int = 1) -> list[Table]:
    """Return the table of scores and times.

    Some seeds are measured at a time, in processes of their own.
    """
    table = Table(
        "solver",
        "The whole fit beside the exact SVM, one thread"
        + (f", at most {QUICK_ROWS:,} rows of real data" if quick else ""),
        {
            "data": ("data", ""),
            "budget": ("B", ",d"),
            "polish": ("polish", ""),
            "measure": ("measure, %", ""),
            "score": ("pocketsvm", ".2f"),
            "deviation": ("±", ".2f"),
            "exact_score": ("exact SVM", ".2f"),
            "target": ("target", ""),
            "met": ("met", ""),
            "stretch_target": ("stretch", ""),
            "stretch_met": ("reached", ""),
            "fit": ("fit, s", ",.3f"),
            "exact_fit": ("exact SVM, s", ",.3f"),
            "ratio": ("relative", ".2f"),
            "time_target": ("target of relative", ""),
            "time_met": ("met in time", ""),
            "vectors": ("vectors", ",d"),
            "exact_vectors": ("of exact SVM", ",d"),
            "seeds": ("seeds", "d"),
        },
        "Mean and standard deviation over the seeds on test rows; R² is in per cent, too. Times "
        f"are medians over the seeds, for each of which the fastest of up to {ROUNDS} interleaved "
        "fits counts. The exact SVM is SVC or SVR of scikit-learn with the same C and gamma; "
        "without a relative time, it was trained on a sample of 10,000 rows. Real data have the "
        "paper's C and gamma, or those of a cross-validation of the exact SVM on training rows."
        + (f" {jobs} seeds were measured at a time." if jobs > 1 else ""),
        progress=True,
    )
    units = [
        (number, seed)
        for number, case in enumerate(CASES)
        if _is_wanted(case, quick)
        for seed in range(min(QUICK_SEEDS if quick else SEEDS, case.seeds))
    ]
    for number, runs in _grouped(units, quick, jobs):
        for values in _summary(CASES[number], runs):
            table.add(**values)
    return [table]


def _is_wanted(case: Case, quick: bool) -> bool:
    if quick and case.slow:
        print(f"Skipped in a quick run: {case.name}.", flush=True)
        return False
    return True


# --- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """What one seed gave, by names of lines and for `EXACT`; nothing if files are missing."""

    label: str
    measure: str
    comparable: bool  # the exact SVM saw the same rows
    scores: dict[str, float]
    seconds: dict[str, float]
    vectors: dict[str, int]


def _grouped(
    units: list[tuple[int, int]], quick: bool, jobs: int
) -> Iterator[tuple[int, list[Run]]]:
    """Run all units, some at a time, and yield the runs of each case."""
    names = [f"{CASES[number].name} ({number}), seed {seed}" for number, seed in units]
    every = [(*unit, quick) for unit in units]
    found = iter(each(_run, every, jobs, names) if jobs > 1 else ())
    named = iter(names)
    for number, group in groupby(units, key=itemgetter(0)):
        runs: list[Run] = []
        for _, seed in group:
            # The next seeds do not fit the exact SVM again if that takes long.
            spent = sum(run.seconds.get(EXACT, 0.0) for run in runs)
            measure = partial(_run, number, seed, quick, spent)
            run = next(found) if jobs > 1 else piece(next(named), measure)
            runs.append(Run(**run))
        yield number, runs


def _run(number: int, seed: int, quick: bool, spent: float = 0.0) -> dict[str, Any]:
    """Fit all models of a case for one seed, interleaved with the exact SVM."""
    case = CASES[number]
    task = case.make(quick)
    if task is None:
        return asdict(Run(case.name, "", False, {}, {}, {}))
    sampled = case.exact_rows is not None and case.exact_rows < len(task.rows.y)
    reference = task.some(case.exact_rows or 0, len(task.rows.y_test)) if sampled else task
    calls: dict[str, Callable[[], Any]] = {
        line.name: partial(task.fit, task.budgeted(line.budget, seed, polish=line.polish))
        for line in _lines(case, quick)
    }
    if case.exact_rows != 0 and spent < EXACT_SECONDS:
        calls[EXACT] = partial(reference.fit, task.exact())
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = fastest(calls, QUICK_ROUNDS if quick else ROUNDS, ENOUGH_SECONDS)
    run = Run(
        task.label,
        task.measure,
        not sampled,
        {name: task.score(fit.value) for name, fit in found.items()},
        {name: fit.seconds for name, fit in found.items()},
        {
            name: len(fit.value.support_) if name == EXACT else n_vectors(fit.value)
            for name, fit in found.items()
        },
    )
    return asdict(run)


def _lines(case: Case, quick: bool) -> list[Line]:
    return [line for line in case.lines if not quick or line.budget <= QUICK_BUDGET]


def _summary(case: Case, runs: list[Run]) -> Iterator[dict[str, Any]]:
    """Yield the lines of a case."""
    first = runs[0]
    if not first.scores:
        print(f"Skipped, because it is not in $POCKETSVM_DATA: {case.name}.", flush=True)
        return
    exact: dict[str, Any] = {}
    if EXACT in first.scores:
        seconds = [run.seconds[EXACT] for run in runs if EXACT in run.seconds]
        exact = {
            "exact_score": first.scores[EXACT],
            "exact_vectors": first.vectors[EXACT],
            "exact_fit": statistics.median(seconds),
        }
    for line in (line for line in case.lines if line.name in first.scores):
        scores = [run.scores[line.name] for run in runs]
        seconds = [run.seconds[line.name] for run in runs]
        yield {
            "data": first.label,
            "budget": line.budget,
            "polish": str(line.polish),
            "measure": first.measure,
            "vectors": max(run.vectors[line.name] for run in runs),
            "seeds": len(runs),
            **exact,
            **_judged(line, scores, seconds, exact if first.comparable else None),
        }


def _judged(
    line: Line, scores: list[float], seconds: list[float], exact: dict[str, Any] | None
) -> dict[str, Any]:
    """Return score and time with their targets, and whether they are met."""
    score, fit = statistics.fmean(scores), statistics.median(seconds)
    ratio = fit / exact["exact_fit"] if exact else None
    found = {
        "score": score,
        "deviation": statistics.stdev(scores) if len(scores) > 1 else None,
        "fit": fit,
        "ratio": ratio,
        "least": line.least,
        "slowest": line.slowest,
    }
    if line.least is not None:
        found |= {"target": f"≥ {line.least:.2f}", "met": met(score, "≥", line.least)}
    if line.stretch is not None:
        goal = {"stretch_target": f"≥ {line.stretch:.2f}"}
        found |= goal | {"stretch_met": met(score, "≥", line.stretch)}
    if line.slowest is not None and ratio is not None:
        found |= {
            "time_target": f"≤ {line.slowest:.2f}",
            "time_met": met(ratio, "≤", line.slowest),
        }
    return found
