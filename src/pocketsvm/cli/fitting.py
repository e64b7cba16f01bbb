"""Training for ``train`` and ``tune``: a new estimator, the fit, and a summary of the model."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import typer
from sklearn.base import clone, is_regressor
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from .. import estimators
from .._sklearn import validate_parameters
from ..callbacks import Checkpoint
from ..data import DataFile, number
from ..model.preparation import join, split
from .console import FitProgress, Reporter, print_json, show
from .options import LearnerOptions, MachineOptions, OutputOptions, TaskOptions
from .rank_scores import RankScores
from .reading import TrainingSet
from .saved import Saved
from .scores import new_scores, score_files

SCALERS = {
    "standard": StandardScaler(),
    "minmax": MinMaxScaler(),
    "maxabs": MaxAbsScaler(),
    "robust": RobustScaler(unit_variance=True),
}
NO_TASK = TaskOptions()
# The values of parameters that some estimators do not have.
DEFAULTS = {"C": 1.0, "alpha": None, "fit_intercept": True, "loss": None}
# The values of the parameter `polish`, by the words of --polish.
POLISH: dict[str, bool | str] = {"yes": True, "thorough": "thorough", "no": False}
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
MOST_CLASSES_NAMED = 20  # in a message, which should stay readable


def new_estimator(
    options: MachineOptions, n_jobs: int, task: TaskOptions = NO_TASK, **parameters: Any
) -> Any:
    """Return an estimator whose parameters have been checked.

    The class weights are missing, because the classes are not yet known.
    """
    chosen = {
        "--regression": options.regression,
        "--one-class": task.one_class,
        "--rank": task.rank,
    }
    given = [name for name, is_given in chosen.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"{given[0]} and {given[1]} exclude each other.")
    if given and options.class_weight:
        raise typer.BadParameter(
            f"there are no classes with {given[0]}.", param_hint="--class-weight"
        )
    if task.query is not None and not task.rank:
        raise typer.BadParameter("queries are only for --rank.", param_hint="--query")
    if task.nu != NO_TASK.nu and not task.one_class:
        raise typer.BadParameter("it is only for --one-class.", param_hint="--nu")
    machine = _machine(options, task)
    # Novelty detection and ranking lack some parameters; an option for one of them is refused.
    unknown = parameters.keys() - machine.get_params().keys()
    for name in sorted(unknown):
        if parameters.pop(name) != DEFAULTS[name]:
            option = "--no-intercept" if name == "fit_intercept" else f"--{name.lower()}"
            raise typer.BadParameter(f"it has no meaning with {given[0]}.", param_hint=option)
    machine.set_params(
        budget=options.budget,
        max_iter=options.max_iter,
        random_state=options.seed,
        n_jobs=n_jobs,
        # With robust scaling, outliers would make the variance, and gamma="scale", useless.
        **{"gamma": "auto" if options.scale == "robust" else "scale"} | parameters,
    )
    try:
        validate_parameters(machine)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return machine


def _machine(options: MachineOptions, task: TaskOptions) -> Any:
    if task.one_class:
        return estimators.BudgetedOneClassSVM(nu=task.nu)
    if task.rank:
        return estimators.BudgetedRanker()
    if options.regression:
        return estimators.BudgetedSVR(epsilon=options.epsilon)
    return estimators.BudgetedSVC()


def with_preparation(machine: Any, impute: str | None, rows: TrainingSet) -> Any:
    """Return a pipeline that imputes, encodes and scales the rows, or the machine if nothing does.

    It leaves out the columns that wide rows do not use. The indicators of categories are not
    scaled: a rare one would become very large.
    """
    numbers: list[Any] = []
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    words: list[Any] = [encoder]
    if impute is not None:
        numbers.append(SimpleImputer(strategy=impute, keep_empty_features=True))
        words.insert(0, SimpleImputer(strategy="most_frequent", keep_empty_features=True))
    if rows.scale in SCALERS:
        numbers.append(clone(SCALERS[rows.scale]))
    texts = rows.layout.texts
    if (used := rows.used) is not None:
        if machine.gamma == "auto":
            machine.set_params(gamma=1 / rows.layout.n_features)
        kept = make_pipeline(*numbers) if numbers else "passthrough"
        branch = ("used", kept, used.tolist())
        return join([ColumnTransformer([branch], sparse_threshold=1.0)], machine)
    if not texts:
        return join(numbers, machine)
    others = [j for j in range(rows.layout.n_features) if j not in set(texts)]
    branches = [("numbers", make_pipeline(*numbers) if numbers else "passthrough", others)]
    branches = [*branches[: len(others)], ("texts", make_pipeline(*words), texts)]
    return join([ColumnTransformer(branches)], machine)


def learner_parameters(options: LearnerOptions, *, regression: bool) -> dict[str, Any]:
    """Return the parameters of the estimator that these options mean."""
    return {
        **_loss_parameters(options.loss, options.quantiles, regression=regression),
        "maintenance": options.maintenance,
        "fit_intercept": not options.no_intercept,
        "polish": POLISH[options.polish],
    }


def _loss_parameters(
    loss: str | None, quantiles: str | None, *, regression: bool
) -> dict[str, Any]:
    """Return the parameters that --loss and --quantiles mean."""
    if quantiles is None:
        return {} if loss is None else {"loss": loss}
    if not regression or loss not in (None, "quantile"):
        raise typer.BadParameter(
            "quantiles need --regression and the loss quantile.", param_hint="--quantiles"
        )
    found = [number(text) for text in quantiles.split(",")]
    shares = [share for share in found if share is not None]
    if len(shares) < len(found) or shares != sorted({q for q in shares if 0 < q < 1}):
        raise typer.BadParameter(
            f"{quantiles!r} are not numbers between 0 and 1 that increase, separated by commas.",
            param_hint="--quantiles",
        )
    return {"loss": "quantile", "quantile": shares[0] if len(shares) == 1 else shares}


def number_or_word(text: str) -> float | str:
    """Return a value of gamma: a number, or a word such as "scale"."""
    return text if number(text) is None else float(text)


def set_class_weights(estimator: Any, given: list[str] | None, rows: TrainingSet) -> None:
    """Set the class weights that --class-weight gives, now that the classes are known."""
    if given:
        weights = "balanced" if given == ["balanced"] else _class_weights(given, rows)
        split(estimator)[1].set_params(class_weight=weights)


def _class_weights(given: list[str], rows: TrainingSet) -> dict[Any, float]:
    classes, names = np.unique(rows.y).tolist(), rows.class_names
    weights = {}
    for item in given:
        found = re.fullmatch(r"(.+)=([^=]+)", item)
        weight = number(found[2]) if found else None
        if found is None or weight is None:
            raise typer.BadParameter(f"{item!r} is not LABEL=WEIGHT.", param_hint="--class-weight")
        label = found[1]
        matches = [value for value, name in zip(classes, names, strict=True) if name == label]
        matches += [value for value in classes if value == number(label)]
        if not matches:
            known = ", ".join(names[:MOST_CLASSES_NAMED])
            raise typer.BadParameter(
                f"no class is labelled {label!r}; there are {known}.", param_hint="--class-weight"
            )
        weights[matches[0]] = weight
    return weights


def check_writable(path: str) -> None:
    """Refuse a file that cannot be written, before the work is done."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is not a regular file, which could be written.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"there is no folder {folder} for {os.path.basename(path)}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"no permission to write into {folder}.")


