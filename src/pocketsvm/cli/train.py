"""``pocketsvm train``: from a data file to a model file."""

import os
import re
import time
from contextlib import ExitStack
from typing import Annotated, Any, Literal

import numpy as np
import scipy.sparse as sp
import typer
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .. import _core, estimators
from .._scalers import join, split
from ..tables import DataFile, Table, number
from . import options
from .console import FitProgress, Reporter, print_json, show
from .saved import Saved, numbers_of, targets
from .scores import ClassScores, RegressionScores, score_file

__all__ = ["train"]

# Sparse rows become dense to be scaled: not more bytes than this.
MOST_DENSE_BYTES = 2**32


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
        typer.Option("-v", metavar="FOLDS", help="Cross-validate only; no model is written."),
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
    estimator = _new_estimator(regression, epsilon, class_weight)
    estimator.set_params(
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
    estimator._validate_params()
    reporter = Reporter(quiet)
    with ExitStack() as stack:
        if model is not None:
            _check_writable(model)
        test_file = stack.enter_context(DataFile(test, told)) if test is not None else None
        table = _read(train, told, n_jobs, reporter)
        X, y, spellings = _training_data(table, train, regression, scale)
        if class_weight:
            estimator.set_params(class_weight=_class_weight(class_weight, y, spellings))
        machine = join(options.new_scaler(scale), estimator)
        if model is None:
            _cross_validate(machine, X, y, spellings, folds, seed, reporter, json)
            return
        seconds = _fit(machine, X, y, reporter)
        Saved(machine, table.layout, spellings).save(model)
        saved = Saved.load(model, n_jobs)
        result = _describe(saved, model, X.shape[0], seconds)
        if test_file is not None:
            with reporter.task("testing") as task:
                scores = score_file(saved, test_file, task, n_jobs)
            result["test"] = scores.as_json()
    if json:
        print_json(result)
    elif not quiet:
        _show(result, scores if test is not None else None)


def _new_estimator(regression: bool, epsilon: float, class_weight: list[str] | None) -> Any:
    if not regression:
        return estimators.BudgetedSVC()
    if class_weight:
        raise typer.BadParameter("a regression has no classes.", param_hint="--class-weight")
    return estimators.BudgetedSVR(epsilon=epsilon)


def _check_writable(path: str) -> None:
    """Refuse a file that could not be written, before the work is done."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is not a regular file, which could be written.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} for {os.path.basename(path)}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write into {folder}.")


def _read(path: str, told: Any, n_jobs: int, reporter: Reporter) -> Table:
    with DataFile(path, told) as file:
        begin = time.perf_counter()
        table = file.read(n_jobs=n_jobs)
    n_rows, n_features = table.X.shape
    seconds = time.perf_counter() - begin
    reporter.say(f"read {n_rows:,} rows of {n_features:,} features in {seconds:.1f} s")
    return table


def _training_data(table: Table, path: str, regression: bool, scale: str) -> tuple[Any, Any, Any]:
    X = table.X
    if scale != "none" and sp.issparse(X):
        n_bytes = X.shape[0] * X.shape[1] * X.dtype.itemsize
        if n_bytes > MOST_DENSE_BYTES:
            raise ValueError(
                f"--scale {scale} makes sparse rows dense, {n_bytes / 2**30:,.0f} GiB of them, and "
                f"{MOST_DENSE_BYTES / 2**30:.0f} GiB are the most; scale the file beforehand."
            )
        X = X.toarray()
    if regression:
        return X, numbers_of(table.labels, path), None
    y, spellings = targets(table.labels)
    if y.dtype.kind == "f" and (fraction := np.flatnonzero(y != np.floor(y))).size:
        raise ValueError(
            f"{path}: {y[fraction[0]]:g} is no label of a class, which is a whole number or a "
            "word. To predict such numbers, train with --regression."
        )
    return X, y, spellings


def _class_weight(given: list[str], y: Any, spellings: list[str] | None) -> Any:
    if given == ["balanced"]:
        return "balanced"
    classes = np.unique(y).tolist()
    names = spellings or classes
    weights = {}
    for item in given:
        found = re.fullmatch(r"(.+)=([^=]+)", item)
        weight = number(found[2]) if found else None
        if weight is None:
            raise typer.BadParameter(f"{item!r} is not LABEL=WEIGHT.", param_hint="--class-weight")
        label = found[1]  # type: ignore[index]
        keys = [k for k, n in enumerate(names) if n == label] or [
            k for k, value in enumerate(classes) if value == number(label)
        ]
        if not keys:
            raise typer.BadParameter(
                f"no class is labelled {label!r}; there are {', '.join(names[:20])}.",
                param_hint="--class-weight",
            )
        weights[classes[keys[0]]] = weight
    return weights


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


def _describe(saved: Saved, path: str, n_rows: int, seconds: float) -> dict[str, Any]:
    svm = split(saved.estimator)[1]
    return {
        "model": path,
        "bytes": os.path.getsize(path),
        "rows": n_rows,
        "features": svm.n_features_in_,
        "classes": None if saved.is_regression else saved.labels,
        "vectors": len(svm.support_vectors_),
        "gamma": svm.gamma_,
        "seconds": seconds,
    }


def _show(result: dict[str, Any], scores: Any) -> None:
    show(
        f"{result['vectors']:,} support vectors from {result['rows']:,} rows in "
        f"{result['seconds']:.1f} s; {result['model']} has {result['bytes']:,} bytes"
    )
    if scores is not None:
        show(f"test {scores.summary()}")
