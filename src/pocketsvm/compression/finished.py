"""A compressed model as an estimator, which further training can continue from."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline

from ..estimators.loading import machine_of
from ..model.model import Model, Training
from ..model.preparation import split
from ..profile import Profile
from ..training.regularisation import ASSUMED_STREAM_ROWS
from ..training.state import PassState, VectorSet
from .given import Given

Array = NDArray[Any]

# The state of the random numbers of further passes.
GENERATOR = np.array([1, 2, 3, 4], dtype=np.uint64)
# Added to the diagonal of kernel matrices, which are nearly singular if vectors nearly coincide.
JITTER = 1e-6


def finished(found: Given, model: Model, budget: int) -> Any:
    """Return the estimator of a compressed model, in the pipeline of the given model."""
    parameters = found.parameters | {"budget": max(2, budget)}
    training = Training(
        _state(model, float(parameters.get("C", 1.0))),
        _alpha(model, float(parameters.get("C", 1.0))),
        Profile(),
        found.estimator,
        parameters,
    )
    model = replace(model, training=training)
    if found.pipeline is None:
        return machine_of(model)
    names = getattr(split(found.pipeline)[1], "feature_names_in_", None)  # after the steps
    machine = machine_of(replace(model, feature_names=names, preparation=None))
    return _exchanged(found.pipeline, machine)


def _exchanged(pipeline: Pipeline, machine: Any) -> Pipeline:
    """Return a pipeline with another model as its last step."""
    *steps, (name, last) = pipeline.steps
    if isinstance(last, Pipeline):
        machine = _exchanged(last, machine)
    return Pipeline([*steps, (name, machine)])


def _alpha(model: Model, C: float) -> float:
    """Return the lambda of further passes: that of a stream."""
    if model.task == "novelty":  # scores are then about as large as the offset
        return abs(float(model.intercept[0])) / ASSUMED_STREAM_ROWS or 1.0
    return 1.0 / ASSUMED_STREAM_ROWS / C


def _state(model: Model, C: float) -> VectorSet:
    """Return the model as a state of passes, in which a vector serves one output.

    A vector that several outputs share stays with the output of its largest coefficient, and the
    vectors of an output are those of its function that are closest in the space of the kernel.
    """
    alpha = _alpha(model, C)
    unit = alpha * ASSUMED_STREAM_ROWS
    is_score = model.task == "novelty"
    offset: Any = 0.0
    if is_score:
        offset = float(model.intercept[0]) / unit
    elif model.task == "regression":
        offset = model.intercept if len(model.intercept) > 1 else float(model.intercept[0])
    owner = np.abs(model.dual_coef).argmax(axis=0)
    states = []
    for k, (coefficients, intercept) in enumerate(
        zip(model.dual_coef, model.intercept, strict=True)
    ):
        own = np.flatnonzero((owner == k) & (coefficients != 0))
        if len(model.dual_coef) > 1 and len(own):
            projected = _projected(model, own, coefficients)
            coefficients = coefficients.copy()
            coefficients[own] = projected
        states.append(
            PassState(
                vectors=model.vectors[own],
                coefficients=coefficients[own] * (1.0 if is_score else unit),
                births=np.zeros(len(own), dtype=np.int64),
                bias=float(intercept) * unit if model.task == "classification" else 0.0,
                steps=ASSUMED_STREAM_ROWS,
                weight=float(ASSUMED_STREAM_ROWS),
                generator=GENERATOR,
            )
        )
    return VectorSet(tuple(states), model.gamma, alpha, offset, 1, Profile())


def _projected(model: Model, own: Array, coefficients: Array) -> Array:
    """Return the coefficients of some vectors that are closest to those of all."""
    vectors = model.vectors.astype(float)
    kernel = rbf_kernel(vectors[own], vectors, gamma=model.gamma)
    among = kernel[:, own] + JITTER * np.eye(len(own))
    found: Array = solve(among, kernel @ coefficients, assume_a="pos")
    return np.where(found == 0, JITTER, found)
