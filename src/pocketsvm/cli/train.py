"""``pocketsvm train``: from a data file to a model file."""

import time
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import numpy as np
import typer
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .. import _core
from ..data import DataFile, number
from ..model.preparation import join, split
from . import options
from .console import FitProgress, Reporter, print_json, show
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
from .scores import ClassScores, RegressionScores, score_file

__all__ = ["train"]


def train(
    train: options.Data,
    model: Annotated[
        str | None,
        typer.Argument(metavar="MODEL", help="Model file to write; none with -v."),
    ] = None,
    budget: options.Budget = 500,
    c: Annotated[float, typer.Option("--c", "-c", help="Weight of the training loss.")] = 1.0,
    gamma: Annotated[
        str,
        typer.Option("--gamma", "-g", metavar="scale|auto|NUMBER", help="Kernel coefficient."),
    ] = "scale",
    max_iter: options.MaxIter = 20,
    maintenance: Annotated[
        Literal[tuple(_core.strategies())],  # type: ignore[misc]
        typer.Option("--maintenance", help="What happens when the budget overflows."),
    ] = "merge",
    scale: options.Scale = "none",
    class_weight: options.ClassWeight = None,
    alpha: Annotated[
        float | None, typer.Option("--alpha", help="The regularisation itself, in place of C.")
    ] = None,
    no_intercept: Annotated[
        bool, typer.Option("--no-intercept", help="A model without intercept.")
    ] = False,
    no_polish: Annotated[
        bool, typer.Option("--no-polish", help="Keep the last iterate as it is.")
    ] = False,
    seed: options.Seed = 0,
    regression: options.Regression = False,
    epsilon: options.Epsilon = 0.1,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="FILE", help="Evaluate the model on this file."),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "-v", metavar="FOLDS", min=2, help="Cross-validate only; no model is written."
        ),
    ] = None,
    label: options.Label = None,
    header: options.Header = None,
    drop: options.Drop = None,
    format: options.Format = None,
    n_jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a model on a data file.

    The short options are LIBSVM's where they mean the same.
    """
    if (model is None) == (folds is None):
        raise typer.BadParameter("give a MODEL file to write, or -v FOLDS to cross-validate.")
    options.check_apart(model, train, *([] if test is None else [test]))
    told = options.data_options(format, label, header, drop)
    estimator = new_estimator(
        regression,
        epsilon,
        class_weight,
        budget=budget,
        C=c,
        gamma=gamma if number(gamma) is None else float(gamma),
        max_iter=max_iter,
        maintenance=maintenance,
        polish=not no_polish,
        fit_intercept=not no_intercept,
        alpha=alpha,
        n_jobs=n_jobs,
        random_state=seed,
    )
    reporter = Reporter(quiet)
    with ExitStack() as stack:
        if model is not None:
            check_writable(model)
        test_file = stack.enter_context(DataFile(test, told)) if test is not None else None
        table = read(train, told, n_jobs, reporter)
        X, y, spellings = training_data(table, train, regression, scale)
        if class_weight:
            estimator.set_params(class_weight=class_weights(class_weight, y, spellings))
        machine = join(options.new_scaler(scale), estimator)
        if model is None:
            _cross_validate(machine, X, y, spellings, folds, seed, reporter, json)
            return
        seconds = _fit(machine, X, y, reporter)
        Saved(machine, table.layout, spellings).save(model)
        saved = Saved.load(model, n_jobs)
        result = describe(saved, model, X.shape[0], seconds)
        if test_file is not None:
            with reporter.task("testing") as task:
                scores = score_file(saved, test_file, task, n_jobs)
            result["test"] = scores.as_json()
    if json:
        print_json(result)
    elif not quiet:
        show_model(result, scores if test is not None else None)


def _fit(machine: Any, X: Any, y: Any, reporter: Reporter) -> float:
    """Fit the steps one after the other; returns the seconds."""
    scaler, svm = split(machine)
    begin = time.perf_counter()
    if scaler is not None:
        X = scaler.fit_transform(X)
    with reporter.task("training", total=svm.max_iter + svm.polish) as task:
        svm.set_callbacks(FitProgress(task, X.shape[0]))
        svm.fit(X, y)
    svm.set_callbacks()
    return time.perf_counter() - begin


def _cross_validate(
    machine: Any,
    X: Any,
    y: Any,
    spellings: list[str] | None,
    folds: int | None,
    seed: int,
    reporter: Reporter,
    json: bool,
) -> None:
    is_regression = spellings is None and y.dtype.kind == "f"
    splitter = (KFold if is_regression else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    classes = [] if is_regression else np.unique(y)
    scores: Any = (
        RegressionScores() if is_regression else ClassScores(spellings or classes.tolist())
    )
    with reporter.task("cross-validating", total=folds) as task:
        for fitted, left_out in splitter.split(X, y):
            predicted = clone(machine).fit(X[fitted], y[fitted]).predict(X[left_out])
            if is_regression:
                scores.add(y[left_out], predicted)
            else:
                scores.add(*np.searchsorted(classes, (y[left_out], predicted)))
            task.advance(len(left_out))
    if json:
        print_json({"folds": folds} | scores.as_json())
    else:
        show(f"cross-validation {scores.summary()}")
