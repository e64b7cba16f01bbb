"""Readings: sums over all rows, wherever they are.

The solver sees large data only through `Readings`: one scan sums at a point, another one along a
direction. The functions of a chunk are pure, so that a worker of a cluster can compute them: they
take rows and return small sums and few rows. `encode` turns the rows of a chunk into a `Sample`;
rows in memory are one chunk, which is a `Sample` already.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..rows.checked import Dtype, Rows, checked_rows
from ..rows.chunk import Chunk
from ..rows.chunk import joined as join_chunks
from ..rows.preparation import Steps, transformed
from ..rows.sampling import draw_members, smallest
from ..training.settings import Settings
from ..training.targets import Targets
from .kernel import MOST_KEPT, KernelRows
from .row_loss import REACH
from .sample import Sample, sample_of

Array = NDArray[Any]
T = TypeVar("T")

# The lengths that a reading tries; it computes the gradient at the first one.
LENGTHS = np.array([1.0, 0.25, 0.5, 1.5, 0.05])
NO_LENGTHS = np.empty(0)
# While vectors move, rows that were not near may get a loss: some of them, drawn at random, stand
# for all of them. There are this many for each near row, and at least so many.
OTHERS_PER_NEAR, LEAST_OTHERS = 0.25, 1024
# Near rows are not collected if the sample predicts so many times as many as can be used.
TOO_MANY = 1.2


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
    """

    losses: Array
    pull: Array
    bent: Sample
    curvatures: Array
    near: Sample | None


class Scans(Protocol):
    """Rows that can be scanned several times."""

    def scan(self, reading: Any, /) -> Any:
        """Merge what is read from all chunks."""


