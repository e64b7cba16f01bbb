"""``pocketsvm tune``: the best C and gamma for a data file, and the model they make."""

import os
import time
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from . import options
from .groups import grouped

GRID = "Grid"


@dataclass(frozen=True)
class GridOptions:
    """The values to try."""

    c: Annotated[
        str | None,
        typer.Option(
            "--c",
            "-c",
            metavar="LIST",
            help="Values of C to try, such as 0.1,1,10 or 2^-5,2^0,2^5.",
            show_default="2^-4,2^-1,2^2,2^5,2^8, and others if they may be better",
            rich_help_panel=GRID,
        ),
    ] = None
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            "-g",
            metavar="LIST",
            help="Values of gamma to try.",
            show_default="six, from 1/64 to 16 times 'scale' ('auto' with --scale robust), and "
            "others if they may be better",
            rich_help_panel=GRID,
        ),
    ] = None
    log2c: Annotated[
        str | None,
        typer.Option(
            metavar="BEGIN,END,STEP",
            help="Powers of two for C, as in LIBSVM's grid.py, whose default is -5,15,2.",
            rich_help_panel=GRID,
        ),
    ] = None
    log2g: Annotated[
        str | None,
        typer.Option(
            metavar="BEGIN,END,STEP",
            help="The same for gamma; the default of grid.py is 3,-15,-2.",
            rich_help_panel=GRID,
        ),
    ] = None
    budgets: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Budgets to try, such as 100,200,500.",
            show_default="the value of --budget",
            rich_help_panel=GRID,
        ),
    ] = None


@dataclass(frozen=True)
class SearchOptions:
    """How to search, and what to show of it."""

    search: Annotated[
        Literal["race", "halving", "grid"],
        typer.Option(
            help="Drop candidates that cannot win; begin with few rows and keep the best third; or "
            "fit everything on all rows."
        ),
    ] = "race"
    folds: Annotated[
        int, typer.Option("-v", metavar="FOLDS", min=2, help="Number of cross-validation folds.")
    ] = 5
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Score to maximise, one of scikit-learn's: balanced_accuracy, roc_auc, f1 ...",
            show_default="accuracy, or r2",
        ),
    ] = None
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the scores: .png, .svg or .pdf."),
    ] = None


@grouped
def tune(
    data: options.Data,
    model: options.ModelFile,
    *,
    machine: options.MachineOptions,
    learner: options.LearnerOptions,
    grid: GridOptions,
    search: SearchOptions,
    columns: options.TrainingDataOptions,
    memory: options.Memory = None,
    n_jobs: options.Jobs = -1,
    output: options.OutputOptions,
) -> None:
    """Find the best C and gamma by cross-validation, and train a model with them.

    The model is trained on all rows. If these do not fit into memory, settings are compared on a
    sample of them.
    """
    from ..tuning import ScoreMap
    from . import fitting, searching
    from .console import Reporter, print_json
    from .training import opened_rows

    values = searching.grid_values(grid)
    searching.check_scoring(search.scoring)
    parameters = fitting.learner_parameters(learner, regression=machine.regression)
    estimator = fitting.new_estimator(machine, n_jobs, **parameters)
    _check_outputs(model, search.plot, data)
    reporter = Reporter(output.quiet)
    with opened_rows(data, columns, machine, estimator, memory, reporter) as rows:
        begin = time.perf_counter()
        compared = searching.compared_rows(estimator, rows, reporter)
        searched = searching.run(compared, values, search, machine.seed, n_jobs, reporter)
        best = searched.best_estimator_
        if rows.whole is None:
            fitting.fit(best, rows, reporter)
        saved = fitting.save(best, rows, model)
    seconds = time.perf_counter() - begin
    found = ScoreMap.of(searched)
    if search.plot is not None:
        searching.draw(found, search.plot)
    result = fitting.describe(saved, model, rows.n_rows, seconds)
    result |= searching.describe(searched, found, search, compared.X.shape[0])
    if output.json:
        print_json(result)
    elif not output.quiet:
        searching.show_map(found)
        searching.show_best(result, found, searched)
        fitting.show_model(result)


def _check_outputs(model: str, plot: str | None, data: str) -> None:
    """Refuse files that cannot be written, before the work is done."""
    from . import fitting, searching

    for path in (model,) if plot is None else (model, plot):
        options.check_apart(path, data)
        fitting.check_writable(path)
    if plot is not None:
        if os.path.realpath(plot) == os.path.realpath(model):
            raise typer.BadParameter(f"{plot} is the model, too.", param_hint="--plot")
        searching.check_picture(plot)
