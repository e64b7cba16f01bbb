"""Readings of rows that are not in memory: on disk, or on a cluster.

`Recipe` turns a batch of raw rows into what the solver works on. The functions of a batch are pure:
arrays in, small sums and few rows out. `Spread` is what a disk and a cluster have in common: it
applies such a function to all batches, and merges the results in the order of the batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..data.batch import RowBatch
from ..data.drawing import join_batches
from ..data.errors import DataError
from ..data.rows import Dtype, Rows, checked_rows
from ..data.sampling import smallest
from ..data.targets import ClassTargets, ValueTargets, encode_labels
from ..training.settings import Settings
from .kernel import MOST_KEPT
from .losses import loss_of
from .readings import First, Wanted, near_rows, read, read_along, share_of_others
from .sample import Sample

Array = NDArray[Any]
T = TypeVar("T")

# Near rows are not collected if the sample predicts so many times as many as can be used.
TOO_MANY = 1.2


class Reading(Protocol[T]):
    """A function of batches, whose results can be merged."""

    def __call__(self, batch: RowBatch, first: int) -> T:
        """Read a batch, without the rows that have no weight, and with so many rows before it."""
        ...

    def merge(self, parts: Sequence[T]) -> T:
        """Merge the results of batches that follow each other."""
        ...


class Follower(Protocol):
    """Is told how far a reading is, so that it can be continued."""

    @property
    def before(self) -> tuple[Any, int]:
        """What the reading had found when it was interrupted, and in how many rows."""
        ...

    def __call__(self, part: Any, n_rows: int) -> None:
        """Take note of what has been found in the first rows."""
        ...


class Spread(Protocol):
    """Rows that are somewhere else, in batches."""

    def sum(self, reading: Reading[T], follow: Follower | None = None) -> T:
        """Merge what is read from all batches that have rows, in their order."""
        ...


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a batch becomes a `Sample`.

    Attributes
    ----------
    targets : ClassTargets or ValueTargets
        The targets of no rows: classes, loss and offset.

    class_weight : ndarray of shape (n_classes,)
        The weights of the classes; one for a regression.

    gamma, dtype : float and str
        The kernel coefficient, and the precision of the rows.

    n_rows : int
        The number of all rows.

    settings : Settings
        How the model is trained.

    scaler : transformer or None
        Scales the rows.
    """

    targets: ClassTargets | ValueTargets
    class_weight: NDArray[np.float64]
    gamma: float
    dtype: Dtype
    n_rows: int
    settings: Settings
    scaler: Any = None

    def rows(self, X: Any) -> Rows:
        """Return raw rows as the kernel sees them."""
        checked = checked_rows(X if self.scaler is None else self.scaler.transform(X))
        return Rows(checked, checked.core(self.dtype), self.gamma)

    def sample(self, batch: RowBatch) -> Sample:
        """Return a batch as the solver sees it."""
        try:
            targets, weight = self._targets(batch)
        except ValueError as error:
            raise DataError(f"{batch.place}: {error}") from error
        c = weight * batch.weights / (self.n_rows * self.settings.alpha)
        return Sample(self.rows(batch.X), c, loss_of(targets, self.settings.choices))

    def _targets(self, batch: RowBatch) -> tuple[ClassTargets | ValueTargets, Array | float]:
        if isinstance(self.targets, ClassTargets):
            codes = encode_labels(batch.y, self.targets.classes)
            return replace(self.targets, codes=codes), self.class_weight[codes]
        values = batch.y[:, None] - self.targets.offset
        return replace(self.targets, values=values), float(self.class_weight[0])


@dataclass(frozen=True, eq=False)
class PartOfFirst:
    """What the first reading finds in some batches.

    Attributes
    ----------
    losses, pull : ndarray
        As in `First`.

    n_rows, n_near : int
        The number of rows, and of near rows.

    total_curvature : float
        The sum of the curvatures of all rows.

    bent : RowBatch
        The rows that bend and have the smallest random numbers, in their order.

    numbers, curvatures : ndarray
        Their random numbers and curvatures.

    near : RowBatch or None
        The near rows and those that stand for the others; None if there are too many.
    """

    losses: Array
    pull: Array
    n_rows: int
    n_near: int
    total_curvature: float
    bent: RowBatch
    numbers: Array
    curvatures: Array
    near: RowBatch | None


