"""``pocketsvm tune``: the best C and gamma for a data file, and the model they make."""

import os
import time
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.text import Text
from sklearn.metrics import get_scorer_names

from .. import tuning
from .._replacing import replacing
from ..model.preparation import join
from ..tuning import SEARCHES, ScoreMap, last_step, parameter_name, written
from . import options
from .console import Reporter, print_json, show
from .fitting import (
    check_writable,
    class_weights,
    describe,
    new_estimator,
    read,
    show_model,
    training_data,
)
from .saved import Saved

__all__ = ["tune"]

GRID = "Grid"
MOST_VALUES = 1000  # in a range
# Five of viridis, from low to high, and what can be read on them.
SHADES = (
    ("#440154", "white"),
    ("#3b528b", "white"),
    ("#21918c", "white"),
    ("#5ec962", "black"),
    ("#fde725", "black"),
)


def tune(
    train: options.Data,
    model: options.ModelFile,
    budget: options.Budget = 500,
    budgets: Annotated[
        str | None,
        typer.Option(
            "--budgets",
            metavar="LIST",
            help="Budgets to try, such as 100,200,500.",
            rich_help_panel=GRID,
        ),
    ] = None,
    c: Annotated[
        str | None,
        typer.Option(
            "--c",
            "-c",
            metavar="LIST",
            help="Values of C to try, such as 0.1,1,10 or 2^-5,2^0,2^5.",
            show_default="2^-5,2^-1,2^3,2^7,2^11",
            rich_help_panel=GRID,
        ),
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            "-g",
            metavar="LIST",
            help="Values of gamma to try.",
            show_default="six, from 1/64 to 16 times 'scale'",
            rich_help_panel=GRID,
        ),
    ] = None,
    log2c: Annotated[
        str | None,
        typer.Option(
            "--log2c",
            metavar="BEGIN,END,STEP",
            help="Powers of two for C, as LIBSVM's grid.py takes them: -5,15,2 are its own.",
            rich_help_panel=GRID,
        ),
    ] = None,
    log2g: Annotated[
        str | None,
        typer.Option(
            "--log2g",
            metavar="BEGIN,END,STEP",
            help="The same for gamma: 3,-15,-2 are its own.",
            rich_help_panel=GRID,
        ),
    ] = None,
    search: Annotated[
        Literal[SEARCHES],  # type: ignore[valid-type]
        typer.Option(
            "--search",
            help="Begin with few rows and keep the best third, or fit everything on all rows.",
        ),
    ] = "halving",
    folds: Annotated[
        int, typer.Option("-v", metavar="FOLDS", min=2, help="Cross-validation folds.")
    ] = 5,
    scoring: Annotated[
        str | None,
        typer.Option(
            "--scoring",
            metavar="NAME",
            help="What to maximise, as scikit-learn calls it: balanced_accuracy, roc_auc, f1 ...",
            show_default="accuracy, or r2",
        ),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the scores: .png, .svg or .pdf."),
    ] = None,
    max_iter: options.MaxIter = 20,
    scale: options.Scale = "none",
    class_weight: options.ClassWeight = None,
    seed: options.Seed = 0,
    regression: options.Regression = False,
    epsilon: options.Epsilon = 0.1,
    label: options.Label = None,
    header: options.Header = None,
    drop: options.Drop = None,
    format: options.Format = None,
    n_jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find the best C and gamma by cross-validation, and train a model with them.

    The model is trained on all rows.
    """
    grid = {
        "C": _values(c, log2c, "--c", "--log2c"),
        "gamma": _values(gamma, log2g, "--gamma", "--log2g"),
        "budget": None if budgets is None else _budgets(budgets),
    }
    if scoring is not None and scoring not in get_scorer_names():
        raise typer.BadParameter(
            f"scikit-learn has no score {scoring!r}; it has accuracy, balanced_accuracy, f1, "
            "roc_auc, r2 and others.",
            param_hint="--scoring",
        )
    told = options.data_options(format, label, header, drop)
    estimator = new_estimator(
        regression,
        epsilon,
        class_weight,
        budget=budget,
        max_iter=max_iter,
        n_jobs=n_jobs,
        random_state=seed,
    )
    machine = join(options.new_scaler(scale), estimator)
    for path in (model,) if plot is None else (model, plot):
        options.check_apart(path, train)
        check_writable(path)
    if plot is not None:
        if os.path.realpath(plot) == os.path.realpath(model):
            raise typer.BadParameter(f"{plot} is the model, too.", param_hint="--plot")
        _check_picture(plot)
    reporter = Reporter(quiet)
    table = read(train, told, n_jobs, reporter)
    X, y, spellings = training_data(table, train, regression, scale)
    if class_weight:
        estimator.set_params(class_weight=class_weights(class_weight, y, spellings))
    begin = time.perf_counter()
    with reporter.task("tuning", total=1.0) as task:
        searched = tuning.tune(
            machine,
            X,
            y,
            **grid,
            search=search,
            cv=folds,
            scoring=scoring,
            n_jobs=n_jobs,
            random_state=seed,
            callbacks=[_SearchProgress(task, reporter)],
        )
    seconds = time.perf_counter() - begin
    Saved(searched.best_estimator_, table.layout, spellings).save(model)
    found = ScoreMap.of(searched)
    if plot is not None:
        _draw(found, plot)
    name = scoring or ("r2" if regression else "accuracy")
    result = {
        **describe(Saved.load(model), model, X.shape[0], seconds),
        "best": _candidate(searched, searched.best_params_),
        "scoring": name,
        "score": found.best_score,
        "folds": folds,
        "plot": plot,
        "candidates": _candidates(searched, X.shape[0]),
    }
    if json:
        print_json(result)
    elif not quiet:
        show(_text_map(found))
        _show_best(result, found)
        show_model(result)


def _values(listed: str | None, powers: str | None, *hints: str) -> list[float] | None:
    """Return the values of a list, or of a range of powers of two; None where neither is given."""
    if listed is not None and powers is not None:
        raise typer.BadParameter(f"give {hints[0]} or {hints[1]}, not both.")
    if listed is not None:
        return _distinct([_value(text, hints[0]) for text in listed.split(",")])
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
    return _distinct(np.exp2(exponents).tolist())


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
    return _distinct(budgets)


def _distinct(values: list[Any]) -> list[Any]:
    return sorted(set(values))


def _candidate(searched: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return a candidate's parameters by the names of the options."""
    machine = last_step(searched.estimator)
    return {
        name.lower(): params.get(parameter_name(searched.estimator, name), getattr(machine, name))
        for name in ("C", "gamma", "budget")
    }


