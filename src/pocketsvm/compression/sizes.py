"""The bytes that the numbers of a model take in C."""

from ..model.integers import TABLE
from ..model.model import Model
from .rounded import counted_features

# Bytes of a number of a vector, of a coefficient, and of an intercept.
WIDTHS = {
    "float64": (8, 8, 8),
    "float32": (4, 4, 4),
    "float16": (2, 2, 4),
    "int16": (2, 2, 8),
    "int8": (1, 2, 8),
}
# Bytes for each feature of a model in integers: the offset, the factor, and in int8 the step.
OF_FEATURES = {"int16": 8, "int8": 10}


def size_of(model: Model, dtype: str, n_vectors: int | None = None) -> int:
    """Return the bytes of vectors, coefficients, intercepts, tables and labels.

    Parameters
    ----------
    model : Model
        The model; features whose scale is zero are left out.

    dtype : str
        The type of the numbers.

    n_vectors : int, default=None
        Another number of vectors.
    """
    of_vector, of_coefficient, of_intercept = WIDTHS[dtype]
    n_features, n_outputs = len(counted_features(model)), len(model.intercept)
    count: int = len(model.vectors) if n_vectors is None else n_vectors
    size = count * (of_vector * n_features + of_coefficient * n_outputs)
    if dtype in OF_FEATURES:
        size += OF_FEATURES[dtype] * n_features + 2 * len(TABLE)
    return size + of_intercept * n_outputs + _size_of_labels(model)


def _size_of_labels(model: Model) -> int:
    if model.task == "novelty":
        return 8
    if model.classes is None:
        return 0
    if model.classes.dtype.kind in "biuf":
        return 4 * len(model.classes)
    return sum(len(str(label).encode("utf-8", "surrogatepass")) + 1 for label in model.classes)


def largest_budget(model: Model, dtype: str, n_bytes: int) -> int:
    """Return the largest number of vectors that fit into so many bytes; it may be below two."""
    each = size_of(model, dtype, 1) - size_of(model, dtype, 0)
    return (n_bytes - size_of(model, dtype, 0)) // each