@dataclass(frozen=True, eq=False)
class ReadFirst:
    """The first reading of a batch: a function that can be sent to a worker.

    Besides the near rows, it returns a random share, `others`, of the rows that are not near.
    """

    recipe: Recipe
    vectors: Array
    point: Array
    wanted: Wanted
    others: float
    n_threads: int

    def __call__(self, batch: RowBatch, first: int) -> PartOfFirst:
        """Read one batch, whose first row has this number."""
        found = read(self.vectors, self.point, self.recipe.sample(batch), self.n_threads)
        near = np.flatnonzero(found.near)
        bent = np.flatnonzero(found.curvatures)
        numbers = _core.random_numbers(self.wanted.seed, first, batch.n_rows)
        collected = None
        if len(near) <= self.wanted.most_near:
            collected = self._near(batch, found.near, numbers)
        numbers = numbers[bent]
        part = PartOfFirst(
            losses=found.losses,
            pull=found.pull,
            n_rows=batch.n_rows,
            n_near=len(near),
            total_curvature=float(found.curvatures.sum(dtype=np.float64)),
            bent=batch.take(bent[:0]),
            numbers=numbers,
            curvatures=found.curvatures[bent],
            near=collected,
        )
        chosen = _smallest(numbers, self.wanted.n_bent)
        return replace(
            part,
            bent=batch.take(bent[chosen]),
            numbers=numbers[chosen],
            curvatures=part.curvatures[chosen],
        )

    def _near(self, batch: RowBatch, near: NDArray[np.bool_], numbers: Array) -> RowBatch:
        """Return the near rows, and some of the others with more weight."""
        chosen = np.flatnonzero(near | (numbers < self.others))
        taken = batch.take(chosen)
        if not 0.0 < self.others < 1.0:
            return taken
        return replace(taken, weight=np.where(near[chosen], 1.0, 1.0 / self.others) * taken.weights)

    def merge(self, parts: Sequence[PartOfFirst]) -> PartOfFirst:
        """Merge what was found in batches that follow each other."""
        total = parts[0]
        for part in parts[1:]:
            total = self._merged(total, part)
        return total

    def _merged(self, one: PartOfFirst, other: PartOfFirst) -> PartOfFirst:
        numbers = np.concatenate([one.numbers, other.numbers])
        chosen = _smallest(numbers, self.wanted.n_bent)
        near = None
        n_near = one.n_near + other.n_near
        if one.near is not None and other.near is not None and n_near <= self.wanted.most_near:
            near = join_batches([one.near, other.near])
        bent = one.bent
        if len(chosen) < len(numbers) or other.bent.n_rows:
            bent = join_batches([one.bent, other.bent]).take(chosen)
        return PartOfFirst(
            losses=one.losses + other.losses,
            pull=one.pull + other.pull,
            n_rows=one.n_rows + other.n_rows,
            n_near=n_near,
            total_curvature=one.total_curvature + other.total_curvature,
            bent=bent,
            numbers=numbers[chosen],
            curvatures=np.concatenate([one.curvatures, other.curvatures])[chosen],
            near=near,
        )


@dataclass(frozen=True, eq=False)
class ReadAlong:
    """A reading along a direction: a function that can be sent to a worker."""

    recipe: Recipe
    vectors: Array
    point: Array
    direction: Array
    n_threads: int

    def __call__(self, batch: RowBatch, first: int) -> tuple[Array, Array, int]:
        """Return the losses at all lengths, the pull at the first one, and the number of rows."""
        sample = self.recipe.sample(batch)
        found = read_along(self.vectors, self.point, self.direction, sample, self.n_threads)
        return (*found, batch.n_rows)

    def merge(self, parts: Sequence[tuple[Array, Array, int]]) -> tuple[Array, Array, int]:
        """Add up what was found in batches that follow each other."""
        losses, pull, n_rows = parts[0]
        for more_losses, more_pull, more_rows in parts[1:]:
            losses, pull, n_rows = losses + more_losses, pull + more_pull, n_rows + more_rows
        return losses, pull, n_rows


@dataclass(frozen=True, eq=False)
class ReadingsElsewhere:
    """Readings of rows that are not in memory.

    Attributes
    ----------
    spread : Spread
        Where the rows are.

    recipe : Recipe
        How they become samples.

    part : Sample
        The sample that is in memory.

    total_c : float
        The sum of C times the weights of all rows.

    n_threads : int
        Threads for each batch.
    """

    spread: Spread
    recipe: Recipe
    part: Sample
    total_c: float
    n_threads: int

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.recipe.n_rows

    def first(self, vectors: Array, point: Array, wanted: Wanted) -> First:
        """Sum over all rows at a point.

        If there are too many near rows, vectors stay; with polish="thorough", which sets no limit,
        the near rows of the sample represent them.
        """
        most = MOST_KEPT // (4 * max(len(vectors), 1))
        is_near = read(vectors, point, self.part, self.recipe.settings.n_threads).near
        expected = is_near.mean() * self.n_rows
        collected = 0 if expected > TOO_MANY * most else min(wanted.most_near, most)
        others = 0.0
        if collected:
            others = share_of_others(min(expected, collected), self.n_rows, collected)
        function = ReadFirst(
            self.recipe,
            vectors,
            point,
            replace(wanted, most_near=collected),
            others,
            self.n_threads,
        )
        found = self.spread.sum(function)
        self._check(found.n_rows)
        near = None
        if found.near is not None and found.n_near:
            near = self.recipe.sample(found.near)
        elif found.n_near > collected and wanted.most_near > most:
            near = near_rows(self.part, is_near, len(is_near), wanted.seed)
        curvatures = found.curvatures.astype(np.float64)
        if len(curvatures):
            curvatures *= found.total_curvature / curvatures.sum()
        return First(found.losses, found.pull, self._bent(found), curvatures, near)

    def _bent(self, found: PartOfFirst) -> Sample:
        if found.bent.n_rows:
            return self.recipe.sample(found.bent)
        return self.part.take(np.arange(0))

    def along(self, vectors: Array, point: Array, direction: Array) -> tuple[Array, Array]:
        """Return the losses at all lengths of a step, and the pull at the first length."""
        function = ReadAlong(self.recipe, vectors, point, direction, self.n_threads)
        losses, pull, n_rows = self.spread.sum(function)
        self._check(n_rows)
        return losses, pull

    def _check(self, n_rows: int) -> None:
        if n_rows != self.n_rows:
            raise DataError(
                f"the rows changed between two readings: the first one found {self.n_rows:,} rows "
                f"with a weight, and another one {n_rows:,}."
            )


def _smallest(numbers: Array, n: int) -> NDArray[np.intp]:
    """Return the positions of the n smallest numbers, in their order."""
    if len(numbers) <= n:
        return np.arange(len(numbers))
    return np.sort(smallest(numbers, n)[:n])
