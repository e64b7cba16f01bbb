"""With rows: a model is solved on the decision values, or the labels, of the given model."""

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..estimators import BudgetedSVC, BudgetedSVR
from ..model.model import Model
from ..training.settings import COMPRESSION_CHOICES as CHOICES
from .given import Given
from .merged import refined

Array = NDArray[Any]


def distilled(found: Given, X: Any, values: Array, **options: Any) -> Model:
    """Return a model that computes the decision values of a model.

    Several classes with a hinge are solved on the labels: a class needs no exact values far from
    its boundary, and many vectors to have them. For a regression, vectors are refined such that
    values between the rows are close, too.

    Parameters
    ----------
    found : Given
        The model to imitate.

    X : array or CSR matrix
        Rows after its preparation.

    values : ndarray of shape (n_rows, n_values)
        What it computes for them.

    **options
        Parameters of the estimator.
    """
    model = found.model
    if takes_labels(model):
        return _on_codes(found, X, found.codes(values), {"polish": "thorough", **options})
    targets, unit = _targets(model, values)
    machine = BudgetedSVR(C=CHOICES.C, loss="squared_error", gamma=model.gamma, **options)
    weight = _near_the_boundary(values) if model.task == "novelty" else None
    small = _like(model, _fitted(machine, X, targets / unit, weight), unit)
    if model.task != "regression" or not values.any():
        return small
    most = CHOICES.refined_values // max(X.shape[1], len(small.vectors))
    order = np.random.default_rng(options["random_state"]).permutation(X.shape[0])
    chosen = np.sort(order[:most])
    some: Any = X[chosen]
    is_sparse: bool = sp.issparse(some)
    rows = some.toarray() if is_sparse else some
    return refined(model, small, rows, values[chosen], options["n_jobs"])


def on_labels(found: Given, X: Any, y: Array, **options: Any) -> Model:
    """Return a model that is solved on labels or target values, as its estimator would."""
    model = found.model
    if model.task == "regression":
        names = ("C", "epsilon", "loss", "quantile")
        given = {name: found.parameters[name] for name in names if name in found.parameters}
        machine = BudgetedSVR(gamma=model.gamma, **given, **options)
        return _like(model, _fitted(machine, X, y), np.ones(1))
    assert model.classes is not None
    return _on_codes(found, X, np.searchsorted(model.classes, y), options)


def _near_the_boundary(values: Array) -> Array:
    """Return weights of rows: many values of novelty detection are close to zero."""
    size = np.abs(values[:, 0])
    weight: Array = 1 / (CHOICES.near + size / (float(size.mean()) or 1.0))
    weight /= weight.mean()
    return weight


def _fitted(machine: Any, X: Any, targets: Array, weight: Array | None = None) -> Model:
    with warnings.catch_warnings():
        # The rows were good enough for the given model.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model: Model = machine.fit(X, targets, sample_weight=weight).to_model()
    return model


def takes_labels(model: Model) -> bool:
    """Whether a model is solved on labels: several classes with a hinge are."""
    return len(model.intercept) > 1 and model.task == "classification" and model.loss != "log_loss"


def _on_codes(found: Given, X: Any, codes: Array, options: dict[str, Any]) -> Model:
    model, C = found.model, found.parameters.get("C", 1.0)
    assert model.classes is not None
    n_found, n_classes = len(np.unique(codes)), len(model.classes)
    if n_found < n_classes:
        raise ValueError(
            f"Only {n_found} of the {n_classes} classes are among the labels of the rows in X. "
            "Give rows of all classes."
        )
    machine = BudgetedSVC(C=C, loss=model.loss, gamma=model.gamma, **options)
    return _like(model, _fitted(machine, X, codes), np.ones(1))


def _targets(model: Model, values: Array) -> tuple[Array, Array]:
    """Return the values to imitate, and their unit, one for each output."""
    if model.task == "classification":
        most = CHOICES.most_odds if model.loss == "log_loss" else CHOICES.most_margin
        return np.clip(values, -most, most), np.ones(1)
    spread = values.std(axis=0)
    return values, np.where(spread > 0, spread, 1.0)


def _like(model: Model, found: Model, unit: Array) -> Model:
    """Return the numbers of a model that was found, in units of its outputs, for the task."""
    return Model(
        found.vectors,
        unit[:, None] * found.dual_coef,
        unit * found.intercept,
        model.gamma,
        model.classes,
        model.feature_names,
        model.preparation,
        feature_scales=model.feature_scales,
        task=model.task,
        loss=model.loss,
        quantile=model.quantile,
    )
