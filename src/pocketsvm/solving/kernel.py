"""The kernel values of rows: decision values, and what the rows pull at."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.rows import Rows
from .sample import slices

Array = NDArray[Any]

# Kernel values of a block: enough work for several threads, and few enough for the last cache.
BLOCK_VALUES = 2**23
# The memory for one output of a row, in kernel values: decision values, slopes, curvatures.
OUTPUT_VALUES = 8
# Blocks are kept up to this many bytes; others are computed again whenever they are needed.
MOST_KEPT = 2**28


class KernelRows:
    """The kernel values of rows with vectors, in blocks.

    The core fills blocks, and sums over them, on several threads; the bits of the sums do not
    depend on their number.
    """

    def __init__(self, vectors: Array, rows: Rows, n_outputs: int, n_threads: int) -> None:
        self.vectors, self.rows, self.n_threads = vectors, rows, n_threads
        n_values = len(vectors) + OUTPUT_VALUES * n_outputs
        self.slices = slices(rows.n_rows, max(1, BLOCK_VALUES // n_values))
        self._n_kept = MOST_KEPT // (BLOCK_VALUES * vectors.itemsize)
        self._kept: list[Array] = []
        self._spare: Array | None = None

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield slices of rows and their kernel values, which hold until the next block."""
        for number, at in enumerate(self.slices):
            if number < len(self._kept):
                yield at, self._kept[number]
            elif number < self._n_kept:
                block = self._filled(self._new_block(at), at)
                self._kept.append(block)
                yield at, block
            else:  # the first of these blocks is the largest
                self._spare = self._new_block(at) if self._spare is None else self._spare
                yield at, self._filled(self._spare[: at.stop - at.start], at)

    def _new_block(self, at: slice) -> Array:
        return np.empty((at.stop - at.start, len(self.vectors)), dtype=self.vectors.dtype)

    def _filled(self, block: Array, at: slice) -> Array:
        rows = self.rows
        _core.fill_kernel(block, self.vectors, rows.gamma, rows.core, at.start, self.n_threads)
        return block

    def decisions(self, kernel: Array, point: Array) -> Array:
        """Return the decision values of coefficients and intercepts (n_outputs, n_vectors + 1)."""
        coefficients, intercepts = np.ascontiguousarray(point[:, :-1]), point[:, -1].copy()
        return _core.kernel_decisions(kernel, coefficients, intercepts, self.n_threads)

    def pull(self, kernel: Array, slopes: Array) -> Array:
        """Return the derivative in coefficients and intercepts of losses with these slopes."""
        pull = _core.kernel_pull(kernel, slopes, self.n_threads)
        return np.column_stack([pull, slopes.sum(axis=0)])
