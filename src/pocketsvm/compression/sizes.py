"""The bytes that the numbers of a model take."""

import numpy as np

from ..model.model import Model

# Bytes of a number of a vector, and of a coefficient.
WIDTHS = {"float64": (8, 8), "float32": (4, 4)}


def size_of(model: Model, dtype: str, n_vectors: int | None = None) -> int:
    """Return the bytes of vectors, coefficients, intercepts and labels.

    Parameters
    ----------
    model : Model
        The model.

    dtype : str
        The type of the numbers.

    n_vectors : int, default=None
        Another number of vectors.
    """
    of_vector, of_coefficient = WIDTHS[dtype]
    n_features: int = model.vectors.shape[1]
    n_outputs = len(model.intercept)
    count: int = len(model.vectors) if n_vectors is None else n_vectors
    each = of_vector * n_features + of_coefficient * n_outputs
    return count * each + fixed_size(model, dtype)


def fixed_size(model: Model, dtype: str) -> int:
    """Return the bytes that do not depend on the number of vectors."""
    n_labels = 2 if model.task == "novelty" else 0
    if model.classes is not None and model.classes.dtype.kind in "biuf":
        n_labels = len(model.classes)
    elif model.classes is not None:
        return WIDTHS[dtype][1] * len(model.intercept) + sum(
            len(str(label).encode()) + 1 for label in model.classes
        )
    return WIDTHS[dtype][1] * len(model.intercept) + np.dtype(np.int32).itemsize * n_labels


def largest_budget(model: Model, dtype: str, n_bytes: int) -> int:
    """Return the largest number of vectors that fit into so many bytes; it may be below two."""
    each = size_of(model, dtype, 1) - size_of(model, dtype, 0)
    return (n_bytes - size_of(model, dtype, 0)) // each
