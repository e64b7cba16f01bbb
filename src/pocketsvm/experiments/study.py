"""The settings that find good support vectors, one knob at a time: ``make study``.

Every variant is judged on a quarter of the training rows that is held out, another quarter for each
seed; test sets are not looked at. Results are kept under ``build/study``, so that a run that was
stopped goes on where it was, and ``docs/study.md`` is written from them: from those of this build
alone.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import datasets
import generated
import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from pocketsvm import _core
from pocketsvm._replacing import replacing
from pocketsvm.data import checks
from pocketsvm.experiments.paper.results import stamp
from pocketsvm.solving.moving import Effort, move
from pocketsvm.solving.newton import Hinge, Sample, distinct, polish

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "build" / "study" / "results.jsonl"
PAGE = ROOT / "docs" / "study.md"
SEEDS = range(5)


@dataclass(frozen=True)
class Recipe:
    """One way to find the vectors and their coefficients; the default where nothing is said."""

    strategy: str = "merge"
    rate: float = 0.1  # of the intercept in the passes; 0: none
    passes: tuple[int, ...] = (20,)  # several: polished, and continued from there
    first_rate: float | None = None  # None: 1 / lambda
    grown: float = 1.0  # vectors in the passes, in budgets; merged down after polishing
    dropped: float = 0.0  # the share of vectors that polishing finds smallest, before it goes on
    width: float = 0.5
    polished: bool = True
    moves: int = 20  # steps of the vectors after polishing, at most
    frugal: bool = True  # whether there are none where they cost much


KNOBS = {
    "Polishing": {
        "the last iterate": {"polished": False},
        "the last iterate, intercept as a feature of value 1": {"polished": False, "rate": 1.0},
    },
    "Moving the vectors after polishing": {
        "never": {"moves": 0},
        "up to 10 steps": {"moves": 10},
        "up to 20 steps, where they are cheap": {},
        "10 to 20 steps, always, of many rows on a sample": {"frugal": False},
        "up to 40 steps, where they are cheap": {"moves": 40},
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
        "as many": {},
        "1.5 times as many": {"grown": 1.5},
    },
    "Vectors dropped where polishing finds the smallest coefficients, then 5 of 20 passes": {
        "none": {},
        "a tenth": {"passes": (15, 5), "dropped": 0.1},
    },
    "Width of the smoothing": {
        "0.1": {"width": 0.1},
        "0.5": {},
        "1": {"width": 1.0},
    },
}


class Split:
    """A data set with a quarter of its training rows held out, and a budget to train with."""

    def __init__(self, data_set, budget, seed):
        X, y = training_part(data_set.name)
        X, held_out, y, self.labels = train_test_split(
            X, y, test_size=0.25, random_state=seed, stratify=y
        )
        self.C, self.budget, self.seed = data_set.C, budget, seed
        self.X = checks.canonical(X)
        self.rows, self.gamma = checks.training_rows(self.X, data_set.gamma)
        self.held_out = checks.canonical(held_out)
        self.classes = np.unique(y)
        self.codes = (y == self.classes[1]).astype(np.int8)
        self.alpha = 1 / (len(y) * self.C)
        self.begun = {}  # trainers by what they differ in, with their states after each pass

    def score(self, recipe):
        """Accuracy on the held-out rows, in per cent."""
        state = self.first_passes(recipe)
        for n_passes in recipe.passes[1:]:
            state = self.polished(state, recipe, bool(recipe.rate))
            trainer = self.trainer(recipe)
            trainer.restore(**without_smallest(state, recipe.dropped))
            self.run(trainer, n_passes)
            state = trainer.state()
        if recipe.grown > 1:
            trainer = self.trainer(replace(recipe, grown=1.0))
            trainer.restore(**self.polished(state, recipe))
            state = trainer.state()
        if recipe.polished:
            state = self.polished(state, recipe, moves=recipe.moves)
        unit = self.alpha * state["steps"]
        values = checks.decision_values(
            state["vectors"],
            state["coefficients"][None] / unit,
            np.array([state["bias"] / unit]),
            self.gamma,
            self.held_out,
            1,
        )
        predicted = self.classes[(values.ravel() > 0).astype(int)]
        return 100 * float(np.mean(predicted == self.labels))

    def trainer(self, recipe):
        return _core.Trainer(
            n_features=self.rows.n_features,
            budget=int(recipe.grown * self.budget),
            gamma=self.gamma,
            alpha=self.alpha,
            maintenance=recipe.strategy,
            fit_intercept=recipe.rate > 0,
            intercept_rate=recipe.rate,
            seed=self.seed,
            dtype=self.rows.dtype,
        )

    def first_passes(self, recipe):
        """State after the first passes; recipes that differ in nothing before share them."""
        key = Recipe(recipe.strategy, recipe.rate, (), recipe.first_rate, recipe.grown)
        if key not in self.begun:
            trainer = self.trainer(recipe)
            state = trainer.state()
            if recipe.first_rate is not None:
                state["steps"] = round(1 / (self.alpha * recipe.first_rate))
                trainer.restore(**state)
            self.begun[key] = trainer, [state]
        trainer, states = self.begun[key]
        while len(states) <= recipe.passes[0]:
            self.run(trainer, 1)
            states.append(trainer.state())
        return states[recipe.passes[0]]

    def run(self, trainer, n_passes):
        for _ in range(n_passes):
            _core.train_pass([trainer], self.rows, "hinge", self.codes, [1], np.ones(2), None, 1)

    def polished(self, state, recipe, fit_intercept=True, moves=0):
        """Return the state with the best coefficients for its vectors, which may move."""
        unit = self.alpha * state["steps"]
        vectors, beta = distinct(state["vectors"], state["coefficients"][None] / unit)
        loss = Hinge(np.where(self.codes == 1, 1.0, -1.0), recipe.width)
        c = np.full(len(self.codes), float(self.C))
        setting = self.gamma, Sample(self.X, self.rows, c, [loss]), fit_intercept, 1
        solutions = polish(vectors, [(beta[0], state["bias"] / unit)], *setting)
        if moves:
            effort = self.effort(recipe, moves)
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

    def effort(self, recipe, moves):
        default = Effort.for_labels(2 * sum(recipe.passes) * len(self.codes) * self.budget)
        return replace(default, limits=(min(10, moves), moves), frugal=recipe.frugal)


def without_smallest(state, share):
    sizes = np.abs(state["coefficients"])
    kept = np.sort(np.argsort(-sizes, kind="stable")[: len(sizes) - int(share * len(sizes))])
    return {**state, **{name: state[name][kept] for name in ("vectors", "coefficients", "births")}}


@cache
def training_part(name):
    data_set = next(data_set for data_set in datasets.DATA_SETS if data_set.name == name)
    return datasets.load(data_set)[:2]


def measure_split(name, budget, seed, recipes):
    """Scores of the recipes on one split of one data set."""
    data_set = next(data_set for data_set in datasets.DATA_SETS if data_set.name == name)
    with threadpool_limits(1):
        split = Split(data_set, budget, seed)
        return [
            {"job": job_name(name, budget, seed, recipe), "score": split.score(recipe)}
            for recipe in recipes
        ]


# --- what is to be measured, and what is kept ----------------------------------------------------


def recipes():
    """All recipes, those with common passes one after the other."""
    variants = [Recipe(**changes) for knob in KNOBS.values() for changes in knob.values()]
    return sorted(dict.fromkeys(variants), key=lambda r: (r.strategy, r.rate, r.grown, str(r)))


def job_name(*parts):
    """What a result is of, and of which build."""
    return " | ".join(map(str, (stamp(True)["program"], *parts)))


def jobs(done):
    """Functions to call, with their arguments: what is missing among the results."""
    available = datasets.available()
    for seed in SEEDS:
        for data_set in available:
            for budget in data_set.budgets:
                names = {
                    job_name(data_set.name, budget, seed, recipe): recipe for recipe in recipes()
                }
                if missing := [recipe for name, recipe in names.items() if name not in done]:
                    yield measure_split, data_set.name, budget, seed, missing
        for case in generated.CASES:
            if job_name(case, seed) not in done:
                yield compare, case, seed


def compare(case, seed):
    return [{"job": job_name(case, seed), **generated.compare(case, seed)}]


def load():
    if not RESULTS.is_file():
        return {}
    lines = RESULTS.read_text().splitlines(keepends=True)
    complete = (line for line in lines if line.endswith("\n"))  # the last one may have been cut
    return {found["job"]: found for found in map(json.loads, complete)}


def measure(n_processes):
    """Do what is missing, and keep each result as soon as it is there."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    done = load()
    with replacing(RESULTS) as file:  # without a line that was cut
        file.writelines(f"{json.dumps(found)}\n".encode() for found in done.values())
    todo = list(jobs(done))
    with ProcessPoolExecutor(n_processes) as pool:
        futures = [pool.submit(*job) for job in todo]
        for k, future in enumerate(as_completed(futures), start=1):
            with RESULTS.open("a") as file:
                file.writelines(json.dumps(found) + "\n" for found in future.result())
            print(f"\r{k} of {len(todo)}", end="", flush=True)
    print()