def _candidates(searched: Any, n_rows: int) -> list[dict[str, Any]]:
    """Return every candidate with its score; None where it could not be fitted."""
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


class _SearchProgress:
    """A callback of scikit-learn that tells a task of each fit, and says which round begins.

    Rounds are planned to take about as long as each other: each is an equal share of the whole.
    """

    def __init__(self, task: Any, reporter: Reporter) -> None:
        self.task, self.reporter = task, reporter
        self.n_rounds, self.n_begun, self.share = 1, 0, 0.0
        self.lock = Lock()

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing, as the protocol allows."""

    teardown = setup

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """Tell of a round."""
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
        """Count a fit, whichever thread made it."""
        if context.task_name == "candidate-split-evaluation":
            with self.lock:
                self.task.advance(X.shape[0], self.share)


def _text_map(found: ScoreMap) -> Text:
    """Return the scores as lines of text: coloured on a terminal, readable without colours.

    The longer axis goes down, so that ten columns and any number of lines fit 80 characters.
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
    return Text("\n").join(lines)


def _cells(found: ScoreMap) -> list[list[tuple[str, str]]]:
    """Return what stands in each cell, and its style."""
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


def _show_best(result: dict[str, Any], found: ScoreMap) -> None:
    best = result["best"]
    if not found.is_final.all():
        show("(in parentheses: dropped early, scored on fewer rows)")
    show(
        f"best: C {best['c']:g}, gamma {best['gamma']:g}, budget {best['budget']}: "
        f"{result['scoring']} {result['score']:.4f} ({result['folds']} folds)"
    )
    for hint in found.at_border():
        show(f"{hint}: others beyond it may be better")
    if result["plot"] is not None:
        show(f"{result['plot']} shows the scores")


def _check_picture(path: str) -> None:
    """Refuse a picture that could not be drawn, before the work is done."""
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


def _draw(found: ScoreMap, path: str) -> None:
    from matplotlib.figure import Figure

    from ..plots import TuningDisplay

    display = TuningDisplay(score_map=found)
    figure = Figure(figsize=display.size, dpi=150, layout="constrained")
    display.plot(figure.add_subplot())
    with replacing(path) as file:
        figure.savefig(file, format=os.path.splitext(path)[1].removeprefix("."))
