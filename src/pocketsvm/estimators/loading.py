"""Loading estimators from model files."""

from dataclasses import replace
from typing import Any

from sklearn.frozen import FrozenEstimator

from .._replacing import PathLike
from .._sklearn import fitted_calibration, parameter_names
from ..model.calibrated import Calibrated
from ..model.file import MAX_BYTES, errors_naming, read_model
from ..model.model import Model
from ..model.preparation import join, split
from .base import BudgetedMachine
from .classifier import BudgetedSVC
from .one_class import BudgetedOneClassSVM
from .ranker import BudgetedRanker
from .regressor import BudgetedSVR
from .saving import check_parameters

# The estimator of each task.
ESTIMATORS: dict[str, type[BudgetedMachine]] = {
    cls._task: cls for cls in (BudgetedSVC, BudgetedSVR, BudgetedOneClassSVM, BudgetedRanker)
}


def load_model(path: PathLike, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read a fitted estimator from a model file.

    Parameters
    ----------
    path : str or path-like
        The file, written by `save_model` or by the estimator's `save`.

    max_bytes : int, default=2**31
        The maximum number of bytes of the file, and of the model in memory.

    Returns
    -------
    estimator : BudgetedSVC, BudgetedSVR, Pipeline or CalibratedClassifierCV
        The estimator as it was saved: the parameters and the bits of its decisions are the same,
        and further passes continue as they would from the original. A model with a preparation is
        a pipeline whose last step is "svm"; a scaler is the step "scale". Steps of pipelines
        inside the pipeline are steps of it.

    Raises
    ------
    FileNotFoundError
        If there is no such file.

    ValueError
        If the file is not a model file, is damaged, is of a newer version, or does not describe a
        model. The message names the file and what is wrong with it. Nothing in the file is
        executed: files from untrusted sources are safe to load.

    See Also
    --------
    save_model : Write a model file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC, load_model, save_model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "moons.psvm")
    ...     save_model(BudgetedSVC(budget=10, random_state=0).fit(X[:200], y[:200]), path)
    ...     clf = load_model(path)
    >>> clf
    BudgetedSVC(budget=10, random_state=0)
    >>> print(f"{clf.partial_fit(X[200:], y[200:]).score(X, y):.2f}")
    0.99
    """
    return read_estimator(path, max_bytes=max_bytes)[0]


def read_estimator(path: PathLike, *, max_bytes: int = MAX_BYTES) -> tuple[Any, dict[str, Any]]:
    """Return the estimator of a model file, as `load_model` does, and the `extra` of `save_model`.

    A model with a preparation is a pipeline.
    """
    model, extra = read_model(path, max_bytes=max_bytes)
    with errors_naming(path):
        return _calibrated(model) if isinstance(model, Calibrated) else _estimator(model), extra


def read_machine(
    path: PathLike, *, max_bytes: int = MAX_BYTES
) -> tuple[BudgetedMachine, dict[str, Any]]:
    """Return the fitted estimator of a model file, whose model may have a preparation, and `extra`.

    The command line keeps the layout of its data files as `extra`.
    """
    model, extra = read_model(path, max_bytes=max_bytes)
    with errors_naming(path):
        if isinstance(model, Calibrated):
            raise ValueError(
                "it holds a CalibratedClassifierCV, which only `pocketsvm export` takes. Use "
                "pocketsvm.load_model in Python."
            )
        return machine_of(model), extra


def _estimator(model: Model) -> Any:
    """Return the estimator of a model, or a pipeline if there is a preparation."""
    if model.preparation is None:
        return machine_of(model)
    # The names are those of the rows before the preparation.
    machine = machine_of(replace(model, feature_names=None, preparation=None))
    model.preparation.set_names(model.feature_names)
    return join(model.preparation.steps, machine)


def _calibrated(model: Calibrated) -> Any:
    """Return a CalibratedClassifierCV, in a pipeline if steps came before it."""
    members = []
    outer: tuple[Any, ...] = ()
    for member in model.members:
        steps, machine = split(_estimator(member))
        outer = outer or steps[: model.n_outer]
        inner = join(steps[model.n_outer :], machine)
        members.append(FrozenEstimator(inner) if model.is_frozen else inner)
    parameters = model.parameters | {"method": model.method}
    machine = fitted_calibration(parameters, model.classes, members, model.slopes, model.offsets)
    return join(outer, machine)


def machine_of(model: Model) -> BudgetedMachine:
    """Return the fitted estimator of a model."""
    machine = _unfitted(model)
    check_parameters(machine)
    assert model.training is not None
    machine._model = replace(model, training=replace(model.training, estimator="", parameters={}))
    return machine


def _unfitted(model: Model) -> BudgetedMachine:
    training = model.training
    assert training is not None  # a file always has it
    cls = ESTIMATORS.get(model.task)
    if cls is None or cls.__name__ != training.estimator:
        name = training.estimator[:100]
        raise ValueError(
            f"it holds a {name!r} for {model.task}, which this pocketsvm does not know."
        )
    for unknown in training.parameters.keys() - set(parameter_names(cls)):
        raise ValueError(f"its parameter {unknown[:100]!r} is not known to this pocketsvm.")
    return cls(**training.parameters)
