"""The study behind the defaults: one setting of training varied at a time (``make study``).

Every variant is judged on a quarter of the training rows, which is held out and differs between
seeds; test sets are not used. Results are stored, so that a run that was stopped resumes, and the
page is written from the results of this build.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

from pocketsvm.backends.native import Native
from pocketsvm.estimators import BudgetedSVC
from pocketsvm.model.prediction import decision_values
from pocketsvm.paper.toolkit.measure import one_thread
from pocketsvm.paper.toolkit.results import Results, Row, program
from pocketsvm.rows.checked import checked_rows
from pocketsvm.rows.precision import training_rows
from pocketsvm.search import BudgetedSVCCV, BudgetedSVRCV
from pocketsvm.solving.solve import solve
from pocketsvm.tasks.classification import class_targets
from pocketsvm.tasks.novelty import Novelty, NoveltyTargets, mean_kernel
from pocketsvm.tasks.regression import value_targets
from pocketsvm.training.passes import passes
from pocketsvm.training.settings import SEARCH_CHOICES, Choices, SearchChoices, Settings
from pocketsvm.training.state import VectorSet

from .data_sets import STUDY, StudySet
from .data_sets import STUDY_CASES as CASES

SEEDS = range(5)
HELD_OUT = 0.25
CASE_BUDGET = 100
JOB_VARIANTS = 10
N_PASSES = 20
NO_LIMIT = 10**9

KEY: dict[str, type] = {"program": str, "data": str, "budget": int, "seed": int, "variant": str}
CASE_SCORES = ("last", "polished", "share", "last_share", "polished_share")
COLUMNS: dict[str, type] = {**KEY, "score": float, **dict.fromkeys(CASE_SCORES, float)}

# The choices that the passes depend on; variants that share them share their passes.
OF_THE_PASSES = (
    "intercept_rate",
    "random_steps",
    "rows_per_vector",
    "most_pass_rows",
    "class_rows_per_vector",
    "merges_per_vector",
    "merges_of_weighted",
    "most_passes",
    "relative_width",
)

# What a variant changes: fields of `Choices`; "polish" and "feature_scales" as in the estimators;
# "search", the feature scales of a search, and fields of `SearchChoices`. The default is empty.
Changes = Mapping[str, Any]
OF_SEARCH = "search_"

# The choices, with a smaller and a larger value of each.
VARIED: dict[str, tuple[Any, ...]] = {
    "intercept_rate": (0.01, 1.0),
    "random_steps": (0, 200),
    "rows_per_vector": (128, NO_LIMIT),
    "most_pass_rows": (2**16, NO_LIMIT),
    "class_rows_per_vector": (16, 256),
    "merges_per_vector": (25, 200),
    "merges_of_weighted": (100, NO_LIMIT),
    "most_passes": (2, 20),
    "start_gain": (0.0, 0.3),
    "tolerance": (1e-4, 3e-3),
    "hinge_width": (0.25, 1.0),
    "novelty_width": (0.001, 0.01),
    "relative_width": (0.03, 0.3),
    "near_reach": (1.0, 4.0),
    "moves": (0, 10_000),
    "move_tolerance": (1e-4, 3e-3),
    "move_window": (1, 10),
    "value_patience": (1, 50),
    "values_per_unknown": (0.25, 1.0),
    "held_rows": (50, 500),
    "least_loss": (0.0, 0.05),
    "most_loss": (50.0, NO_LIMIT),
    "move_damping": (0.01, 1.0),
}
# The same, of polish="thorough".
VARIED_THOROUGH: dict[str, tuple[Any, ...]] = {
    "thorough_moves": (30, 300),
    "thorough_rounds": (1, 10),
    "thorough_tolerance": (1e-6, 1e-4),
}
# The same, of feature_scales="learn".
VARIED_SCALES: dict[str, tuple[Any, ...]] = {
    "most_scale_rows": (2500, NO_LIMIT),
    "held_share": (0.08, 0.3),
    "scale_vectors": (((100, 1.0),), ((200, 1.0), (600, 1.0))),
    "scale_gain": (0.0, 0.05),
    "scale_widths": ((0.125,), (0.5,)),
    "scale_steps": (15, 120),
    "scale_memory": (10, 40),
    "scale_range": ((-14.0, 8.0), (-3.0, 2.0)),
    "scale_reach": (1.0, 10.0),
    "scale_penalty": (0.0, 0.005),
}
# The same, of feature_scales="auto".
VARIED_AUTO: dict[str, tuple[Any, ...]] = {
    "most_scale_features": (8, NO_LIMIT),
    "least_scale_rows": (100, NO_LIMIT),
}
# The same, of feature_scales="learn" and polish="thorough".
VARIED_BATCHES: dict[str, tuple[Any, ...]] = {
    "held_parts": (5, 100),
    "batches": (1000, 10_000),
    "batch_rows": (1024, NO_LIMIT),
    "batch_start": (1.0, 4.0),
    "batch_looks": (5, 80),
    "batch_growing": (0.05, 0.5),
    "batch_scales": (0.03, 0.3),
    "batch_vectors": (0.01, 0.1),
    "batch_coefficients": (0.03, 0.3),
}
# The same, of the search of C and gamma.
VARIED_SEARCH: dict[str, tuple[Any, ...]] = {
    "search_first_Cs": ((-4, -2, 0, 2, 4), (-2, 0, 2)),
    "search_first_gammas": ((-8, -4, 0, 4), (-4, -2, 0, 2)),
    "search_reach": (4, 30),
    "search_rows_per_vector": (8, 256),
    "search_sampled_times": (1, 16),
    "search_budget": (100, 2000),
    "search_few_rows": (300, 3000),
    "search_shares": ((0.05, 0.15), (0.2, 0.4)),
    "search_carried_rows": (0, 8000),
    "search_least_gain": (0.0, 0.1),
}
# What is varied, and what all its variants have in common.
SCALES, AUTO = {"feature_scales": "learn"}, {"feature_scales": "auto"}
SEARCH = {"search": "auto"}
ALL_VARIED: tuple[tuple[dict[str, tuple[Any, ...]], dict[str, str]], ...] = (
    (VARIED, {}),
    (VARIED_THOROUGH, {"polish": "thorough"}),
    (VARIED_SCALES, SCALES),
    (VARIED_AUTO, AUTO),
    (VARIED_BATCHES, SCALES | {"polish": "thorough"}),
    (VARIED_SEARCH, SEARCH),
)


def default_of(name: str) -> Any:
    """Return the default value of a choice."""
    if name.startswith(OF_SEARCH):
        return getattr(SearchChoices(), name.removeprefix(OF_SEARCH))
    return getattr(Choices(), name)


def _comparison_of(name: str, values: tuple[Any, ...], common: Changes) -> dict[str, Changes]:
    shown = {_shown(value): {**common, name: value} for value in values}
    return {_shown(default_of(name)): common, **shown}


def _shown(value: Any) -> str:
    if value == NO_LIMIT:
        return "no limit"
    return str(value) if isinstance(value, bool | tuple) else f"{value:,}"


COMPARISONS: dict[str, dict[str, Changes]] = {
    "Polishing": {
        "the last iterate": {"polish": False},
        "the last iterate, intercept as a feature of value 1": {
            "polish": False,
            "intercept_rate": 1.0,
        },
        "with moves if they are cheap": {},
        "with moves until they gain nothing": {"polish": "thorough"},
    },
    "Feature scales": {
        "one gamma": {},
        "learnt": SCALES,
        "learnt if that is better": AUTO,
        "learnt, with moves until they gain nothing": SCALES | {"polish": "thorough"},
    },
    "Searches": {"C and gamma of the exact SVM": {}, "a search, with or without scales": SEARCH},
    **{
        f"`{name}`": _comparison_of(name, values, common)
        for varied, common in ALL_VARIED
        for name, values in varied.items()
    },
}


# --- training -------------------------------------------------------------------------------------


class Split:
    """A data set with a quarter of its training rows held out, and a budget to train with."""

    def __init__(self, data: StudySet, budget: int, seed: int) -> None:
        task = data.task()
        X, y = task.rows.X, task.rows.y
        X, held_out, y, self.truth = train_test_split(
            X,
            y,
            test_size=HELD_OUT,
            random_state=seed,
            stratify=y if data.epsilon is None else None,
        )
        if data.nu is not None:
            X, y = X[y == 0], y[y == 0]
        checked, self.targets = _targets(X, y, data)
        self.task, self.training = task, (X, y)
        self.rows = training_rows(checked, task.gamma)
        self.held_out = checked_rows(held_out)
        self.alpha, self.budget, self.seed = 1 / (len(y) * data.C), budget, seed
        self.novelty = None if data.nu is None else Novelty(data.nu)
        if data.nu is not None:
            random = np.random.RandomState(seed)
            self.alpha = data.nu * mean_kernel(self.rows, self.targets.row_weight(), random)
        self.passed: dict[tuple[Any, ...], VectorSet] = {}  # by what the passes depend on

    def score(self, changes: Changes) -> float:
        """Return the accuracy on the held-out rows, R², or the area under a curve, in per cent."""
        if "search" in changes:
            return self._score_of_search(**changes)
        if "feature_scales" in changes:
            return self._score_of_scales(**changes)
        settings = self._settings(changes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = solve(self._passes(settings), self.rows, self.targets, settings)
        model_of_rows = model.vectors, model.dual_coef, model.intercept, model.gamma
        values = decision_values(*model_of_rows, self.held_out, Native())
        if self.targets.has_values:
            return 100 * float(r2_score(self.truth, values[:, 0]))
        if self.novelty is not None:
            return 100 * float(roc_auc_score(self.truth == 0, values[:, 0]))
        codes = values.argmax(axis=1) if values.shape[1] > 1 else (values[:, 0] > 0).astype(int)
        return 100 * float(np.mean(self.targets.classes[codes] == self.truth))

    def _score_of_scales(
        self, feature_scales: str, polish: bool | str = True, **choices: Any
    ) -> float:
        """Return the score of an estimator; scales that were learnt carry the width."""
        estimator = self.task.budgeted(
            self.budget, self.seed, gamma="scale", feature_scales=feature_scales, polish=polish
        )
        estimator._choices = Choices(**choices)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(*self.training)
        if estimator.feature_scales_ is None:
            return self.score({})
        return 100 * float(estimator.score(self.held_out.X, self.truth))

    def _score_of_search(self, search: str, **choices: Any) -> float:
        """Return the score of a search, which begins without the values of the data set."""
        estimator: Any = BudgetedSVCCV(self.budget)
        if self.task.epsilon is not None:
            estimator = BudgetedSVRCV(self.budget, epsilon=self.task.epsilon)
        estimator.set_params(feature_scales=search, random_state=self.seed)
        with searching(**{name.removeprefix(OF_SEARCH): choices[name] for name in choices}):
            estimator.fit(*self.training)
        return 100 * float(estimator.score(self.held_out.X, self.truth))

    def _settings(self, changes: Changes) -> Settings:
        changes = dict(changes)
        polish = changes.pop("polish", True)
        settings = Settings(
            budget=self.budget,
            alpha=self.alpha,
            n_passes=N_PASSES,
            maintenance="merge",
            fit_intercept=True,
            polish=bool(polish),
            thorough=polish == "thorough",
            n_threads=1,
            random_state=np.random.RandomState(self.seed),
            choices=Choices(**changes),
        )
        if self.novelty is None:
            return settings
        return self.novelty.adapted(replace(settings, fit_intercept=False))

    def _passes(self, settings: Settings) -> VectorSet:
        """Return the vectors after the passes, which several variants share."""
        key = settings.polish, *(getattr(settings.choices, name) for name in OF_THE_PASSES)
        if key not in self.passed:
            self.passed[key] = passes(self.rows, self.targets, settings, lambda _: False)
        return self.passed[key]


@contextmanager
def searching(**choices: Any) -> Iterator[None]:
    """Search with other constants: all modules share the object that has them."""
    usual = {name: getattr(SEARCH_CHOICES, name) for name in choices}
    try:
        for name, value in choices.items():
            object.__setattr__(SEARCH_CHOICES, name, value)
        yield
    finally:
        for name, value in usual.items():
            object.__setattr__(SEARCH_CHOICES, name, value)


def _targets(X: Any, y: NDArray[Any], data: StudySet) -> tuple[Any, Any]:
    rows = checked_rows(X)
    if data.nu is not None:
        return rows, NoveltyTargets(
            loss="one_class", sample_weight=None, weight_unit=1.0, n_rows=len(y), nu=data.nu
        )
    if data.epsilon is None:
        return class_targets(rows, y, None, None, "hinge")
    return value_targets(rows, y, None, "epsilon_insensitive", (data.epsilon,))


# --- runs -----------------------------------------------------------------------------------------


def measure(results: Results, n_processes: int, only: Sequence[str] = ()) -> None:
    """Make the missing runs, or those of some comparisons; each result is stored at once."""
    jobs = list(_jobs(results, only))
    with ProcessPoolExecutor(n_processes) as pool:
        futures = [pool.submit(*job) for job in jobs]
        for k, future in enumerate(as_completed(futures), start=1):
            results.add(future.result())
            print(f"\r{k} of {len(jobs)}", end="", flush=True)
    print()


def _jobs(results: Results, only: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the functions to call, with their arguments, for the results that are missing."""
    for seed in SEEDS:
        for data in STUDY:
            for budget in data.budgets:
                missing = [
                    changes
                    for changes in _variants(only)
                    if _applies(changes, data)
                    and None in results.of([_line(data.label, seed, budget, changes)])
                ]
                # A study that is stopped loses no more than this.
                for k in range(0, len(missing), JOB_VARIANTS):
                    yield _run_variants, data.label, budget, seed, missing[k : k + JOB_VARIANTS]
        for case in CASES if not only else ():
            if None in results.of([_line(case, seed)]):
                yield _run_case, case, seed


