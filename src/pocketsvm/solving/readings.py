"""Readings: sums over all rows, wherever they are.

The solver sees large data only through `Readings`: one call sums at a point, the other along a
direction. `read` and `read_along` compute the sums of one chunk of rows, which is all rows in
memory, or a batch or partition elsewhere. Sums of chunks are added in their order.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._cached import cached_property
from ..data.sampling import draw_members
from .kernel import KernelRows
from .losses import REACH, KnownToCore
from .sample import Part, Sample

Array = NDArray[Any]

# The lengths that a reading tries; it computes the gradient at the first one.
LENGTHS = np.array([1.0, 0.25, 0.5, 1.5, 0.05])
NO_LENGTHS = np.empty(0)
# While vectors move, rows that were not near may get a loss: some of them, drawn at random, stand
# for all of them. There are this many for each near row, and at least so many.
OTHERS_PER_NEAR, LEAST_OTHERS = 0.25, 1024


@dataclass(frozen=True)
class Wanted:
    """Which rows a reading returns.

    Attributes
    ----------
    n_bent : int
        The number of rows that bend to draw.

    most_near : int
        The largest number of near rows to return.

    seed : int
        Draws the rows that bend, and those that are not near, together with their positions.
    """

    n_bent: int
    most_near: int
    seed: int


@dataclass(frozen=True, eq=False)
class First:
    """Sums over all rows at a point, and some of the rows.

    Attributes
    ----------
    losses : ndarray
        The loss of all rows, one for each output, or one for all if the loss couples them.

    pull : ndarray of shape (n_outputs, n_vectors + 1)
        The derivative of the losses in the coefficients and intercepts.

    bent : Sample
        Some of the rows that bend, drawn at random.

    curvatures : ndarray
        Their weighted curvatures, scaled so that their sum is that of all rows.

    near : Sample or None
        The rows that have a loss, or nearly have one, and some that stand for all others; None if
        there are too many.

    decisions : ndarray or None
        The decision values of `bent`, if its loss is one of pairs.
    """

    losses: Array
    pull: Array
    bent: Sample
    curvatures: Array
    near: Sample | None
    decisions: Array | None = None


class Readings(Protocol):
    """Rows that can be read several times."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        ...

    @property
    def total_c(self) -> float:
        """The sum of C times the weights of all rows."""
        ...

    def first(self, vectors: Array, point: Array, wanted: Wanted) -> First:
        """Sum over all rows at a point."""
        ...

    def along(self, vectors: Array, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths of a step, and the pull at the first length."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """Readings of rows in memory."""

    sample: Sample
    n_threads: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.sample.c)

    @cached_property
    def total_c(self) -> float:
        """The sum of C times the weights of all rows."""
        return _core.total(self.sample.c, self.n_threads)

    def first(self, vectors: Array, point: Array, wanted: Wanted) -> First:
        """Sum over all rows at a point."""
        found = read(vectors, point, self.sample, self.n_threads)
        chosen, curvatures = drawn_bent(found.curvatures, wanted, self.n_threads)
        near = near_rows(self.sample, found.near, wanted.most_near, wanted.seed, self.n_threads)
        losses, pull = found.losses + self.sample.tilt * point[:, -1].sum(), found.pull
        pull[:, -1] += self.sample.tilt
        return First(losses, pull, self.sample.take(chosen), curvatures, near)

    def losses(self, vectors: Array, point: Array) -> Array:
        """Return the losses of all rows at a point."""
        found = read(vectors, point, self.sample, self.n_threads).losses
        losses: Array = found + self.sample.tilt * point[:, -1].sum()
        return losses

    def along(self, vectors: Array, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths of a step, and the pull at the first length."""
        losses, pull = read_along(vectors, point, direction, self.sample, self.n_threads)
        pull[:, -1] += self.sample.tilt
        intercepts = point[:, -1].sum() + LENGTHS * direction[:, -1].sum()
        return losses + self.sample.tilt * intercepts[:, None], pull


def near_rows(
    sample: Sample,
    near: NDArray[np.bool_],
    most: int,
    seed: int | None = None,
    n_threads: int = 1,
) -> Sample | None:
    """Return the rows that are near; None if there are too many.

    With a seed, other rows are drawn and added. Their weights are those of all others.
    """
    n_near = int(np.count_nonzero(near))
    if n_near > most:
        return None
    share = 0.0 if seed is None else share_of_others(n_near, len(near), most)
    if share == 1.0 or n_near == len(near):
        return sample
    if share == 0.0:
        return sample.take(np.flatnonzero(near))
    limits = np.array([share, np.inf])
    chosen = _core.rows_below(near.view(np.int8), limits, seed or 0, n_threads)
    others = ~near[chosen]
    found = sample.take(chosen)
    drawn = found.c[others].sum()
    weight = (sample.c[~near].sum() / drawn) if drawn else 1.0
    return replace(found, c=np.where(others, weight * found.c, found.c))


def share_of_others(n_near: float, n_rows: int, most: int) -> float:
    """Return the share of the rows that are not near which stand for all of these."""
    n_others = min(max(OTHERS_PER_NEAR * n_near, LEAST_OTHERS), most - n_near)
    return min(1.0, n_others / max(n_rows - n_near, 1))


def drawn_bent(
    curvatures: Array, wanted: Wanted, n_threads: int = 1
) -> tuple[NDArray[np.intp], Array]:
    """Draw some of the rows that bend: those with the smallest random numbers.

    The number of a row depends on its position and the seed alone. Returns the positions of the
    drawn rows, sorted, and their curvatures, scaled so that their sum is that of all rows.
    """
    bends = curvatures != 0
    if np.count_nonzero(bends) <= wanted.n_bent:
        bent = np.flatnonzero(bends)
        return bent, curvatures[bent]
    drawn = draw_members(bends, wanted.n_bent, wanted.seed, n_threads)
    found = curvatures[drawn]
    return drawn, found * (_core.total(curvatures, n_threads) / found.sum(dtype=float))


# --- the sums of a chunk --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChunkSums:
    """The sums of a chunk at a point, and what its rows are like.

    Attributes
    ----------
    losses, pull : ndarray
        As in `First`.

    near : ndarray of bool
        Whether a row has a loss, or nearly has one.

    curvatures : ndarray of float32
        The weighted curvature of each row, the mean over the outputs.
    """

    losses: Array
    pull: Array
    near: NDArray[np.bool_]
    curvatures: Array


def read(vectors: Array, point: Array, chunk: Sample, n_threads: int) -> ChunkSums:
    """Sum over the rows of a chunk at a point."""
    if isinstance(chunk.loss, KnownToCore):
        losses, *rest = _read_in_core(vectors, point, chunk, chunk.loss, NO_LENGTHS, n_threads)
        return ChunkSums(losses[0], *rest)
    return _read_blocks(vectors, point, chunk, n_threads)


def read_along(
    vectors: Array, point: Array, direction: Array, chunk: Sample, n_threads: int
) -> tuple[Array, Array]:
    """Return the losses of a chunk at all lengths, and the pull at the first length."""
    if isinstance(chunk.loss, KnownToCore):
        both = np.concatenate([point, direction])
        return _read_in_core(vectors, both, chunk, chunk.loss, LENGTHS, n_threads)[:2]
    return _read_blocks_along(vectors, point, direction, chunk, n_threads)


def _read_in_core(
    vectors: Array, points: Array, chunk: Sample, loss: KnownToCore, lengths: Array, n_threads: int
) -> tuple[Array, Array, Array, Array]:
    """Let the core read the rows."""
    return _core.read_losses(
        vectors,
        chunk.rows.gamma,
        chunk.rows.core,
        loss.core(),
        np.ascontiguousarray(chunk.c, dtype=float),
        np.ascontiguousarray(points[:, :-1]),
        np.ascontiguousarray(points[:, -1]),
        lengths,
        REACH,
        n_threads,
    )


def _read_blocks(vectors: Array, point: Array, chunk: Sample, n_threads: int) -> ChunkSums:
    """Read the rows in blocks of kernel values, whatever the loss is."""
    rows = KernelRows(vectors, chunk.rows, chunk.loss.n_outputs, n_threads)
    near = np.empty(len(chunk.c), dtype=bool)
    curvatures = np.empty(len(chunk.c), dtype=np.float32)
    losses, pull = [], np.zeros_like(point)
    for at, kernel in rows.blocks():
        decisions = rows.decisions(kernel, point)
        slopes = np.empty_like(decisions)

        def read_part(
            part: Part, at: slice = at, decisions: Array = decisions, slopes: Array = slopes
        ) -> tuple[Array]:
            found = decisions[part.at]
            first, second = part.loss.derivatives(found)
            slopes[part.at] = first * part.c
            curvatures[at][part.at] = second.mean(axis=1) * part.c[:, 0]
            near[at][part.at] = part.loss.near(found, REACH)
            return ((part.loss.values(found) * part.c).sum(axis=0),)

        losses.append(chunk.part(at).sum(read_part, n_threads)[0])
        pull += rows.pull(kernel, slopes)
    return ChunkSums(sum(losses), pull, near, curvatures)


def _read_blocks_along(
    vectors: Array, point: Array, direction: Array, chunk: Sample, n_threads: int
) -> tuple[Array, Array]:
    """Read the rows along a direction in blocks of kernel values, whatever the loss is."""
    rows = KernelRows(vectors, chunk.rows, chunk.loss.n_outputs, n_threads)
    both = np.concatenate([point, direction])
    losses, pull = [], np.zeros_like(point)
    for at, kernel in rows.blocks():
        decisions, change = np.hsplit(rows.decisions(kernel, both), 2)
        slopes = np.empty_like(decisions)

        def read_part(
            part: Part, decisions: Array = decisions, change: Array = change, slopes: Array = slopes
        ) -> tuple[Array]:
            start, step = decisions[part.at], change[part.at]
            slopes[part.at] = part.loss.derivatives(start + LENGTHS[0] * step)[0] * part.c
            tried = [part.loss.values(start + length * step) for length in LENGTHS]
            return (np.stack([(values * part.c).sum(axis=0) for values in tried]),)

        losses.append(chunk.part(at).sum(read_part, n_threads)[0])
        pull += rows.pull(kernel, slopes)
    return sum(losses), pull
