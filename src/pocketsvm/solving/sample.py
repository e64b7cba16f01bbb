"""The rows that the solver works on, and sums over them."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._cached import cached_property
from ..data.rows import Rows
from .losses import KnownToCore, Loss
from .pairs import PairwiseHinge

Array = NDArray[Any]
Argument = TypeVar("Argument")
Result = TypeVar("Result")

# Decision values of a part: a fixed number, so that sums do not depend on the threads. Temporary
# arrays of this size fit into the second-level cache.
VALUES_AT_ONCE = 2**15
# Results for each thread that are computed, or being computed, before they are needed.
AHEAD = 2
# Values of at least so many dense rows, or of all, are counted to tell whether they are sparse.
ROWS_TO_COUNT = 2**12
# Rows count as sparse if this share of their values, or less, is not zero.
SPARSE = 0.1


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows.

    Attributes
    ----------
    at : slice
        Which ones.

    loss : Loss
        Their loss.

    c : ndarray of shape (n_rows, 1)
        C times their weights.
    """

    at: slice
    loss: Loss
    c: Array


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows to solve on.

    Attributes
    ----------
    rows : Rows
        The rows.

    c : ndarray of shape (n_rows,)
        C times the weight of each row.

    loss : Loss
        Their loss.

    tilt : float
        What the objective grows by with the intercept, besides the losses.

    few : bool
        Whether the rows are, or were taken from, so few that problems with few vectors are small.
    """

    rows: Rows
    c: Array
    loss: Loss
    tilt: float = 0.0
    few: bool = False

    @cached_property
    def total_c(self) -> float:
        """The sum of C times the weights."""
        return float(self.c.sum())

    def take(self, chosen: Array) -> "Sample":
        """Copy the chosen rows."""
        rows, c, loss = self.rows.take(chosen), self.c[chosen], self.loss.take(chosen)
        return replace(self, rows=rows, c=c, loss=loss)

    def part(self, at: slice) -> "Sample":
        """View some consecutive rows; `rows` stay all of them."""
        return Sample(self.rows, self.c[at], self.loss.take(at))

    def sum(self, function: Callable[[Part], tuple[Array, ...]], n_threads: int) -> tuple[Any, ...]:
        """Add up the function's results for all parts, in their order."""
        n_rows = max(1, VALUES_AT_ONCE // self.loss.n_outputs)
        results = in_order(
            lambda at: function(Part(at, self.loss.take(at), self.c[at, None])),
            self._slices(n_rows),
            n_threads,
        )
        total: tuple[Any, ...] = next(results)
        for result in results:
            total = tuple(a + b for a, b in zip(total, result, strict=True))
        return total

    def _slices(self, n_rows: int) -> list[slice]:
        """Cut the rows into slices; the rows of a query stay together."""
        if isinstance(self.loss, PairwiseHinge):
            return self.loss.slices(n_rows)
        return slices(len(self.c), n_rows)

    def slopes(self, decisions: Array, n_threads: int) -> tuple[Array, Array]:
        """Return the weighted losses of all rows, and the weighted slope of each row."""
        if isinstance(self.loss, KnownToCore):
            return self.loss.core().slopes(decisions, self.c, n_threads)
        slopes = np.empty_like(decisions)

        def read(part: Part) -> tuple[Array]:
            found = decisions[part.at]
            slopes[part.at] = part.loss.derivatives(found)[0] * part.c
            return ((part.loss.values(found) * part.c).sum(axis=0),)

        (losses,) = self.sum(read, n_threads)
        return losses, slopes

    def curvatures(self, decisions: Array, n_threads: int) -> Array:
        """Return the weighted curvature of every row, the mean over the outputs."""
        if isinstance(self.loss, KnownToCore):
            return self.loss.core().curvatures(decisions, self.c, n_threads)
        curvatures = np.empty(len(decisions))

        def read(part: Part) -> tuple[()]:
            bends = part.loss.derivatives(decisions[part.at])[1]
            curvatures[part.at] = bends.mean(axis=1) * part.c[:, 0]
            return ()

        self.sum(read, n_threads)
        return curvatures

    def along(
        self, decisions: Array, change: Array, length: Array, n_threads: int
    ) -> tuple[Array, Array]:
        """Return the first and second derivative of the losses along a change, at some lengths."""
        if isinstance(self.loss, KnownToCore):
            losses = self.loss.core()
            first, second = losses.along(decisions, change, length, self.c, n_threads)
            return first, second

        def read(part: Part) -> tuple[Array, Array]:
            some = change[part.at]
            weighted = some * part.c
            slopes, bends = part.loss.derivatives(decisions[part.at] + length * some)
            return (
                np.einsum("ij,ij->j", slopes, weighted),
                np.einsum("ij,ij,ij->j", bends, some, weighted),
            )

        first, second = self.sum(read, n_threads)
        return first, second

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.rows.checked.n_features

    @property
    def is_sparse(self) -> bool:
        """Whether most values are zero, in whatever layout they are stored."""
        return self.mean_values() <= SPARSE * self.n_features

    def mean_values(self) -> float:
        """Return the mean number of values of a row that are not zero."""
        checked = self.rows.checked
        if checked.structure is not None:
            return float(np.count_nonzero(checked.X.data) / self.rows.n_rows)
        some = checked.X[:: max(1, self.rows.n_rows // ROWS_TO_COUNT)]
        return float(np.count_nonzero(some) / len(some))


def slices(n_all: int, n_each: int) -> list[slice]:
    """Cut a range into slices."""
    return [slice(begin, min(begin + n_each, n_all)) for begin in range(0, n_all, n_each)]


def in_order(
    function: Callable[[Argument], Result], arguments: list[Argument], n_threads: int
) -> Iterator[Result]:
    """Yield the function's results, computed on some threads, in the order of the arguments.

    Threads are only a few results ahead, so that these do not fill the memory.
    """
    if n_threads == 1 or len(arguments) <= 1:
        yield from map(function, arguments)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(arguments)))
    ahead: deque[Future[Result]] = deque()
    try:
        for argument in arguments:
            if len(ahead) == AHEAD * n_threads:
                yield ahead.popleft().result()
            ahead.append(pool.submit(function, argument))
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
