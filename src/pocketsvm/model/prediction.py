"""Decision values of a model."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.rows import CheckedRows


def decision_values(
    vectors: NDArray[Any],
    dual_coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    gamma: float,
    rows: CheckedRows,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return the decision values (n_rows, n_outputs), in the precision of the vectors."""
    core = rows.core("float32" if vectors.dtype == np.float32 else "float64")
    return _core.decide(vectors, dual_coef, intercept, gamma, core, n_threads)