# --- the page ------------------------------------------------------------------------------------

TOP = """# Study of the settings

Written by `make study`, which measures everything below again. Accuracies, in per cent, are those
on a quarter of the *training* rows that is held out, another one for each of five seeds, with the
paper's C and gamma. Below the default's accuracy stand differences from it, seed by seed, with
their standard error; the default's own setting is in bold. The study does not look at the test
rows, though earlier versions had been seen on them before the defaults were compared here;
accuracies on them are in [benchmarks.md](benchmarks.md). How the method works is told in
[method.md](method.md).
"""

OTHER_DATA = f"""Generated rows, hard in one way each, {generated.TEST_ROWS:,} of them to test on;
`BudgetedSVC({generated.BUDGET})` with and without `polish`, all else at its defaults, mean of five
seeds. The last three columns: how many rows in 100 are of the last class, and are said to be.

Where one row in 100 is positive, polishing finds fewer of them than the last iterate, and on 100
rows, all of which are vectors, it may be a little worse. There the smoothing tells a polished model
from the exact `SVC`: the narrower it is, the closer they are (a test compares their decision
values), but a narrow one costs accuracy on other rows (see above). It is likely to be the cause
where positives are rare, too.
"""


def page(results):
    """The page, in Markdown."""
    lines = [TOP]
    for knob, variants in KNOBS.items():
        lines.append(f"## {knob}\n")
        for which in (0, 1):
            lines += knob_table(variants, which, results)
    lines += ["## Other data, polished and not\n", OTHER_DATA, *generated_table(results)]
    return "\n".join(lines) + "\n"


