"""Scans: sums over all rows, wherever they are.

The solver sees large data only through `Scans`: one scan sums at a point, another one along a
direction. The functions of a chunk are pure, so that a worker of a cluster can compute them: they
take rows and return small sums and few rows. `encode` turns the rows of a chunk into a `Sample`;
rows in memory are one chunk, which is a `Sample` already.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..backends.base import Backend
from ..backends.slices import in_order, slices
from ..rows.checked import Dtype, Rows, checked_rows
from ..rows.chunk import Chunk
from ..rows.chunk import joined as join_chunks
from ..rows.preparation import Steps, transformed
from ..training.settings import Settings
from ..training.targets import Targets
from .sample import Sample, sample_of

Array = NDArray[Any]
T = TypeVar("T")

# How many rows near the margin are returned, with as many that stand for the others: all up to the
# first number, and else about the second one.
Limits = tuple[int, int]

# The lengths that a scan along a direction tries where a whole step raises the objective of all
# rows. The rounds that follow end by the tolerance.
LENGTHS = np.array([1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 0.003, 0.001])
NO_LENGTHS = np.empty(0)
# At least so many rows that are not near stand for all others: with none, their weight is lost.
LEAST_OTHERS = 1024
# Weights that a thread sums up at once.
WEIGHTS_AT_ONCE = 2**17


@dataclass(frozen=True, eq=False)
class First:
    """Sums over all rows at a point, and some of the rows.

    Attributes
    ----------
    losses : ndarray
        The loss of all rows, one for each output, or one for all if the loss couples them.

    pull : ndarray of shape (n_outputs, n_vectors + 1)
        The derivative of the losses in the coefficients and intercepts.

    near : Sample
        The rows that have a loss, or nearly have one, and some that stand for all others.

    n_near : int
        The number of rows near the margin.

    is_complete : bool
        Whether all rows near the margin are among these, and not only a random sample of them.
    """

    losses: Array
    pull: Array
    near: Sample
    n_near: int
    is_complete: bool


class Scanned(Protocol):
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


# --- the scans of a chunk -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PartOfFirst:
    """What the first scan finds in some chunks.

    Attributes
    ----------
    losses, pull : ndarray
        As in `First`.

    n_near : int
        The number of rows near the margin.

    rows : Chunk or Sample
        The drawn rows: near ones, and others.

    is_near : ndarray of bool
        Which of them are near.

    near_c, other_c : float
        The sums of C times the weights of all rows that are near, and of all others.
    """

    losses: Array
    pull: Array
    n_near: int
    rows: Any
    is_near: NDArray[np.bool_]
    near_c: float
    other_c: float


@dataclass(frozen=True, eq=False)
class ReadFirst:
    """Sum over the rows of a chunk at a point: a function that can be sent to a worker.

    It returns random shares of the rows that are near, and of the others. None means that the chunk
    holds all rows, so that its own rows near the margin give the shares.
    """

    encode: Callable[[Any], Sample]
    vectors: Array
    point: Array
    limits: Limits
    seed: int
    shares: tuple[float, float] | None
    backend: Backend

    def __call__(self, rows: Any, first: int) -> PartOfFirst:
        """Read one chunk, whose first row has this number."""
        sample = self.encode(rows)
        losses, pull, near = read(self.vectors, self.point, sample, self.backend)
        n_near = int(np.count_nonzero(near))
        shares = self.shares or shares_of(n_near, len(near), self.limits)
        chosen = self._drawn(sample, near, shares, first)
        near_c, other_c = weights_of(sample.c, near, self.backend.n_threads)
        return PartOfFirst(
            losses=losses,
            pull=pull,
            n_near=n_near,
            rows=rows if len(chosen) == len(near) else rows.take(chosen),
            is_near=near[chosen],
            near_c=near_c,
            other_c=other_c,
        )

    def _drawn(
        self, sample: Sample, near: NDArray[np.bool_], shares: tuple[float, float], first: int
    ) -> NDArray[np.intp]:
        """Draw shares of the rows that are near and of the others."""
        near_share, other_share = shares
        if (begins := sample.loss.begins) is not None:  # rows of a query have the same number
            numbers = np.repeat(
                _core.random_numbers(self.seed, first, len(near))[begins[:-1]], np.diff(begins)
            )
            return np.flatnonzero(numbers < np.where(near, near_share, other_share))
        # Random numbers are below one.
        limits = np.array([other_share, np.inf if near_share >= 1 else near_share])
        return _core.rows_below(
            near.view(np.int8), limits, self.seed, self.backend.n_threads, first
        )

    def merge(self, parts: Sequence[PartOfFirst]) -> PartOfFirst:
        """Merge what was found in chunks that follow each other."""
        return PartOfFirst(
            losses=reduce(np.add, [part.losses for part in parts]),
            pull=reduce(np.add, [part.pull for part in parts]),
            n_near=sum(part.n_near for part in parts),
            rows=join_chunks([part.rows for part in parts]) if len(parts) > 1 else parts[0].rows,
            is_near=np.concatenate([part.is_near for part in parts]),
            near_c=sum(part.near_c for part in parts),
            other_c=sum(part.other_c for part in parts),
        )


def weights_of(c: Array, near: NDArray[np.bool_], n_threads: int) -> tuple[float, float]:
    """Return the sum of the weights of the rows that are near, and of all others."""

    def sums(at: slice) -> Array:
        return np.array([c[at] @ near[at], c[at].sum()])

    near_c, all_c = sum(in_order(sums, slices(len(c), WEIGHTS_AT_ONCE), n_threads), np.zeros(2))
    return float(near_c), max(0.0, float(all_c - near_c))


def shares_of(n_near: float, n_rows: int, limits: Limits) -> tuple[float, float]:
    """Return the shares of the rows near the margin and of the others that are drawn.

    Rows that are not near may get a loss: as many of them as near ones stand for all of them.
    """
    most, drawn = limits
    near_share = 1.0 if n_near <= most else drawn / n_near
    n_others = max(near_share * n_near, LEAST_OTHERS)
    return near_share, min(1.0, n_others / max(n_rows - n_near, 1))


@dataclass(frozen=True, eq=False)
class ReadAlong:
    """The losses along a direction: a function that can be sent to a worker."""

    encode: Callable[[Any], Sample]
    vectors: Array
    point: Array
    direction: Array
    backend: Backend

    def __call__(self, rows: Any, first: int) -> Array:
        """Return the losses of a chunk at all lengths."""
        sample = self.encode(rows)
        return read_along(self.vectors, self.point, self.direction, sample, self.backend)

    def merge(self, parts: Sequence[Array]) -> Array:
        """Add up the losses of chunks that follow each other."""
        return reduce(np.add, parts)


# --- all rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Scans:
    """Sums over all rows.

    Attributes
    ----------
    rows : Scanned
        The rows.

    encode : callable
        Turns the rows of a chunk into a `Sample`.

    n_rows : int
        The number of rows.

    total_c : float
        The sum of C times the weights of all rows.

    backend : Backend
        Sums over the rows of a chunk.

    is_one_chunk : bool
        Whether all rows are one chunk, whose own rows near the margin say how many there are.

    part : Sample or None
        A sample of the rows, which predicts how many are near.
    """

    rows: Scanned
    encode: Callable[[Any], Sample]
    n_rows: int
    total_c: float
    backend: Backend
    is_one_chunk: bool = True
    part: Sample | None = None

    def first(self, vectors: Array, point: Array, limits: Limits, seed: int) -> First:
        """Sum over all rows at a point; return rows near the margin: all, or some of many."""
        shares = None
        if not self.is_one_chunk:
            assert self.part is not None
            _, _, is_near = read(vectors, point, self.part, self.backend)
            shares = shares_of(is_near.mean() * self.n_rows, self.n_rows, limits)
        found: PartOfFirst = self.rows.scan(
            ReadFirst(self.encode, vectors, point, limits, seed, shares, self.backend)
        )
        near = self._weighted(found)
        is_complete = int(np.count_nonzero(found.is_near)) == found.n_near
        return First(found.losses, found.pull, near, found.n_near, is_complete)

    def _weighted(self, found: PartOfFirst) -> Sample:
        """Return the drawn rows with the weight of all rows."""
        if not found.rows.n_rows:  # chunks must have rows, and no row has a loss
            assert self.part is not None
            return self.part.weighted(np.full(self.part.n_rows, self.total_c / self.part.total_c))
        sample = self.encode(found.rows)
        factors = np.ones(sample.n_rows)
        for chosen, total in ((found.is_near, found.near_c), (~found.is_near, found.other_c)):
            drawn = float(sample.c[chosen].sum())
            if drawn > 0:
                factors[chosen] = total / drawn
        return sample.weighted(factors)

    def along(self, vectors: Array, point: Array, direction: Array) -> Array:
        """Return the losses at all lengths of a step."""
        reading = ReadAlong(self.encode, vectors, point, direction, self.backend)
        losses: Array = self.rows.scan(reading)
        return losses


def in_memory(sample: Sample, backend: Backend) -> Scans:
    """Return the scans of rows in memory."""
    total_c = _core.total(sample.c, backend.n_threads)
    return Scans(OneChunk(sample), as_it_is, sample.n_rows, total_c, backend)


def standing_for(sample: Sample, near: NDArray[np.bool_], random: np.random.Generator) -> Sample:
    """Return the rows near the margin, and some that stand for all others; all if none is near."""
    if near.all() or not near.any():
        return sample
    _, share = shares_of(int(np.count_nonzero(near)), len(near), (len(near), len(near)))
    if sample.loss.has_pairs:  # weights would not keep the losses of whole queries
        share = 0.0
    chosen = np.flatnonzero(near | (random.random(len(near)) < share))
    drawn = sample.take(chosen)
    others = ~near[chosen]
    if not others.any():
        return drawn
    total = float(sample.c[~near].sum()) / float(drawn.c[others].sum())
    return drawn.weighted(np.where(others, total, 1.0))


# --- the sums of a chunk --------------------------------------------------------------------------


def read(
    vectors: Array, point: Array, chunk: Sample, backend: Backend
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return the losses of a chunk, their pull, and which rows are near."""
    if chunk.loss.core is None:
        rows, (decisions,) = _decisions(vectors, [point], chunk, backend)
        losses, slopes, _ = chunk.derivatives(decisions, backend.n_threads)
        near = chunk.loss.near(decisions, chunk.reach, backend.n_threads)
        return losses, rows.pull_of(slopes), near
    losses, pull, near = _read_rows(vectors, point, chunk, NO_LENGTHS, backend)
    pull[:, -1] += chunk.tilt
    return losses[0] + chunk.tilt * point[:, -1].sum(), pull, near