def checkpoints(
    path: str | None, every: str, folds: int | None, others: Sequence[str | None]
) -> list[Checkpoint]:
    """Return the callback of --checkpoint, if it is given; the file must not be one of `others`."""
    if path is None:
        return []
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([smh]?)", every.strip())
    if found is None:
        raise typer.BadParameter(
            f"{every!r} is not a time such as 60s or 5m.", param_hint="--every"
        )
    if folds is not None:
        raise typer.BadParameter("a cross-validation has no checkpoint; leave out --checkpoint.")
    for other in others:
        if other is not None and os.path.realpath(other) == os.path.realpath(path):
            raise typer.BadParameter(f"--checkpoint would replace {other}; name another file.")
    check_writable(path)
    return [Checkpoint(path, float(found[1]) * SECONDS[found[2]])]


def fit(
    estimator: Any, rows: TrainingSet, reporter: Reporter, callbacks: Sequence[Any] = ()
) -> float:
    """Fit the preparation, if there is one, and the machine; return the seconds it took."""
    steps, svm = split(estimator)
    begin = time.perf_counter()
    X = rows.X
    for step in steps:
        X = step.fit_transform(X)
    with reporter.task("training", total=svm.max_iter + bool(svm.polish)) as task:
        svm.set_callbacks(FitProgress(task, X.shape[0]), *callbacks)
        svm.fit(X, rows.y, **rows.metadata)
    svm.set_callbacks()
    return time.perf_counter() - begin