def _applies(changes: Changes, data: StudySet) -> bool:
    """Whether a variant is measured on a data set."""
    return data.scales or not {"feature_scales", "search"} & set(changes)


def _variants(only: Sequence[str] = ()) -> list[Changes]:
    """Return the variants of all comparisons, or of some, each once; the default comes first."""
    chosen = [some for title, some in COMPARISONS.items() if not only or title.strip("`") in only]
    every: list[Changes] = [{}, *(changes for some in chosen for changes in some.values())]
    return list({_name(changes): changes for changes in every}.values())


def _name(changes: Changes) -> str:
    """Return a text that identifies a variant; raise ValueError if nothing has such a name."""
    known = {"polish", "feature_scales", "search", *(field.name for field in fields(Choices))}
    known |= {f"{OF_SEARCH}{field.name}" for field in fields(SearchChoices)}
    if unknown := set(changes) - known:
        raise ValueError(f"there is no choice {min(unknown)!r}; there are {sorted(known)}")
    return ", ".join(f"{name}={changes[name]}" for name in sorted(changes)) or "default"


def _line(data: str, seed: int, budget: int | None = None, changes: Changes | None = None) -> Row:
    text = None if changes is None else _name(changes)
    return {"program": program(), "data": data, "budget": budget, "seed": seed, "variant": text}


