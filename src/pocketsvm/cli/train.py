"""``pocketsvm train``: from a data file to a model file."""

import os
from dataclasses import dataclass
from typing import Annotated

import typer

from . import options
from .groups import grouped


@dataclass(frozen=True)
class SvmOptions:
    """Parameters of the estimator that only ``train`` sets."""

    c: Annotated[float, typer.Option("--c", "-c", help="Weight of the training loss.")] = 1.0
    gamma: Annotated[
        str | None,
        typer.Option(
            "--gamma",
            "-g",
            metavar="scale|auto|NUMBER",
            help="Kernel coefficient.",
            show_default="scale; auto with --scale robust",
        ),
    ] = None
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="Regularisation strength, in place of C.")
    ] = None


@dataclass(frozen=True)
class ValidationOptions:
    """How to measure the quality of the model."""

    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Evaluate the model on this file, folder or pattern."),
    ] = None
    folds: Annotated[
        int | None,
        typer.Option(
            "-v", metavar="FOLDS", min=2, help="Cross-validate only; no model is written."
        ),
    ] = None


Plot = Annotated[
    str | None,
    typer.Option(
        "--plot",
        metavar="FILE",
        help="Draw where the time went, and the feature scales if there are some: .png, .svg or "
        ".pdf.",
    ),
]


@grouped
def train(
    data: options.Data,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Model file to write; none with -v."),
    ] = None,
    *,
    machine: options.MachineOptions,
    task: options.TaskOptions,
    svm: SvmOptions,
    learner: options.LearnerOptions,
    validation: ValidationOptions,
    columns: options.TrainingDataOptions,
    memory: options.Memory = None,
    checkpoint: options.Checkpoint = None,
    every: options.Every = "60s",
    plot: Plot = None,
    n_jobs: options.Jobs = -1,
    device: options.Device = "cpu",
    output: options.OutputOptions,
) -> None:
    """Train a model on a data file.

    A folder, or a pattern in quotes, stands for several files. Files that would take too much
    memory (--memory) are read in batches.

    If the command is killed, the same command with the same --checkpoint resumes, and writes the
    same model.

    The short options are those of LIBSVM if they mean the same.
    """
    from . import fitting, pictures
    from .console import Reporter
    from .reading import opened_test
    from .training import opened_rows

    test, folds = validation.test, validation.folds
    _check_purpose(model, test, folds)
    options.check_apart(model, data, test)
    options.check_apart(plot, data, test)
    callbacks = fitting.checkpoints(checkpoint, every, folds, (model, data, test))
    estimator = fitting.new_estimator(
        machine,
        n_jobs,
        task,
        C=svm.c,
        device=device,
        **({} if svm.gamma is None else {"gamma": fitting.number_or_word(svm.gamma)}),
        alpha=svm.alpha,
        **fitting.learner_parameters(learner, regression=machine.regression),
    )
    if task.one_class and folds is not None:
        raise typer.BadParameter("novelty detection has no labels to compare with; leave out -v.")
    for path in (model, plot):
        if path is not None:
            fitting.check_writable(path)
    if plot is not None:
        _check_plot(plot, model)
        pictures.check_picture(plot)
    reporter = Reporter(output.quiet)
    with (
        opened_test(test, columns, task) as test_files,
        opened_rows(data, columns, machine, estimator, memory, reporter, task) as rows,
    ):
        if folds is not None:
            fitting.cross_validate(estimator, rows, folds, machine.seed, reporter, output)
        elif model is not None:
            seconds = fitting.fit(estimator, rows, reporter, callbacks)
            saved = fitting.save(estimator, rows, model, n_jobs, device)
            if plot is not None:
                pictures.draw_training(saved, plot)
            result = fitting.describe(saved, model, rows.n_rows, seconds)
            fitting.show_trained(result, saved, test_files, n_jobs, reporter, output)


def _check_plot(plot: str, model: str | None) -> None:
    """Refuse a picture without a model, or in its place."""
    if model is None:
        raise typer.BadParameter("-v writes no model to draw.", param_hint="--plot")
    if os.path.realpath(plot) == os.path.realpath(model):
        raise typer.BadParameter(
            f"the model is written to {plot}; give the picture another name.",
            param_hint="--plot",
        )


def _check_purpose(model: str | None, test: str | None, folds: int | None) -> None:
    """Refuse arguments that ask for a model and for a cross-validation, or for neither."""
    if model is None and folds is None:
        raise typer.BadParameter("give a MODEL file to write, or -v FOLDS to cross-validate.")
    if model is not None and folds is not None:
        raise typer.BadParameter(
            f"-v only cross-validates and writes no model; leave out {model} or -v."
        )
    if test is not None and folds is not None:
        raise typer.BadParameter(
            f"-v only cross-validates and does not read {test}; leave out --test or -v."
        )
