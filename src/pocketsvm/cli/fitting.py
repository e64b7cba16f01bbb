"""Training for ``train`` and ``tune``: a new estimator, the fit, and a summary of the model."""

import os
import re
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import typer
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from .. import estimators
from .._sklearn import validate_parameters
from ..callbacks import Checkpoint
from ..files import DataFile
from ..files.reader import number
from ..rows.feature_scales import checked_feature_scales
from ..training.settings import Choices
from .console import FitProgress, Reporter, ScanProgress, print_json, show
from .options import LearnerOptions, MachineOptions, OutputOptions, TaskOptions
from .saved import Saved, save_model, spelled
from .scores import new_scores, score_files
from .training import TrainingData

NO_TASK = TaskOptions()
# The values of parameters that some estimators do not have.
DEFAULTS = {"C": 1.0, "alpha": None, "fit_intercept": True, "loss": None}
# The values of the parameter `polish`, by the words of --polish.
POLISH: dict[str, bool | str] = {"yes": True, "thorough": "thorough", "no": False}
SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
# Scans of rows in batches that a fit usually makes.
SCANS = 3


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
        raise typer.BadParameter(
            "it is the share of outliers, and needs --one-class.", param_hint="--nu"
        )
    machine = _machine(options, task)
    # Novelty detection and ranking lack some parameters; an option for one of them is refused.
    unknown = parameters.keys() - machine.get_params().keys()
    for name in sorted(unknown):
        if parameters.pop(name) != DEFAULTS[name]:
            option = "--no-intercept" if name == "fit_intercept" else f"--{name.lower()}"
            raise typer.BadParameter(
                f"models trained with {given[0]} have no such parameter; leave it out.",
                param_hint=option,
            )
    machine.set_params(
        budget=options.budget,
        max_iter=options.max_iter,
        random_state=options.seed,
        n_jobs=n_jobs,
        feature_scales=feature_scales(options.feature_scales),
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


def feature_scales(text: str | None) -> str | list[float] | None:
    """Return the parameter that --feature-scales means: a word, a list of numbers, or a file."""
    if text in (None, "none", "learn", "auto"):
        return None if text == "none" else text
    words = text.split(",")
    if os.path.exists(text):
        with open(text, encoding="utf-8") as file:
            words = re.split(r"[\s,;]+", file.read().strip())
    found = [number(word) for word in words]
    scales = [scale for scale in found if scale is not None]
    if len(scales) < len(found):
        wrong = words[found.index(None)]
        problem = f"{wrong[:100]!r} in {text} is not a number."
        if not os.path.exists(text):
            problem = (
                f"{text!r} is not none, learn or auto, and neither numbers with commas nor a file "
                "of numbers."
            )
        raise typer.BadParameter(problem, param_hint="--feature-scales")
    try:
        checked_feature_scales(scales)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--feature-scales") from None
    return [float(scale) for scale in scales]


def number_or_word(text: str) -> float | str:
    """Return a value of gamma: a number, or a word such as "scale"."""
    return text if number(text) is None else float(text)


def check_writable(path: str) -> None:
    """Refuse a file that cannot be written, before the work is done."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is not a regular file, which could be written.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"There is no folder {folder} for {os.path.basename(path)}.")
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
    estimator: Any, data: TrainingData, reporter: Reporter, callbacks: Sequence[Any] = ()
) -> float:
    """Fit an estimator; return the seconds it took."""
    begin, rows = time.perf_counter(), data.whole
    n_parts = SCANS if rows is None else estimator.max_iter + bool(estimator.polish)
    with reporter.task("training", total=n_parts) as task:
        data.files.on_batch = ScanProgress(task, SCANS)
        passes = [] if rows is None else [FitProgress(task, rows.n_rows)]
        estimator.set_callbacks(*passes, *callbacks)
        estimator.fit(data, None)
    estimator.set_callbacks()
    if rows is None:
        n_scans = data.files.n_scans
        counted = f"{n_scans} scan{'s' if n_scans > 1 else ''}"
        label = f"; label: {data.label}" if estimator._uses_y else ""
        reporter.say(f"read {data.n_rows * n_scans:,} rows in {counted}{label}")
        most = Choices().most_sampled(int(estimator.budget))
        if estimator._task == "novelty" and data.n_rows > most:
            found = "the support vectors are fitted to a sample"
            reporter.say(f"{found} of at most {most:,} of these rows")
    return time.perf_counter() - begin


def cross_validate(
    estimator: Any,
    data: TrainingData,
    folds: int,
    seed: int,
    reporter: Reporter,
    output: OutputOptions,
) -> None:
    """Print the scores of a cross-validation; that of a ranking leaves out whole queries."""
    rows = data.whole
    if rows is None:
        raise ValueError(f"{data.name} is read in batches; -v needs all rows in memory.")
    y, qid, task = rows.y, rows.qid, estimator._task
    splitter = {"ranking": GroupKFold, "regression": KFold}.get(task, StratifiedKFold)
    parts = splitter(folds, shuffle=True, random_state=seed).split(rows.X, y, qid)
    loss = getattr(estimator, "loss", None)
    quantile = estimator.quantile if loss == "quantile" else None
    names: list[str] = []
    if is_classifier(estimator):
        classes = np.setdiff1d(y, estimator._what().needs.ignored)
        y = np.where(np.isin(y, classes), np.searchsorted(classes, y), -1)
        names = spelled(classes.tolist(), data.source.spellings)
    scores = new_scores(task, names, loss, quantile)
    with reporter.task("cross-validating", total=folds) as progress:
        for fitted, left_out in parts:
            model = clone(estimator).fit(data.take(fitted), None)
            answer = model.decision_function if names else model.predict
            queries = None if qid is None else qid[left_out]
            scores.add(y[left_out], answer(data.take(left_out)), None, queries)
            progress.advance(len(left_out))
    if output.json:
        print_json({"folds": folds} | scores.as_json())
    else:
        show(f"cross-validation {scores.summary()}")


def save(estimator: Any, data: TrainingData, path: str, n_jobs: int, device: str) -> Saved:
    """Write the model file, and return what can be read from it."""
    save_model(estimator, data.layout, data.source.spellings, path)
    return Saved.load(path, n_jobs, device)


def describe(saved: Saved, path: str, n_rows: int, seconds: float) -> dict[str, Any]:
    """Return a summary of a model that has just been written."""
    svm = saved.estimator
    return {
        "model": path,
        "bytes": os.path.getsize(path),
        "rows": n_rows,
        "features": saved.layout.n_features,
        "classes": saved.labels or None,
        "vectors": len(svm.support_vectors_),
        "gamma": svm.gamma_,
        "feature_scales": svm.profile_.scales or None,
        "seconds": seconds,
    }


def show_model(result: dict[str, Any]) -> None:
    """Print the summary that `describe` returned."""
    show(
        f"{result['vectors']:,} support vectors from {result['rows']:,} rows in "
        f"{result['seconds']:.1f} s; {result['model']} has {result['bytes']:,} bytes"
    )
    if result["feature_scales"]:
        show(f"feature scales: {result['feature_scales']}")


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