def read_along(
    vectors: Array, point: Array, direction: Array, chunk: Sample, backend: Backend
) -> Array:
    """Return the losses of a chunk at all lengths."""
    if chunk.loss.core is None:
        _, (start, step) = _decisions(vectors, [point, direction], chunk, backend)
        tried = [
            chunk.derivatives(start + length * step, backend.n_threads)[0] for length in LENGTHS
        ]
        return np.stack(tried)
    both = np.concatenate([point, direction])
    losses, _, _ = _read_rows(vectors, both, chunk, LENGTHS, backend)
    intercepts = point[:, -1].sum() + LENGTHS * direction[:, -1].sum()
    losses += chunk.tilt * intercepts[:, None]
    return losses


def _decisions(
    vectors: Array, points: Sequence[Array], chunk: Sample, backend: Backend
) -> tuple[Any, list[Array]]:
    """Return the kernel values of a chunk, and the decision values of all of its rows.

    Losses of pairs need all of them before any slope is known.
    """
    n_outputs = chunk.loss.n_outputs
    rows = backend.kernel_rows(vectors, chunk.rows, n_outputs, vectors.dtype)
    return rows, rows.decisions_of(points)


def _read_rows(
    vectors: Array, points: Array, chunk: Sample, lengths: Array, backend: Backend
) -> tuple[Array, Array, Array]:
    """Let the backend read the rows."""
    return backend.read(vectors, points, chunk.rows, chunk.loss, chunk.c, lengths, chunk.reach)