def cross_validate(
    estimator: Any,
    rows: TrainingSet,
    folds: int,
    seed: int,
    reporter: Reporter,
    output: OutputOptions,
) -> None:
    """Print the scores of a cross-validation."""
    if rows.qid is not None:
        return _cross_validate_queries(estimator, rows, folds, seed, reporter, output)
    regression = is_regressor(estimator)
    splitter = (KFold if regression else StratifiedKFold)(folds, shuffle=True, random_state=seed)
    svm = split(estimator)[1]
    scores = new_scores(
        None if regression else rows.class_names,
        has_probabilities=svm.loss == "log_loss",
        quantile=svm.quantile if svm.loss == "quantile" else None,
    )
    X, y, classes = rows.X, rows.y, np.unique(rows.y)
    with reporter.task("cross-validating", total=folds) as task:
        for fitted, left_out in splitter.split(X, y):
            model = clone(estimator).fit(X[fitted], y[fitted])
            predicted = model.predict(X[left_out])
            if regression:
                scores.add(y[left_out], predicted)
            else:
                true, answers = np.searchsorted(classes, (y[left_out], predicted))
                scores.add(true, answers, model.decision_function(X[left_out]))
            task.advance(len(left_out))
    _show_folds(folds, scores, output)


def _cross_validate_queries(
    estimator: Any,
    rows: TrainingSet,
    folds: int,
    seed: int,
    reporter: Reporter,
    output: OutputOptions,
) -> None:
    """Print the scores of a cross-validation that leaves out whole queries."""
    X, y, qid = rows.X, rows.y, rows.qid
    assert qid is not None
    splitter = GroupKFold(folds, shuffle=True, random_state=seed)
    scores = RankScores()
    with reporter.task("cross-validating", total=folds) as task:
        for fitted, left_out in splitter.split(X, y, qid):
            machine = clone(estimator)
            steps, svm = split(machine)
            parts = X[fitted], X[left_out]
            for step in steps:
                parts = step.fit_transform(parts[0]), step.transform(parts[1])
            svm.fit(parts[0], y[fitted], qid=qid[fitted])
            scores.add(y[left_out], svm.predict(parts[1]), qid[left_out])
            task.advance(len(left_out))
    _show_folds(folds, scores, output)


def _show_folds(folds: int, scores: Any, output: OutputOptions) -> None:
    if output.json:
        print_json({"folds": folds} | scores.as_json())
    else:
        show(f"cross-validation {scores.summary()}")


def save(estimator: Any, rows: Any, path: str, n_jobs: int | None = None) -> Saved:
    """Write the model file, and return what can be read from it.

    `rows` is a `TrainingSet` or a data set on disk.
    """
    Saved(estimator, rows.layout, rows.spellings).save(path)
    return Saved.load(path, n_jobs)


def describe(saved: Saved, path: str, n_rows: int, seconds: float) -> dict[str, Any]:
    """Return a summary of a model that has just been written."""
    svm = split(saved.estimator)[1]
    return {
        "model": path,
        "bytes": os.path.getsize(path),
        "rows": n_rows,
        "features": saved.layout.n_features,
        "classes": None if saved.is_regression else saved.labels,
        "vectors": len(svm.support_vectors_),
        "gamma": svm.gamma_,
        "seconds": seconds,
    }


def show_model(result: dict[str, Any]) -> None:
    """Print the summary that `describe` returned."""
    show(
        f"{result['vectors']:,} support vectors from {result['rows']:,} rows in "
        f"{result['seconds']:.1f} s; {result['model']} has {result['bytes']:,} bytes"
    )


def show_trained(
    result: dict[str, Any],
    saved: Saved,
    test_files: Iterable[DataFile] | None,
    n_jobs: int,
    reporter: Reporter,
    output: OutputOptions,
) -> None:
    """Evaluate a model on the test files, if there are any, and print its summary.

    The scores were asked for, so they are printed even if the output is to be quiet.
    """
    scores = None
    if test_files is not None:
        with reporter.task("testing") as task:
            scores = score_files(saved, test_files, task, n_jobs)
        result["test"] = scores.as_json()
    if output.json:
        print_json(result)
        return
    if not output.quiet:
        show_model(result)
    if scores is not None:
        show(f"test {scores.summary()}")