def _run_variants(label: str, budget: int, seed: int, variants: Sequence[Changes]) -> list[Row]:
    """Score the variants on one split of one data set."""
    with one_thread():
        split = Split(_data(label), budget, seed)
        return [
            {**_line(label, seed, budget, changes), "score": split.score(changes)}
            for changes in variants
        ]


def all_data() -> tuple[StudySet, ...]:
    """Return the data sets."""
    return STUDY


def all_cases() -> list[str]:
    """Return the names of the generated data sets that are difficult in one respect each."""
    return list(CASES)


def _data(label: str) -> StudySet:
    return next(data for data in STUDY if data.label == label)


def _run_case(case: str, seed: int) -> list[Row]:
    """Compare test accuracies with and without polishing, and how often the last class occurs."""
    (X, y), (X_test, y_test) = CASES[case]()
    scores = {"share": 100 * float(np.mean(y_test == y_test.max()))}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The columns of X differ in scale")
        for name, polished in (("polished", True), ("last", False)):
            model = BudgetedSVC(CASE_BUDGET, polish=polished, random_state=seed).fit(X, y)
            predicted = model.predict(X_test)
            scores[name] = 100 * float(np.mean(predicted == y_test))
            scores[f"{name}_share"] = 100 * float(np.mean(predicted == y_test.max()))
    return [{**_line(case, seed), **scores}]


# --- what the pages need --------------------------------------------------------------------------

WHOLE = ("Polishing", "Feature scales", "Searches")  # comparisons with tables of their own
# Those of `ALL_VARIED`.
HEADINGS = (
    "Choices of passes and solver",
    'Choices of polish="thorough"',
    'Choices of feature_scales="learn"',
    'Choices of feature_scales="auto"',
    "Choices of mini-batches",
    "Choices of the search",
)
