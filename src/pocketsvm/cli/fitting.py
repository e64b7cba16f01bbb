"""What ``train`` and ``tune`` share: estimator and data before a fit, words on the model after."""

import os
import re
import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer

from .. import estimators
from ..data import DataFile, Layout, Table, number
from ..model.preparation import split
from .console import Reporter, show
from .saved import Saved, numbers_of, targets

__all__ = [
    "check_writable",
    "class_weights",
    "describe",
    "new_estimator",
    "read",
    "show_model",
    "training_data",
]

# Sparse rows become dense to be scaled: not more bytes than this.
MOST_DENSE_BYTES = 2**32
# More classes than this, with fewer rows than that each, are numbers taken for labels.
MANY_CLASSES, ROWS_OF_A_CLASS = 20, 10


def new_estimator(
    regression: bool, epsilon: float, class_weight: list[str] | None, **parameters: Any
) -> Any:
    """Return an estimator whose parameters have been checked, but for the class weights."""
    if regression and class_weight:
        raise typer.BadParameter("a regression has no classes.", param_hint="--class-weight")
    machine = estimators.BudgetedSVR(epsilon=epsilon) if regression else estimators.BudgetedSVC()
    try:
        machine.set_params(**parameters)._validate_params()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return machine


def check_writable(path: str) -> None:
    """Refuse a file that could not be written, before the work is done."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is not a regular file, which could be written.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} for {os.path.basename(path)}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write into {folder}.")


def read(path: str, told: Any, n_jobs: int, reporter: Reporter) -> Table:
    """Read a data file, and say how large it is."""
    with DataFile(path, told) as file, reporter.task("reading") as task:
        begin = time.perf_counter()
        table = file.read(n_jobs=n_jobs, advance=lambda n_rows: task.advance(n_rows, n_rows))
    n_rows, n_features = table.X.shape
    seconds = time.perf_counter() - begin
    reporter.say(f"read {n_rows:,} rows of {n_features:,} features in {seconds:.1f} s")
    return table


def training_data(table: Table, path: str, regression: bool, scale: str) -> tuple[Any, Any, Any]:
    """Return rows, targets and the classes' spellings as a fit takes them."""
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
            f"word. To predict such numbers, train with --regression.{_say_label(table.layout)}"
        )
    n_classes = len(table.labels.names)
    if n_classes > MANY_CLASSES and n_classes * ROWS_OF_A_CLASS > len(y):
        warnings.warn(
            f"{path} has {n_classes:,} classes in {len(y):,} rows.{_say_label(table.layout)}",
            stacklevel=2,
        )
    return X, y, spellings


def _say_label(layout: Layout) -> str:
    """Ask whether the label of a table is in another column."""
    if layout.label is None:
        return ""
    name = layout.label + 1 if isinstance(layout.label, int) else layout.label
    return f" The label is taken from column {str(name)!r}; if it is another, say --label COLUMN."


def class_weights(given: list[str], y: Any, spellings: list[str] | None) -> Any:
    """Return what --class-weight means for these classes."""
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


def describe(saved: Saved, path: str, n_rows: int, seconds: float) -> dict[str, Any]:
    """Return what is known of a model that has just been written."""
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


def show_model(result: dict[str, Any], scores: Any = None) -> None:
    """Print what `describe` returned, and the scores of a test file."""
    show(
        f"{result['vectors']:,} support vectors from {result['rows']:,} rows in "
        f"{result['seconds']:.1f} s; {result['model']} has {result['bytes']:,} bytes"
    )
    if scores is not None:
        show(f"test {scores.summary()}")