@dataclass(frozen=True, eq=False)
class OneChunk:
    """Rows in memory, as one chunk."""

    rows: Any

    def scan(self, reading: Any) -> Any:
        """Return what is read from the rows."""
        return reading(self.rows, 0)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a chunk becomes a `Sample`.

    Attributes
    ----------
    targets : Targets
        Targets of no rows, from which those of a chunk follow.

    gamma, dtype : float and str
        The kernel coefficient, and the precision of the rows.

    n_rows : int
        The number of all rows.

    settings : Settings
        How the model is trained.

    steps : tuple of transformers
        The fitted preparation.
    """

    targets: Targets
    gamma: float
    dtype: Dtype
    n_rows: int
    settings: Settings
    steps: Steps = ()

    def rows(self, chunk: Chunk) -> Rows:
        """Return the rows of a chunk as the kernel sees them."""
        checked = checked_rows(transformed(self.steps, chunk.X))
        return Rows(checked, checked.core(self.dtype), self.gamma)

    def __call__(self, chunk: Chunk) -> Sample:
        """Return a chunk as the solver sees it."""
        with chunk.named_errors():
            targets = self.targets.of(chunk)
        return sample_of(self.rows(chunk), targets, self.settings, self.n_rows)


def as_it_is(sample: Sample) -> Sample:
    """Return rows that the solver can see already."""
    return sample


# --- the readings of a chunk ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PartOfFirst:
    """What the first reading finds in some chunks.

    Attributes
    ----------
    losses, pull : ndarray
        As in `First`.

    n_near : int
        The number of near rows.

    total_curvature : float
        The sum of the curvatures of all rows.

    bent : Chunk or Sample
        The rows that bend and have the smallest random numbers, in their order.

    numbers, curvatures : ndarray
        Their random numbers and curvatures.

    near : Chunk, Sample or None
        The near rows and those that stand for the others; None if there are too many.

    stands : ndarray of bool
        Which of these rows stand for others.

    others : float
        The sum of C times the weights of the rows that are not near.
    """

    losses: Array
    pull: Array
    n_near: int
    total_curvature: float
    bent: Any
    numbers: Array
    curvatures: Array
    near: Any
    stands: NDArray[np.bool_]
    others: float


@dataclass(frozen=True, eq=False)
class ReadFirst:
    """Sum over the rows of a chunk at a point: a function that can be sent to a worker.

    Besides the near rows, it returns a random share, `others`, of the rows that are not near. None
    means that the chunk holds all rows, so that its own near rows tell.
    """

    encode: Callable[[Any], Sample]
    vectors: Array
    point: Array
    wanted: Wanted
    others: float | None
    n_threads: int

    def __call__(self, rows: Any, first: int) -> PartOfFirst:
        """Read one chunk, whose first row has this number."""
        sample = self.encode(rows)
        found = read(self.vectors, self.point, sample, self.n_threads)
        n_near = int(np.count_nonzero(found.near))
        chosen, numbers = self._drawn(sample, found.curvatures, first)
        near, stands = self._near(rows, sample, found.near, first)
        return PartOfFirst(
            losses=found.losses,
            pull=found.pull,
            n_near=n_near,
            total_curvature=_core.total(found.curvatures, self.n_threads),
            bent=rows.take(chosen),
            numbers=numbers,
            curvatures=found.curvatures[chosen],
            near=near,
            stands=stands,
            others=float(sample.c[~found.near].sum()),
        )

    def _drawn(self, sample: Sample, curvatures: Array, first: int) -> tuple[Array, Array]:
        """Draw some of the rows that bend; return them and their random numbers."""
        n_rows, seed = len(curvatures), self.wanted.seed
        if (begins := sample.loss.begins) is not None:  # rows of a query have the same number
            numbers = np.repeat(
                _core.random_numbers(seed, first, n_rows)[begins[:-1]], np.diff(begins)
            )
            chosen = _smallest(numbers, self.wanted.n_bent)
            return chosen, numbers[chosen]
        bends = curvatures != 0
        if np.count_nonzero(bends) <= self.wanted.n_bent:
            chosen = np.flatnonzero(bends)
        else:
            n, n_threads = self.wanted.n_bent, self.n_threads
            chosen = draw_members(bends, n, seed, n_threads, first)
        return chosen, _core.random_numbers(seed, first, n_rows)[chosen]

    def _near(
        self, rows: Any, sample: Sample, near: NDArray[np.bool_], first: int
    ) -> tuple[Any, NDArray[np.bool_]]:
        """Return the near rows and some others, and which these are; None if too many are near."""
        wanted, n_threads = self.wanted, self.n_threads
        chosen = near_and_others(
            sample, near, wanted.most_near, wanted.seed, n_threads, first, self.others
        )
        if chosen is None:
            return None, np.empty(0, dtype=bool)
        return rows if len(chosen) == len(near) else rows.take(chosen), ~near[chosen]

    def merge(self, parts: Sequence[PartOfFirst]) -> PartOfFirst:
        """Merge what was found in chunks that follow each other."""
        total = parts[0]
        for part in parts[1:]:
            total = self._merged(total, part)
        return total

    def _merged(self, one: PartOfFirst, other: PartOfFirst) -> PartOfFirst:
        numbers = np.concatenate([one.numbers, other.numbers])
        chosen = _smallest(numbers, self.wanted.n_bent)
        near, n_near = None, one.n_near + other.n_near
        if one.near is not None and other.near is not None and n_near <= self.wanted.most_near:
            near = join_chunks([one.near, other.near])
        bent = one.bent
        if len(chosen) < len(numbers) or other.bent.n_rows:
            bent = join_chunks([one.bent, other.bent]).take(chosen)
        return PartOfFirst(
            losses=one.losses + other.losses,
            pull=one.pull + other.pull,
            n_near=n_near,
            total_curvature=one.total_curvature + other.total_curvature,
            bent=bent,
            numbers=numbers[chosen],
            curvatures=np.concatenate([one.curvatures, other.curvatures])[chosen],
            near=near,
            stands=np.concatenate([one.stands, other.stands]),
            others=one.others + other.others,
        )


@dataclass(frozen=True, eq=False)
class ReadAlong:
    """A reading along a direction: a function that can be sent to a worker."""

    encode: Callable[[Any], Sample]
    vectors: Array
    point: Array
    direction: Array
    n_threads: int

    def __call__(self, rows: Any, first: int) -> tuple[Array, Array]:
        """Return the losses at all lengths, and the pull at the first one."""
        sample = self.encode(rows)
        return read_along(self.vectors, self.point, self.direction, sample, self.n_threads)

    def merge(self, parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
        """Add up what was found in chunks that follow each other."""
        losses, pull = parts[0]
        for more_losses, more_pull in parts[1:]:
            losses, pull = losses + more_losses, pull + more_pull
        return losses, pull


# --- all rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Readings:
    """Sums over all rows.

    Attributes
    ----------
    rows : Scans
        The rows.

    encode : callable
        Turns the rows of a chunk into a `Sample`.

    n_rows : int
        The number of rows.

    total_c : float
        The sum of C times the weights of all rows.

    n_threads : int
        Threads for each chunk.

    is_one_chunk : bool
        Whether all rows are one chunk, whose own near rows tell how many there are.

    part : Sample or None
        A sample of the rows, which predicts how many are near.
    """

    rows: Scans
    encode: Callable[[Any], Sample]
    n_rows: int
    total_c: float
    n_threads: int
    is_one_chunk: bool = True
    part: Sample | None = None

    def first(self, vectors: Array, point: Array, wanted: Wanted) -> First:
        """Sum over all rows at a point.

        If there are too many near rows, vectors stay; with polish="thorough", which sets no limit,
        the near rows of the sample represent them.
        """
        others, allowed, part, is_near = None, wanted.most_near, self.part, None
        if not self.is_one_chunk:
            assert part is not None
            most = MOST_KEPT // (4 * max(len(vectors), 1))
            is_near = read(vectors, point, part, self.n_threads).near
            expected = is_near.mean() * self.n_rows
            collected = 0 if expected > TOO_MANY * most else min(allowed, most)
            wanted = replace(wanted, most_near=collected)
            others = 0.0
            if collected:
                others = share_of_others(min(expected, collected), self.n_rows, collected)
        found: PartOfFirst = self.rows.scan(
            ReadFirst(self.encode, vectors, point, wanted, others, self.n_threads)
        )
        near = None
        if found.near is not None and found.n_near:
            near = standing_for(found.others, self.encode(found.near), found.stands)
        elif is_near is not None and found.n_near > wanted.most_near and allowed > most:
            assert part is not None
            near = near_rows(part, is_near, len(is_near), wanted.seed)
        curvatures = found.curvatures.astype(np.float64)
        curvatures *= found.total_curvature / (curvatures.sum() or 1.0)
        if part is not None and not found.bent.n_rows:  # chunks must have rows
            bent = part.take(np.arange(0))
        else:
            bent = self.encode(found.bent)
        return First(found.losses, found.pull, bent, curvatures, near)

    def along(self, vectors: Array, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths of a step, and the pull at the first length."""
        found: tuple[Array, Array] = self.rows.scan(
            ReadAlong(self.encode, vectors, point, direction, self.n_threads)
        )
        return found