def knob_table(variants, which, results):
    default = [
        (data_set, scores(data_set, which, Recipe(), results)) for data_set in datasets.DATA_SETS
    ]
    default = [(data_set, base) for data_set, base in default if len(base)]
    titles = [f"{data_set.name}, {data_set.budgets[which]}" for data_set, _ in default]
    means = [f"{base.mean():.2f}" for _, base in default]
    lines = [
        f"| data, B | {' | '.join(titles)} |",
        f"|---|{'---:|' * len(titles)}",
        f"| the default | {' | '.join(means)} |",
    ]
    for label, changes in variants.items():
        if not changes:
            lines.append(f"| **{label}** | {' | '.join('–' for _ in default)} |")
            continue
        cells = [
            difference(scores(data_set, which, Recipe(**changes), results) - base)
            for data_set, base in default
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return [*lines, ""]


def scores(data_set, which, recipe, results):
    """Scores for all seeds, or nothing where some are missing."""
    names = [job_name(data_set.name, data_set.budgets[which], seed, recipe) for seed in SEEDS]
    complete = all(name in results for name in names)
    return np.array([results[name]["score"] for name in names]) if complete else np.empty(0)


def difference(values):
    """Mean and standard error."""
    if not len(values):
        return ""
    return f"{values.mean():+.2f} ± {values.std(ddof=1) / len(values) ** 0.5:.2f}"


def generated_table(results):
    lines = [
        "| data | last iterate | polished | difference | last class | by last iterate | polished |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case in generated.CASES:
        names = [job_name(case, seed) for seed in SEEDS]
        if not all(name in results for name in names):
            continue
        found = [results[name] for name in names]
        last, polished, share, *shares = (
            np.array([run[key] for run in found])
            for key in ("last", "polished", "share", "last_share", "polished_share")
        )
        cells = [
            *(f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" for values in (last, polished)),
            difference(polished - last),
            *(f"{values.mean():.2f}" for values in (share, *shares)),
        ]
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    if not options.page:
        measure(options.jobs)
    results = load()
    if not any(name.startswith(stamp(True)["program"]) for name in results):
        parser.error("there are no results of this build: run it without --page")
    with replacing(PAGE) as file:
        file.write(page(results).encode())
    print(f"The page is in {PAGE.relative_to(ROOT)}.")


if __name__ == "__main__":
    main()
