"""The study behind the defaults: one setting of training varied at a time (``make study``).

Every variant is judged on a quarter of the training rows, which is held out and differs between
seeds; test sets are not used. Results are stored, so that a run that was stopped resumes, and the
page is written from the results of this build.
"""

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from .. import _core
from ..data.rows import checked_rows
from ..estimators import BudgetedSVC
from ..solving.losses import Hinge
from ..solving.moving import Effort, move
from ..solving.newton import distinct, polish
from ..solving.sample import Sample
from .datasets.generated import CASES, TEST_ROWS
from .datasets.problems import Problem, available, labelled
from .passes import new_trainer, run_passes, two_classes
from .toolkit.measure import one_thread
from .toolkit.pages import Block, read_paragraphs, write_markdown
from .toolkit.results import Results, Row, program, select
from .toolkit.tables import Columns, Table, headings

SEEDS = range(5)
HELD_OUT = 0.25
CASE_BUDGET = 100
MIN_MOVES = 10  # the default number of steps before moving may stop

KEY: dict[str, type] = {"program": str, "data": str, "budget": int, "seed": int, "recipe": str}
CASE_SCORES = ("last", "polished", "share", "last_share", "polished_share")
COLUMNS: dict[str, type] = {**KEY, "score": float, **dict.fromkeys(CASE_SCORES, float)}

State = dict[str, Any]


@dataclass(frozen=True)
class Recipe:
    """One way to find the vectors and their coefficients.

    Attributes
    ----------
    rate : float
        The square of the constant feature that the intercept multiplies in the passes; 0: no
        intercept.

    passes : tuple of int
        The number of passes; several numbers: polishing between them.

    first_rate : float or None
        The first learning rate; None: 1 / lambda.

    grown : float
        Vectors in the passes, relative to the budget; merged down to it after polishing.

    dropped : float
        The share of vectors that is dropped between passes, those with the smallest coefficients.

    width : float
        The width of the smoothing of the hinge loss.

    polished : bool
        Whether the coefficients are solved for.

    moves : int
        The maximum number of steps that move the vectors after polishing.

    frugal : bool
        Whether vectors are only moved if that is cheap.
    """

    rate: float = 0.1
    passes: tuple[int, ...] = (20,)
    first_rate: float | None = None
    grown: float = 1.0
    dropped: float = 0.0
    width: float = 0.5
    polished: bool = True
    moves: int = 20
    frugal: bool = True


# The comparisons of the page: variants of the default recipe, which is an empty change.
COMPARISONS: dict[str, dict[str, dict[str, Any]]] = {
    "Polishing": {
        "the last iterate": {"polished": False},
        "the last iterate, intercept as a feature of value 1": {"polished": False, "rate": 1.0},
    },
    "Moving the vectors after polishing": {
        "never": {"moves": 0},
        "up to 10 steps": {"moves": 10},
        "up to 20 steps, if they are cheap": {},
        "always 10 to 20 steps, on a subsample of large data": {"frugal": False},
        "up to 40 steps, if they are cheap": {"moves": 40},
    },
    "Intercept in the passes: the square of its constant feature": {
        "none": {"rate": 0.0},
        "0.01": {"rate": 0.01},
        "0.1": {},
        "1": {"rate": 1.0},
    },
    "Passes": {
        "5": {"passes": (5,)},
        "10": {"passes": (10,)},
        "20": {},
        "40": {"passes": (40,)},
    },
    "First learning rate": {"1 / λ": {}, "1": {"first_rate": 1.0}},
    "Polishing between the passes": {
        "never": {},
        "after 10 of 20": {"passes": (10, 10)},
    },
    "Vectors in the passes, merged down to the budget after polishing": {
        "as many as the budget": {},
        "1.5 times as many": {"grown": 1.5},
    },
    "Vectors with the smallest coefficients dropped after 15 of 20 passes": {
        "none": {},
        "a tenth": {"passes": (15, 5), "dropped": 0.1},
    },
    "Width of the smoothing": {
        "0.1": {"width": 0.1},
        "0.5": {},
        "1": {"width": 1.0},
    },
}


# --- training -------------------------------------------------------------------------------------