def in_memory(sample: Sample, n_threads: int) -> Readings:
    """Return the readings of rows in memory."""
    total_c = _core.total(sample.c, n_threads)
    return Readings(OneChunk(sample), as_it_is, sample.n_rows, total_c, n_threads)


def near_rows(
    sample: Sample, near: NDArray[np.bool_], most: int, seed: int, n_threads: int = 1
) -> Sample | None:
    """Return the rows that are near, and some that stand for the others; None if too many."""
    chosen = near_and_others(sample, near, most, seed, n_threads)
    if chosen is None:
        return None
    if len(chosen) == len(near):
        return sample
    return standing_for(float(sample.c[~near].sum()), sample.take(chosen), ~near[chosen])


def near_and_others(
    sample: Sample,
    near: NDArray[np.bool_],
    most: int,
    seed: int,
    n_threads: int,
    first: int = 0,
    share: float | None = None,
) -> NDArray[np.intp] | None:
    """Return the positions of the near rows of a chunk; None if there are too many.

    A share of the other rows is drawn and added; None means that the chunk holds all rows, so that
    its own near rows tell the share. So many rows come before the first one.
    """
    n_near = int(np.count_nonzero(near))
    if n_near > most:
        return None
    if sample.loss.has_pairs:  # weights would not keep the losses of whole queries
        share = 0.0
    elif share is None:
        share = share_of_others(n_near, len(near), most)
    limits = np.array([share, np.inf])
    return _core.rows_below(near.view(np.int8), limits, seed, n_threads, first)


