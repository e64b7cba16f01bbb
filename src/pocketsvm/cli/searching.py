"""The search of ``tune``: the values to try, its progress, and what it found.

The scores are shown as a map of C and gamma: text on a terminal, or a picture.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich.text import Text
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer_names

from ..search import BudgetedSVCCV, BudgetedSVRCV
from ..search.scores import ScoreMap, written
from ..training.settings import SEARCH_CHOICES
from .console import Reporter, ScanProgress, Task, show
from .fitting import SCANS
from .pictures import picture
from .training import TrainingData

if TYPE_CHECKING:
    from .tune import GridOptions, SearchOptions

MOST_VALUES = 1000  # of a range; more of them are a typing error
# Five colours of viridis, from low to high, and a text colour that is readable on each.
SHADES = (
    ("#440154", "white"),
    ("#3b528b", "white"),
    ("#21918c", "white"),
    ("#5ec962", "black"),
    ("#fde725", "black"),
)
WIDTH = 80  # of the map


def grid_values(grid: "GridOptions") -> dict[str, Any]:
    """Return the values of C and gamma to try; None for the default ones."""
    return {
        "Cs": _values(grid.c, grid.log2c, "--c", "--log2c"),
        "gammas": _values(grid.gamma, grid.log2g, "--gamma", "--log2g"),
    }


def _values(listed: str | None, powers: str | None, *hints: str) -> list[float] | None:
    """Return the values of a list, or of a range of powers of two; None if neither is given."""
    if listed is not None and powers is not None:
        raise typer.BadParameter(f"give {hints[0]} or {hints[1]}, not both.")
    if listed is not None:
        return sorted({_value(text, hints[0]) for text in listed.split(",")})
    if powers is None:
        return None
    try:
        begin, end, step = map(float, powers.split(","))
        exponents = np.arange(begin, end + step / 2, step)
        if not 1 <= len(exponents) <= MOST_VALUES:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(
            f"{powers!r} is not BEGIN,END,STEP, such as -5,15,2.", param_hint=hints[1]
        ) from None
    return sorted(set(np.exp2(exponents).tolist()))


def _value(text: str, hint: str) -> float:
    base, power, exponent = text.partition("^")
    try:
        value = float(base) ** float(exponent) if power else float(base)
    except (ValueError, OverflowError):
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise typer.BadParameter(f"{text!r} is not a positive number.", param_hint=hint)
    return value


def check_scoring(name: str | None) -> None:
    """Refuse a score that scikit-learn does not have."""
    if name is not None and name not in get_scorer_names():
        raise typer.BadParameter(
            f"scikit-learn has no score {name!r}; it has accuracy, balanced_accuracy, f1, "
            "roc_auc, r2 and others.",
            param_hint="--scoring",
        )


def new_search(
    plain: Any,
    parameters: dict[str, Any],
    values: dict[str, Any],
    grid: "GridOptions",
    options: "SearchOptions",
    rows: TrainingData,
) -> Any:
    """Return the search for a plain estimator; the loss is searched for unless it was given."""
    kind = BudgetedSVRCV if is_regressor(plain) else BudgetedSVCCV
    search = kind(cv=options.folds, scoring=options.scoring, **values)
    own, given = search.get_params(), plain.get_params()
    if "loss" not in parameters:
        given.pop("loss")
    search.set_params(**{name: value for name, value in given.items() if name in own})
    if grid.auto_budget:
        search.set_params(budget="auto")
    scales = plain.feature_scales
    learns = isinstance(scales, str) and scales == "learn"  # then the unit of gamma is one
    if values["gammas"] is None and plain.gamma != "scale" and not learns:
        # Outliers would make "scale" useless.
        unit = 1 / rows.layout.n_features if plain.gamma == "auto" else plain.gamma
        search.set_params(gammas=[unit * 2.0**k for k in SEARCH_CHOICES.first_gammas])
    return search


def run(search: Any, rows: TrainingData, reporter: Reporter, callbacks: Sequence[Any]) -> None:
    """Run the search, and fit the best candidate to all rows."""
    with _SearchProgress(rows, reporter) as progress:
        search.set_callbacks(progress, *callbacks).fit(rows)
    search.set_callbacks()


class _SearchProgress:
    """A scikit-learn callback that follows every round of a search, and the last fit.

    A round knows how many fits it has; how many rounds there will be is not known. So the time left
    is only that of the last fit.
    """

    max_propagation_depth = 1  # the last fit has the same callback

    def __init__(self, rows: TrainingData, reporter: Reporter) -> None:
        self.rows, self.reporter = rows, reporter
        self.shown, self.task = ExitStack(), Task(None, lambda *_: None)
        self.n_rounds = 0

    def __enter__(self) -> "_SearchProgress":
        return self

    def __exit__(self, *error: object) -> None:
        self.shown.close()

    def setup(self, estimator: Any, context: Any) -> None:
        """Follow the first scan of rows that are not in memory."""
        if context.parent is None and self.rows.whole is None:
            self._begin("sampling", 1, is_last=False)

    def teardown(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol requires the method."""

    def _begin(self, name: str, total: float, *, is_last: bool) -> None:
        """Begin the next task."""
        self.shown.close()
        task = self.reporter.task(name, total=total, is_last=is_last)
        self.task = self.shown.enter_context(task)
        if self.rows.whole is None:
            scans = 1 if name == "sampling" else SCANS
            self.rows.files.on_batch = ScanProgress(self.task, scans)

    def on_fit_task_begin(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        """Begin a round, or the last fit."""
        if context.source_task_name is not None:
            n_parts = context.max_subtasks if self.rows.whole is not None else SCANS
            self._begin("training", n_parts, is_last=True)
        elif context.task_name == "candidate-split-evaluation" or context.parent is None:
            return
        elif context.task_name != "pass":
            if context.task_id == 0 and X.shape[0] < self.rows.n_rows:
                self.reporter.say(
                    f"settings are compared on {X.shape[0]:,} of {self.rows.n_rows:,} rows"
                )
            self.reporter.say(context.task_name)
            self.n_rounds += 1
            n_fits = max(context.max_subtasks, 1)
            self._begin(f"tuning: round {self.n_rounds}", n_fits, is_last=False)

    def on_fit_task_end(self, estimator: Any, context: Any, *, metadata: Any = None) -> None:
        """Count a fit of a candidate, or a pass of the last fit."""
        if context.task_name == "candidate-split-evaluation":
            self.task.advance(metadata["n_rows"])
        elif context.task_name == "pass" and self.rows.whole is not None:
            self.task.advance(self.rows.n_rows)


def describe(searched: Any, options: "SearchOptions") -> dict[str, Any]:
    """Return the best candidate, its score, and all candidates."""
    return {
        "best": _candidate(searched, searched.best_params_),
        "scoring": options.scoring or _default_scoring(searched),
        "score": searched.best_score_,
        "folds": options.folds,
        "plot": options.plot,
        "candidates": _candidates(searched),
    }


def _default_scoring(searched: Any) -> str:
    """Return the name of the estimator's own score."""
    if not is_regressor(searched):
        return "accuracy"
    return "d2_pinball_score" if searched.loss == "quantile" else "r2"


def _candidate(searched: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return a candidate's parameters by the names of the options."""
    found = {"budget": searched.budget_, "loss": searched.loss_} | params
    names = ["C", "gamma", "budget", "loss"]
    tried = searched.cv_results_["params"]
    if any(each.get("feature_scales") is not None for each in tried):  # both kinds were compared
        names.append("feature_scales")
    return {name.lower(): found[name] for name in names}


def _candidates(searched: Any) -> list[dict[str, Any]]:
    """Return every candidate with its score; None if it is not defined."""
    results = searched.cv_results_
    columns = (
        results["params"],
        results["mean_test_score"].tolist(),
        results["std_test_score"].tolist(),
        results["n_resources"].tolist(),
    )
    return [
        _candidate(searched, params)
        | {"score": _finite(score), "deviation": _finite(deviation), "rows": rows}
        for params, score, deviation, rows in zip(*columns, strict=True)
    ]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


# --- the map of scores ----------------------------------------------------------------------------


def show_map(found: ScoreMap) -> None:
    """Print the scores as lines of text: coloured on a terminal, readable without colours.

    The longer axis goes down. If there are more columns than fit, those around the best are shown.
    """
    names, heads, cells = ("gamma", "C"), (written(found.gamma), written(found.C)), _cells(found)
    best = found.best[1]
    if len(found.C) > len(found.gamma):
        names, heads, best = names[::-1], heads[::-1], found.best[0]
        cells = [list(column) for column in zip(*cells, strict=True)]
    texts = [cell for line in cells for cell, _ in line]
    width = max(map(len, [*texts, *(f"{head} " for head in heads[1])])) + 1
    corner = f"{names[0]} \\ {names[1]}"
    first = max(map(len, [corner, *heads[0]]))
    n_columns, n_shown = len(heads[1]), max((WIDTH - first) // width, 1)
    begin = min(max(best - n_shown // 2, 0), max(n_columns - n_shown, 0))
    shown = slice(begin, begin + n_shown)
    lines = [
        Text(f"{corner:>{first}}" + "".join(f"{head} ".rjust(width) for head in heads[1][shown]))
    ]
    for head, line in reversed(list(zip(heads[0], cells, strict=True))):
        parts = [Text(f"{text:>{width}}", style) for text, style in line[shown]]
        lines.append(Text.assemble(f"{head:>{first}}", *parts))
    show(Text("\n").join(lines))
    if (n_left := n_columns - n_shown) > 0:
        values = f"{n_left} value{'s' * (n_left > 1)} of {names[1]}"
        show(f"({values} farther from the best not shown; --json lists all)")


def _cells(found: ScoreMap) -> list[list[tuple[str, str]]]:
    """Return the text and the style of each cell."""
    low, high = found.low, np.nanmax(found.scores)
    levels = np.maximum(found.scores - low, 0.0) / (high - low or 1.0)
    cells: list[list[tuple[str, str]]] = [[] for _ in found.gamma]
    for place, score in np.ndenumerate(found.scores):
        if np.isnan(score):
            cells[place[0]].append(("- ", "dim"))
            continue
        text = f"{score:.3f}".replace("0.", ".", 1) if score > -1 else f"{score:.1f}"
        shade, ink = SHADES[min(int(levels[place] * len(SHADES)), len(SHADES) - 1)]
        style = f"{ink} on {shade}"
        if place == found.best:
            cells[place[0]].append((f"{text}*", f"bold {style}"))
        else:
            final = found.is_final[place]
            cells[place[0]].append((f"{text} " if final else f"({text})", style))
    return cells


def show_best(result: dict[str, Any], found: ScoreMap, searched: Any) -> None:
    """Print the best candidate, and what a reader should know about the map."""
    best = result["best"]
    if found.has_copies:
        show("(in parentheses: scored on fewer rows)")
    more = f", loss {best['loss']}" if "loss" in searched.best_params_ else ""
    if "feature_scales" in best:
        is_learnt = best["feature_scales"] == "learn"
        more += ", feature scales learnt" if is_learnt else ", no feature scales"
    show(
        f"best: C {best['c']:g}, gamma {best['gamma']:g}, budget {best['budget']}{more}: "
        f"{result['scoring']} {result['score']:.4f} ({result['folds']} folds)"
    )
    for name, hint in found.at_border():
        values = {"C": searched.Cs, "gamma": searched.gammas}[name]
        show(hint if values is None else f"{hint}: others beyond it may be better")
    if result["plot"] is not None:
        show(f"{result['plot']} shows the scores")


def draw(found: ScoreMap, path: str) -> None:
    """Draw the scores into a file."""
    from ..plots import TuningDisplay

    display = TuningDisplay(score_map=found)
    with picture(path, display.size) as figure:
        display.plot(figure.add_subplot())
