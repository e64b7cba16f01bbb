"""The native backend: the core and LAPACK, on threads of the CPU."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .. import _core
from ..rows.checked import CheckedRows, Rows
from .base import Backend, ClassFormula, Formula
from .batches import Batches, Start
from .hessian import Penalty, RowHessian
from .kernel import MOST_KEPT, KernelRows
from .small_model import SmallModel
from .whitened import WhitenedRows

Array = NDArray[Any]

# For each vector, a row costs a Hessian one multiply-add in double for every second vector, and a
# product, which computes kernel values again, one in float for each of its values and so many more.
EXPONENTIAL_WORK = 8


def native_losses(formula: Formula) -> _core.RowLosses:
    """Return a loss as the core sees it."""
    if isinstance(formula, ClassFormula):
        positives = list(formula.positives)
        return _core.RowLosses.classes(formula.name, formula.codes, positives, formula.width)
    factors = (each.tolist() for each in (formula.down, formula.up, formula.widths))
    return _core.RowLosses.values(formula.name, formula.targets, formula.epsilon, *factors)


@dataclass(frozen=True)
class Native(Backend):
    """The native core on some threads."""

    def kernel_rows(self, vectors: Array, rows: Rows, n_outputs: int, dtype: Any) -> KernelRows:
        """Return the kernel values of rows with vectors, in blocks."""
        return KernelRows(vectors, rows, n_outputs, self.n_threads, dtype=dtype)

    def kernel(self, vectors: Array, rows: Rows) -> Array:
        """Return the kernel values of few rows, as one block."""
        return _core.kernel_block(vectors, rows.gamma, rows.core, 0, rows.n_rows, self.n_threads)

    def penalty(self, vectors: Array, gamma: float) -> Penalty:
        """Return the penalty of coefficients of vectors."""
        return Penalty(vectors, gamma, self.n_threads)

    def row_hessian(self, n_vectors: int, n_rows: int) -> RowHessian:
        """Return the Hessian of no rows, to which up to so many can be added."""
        return RowHessian(n_vectors, n_rows, self.n_threads)

    def prefers_products(self, n_products: int, n_vectors: int, n_values: float) -> bool:
        """Whether so many products with a Hessian of rows are faster than the Hessian."""
        return n_vectors > n_products * (n_values + EXPONENTIAL_WORK)

    def whitens(self, rows: KernelRows) -> bool:
        """Whether there is memory for rows in coordinates where the penalty is the identity."""
        n_bytes = rows.dtype.itemsize * rows.rows.n_rows * len(rows.vectors)
        return len(rows.slices) == 1 and n_bytes <= MOST_KEPT

    def whitened(self, penalty: Penalty, rows: KernelRows, n_outputs: int) -> WhitenedRows:
        """Return the rows in coordinates where the penalty is the identity."""
        return WhitenedRows(penalty, rows, n_outputs)

    def centred(self, rows: Rows, is_sparse: bool) -> tuple[Any, Array]:
        """Return rows in float32 and a centre that was subtracted.

        Rows with few values stay sparse, and then nothing is subtracted. The values decide, not the
        layout that they came in, so that both layouts give the same bits.
        """
        if is_sparse:
            n_features = rows.checked.n_features
            return sp.csr_array(rows.checked.X, dtype=np.float32), np.zeros(n_features)
        X = np.ascontiguousarray(rows.dense())
        centre = X.mean(axis=0, dtype=np.float64)
        return (X - centre).astype(np.float32), centre

    def small_model(self, X: Array, values: Array, c: Array, penalty: float) -> SmallModel:
        """Return the model of rows whose feature scales are learnt."""
        return SmallModel(X, values, c, penalty)

    def batches(self, sample: Any, start: Start) -> Batches:
        """Return mini-batches of rows with their weights and losses."""
        return Batches(sample, start, self.n_threads)

    def read(
        self,
        vectors: Array,
        points: Array,
        rows: Rows,
        loss: Any,
        c: Array,
        lengths: Array,
        reach: float,
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the losses of rows, their pull, and which rows are near."""
        return _core.read_losses(
            vectors,
            rows.gamma,
            rows.core,
            loss.core,
            np.ascontiguousarray(c, dtype=float),
            np.ascontiguousarray(points[:, :-1]),
            np.ascontiguousarray(points[:, -1]),
            lengths,
            reach,
            self.n_threads,
        )

    def decide(
        self,
        vectors: Array,
        coefficients: Array,
        intercepts: Array,
        gamma: float,
        rows: CheckedRows,
    ) -> NDArray[np.float64]:
        """Return decision values (n_rows, n_outputs), in the precision of the vectors."""
        core = rows.core("float32" if vectors.dtype == np.float32 else "float64")
        return _core.decide(vectors, coefficients, intercepts, gamma, core, self.n_threads)
