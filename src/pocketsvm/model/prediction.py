"""Decision values of a model, and probabilities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, log_softmax, softmax

from ..backends.base import Backend
from ..rows.checked import CheckedRows


def decision_values(
    vectors: NDArray[Any],
    dual_coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    gamma: float,
    rows: CheckedRows,
    backend: Backend,
) -> NDArray[np.float64]:
    """Return the decision values (n_rows, n_outputs), in the precision of the vectors."""
    return backend.decide(vectors, dual_coef, intercept, gamma, rows)


def probabilities(decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of all classes for decision values (n_rows, n_outputs).

    One output is the logarithm of the odds of the second of two classes. With more, there is one
    for each class.
    """
    if decisions.shape[1] == 1:
        return np.hstack([expit(-decisions), expit(decisions)])
    shares: NDArray[np.float64] = softmax(decisions, axis=1)
    return shares


def log_probabilities(decisions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithms of the probabilities, which are precise where these are tiny."""
    if decisions.shape[1] == 1:
        return np.hstack([log_expit(-decisions), log_expit(decisions)])
    logarithms: NDArray[np.float64] = log_softmax(decisions, axis=1)
    return logarithms
