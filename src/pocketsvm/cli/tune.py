"""``pocketsvm tune``: the best C and gamma for a data file, and the model they make."""

import os
import time
from dataclasses import dataclass
from typing import Annotated

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
            show_default="2^-3,2^0,2^3, and others if they may be better",
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
            show_default="six, from 1/64 to 16 times 'scale', and others if they may be better; "
            "times 'auto' with --scale robust",
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
    auto_budget: Annotated[
        bool,
        typer.Option(
            "--auto-budget",
            help="Choose the smallest budget, from 500 down, that scores as well as the best up to "
            "one standard error.",
            rich_help_panel=GRID,
        ),
    ] = False


@dataclass(frozen=True)
class SearchOptions:
    """How to search, and what to show of it."""

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
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Evaluate the model on this file, folder or pattern."),
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
    checkpoint: options.Checkpoint = None,
    every: options.Every = "60s",
    n_jobs: options.Jobs = -1,
    device: options.Device = "cpu",
    output: options.OutputOptions,
) -> None:
    """Find the best C and gamma by cross-validation, and train a model with them.

    The search is that of BudgetedSVCCV and BudgetedSVRCV. The model is trained on all rows. If
    these do not fit into memory, settings are compared on a sample that weighs as much as they do.
    Features are scaled and encoded by what is known about all rows, without their labels.
    """
    from ..search.scores import ScoreMap
    from . import fitting, searching
    from .console import Reporter
    from .reading import opened_test
    from .training import opened_rows

    values = searching.grid_values(grid)
    searching.check_scoring(search.scoring)
    parameters = fitting.learner_parameters(learner, regression=machine.regression)
    plain = fitting.new_estimator(machine, n_jobs, device=device, **parameters)
    if machine.feature_scales is None:
        plain.set_params(feature_scales="auto")  # the default of a search
    _check_outputs(model, search.plot, data, search.test)
    callbacks = fitting.checkpoints(
        checkpoint, every, None, (model, data, search.plot, search.test)
    )
    reporter = Reporter(output.quiet)
    with (
        opened_test(search.test, columns, options.TaskOptions()) as test_files,
        opened_rows(data, columns, machine, plain, memory, reporter) as rows,
    ):
        begin = time.perf_counter()
        searched = searching.new_search(plain, parameters, values, grid, search, rows)
        searching.run(searched, rows, reporter, callbacks)
        saved = fitting.save(searched.best_estimator_, rows, model, n_jobs, device)
        found = ScoreMap.of(searched)
        if search.plot is not None:
            searching.draw(found, search.plot)
        result = fitting.describe(saved, model, rows.n_rows, time.perf_counter() - begin)
        result |= searching.describe(searched, search)
        if not (output.json or output.quiet):
            searching.show_map(found)
            searching.show_best(result, found, searched)
        fitting.show_trained(result, saved, test_files, n_jobs, reporter, output)


def _check_outputs(model: str, plot: str | None, data: str, test: str | None) -> None:
    """Refuse files that cannot be written, before the work is done."""
    from . import fitting, pictures

    for path in (model,) if plot is None else (model, plot):
        options.check_apart(path, data, test)
        fitting.check_writable(path)
    if plot is not None:
        if os.path.realpath(plot) == os.path.realpath(model):
            raise typer.BadParameter(
                f"the model is written to {plot}; give the picture another name.",
                param_hint="--plot",
            )
        pictures.check_picture(plot)