class Split:
    """A problem with a quarter of its training rows held out, and a budget to train with."""

    def __init__(self, problem: Problem, budget: int, seed: int) -> None:
        X, y, _, _ = problem.rows
        X, held_out, y, self.labels = train_test_split(
            X, y, test_size=HELD_OUT, random_state=seed, stratify=y
        )
        self.data = two_classes(X, y, **problem.setting)
        self.held_out = checked_rows(held_out)
        self.C, self.budget, self.seed = problem.data_set.C, budget, seed
        # Trainers with their states after each pass, by the recipe of their first passes.
        self.begun: dict[Recipe, tuple[_core.Trainer, list[State]]] = {}

    def score(self, recipe: Recipe) -> float:
        """Return the accuracy on the held-out rows, in per cent."""
        state = self._first_passes(recipe)
        for n_passes in recipe.passes[1:]:
            state = self._polished(state, recipe, bool(recipe.rate))
            trainer = self._trainer(recipe)
            trainer.restore(**_without_smallest(state, recipe.dropped))
            run_passes(trainer, self.data, n_passes)
            state = trainer.state()
        if recipe.grown > 1:
            trainer = self._trainer(replace(recipe, grown=1.0))
            trainer.restore(**self._polished(state, recipe))
            state = trainer.state()
        if recipe.polished:
            state = self._polished(state, recipe, moves=recipe.moves)
        unit = self.data.alpha * state["weight"]
        values = _core.decide(
            state["vectors"],
            state["coefficients"][None] / unit,
            np.array([state["bias"] / unit]),
            self.data.rows.gamma,
            self.held_out.core(self.data.rows.core.dtype),
            1,
        )
        predicted = self.data.targets.classes[(values.ravel() > 0).astype(int)]
        return 100 * float(np.mean(predicted == self.labels))

    def _trainer(self, recipe: Recipe) -> _core.Trainer:
        return new_trainer(
            self.data,
            budget=int(recipe.grown * self.budget),
            maintenance="merge",
            seed=self.seed,
            intercept_rate=recipe.rate,
        )

    def _first_passes(self, recipe: Recipe) -> State:
        """Return the state after the first passes, which equal recipes share."""
        key = Recipe(recipe.rate, (), recipe.first_rate, recipe.grown)
        if key not in self.begun:
            trainer = self._trainer(recipe)
            state = trainer.state()
            if recipe.first_rate is not None:
                state["steps"] = round(1 / (self.data.alpha * recipe.first_rate))
                state["weight"] = float(state["steps"])
                trainer.restore(**state)
            self.begun[key] = trainer, [state]
        trainer, states = self.begun[key]
        while len(states) <= recipe.passes[0]:
            run_passes(trainer, self.data, 1)
            states.append(trainer.state())
        return states[recipe.passes[0]]

    def _polished(
        self, state: State, recipe: Recipe, fit_intercept: bool = True, moves: int = 0
    ) -> State:
        """Return the state with the best coefficients for its vectors, which may move."""
        unit = self.data.alpha * state["weight"]
        codes = self.data.targets.codes
        vectors, beta = distinct(state["vectors"], state["coefficients"][None] / unit)
        loss = Hinge(np.where(codes == 1, 1.0, -1.0), recipe.width)
        sample = Sample(self.data.rows, np.full(len(codes), float(self.C)), [loss])
        setting = sample, fit_intercept, 1
        solutions = polish(vectors, [(beta[0], state["bias"] / unit)], *setting)
        if moves:
            default = Effort.for_classes(2 * sum(recipe.passes) * len(codes) * self.budget)
            limits = (min(MIN_MOVES, moves), moves)
            effort = replace(default, limits=limits, frugal=recipe.frugal)
            random = np.random.default_rng(self.seed)
            vectors, solutions = move(vectors, solutions, *setting, random, effort)
        (solution,) = solutions
        return {
            **state,
            "vectors": vectors,
            "coefficients": solution.coefficients * unit,
            "births": np.arange(1, len(vectors) + 1),
            "bias": solution.intercept * unit,
        }


def _without_smallest(state: State, share: float) -> State:
    sizes = np.abs(state["coefficients"])
    kept = np.sort(np.argsort(-sizes, kind="stable")[: len(sizes) - int(share * len(sizes))])
    return {**state, **{name: state[name][kept] for name in ("vectors", "coefficients", "births")}}


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
        for problem in available():
            for budget in problem.data_set.budgets:
                missing = [
                    recipe
                    for recipe in _recipes()
                    if None in results.of([_line(problem.label, seed, budget, recipe)])
                ]
                if missing:
                    yield _run_recipes, problem.label, budget, seed, missing
        for case in CASES:
            if None in results.of([_line(case, seed)]):
                yield _run_case, case, seed


def _recipes() -> list[Recipe]:
    """Return all recipes, ordered so that those with the same first passes are neighbours."""
    variants = [Recipe(**changes) for some in COMPARISONS.values() for changes in some.values()]
    return sorted(dict.fromkeys(variants), key=lambda r: (r.rate, r.grown, str(r)))


def _line(data: str, seed: int, budget: int | None = None, recipe: Recipe | None = None) -> Row:
    text = None if recipe is None else str(recipe)
    return {"program": program(), "data": data, "budget": budget, "seed": seed, "recipe": text}


def _run_recipes(label: str, budget: int, seed: int, recipes: Sequence[Recipe]) -> list[Row]:
    """Score the recipes on one split of one problem."""
    with one_thread():
        split = Split(_problem(label), budget, seed)
        return [
            {**_line(label, seed, budget, recipe), "score": split.score(recipe)}
            for recipe in recipes
        ]


@cache
def _problem(label: str) -> Problem:
    return next(problem for problem in available() if problem.label == label)


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
    for title, variants in COMPARISONS.items():
        yield f"## {title}"
        for which in (0, 1):
            yield _comparison(variants, which, results)
    yield from text[cases:]
    yield _case_table(results)


def _comparison(variants: Mapping[str, Mapping[str, Any]], which: int, results: Results) -> Table:
    """Return the table of one comparison for the smaller (0) or larger (1) budgets."""
    columns = {label: data_set.budgets[which] for label, data_set in labelled().items()}
    default = {
        (label, budget): scores
        for label, budget in columns.items()
        if len(scores := _scores(results, "score", label, budget, Recipe()))
    }
    titles = [f"{label}, {budget}" for label, budget in default]
    table = Table("comparison", "", headings("data, B", *titles))
    table.add("the default", *(f"{scores.mean():.2f}" for scores in default.values()))
    for name, changes in variants.items():
        if not changes:
            table.add(f"**{name}**")
            continue
        found = [_scores(results, "score", *column, Recipe(**changes)) for column in default]
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
    recipe: Recipe | None = None,
) -> NDArray[np.float64]:
    """Return the scores for all seeds, or nothing if some are missing."""
    rows = results.of(_line(data, seed, budget, recipe) for seed in SEEDS)
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
