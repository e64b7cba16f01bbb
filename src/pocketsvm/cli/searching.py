"""The search of ``tune``: the values to try, its progress, and what it found.

The scores are shown as a map of C and gamma: text on a terminal, or a picture.
"""

import os
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer
from rich.text import Text
from sklearn.base import is_regressor
from sklearn.metrics import get_scorer_names

from .. import tuning
from .._replacing import replacing
from ..fit import plan_of
from ..model.preparation import join
from ..rows.preparation import as_taken
from ..rows.survey import survey
from ..tuning import ScoreMap, last_step, parameter_name, written
from .console import ReadingProgress, Reporter, Task, show
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
DOTS_PER_INCH = 150  # sharp in a document, and still a small file


def grid_values(grid: "GridOptions") -> dict[str, Any]:
    """Return the values of C, gamma and the budget to try; None for the default ones."""
    return {
        "C": _values(grid.c, grid.log2c, "--c", "--log2c"),
        "gamma": _values(grid.gamma, grid.log2g, "--gamma", "--log2g"),
        "budget": None if grid.budgets is None else _budgets(grid.budgets),
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


def _budgets(listed: str) -> list[int]:
    try:
        budgets = [int(text) for text in listed.split(",")]
    except ValueError:
        budgets = [0]
    if min(budgets) < 2:
        raise typer.BadParameter(
            f"{listed!r} is not a list of budgets, such as 100,200,500; the least is 2.",
            param_hint="--budgets",
        )
    return sorted(set(budgets))


def check_scoring(name: str | None) -> None:
    """Refuse a score that scikit-learn does not have."""
    if name is not None and name not in get_scorer_names():
        raise typer.BadParameter(
            f"scikit-learn has no score {name!r}; it has accuracy, balanced_accuracy, f1, "
            "roc_auc, r2 and others.",
            param_hint="--scoring",
        )


class Compared(NamedTuple):
    """What candidates are compared on: the estimator with its preparation, rows, targets."""

    estimator: Any
    X: Any
    y: Any
    weights: Any = None


def compared_rows(estimator: Any, data: TrainingData, reporter: Reporter) -> Compared:
    """Return all rows, if they are in memory, or a sample that weighs as much.

    All rows are prepared in each fold; a sample has been prepared by what is known about all rows.
    """
    if (rows := data.whole) is not None:
        steps = data.preparing.unfitted(rows, data.layout.names)
        X = as_taken(steps[0], rows.X) if steps else rows.X
        return Compared(join(steps, estimator), X, rows.y)
    plan = plan_of(estimator._parameters())
    with reporter.task("sampling", total=1) as task:
        data.files.on_batch = ReadingProgress(task, 1)
        found = survey(data.source, estimator._what().needs, plan, data.preparing)
    n_rows, weights = found.rows.n_rows, None
    reporter.say(f"settings are compared on {n_rows:,} of {data.n_rows:,} rows")
    if found.survey is not None:
        weights = found.survey.weights * (found.survey.n_rows / n_rows)
    return Compared(estimator, found.rows.X, found.y, weights)


def run(
    compared: Compared,
    values: dict[str, Any],
    options: "SearchOptions",
    seed: int,
    n_jobs: int,
    reporter: Reporter,
) -> Any:
    """Search for the best of the values, and return the fitted search."""
    with reporter.task("tuning", total=1.0) as task:
        return tuning.tune(
            compared.estimator,
            compared.X,
            compared.y,
            **values,
            search=options.search,
            cv=options.folds,
            scoring=options.scoring,
            sample_weight=compared.weights,
            n_jobs=n_jobs,
            random_state=seed,
            callbacks=[_SearchProgress(task, reporter)],
        )


class _SearchProgress:
    """A scikit-learn callback that counts the fits of a search, and reports each round.

    The rounds are planned to take equally long, so each counts as an equal share of the whole.
    """

    def __init__(self, task: Task, reporter: Reporter) -> None:
        self.task, self.reporter = task, reporter
        self.n_rounds, self.n_begun, self.share = 1, 0, 0.0
        self.lock = Lock()

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol requires the method."""

    teardown = setup

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Report a round."""
        if context.task_name == "round":
            self.reporter.say(estimator.round_)
        is_halving = hasattr(estimator, "min_resources_")
        if context.task_name == "search" and is_halving:
            self.n_rounds = context.max_subtasks
        elif context.task_name in ("search", "halving-iteration"):
            self.n_begun += 1
            self.share = 1 / self.n_rounds / context.max_subtasks
            n_candidates = context.max_subtasks // estimator.n_splits_
            self.reporter.say(
                f"round {self.n_begun} of {self.n_rounds}: {n_candidates} candidates, "
                f"{context.max_subtasks} fits"
            )

    def on_fit_task_end(self, estimator: Any, context: Any, *, X: Any = None) -> None:
        """Count a fit, in whichever thread it ran, or the candidates of a race for one gamma."""
        if context.task_name == "candidates":
            self.task.advance(X.shape[0], max(estimator.progress_ - self.task.done, 1e-9))
        if context.task_name == "candidate-split-evaluation":
            with self.lock:
                self.task.advance(X.shape[0], self.share)


def describe(
    searched: Any, found: ScoreMap, options: "SearchOptions", n_rows: int
) -> dict[str, Any]:
    """Return the best candidate, its score, and all candidates."""
    return {
        "best": _candidate(searched, searched.best_params_),
        "scoring": options.scoring or _default_scoring(searched),
        "score": found.best_score,
        "folds": options.folds,
        "plot": options.plot,
        "candidates": _candidates(searched, n_rows),
    }


def _default_scoring(searched: Any) -> str:
    """Return the name of the estimator's own score."""
    if not is_regressor(searched):
        return "accuracy"
    return "d2_pinball_score" if last_step(searched.estimator).loss == "quantile" else "r2"


def _candidate(searched: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return a candidate's parameters by the names of the options."""
    machine = last_step(searched.estimator)
    return {
        name.lower(): params.get(parameter_name(searched.estimator, name), getattr(machine, name))
        for name in ("C", "gamma", "budget")
    }


def _candidates(searched: Any, n_rows: int) -> list[dict[str, Any]]:
    """Return every candidate with its score; None if it could not be fitted."""
    results = searched.cv_results_
    columns = (
        results["params"],
        results["mean_test_score"].tolist(),
        results["std_test_score"].tolist(),
        np.broadcast_to(results.get("n_resources", n_rows), len(results["params"])).tolist(),
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

    The longer axis goes down, so that ten columns and any number of lines fit 80 characters. Longer
    lines are not wrapped.
    """
    names, heads, cells = ("gamma", "C"), (written(found.gamma), written(found.C)), _cells(found)
    if len(found.C) > len(found.gamma):
        names, heads = names[::-1], heads[::-1]
        cells = [list(column) for column in zip(*cells, strict=True)]
    texts = [cell for line in cells for cell, _ in line]
    width = max(map(len, [*texts, *(f"{head} " for head in heads[1])])) + 1
    corner = f"{names[0]} \\ {names[1]}"
    first = max(map(len, [corner, *heads[0]]))
    lines = [Text(f"{corner:>{first}}" + "".join(f"{head} ".rjust(width) for head in heads[1]))]
    for head, line in reversed(list(zip(heads[0], cells, strict=True))):
        shown = [Text(f"{text:>{width}}", style) for text, style in line]
        lines.append(Text.assemble(f"{head:>{first}}", *shown))
    show(Text("\n").join(lines))


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
    if not found.is_final.all():
        show("(in parentheses: dropped early, scored on fewer rows)")
    show(
        f"best: C {best['c']:g}, gamma {best['gamma']:g}, budget {best['budget']}: "
        f"{result['scoring']} {result['score']:.4f} ({result['folds']} folds)"
    )
    highest = _highest(searched)
    if highest > result["score"]:
        show(
            f"accuracies from {result['score']:.3f} to {highest:.3f} differ by chance: "
            "the log loss decided"
        )
    for name, hint in found.at_border():
        values = searched.param_grid[parameter_name(searched.estimator, name)]
        show(hint if values is None else f"{hint}: others beyond it may be better")
    if result["plot"] is not None:
        show(f"{result['plot']} shows the scores")


def _highest(searched: Any) -> float:
    """Return the highest of the scores among which the log loss has decided."""
    results = searched.cv_results_
    losses = results.get("smooth_log_loss", np.full(len(results["params"]), np.nan))
    budget = _candidate(searched, searched.best_params_)["budget"]
    budgets = [_candidate(searched, params)["budget"] for params in results["params"]]
    rivals = np.isfinite(losses) & (np.array(budgets) == budget)
    return float(np.max(results["mean_test_score"], where=rivals, initial=-np.inf))


def check_picture(path: str) -> None:
    """Refuse a picture that cannot be drawn, before the work is done."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError as error:
        raise ImportError("--plot needs matplotlib: pip install 'pocketsvm[plot]'") from error
    ending = os.path.splitext(path)[1].removeprefix(".").lower()
    formats = FigureCanvasBase.get_supported_filetypes()
    if ending not in formats:
        raise typer.BadParameter(
            f"{path!r} ends in none of {', '.join(sorted(formats))}.", param_hint="--plot"
        )


def draw(found: ScoreMap, path: str) -> None:
    """Draw the scores into a file."""
    from matplotlib.figure import Figure

    from ..plots import TuningDisplay

    display = TuningDisplay(score_map=found)
    figure = Figure(figsize=display.size, dpi=DOTS_PER_INCH, layout="constrained")
    display.plot(figure.add_subplot())
    with replacing(path) as file:
        figure.savefig(file, format=os.path.splitext(path)[1].removeprefix("."))
