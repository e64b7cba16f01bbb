"""The study behind the defaults: one choice of training varied at a time (``make study``).

Every variant is judged on a quarter of the training rows, which is held out and differs between
seeds; test sets are not used. Results are stored, so that a run that was stopped resumes, and the
page is written from the results of this build.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..estimators import BudgetedSVC
from .datasets import tuned
from .datasets.generated import CASES, TEST_ROWS
from .datasets.hard import chequerboard
from .datasets.problems import available, labelled
from .datasets.tasks import Task, has_polish
from .toolkit.measure import one_thread
from .toolkit.pages import Block, read_paragraphs, write_markdown
from .toolkit.results import Results, Row, program, select
from .toolkit.tables import Columns, Table, headings

SEEDS = range(5)
HELD_OUT = 0.25
CASE_BUDGET = 100
BOARD_ROWS, BOARD_FLIPPED = 100_000, 0.05

KEY: dict[str, type] = {"program": str, "data": str, "budget": int, "seed": int, "variant": str}
CASE_SCORES = ("last", "polished", "share", "last_share", "polished_share")
COLUMNS: dict[str, type] = {**KEY, "score": float, **dict.fromkeys(CASE_SCORES, float)}

# What a variant changes: parameters of the estimator, and constants of the package by their path in
# it ("solving.sample.LARGEST_BLOCK"), which must be read when a model is fitted.
Changes = Mapping[str, Any]

# The comparisons of the page: variants of the default, which is an empty change.
COMPARISONS: dict[str, dict[str, Changes]] = {
    "Polishing": {
        "the last iterate": {"polish": False},
        "the last iterate, intercept as a feature of value 1": {
            "polish": False,
            "training.passes.INTERCEPT_RATE": 1.0,
        },
        "thorough": {"polish": "thorough"},
    },
    "Moving the vectors after polishing": {
        "never": {"solving.moving.MOST_FRUGAL_VALUES": 0},
        "if it costs at most as much as the passes": {"solving.moving.TIMES_PASSES": 1},
        "at most twice as much": {},
        "at most four times as much": {"solving.moving.TIMES_PASSES": 4},
    },
    "Kernel values of the rows that are solved on": {
        "16 MB": {"solving.sample.LARGEST_BLOCK": 2**24},
        "64 MB": {"solving.sample.LARGEST_BLOCK": 2**26},
        "256 MB": {},
    },
    "Intercept in the passes: the square of its constant feature": {
        "0.01": {"training.passes.INTERCEPT_RATE": 0.01},
        "0.1": {},
        "1": {"training.passes.INTERCEPT_RATE": 1.0},
    },
    "Passes": {
        "5": {"max_iter": 5},
        "10": {"max_iter": 10},
        "20": {},
        "40": {"max_iter": 40},
    },
}

# The data sets beyond the paper and their budgets, by label.
BEYOND = {
    "letter": (260, 520),
    "eeg": (100, 500),
    "cpusmall": (100, 500),
    "abalone": (100, 500),
    "chequerboard": (100, 500),
}


# --- variants -------------------------------------------------------------------------------------


def score(task: Task, budget: int, seed: int, changes: Changes) -> float:
    """Return the score on held-out rows, in per cent."""
    split = task.held_out(HELD_OUT, seed)
    parameters = {name: value for name, value in changes.items() if "." not in name}
    constants = {name: value for name, value in changes.items() if "." in name}
    with changed(constants), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return split.score(split.fit(split.budgeted(budget, seed, **parameters)))


@contextmanager
def changed(constants: Changes) -> Iterator[None]:
    """Change constants of the package within this context; raise AttributeError if one is none."""
    places = []
    for path, value in constants.items():
        module, name = path.rsplit(".", 1)
        place = import_module(f"pocketsvm.{module}")
        places.append((place, name, getattr(place, name), value))
    for place, name, _, value in places:
        setattr(place, name, value)
    try:
        yield
    finally:
        for place, name, before, _ in places:
            setattr(place, name, before)


def _variants() -> list[Changes]:
    """Return all different variants that this build can train."""
    variants = {str(changes): changes for some in COMPARISONS.values() for changes in some.values()}
    return [changes for changes in variants.values() if has_polish(changes.get("polish", True))]


@cache
def _task(label: str) -> Task | None:
    """Return the task of a label; None if it is missing."""
    if label == "chequerboard":
        return chequerboard(BOARD_ROWS, flipped=BOARD_FLIPPED)
    if label in BEYOND:
        return tuned.tuned(label)
    return Task.of(next(problem for problem in available() if problem.label == label))


def _budgets() -> dict[str, tuple[int, int]]:
    """Return the budgets of all data sets that are there, by label."""
    found = {problem.label: problem.data_set.budgets for problem in available()}
    return found | {label: pair for label, pair in BEYOND.items() if _task(label) is not None}


# --- runs -----------------------------------------------------------------------------------------


def measure(results: Results, n_processes: int) -> None:
    """Make the missing runs; each result is stored at once."""
    jobs = list(_jobs(results))
    with ProcessPoolExecutor(n_processes) as pool:
        futures = [pool.submit(*job) for job in jobs]
        for k, future in enumerate(as_completed(futures), start=1):
            results.add(future.result())
            print(f"\r{k} of {len(jobs)}", end="", flush=True)
    print()


def _jobs(results: Results) -> Iterator[tuple[Any, ...]]:
    """Yield the functions to call, with their arguments, for the results that are missing."""
    for seed in SEEDS:
        for label, budgets in _budgets().items():
            for budget in budgets:
                missing = [
                    changes
                    for changes in _variants()
                    if None in results.of([_line(label, seed, budget, changes)])
                ]
                if missing:
                    yield _run_variants, label, budget, seed, missing
        for case in CASES:
            if None in results.of([_line(case, seed)]):
                yield _run_case, case, seed


def _line(data: str, seed: int, budget: int | None = None, changes: Changes | None = None) -> Row:
    text = None if changes is None else str(changes)
    return {"program": program(), "data": data, "budget": budget, "seed": seed, "variant": text}


def _run_variants(label: str, budget: int, seed: int, variants: Sequence[Changes]) -> list[Row]:
    """Score the variants on one split of one data set."""
    task = _task(label)
    assert task is not None
    with one_thread():
        return [
            {**_line(label, seed, budget, changes), "score": score(task, budget, seed, changes)}
            for changes in variants
        ]


def _run_case(case: str, seed: int) -> list[Row]:
    """Compare test accuracies with and without polishing, and how often the last class occurs."""
    (X, y), (X_test, y_test) = CASES[case]()
    found = {"share": 100 * float(np.mean(y_test == y_test.max()))}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The columns of X differ in scale")
        for name, polished in (("polished", True), ("last", False)):
            model = BudgetedSVC(CASE_BUDGET, polish=polished, random_state=seed).fit(X, y)
            predicted = model.predict(X_test)
            found[name] = 100 * float(np.mean(predicted == y_test))
            found[f"{name}_share"] = 100 * float(np.mean(predicted == y_test.max()))
    return [{**_line(case, seed), **found}]


# --- the page -------------------------------------------------------------------------------------

TEXT = Path(__file__).with_name("study.md")  # what the page says beside its tables
CASE_COLUMNS: Columns = headings(
    "data",
    "last iterate",
    "polished",
    "difference",
    "last class",
    "predicted by last iterate",
    "predicted by polished",
)


def blocks(results: Results) -> Iterator[Block]:
    """Yield the blocks of the page, from the results of this build."""
    text = read_paragraphs(TEXT, TEST_ROWS=TEST_ROWS, CASE_BUDGET=CASE_BUDGET)
    cases = text.index("## Generated data, polished and not")
    yield from text[:cases]
    paper = {label: data_set.budgets for label, data_set in labelled().items()}
    for title, variants in COMPARISONS.items():
        yield f"## {title}"
        for group in (paper, BEYOND):
            for which in (0, 1):
                columns = {label: budgets[which] for label, budgets in group.items()}
                if table := _comparison(variants, columns, results):
                    yield table
    yield from text[cases:]
    yield _case_table(results)


def _comparison(
    variants: Mapping[str, Changes], columns: Mapping[str, int], results: Results
) -> Table:
    """Return the table of one comparison for data sets with one budget each."""
    default = {
        (label, budget): scores
        for label, budget in columns.items()
        if len(scores := _scores(results, "score", label, budget, {}))
    }
    titles = [f"{label}, {budget}" for label, budget in default]
    table = Table("comparison", "", headings("data, B", *titles))
    if not default:
        return table
    table.add("the default", *(f"{scores.mean():.2f}" for scores in default.values()))
    for name, changes in variants.items():
        if not changes:
            table.add(f"**{name}**")
            continue
        found = [_scores(results, "score", *column, changes) for column in default]
        differences = zip(found, default.values(), strict=True)
        table.add(
            name, *(_difference(ours - base) if len(ours) else None for ours, base in differences)
        )
    return table


def _case_table(results: Results) -> Table:
    table = Table("cases", "", CASE_COLUMNS)
    for case in CASES:
        found = [_scores(results, column, case) for column in CASE_SCORES]
        if all(map(len, found)):
            last, polished, *shares = found
            table.add(
                case,
                *(f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}" for scores in (last, polished)),
                _difference(polished - last),
                *(f"{share.mean():.2f}" for share in shares),
            )
    return table


def _scores(
    results: Results,
    column: str,
    data: str,
    budget: int | None = None,
    changes: Changes | None = None,
) -> NDArray[np.float64]:
    """Return the scores for all seeds, or nothing if some are missing."""
    rows = results.of(_line(data, seed, budget, changes) for seed in SEEDS)
    found = [row[column] for row in rows if row is not None]
    return np.array(found if len(found) == len(SEEDS) else [], dtype=np.float64)


def _difference(values: NDArray[np.float64]) -> str:
    """Return mean and standard error."""
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / len(values) ** 0.5:.2f}"


def main() -> None:
    """Run the study, or only write its page."""
    parser = argparse.ArgumentParser(description="Compare the settings of training.")
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--out", type=Path, default=Path("build/study"), help="folder of results")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="folder of the page")
    options = parser.parse_args()
    results = Results(options.out / "results.csv", COLUMNS, tuple(KEY))
    if not options.page:
        measure(results, options.jobs)
    if not select(results.rows, program=program()):
        parser.error("there are no results of this build: run the study without --page")
    print(f"Written: {write_markdown(list(blocks(results)), options.docs, 'study')}")


if __name__ == "__main__":
    main()