def standing_for(others: float, found: Sample, stands: NDArray[np.bool_]) -> Sample:
    """Return the rows, some of which have the weight of all others."""
    if not stands.any():
        return found
    return found.weighted(np.where(stands, others / found.c[stands].sum(), 1.0))


def share_of_others(n_near: float, n_rows: int, most: int) -> float:
    """Return the share of the rows that are not near which stand for all of these."""
    n_others = min(max(OTHERS_PER_NEAR * n_near, LEAST_OTHERS), most - n_near)
    return min(1.0, n_others / max(n_rows - n_near, 1))


def _smallest(numbers: Array, n: int) -> NDArray[np.intp]:
    """Return the positions of the n smallest numbers, and of those equal to the last of them."""
    if len(numbers) <= n:
        return np.arange(len(numbers))
    last = numbers[smallest(numbers, n)[:n]].max()
    return np.flatnonzero(numbers <= last)


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

    curvatures : ndarray
        The weighted curvature of each row, the mean over the outputs.
    """

    losses: Array
    pull: Array
    near: NDArray[np.bool_]
    curvatures: Array


def read(vectors: Array, point: Array, chunk: Sample, n_threads: int) -> ChunkSums:
    """Sum over the rows of a chunk at a point."""
    if chunk.loss.core is None:
        rows, (decisions,) = _decisions(vectors, [point], chunk, n_threads)
        losses, slopes = chunk.slopes(decisions, n_threads)
        near, curvatures = chunk.loss.near(decisions, REACH), chunk.curvatures(decisions, n_threads)
        return ChunkSums(losses, rows.pull_of(slopes), near, curvatures)
    losses, pull, near, curvatures = _read_in_core(vectors, point, chunk, NO_LENGTHS, n_threads)
    pull[:, -1] += chunk.tilt
    return ChunkSums(losses[0] + chunk.tilt * point[:, -1].sum(), pull, near, curvatures)


def read_along(
    vectors: Array, point: Array, direction: Array, chunk: Sample, n_threads: int
) -> tuple[Array, Array]:
    """Return the losses of a chunk at all lengths, and the pull at the first length."""
    if chunk.loss.core is None:
        rows, (start, step) = _decisions(vectors, [point, direction], chunk, n_threads)
        tried = [chunk.slopes(start + length * step, n_threads)[0] for length in LENGTHS]
        slopes = chunk.slopes(start + LENGTHS[0] * step, n_threads)[1]
        return np.stack(tried), rows.pull_of(slopes)
    both = np.concatenate([point, direction])
    losses, pull, _, _ = _read_in_core(vectors, both, chunk, LENGTHS, n_threads)
    pull[:, -1] += chunk.tilt
    intercepts = point[:, -1].sum() + LENGTHS * direction[:, -1].sum()
    return losses + chunk.tilt * intercepts[:, None], pull


def _decisions(
    vectors: Array, points: Sequence[Array], chunk: Sample, n_threads: int
) -> tuple[KernelRows, list[Array]]:
    """Return the kernel values of a chunk, and the decision values of all of its rows.

    Losses of pairs need all of them before any slope is known.
    """
    rows = KernelRows(vectors, chunk.rows, chunk.loss.n_outputs, n_threads)
    return rows, rows.decisions_of(points)


def _read_in_core(
    vectors: Array, points: Array, chunk: Sample, lengths: Array, n_threads: int
) -> tuple[Array, Array, Array, Array]:
    """Let the core read the rows."""
    assert chunk.loss.core is not None
    return _core.read_losses(
        vectors,
        chunk.rows.gamma,
        chunk.rows.core,
        chunk.loss.core,
        np.ascontiguousarray(chunk.c, dtype=float),
        np.ascontiguousarray(points[:, :-1]),
        np.ascontiguousarray(points[:, -1]),
        lengths,
        REACH,
        n_threads,
    )
