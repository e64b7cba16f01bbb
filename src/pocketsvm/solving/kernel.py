"""The rows that the solver sums over, in parts, with their kernel values."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .losses import Loss
from .sample import Sample

Array = NDArray[Any]
Result = TypeVar("Result")

# Kernel values of a part: a fixed number, so that sums do not depend on the threads. A part is long
# enough to hide the cost of its calls, and a few of them fit into the third-level cache.
VALUES_AT_ONCE = 2**20
# Kernel values are kept as float32, up to this many bytes; those of further rows are computed again
# whenever they are needed.
MOST_KEPT = 2**28


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows.

    Attributes
    ----------
    at : slice
        Which ones.

    kernel : ndarray of shape (n_rows, n_vectors)
        Their kernel values with the vectors, in float32.

    loss : Loss
        Their loss.

    c : ndarray of shape (n_rows, 1)
        C times their weights.
    """

    at: slice
    kernel: Array
    loss: Loss
    c: Array

    def decisions(self, point: Array) -> Array:
        """Return the decision values of coefficients and intercepts (n_outputs, n_vectors + 1)."""
        coefficients = np.ascontiguousarray(point[:, :-1])
        return _core.kernel_decisions(self.kernel, coefficients, point[:, -1].copy())

    def pull(self, slopes: Array) -> Array:
        """Return the derivative in coefficients and intercepts of losses with these slopes."""
        return np.column_stack([_core.kernel_pull(self.kernel, slopes), slopes.sum(axis=0)])


class KernelRows:
    """Rows, in parts that do not depend on the number of threads."""

    def __init__(self, vectors: Array, sample: Sample, n_threads: int) -> None:
        self.vectors, self.sample, self.n_threads = vectors, sample, n_threads
        self.n_rows = sample.rows.n_rows
        self._step = max(1, VALUES_AT_ONCE // len(vectors))
        self.n_parts = -(-self.n_rows // self._step)
        n_kept = MOST_KEPT // (4 * self._step * len(vectors))
        self._kept: list[Array | None] = [None] * min(self.n_parts, n_kept)

    def slices(self) -> list[slice]:
        """Return the rows of each part."""
        starts = range(0, self.n_rows, self._step)
        return [slice(begin, min(begin + self._step, self.n_rows)) for begin in starts]

    def part(self, at: slice) -> Part:
        """Return a part."""
        sample = self.sample
        return Part(at, self._kernel(at), sample.loss.take(at), sample.c[at, None])

    def _kernel(self, at: slice) -> Array:
        number = at.start // self._step
        kept = self._kept[number] if number < len(self._kept) else None
        if kept is None:
            rows = self.sample.rows
            block = _core.kernel_block(self.vectors, rows.gamma, rows.core, at.start, at.stop, 1)
            kept = np.asarray(block, dtype=np.float32)
            if number < len(self._kept):
                self._kept[number] = kept
        return kept

    def each(self, function: Callable[[Part], Result]) -> Iterator[Result]:
        """Yield the function's results for all parts, in their order."""
        return in_order(lambda at: function(self.part(at)), self.slices(), self.n_threads)

    def sum(self, function: Callable[[Part], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Add up the function's results for all parts, in their order."""
        results = self.each(function)
        total = next(results)
        for result in results:
            total = tuple(a + b for a, b in zip(total, result, strict=True))
        return total


def in_order(
    function: Callable[[Any], Result], arguments: list[Any], n_threads: int
) -> Iterator[Result]:
    """Yield the function's results, computed on some threads, in the order of the arguments."""
    if n_threads == 1 or len(arguments) <= 1:
        yield from map(function, arguments)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(arguments)))
    try:
        yield from pool.map(function, arguments)
    finally:
        pool.shutdown(cancel_futures=True)
