"""The kernel values of rows: decision values, and what the rows pull at."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..rows.checked import Rows
from .slices import in_order, slices

Array = NDArray[Any]

# Kernel values of a block that is not kept: enough work for several threads, and few enough for the
# last cache.
BLOCK_VALUES = 2**23
# The memory for one output of a row, in kernel values: decision values, slopes, curvatures.
OUTPUT_VALUES = 8
# Kernel values that a thread takes at once for the slope in positions.
VALUES_AT_ONCE = 2**20
# The first block is kept and has up to this many bytes; others are computed again whenever they are
# needed. Near rows of larger data are represented by a sample, on which vectors move only with
# polish="thorough".
MOST_KEPT = 2**28


class Use(Protocol):
    """What is done with blocks of kernel values besides summing them."""

    @property
    def needed(self) -> NDArray[np.bool_]:
        """Which rows it is done with; others may be left out."""

    def __call__(self, at: Any, kernel: Any, /) -> None:
        """Do it with a block: a slice or positions of rows, and their kernel values."""


@dataclass(frozen=True, eq=False)
class Changes:
    """How the curvatures of rows have changed: it is called with blocks of their kernel values."""

    hessians: Sequence[Any]
    differences: list[Array]

    @property
    def needed(self) -> NDArray[np.bool_]:
        """The rows whose curvature has changed in an output."""
        needed: NDArray[np.bool_] = np.any([each != 0 for each in self.differences], axis=0)
        return needed

    def __call__(self, at: Any, kernel: Any) -> None:
        """Add the changes of some rows."""
        for hessian, difference in zip(self.hessians, self.differences, strict=True):
            hessian.add(kernel, difference[at])


class KernelRows:
    """The kernel values of rows with vectors, in blocks.

    The core fills blocks, and sums over them, on several threads; the bits of the sums do not
    depend on their number. Values are float32, which is enough unless nearly all are one.
    """

    def __init__(
        self,
        vectors: Array,
        rows: Rows,
        n_outputs: int,
        n_threads: int,
        *,
        dtype: Any = np.float32,
        most_kept: int | None = None,
        block_values: int | None = None,
    ) -> None:
        self.vectors, self.rows, self.n_threads = vectors, rows, n_threads
        self.dtype = np.dtype(dtype)
        most_kept = MOST_KEPT if most_kept is None else most_kept
        block_values = BLOCK_VALUES if block_values is None else block_values
        self._n_each = max(1, block_values // (len(vectors) + OUTPUT_VALUES * n_outputs))
        row_bytes = self.dtype.itemsize * (len(vectors) + OUTPUT_VALUES * n_outputs)
        n_kept = min(rows.n_rows, most_kept // row_bytes)
        others = [
            slice(n_kept + at.start, n_kept + at.stop)
            for at in slices(rows.n_rows - n_kept, self._n_each)
        ]
        self.slices = [slice(0, n_kept), *others] if n_kept else others
        self._n_kept = n_kept
        self._kept: Any = None
        self._spare: Any = None

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows and their kernel values, which hold until the next block."""
        for at in self.slices:
            if at.stop <= self._n_kept:
                if self._kept is None:
                    self._kept = self._filled(self._new_block(at), at)
                yield at, self._kept
            else:  # the first of these blocks is the largest
                if self._spare is None or len(self._spare) < at.stop - at.start:
                    self._spare = self._new_block(at)
                yield at, self._filled(self._spare[: at.stop - at.start], at)

    def _new_block(self, at: slice) -> Any:
        return np.empty((at.stop - at.start, len(self.vectors)), dtype=self.dtype)

    def _filled(self, block: Any, at: slice) -> Any:
        rows = self.rows
        _core.fill_kernel(block, self.vectors, rows.gamma, rows.core, at.start, self.n_threads)
        return block

    def decisions(self, kernel: Any, point: Array) -> Array:
        """Return the decision values of coefficients and intercepts (n_outputs, n_vectors + 1)."""
        coefficients, intercepts = np.ascontiguousarray(point[:, :-1]), point[:, -1].copy()
        return _core.kernel_decisions(kernel, coefficients, intercepts, self.n_threads)

    def pull(self, kernel: Any, slopes: Array) -> Array:
        """Return the derivative in coefficients and intercepts of losses with these slopes."""
        pull = _core.kernel_pull(kernel, slopes, self.n_threads)
        return np.column_stack([pull, slopes.sum(axis=0)])

    def decisions_of(self, points: Sequence[Array]) -> list[Array]:
        """Return the decision values of all rows at some points."""
        found = [np.empty((self.rows.n_rows, len(point))) for point in points]
        for at, kernel in self.blocks():
            for decisions, point in zip(found, points, strict=True):
                decisions[at] = self.decisions(kernel, point)
        return found

    def pull_of(self, slopes: Array, use: Use | None = None) -> Array:
        """Return the derivative of losses with these slopes of all rows.

        `use` is called with the blocks of kernel values, which are at hand here.
        """
        found = np.zeros((slopes.shape[1], len(self.vectors) + 1))
        for at, kernel in self._blocks_of(slopes, use):
            found += self.pull(kernel, slopes[at])
            if use is not None:
                use(at, kernel)
        return found

    def _blocks_of(self, slopes: Array, use: Use | None) -> Iterator[tuple[Any, Any]]:
        """Yield slices or positions of rows, and their kernel values, at least of those needed."""
        if self.dtype == np.float64:  # these rows may be rounded, and copies of them would not be
            yield from self.blocks()
            return
        needed = has_value(slopes)
        if use is not None:
            needed |= use.needed
        if self._n_kept:
            yield next(self.blocks())
        others = self._n_kept + np.flatnonzero(needed[self._n_kept :])
        for some in slices(len(others), self._n_each):
            chosen = others[some]
            rows = self.rows.take(chosen, self.n_threads)
            if self._spare is None or len(self._spare) < len(chosen):
                self._spare = np.empty((len(chosen), len(self.vectors)), dtype=self.dtype)
            block = self._spare[: len(chosen)]
            _core.fill_kernel(block, self.vectors, rows.gamma, rows.core, 0, self.n_threads)
            yield chosen, block

    def changes(self, hessians: Sequence[Any], curvatures: Array, least: Array) -> Use:
        """Return what brings the Hessians of outputs up to date with curvatures of all rows.

        The least change of a row is `least` times the sum of the curvatures of an output.
        """
        columns = np.ascontiguousarray(curvatures.T)
        differences = [
            hessian.differences(column, float(column.sum()) * least)
            for hessian, column in zip(hessians, columns, strict=True)
        ]
        return Changes(hessians, differences)

    def forces(self, penalty: Any, X: Any, slopes: Array, beta: Array, vectors: Array) -> Array:
        """Return sum_i w_ij (x_i - v_j) + sum_l w_lj (v_l - v_j), for each vector v_j.

        Here, w_ij = k_ij sum_o slope_io beta_oj and w_lj = k_lj sum_o beta_ol beta_oj. The rows X
        and the vectors are given without a centre.
        """
        total, pull = penalty.forces(beta, vectors)
        single = beta.astype(np.float32)

        def of_rows(kernel: Array, first: int, some: slice) -> tuple[Array, Array]:
            at = slice(first + some.start, first + some.stop)
            chosen = np.flatnonzero(has_value(slopes[at]))
            weights = slopes[at][chosen].astype(np.float32) @ single
            weights *= kernel[some][chosen]
            rows = X[at.start + chosen]
            return weights.sum(axis=0, dtype=np.float64), (rows.T @ weights).T

        for at, kernel in self.blocks():
            some = slices(len(kernel), max(1, VALUES_AT_ONCE // len(self.vectors)))
            each = partial(of_rows, kernel, at.start)
            for weight, product in in_order(each, some, self.n_threads):
                total += weight
                pull += product
        forces: Array = pull - total[:, None] * vectors
        return forces


def has_value(values: Array) -> NDArray[np.bool_]:
    """Tell which rows have a value that is not zero."""
    is_set: NDArray[np.bool_] = values != 0
    if values.shape[1] == 1:
        return is_set[:, 0]  # much faster than any
    found: NDArray[np.bool_] = np.any(is_set, axis=1)
    return found
