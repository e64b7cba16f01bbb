"""The folds of a cross-validation: rows that train, and rows that are held out.

The rows are checked, prepared and encoded once for all candidates. If there are many rows for each
vector, several folds form a group, whose candidates share vectors and kernel values. The rows that
train in all folds of the group find its vectors, so that no row is scored by vectors that it had a
part in.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from ...rows.checked import CheckedRows
from ...rows.sampling import draw
from ...rows.survey import AtHand
from ...training.targets import Targets
from ..base import BudgetedMachine

Array = NDArray[Any]
# Rows, targets and weights.
Part = tuple[CheckedRows, Array, Array | None]

# Candidates are compared on at most this many training rows for each vector, or this many in all.
ROWS_PER_VECTOR = 64
LEAST_SAMPLE = 20_000
# More rows than these do not tell candidates apart any better.
MOST_HELD = 100_000
# Folds share vectors if so many rows for each vector train in all of them, and so many rows in all.
COMMON_PER_VECTOR = 6
LEAST_COMMON = 2000
# Held-out rows are scored in this many parts, too, of at least this many rows.
MOST_PARTS = 8
ROWS_PER_PART = 50
# If a fold has fewer training rows than these, scores depend much on chance.
FEW_ROWS = 2000
# Scores of a regression that are not defined for one row.
SCORES_OF_TWO_ROWS = ("r2", "d2_absolute_error_score")


@dataclass(frozen=True, eq=False)
class Held:
    """The held-out rows of a fold.

    Attributes
    ----------
    number : int
        The place of the fold among all folds, from zero.

    rows : CheckedRows
        The rows.

    y : ndarray
        Their targets.

    weights : ndarray or None
        Their weights.

    classes : ndarray or None
        The classes that train in the fold; None for a regression.
    """

    number: int
    rows: CheckedRows
    y: Array
    weights: Array | None
    classes: Array | None = None

    def parts(self) -> list[slice]:
        """Cut the rows into parts, each of which is spread over all of them."""
        n_parts = max(1, min(MOST_PARTS, self.rows.n_rows // ROWS_PER_PART))
        return [slice(k, None, n_parts) for k in range(n_parts)]


@dataclass(frozen=True, eq=False)
class FoldGroup:
    """Folds whose candidates have the same vectors.

    Attributes
    ----------
    rows : CheckedRows
        The training rows of all these folds, or a sample of them.

    targets : ClassTargets or ValueTargets
        Their targets.

    n_rows : int
        The number of training rows of a fold, which `rows` stand for.

    held : tuple of Held
        The held-out rows of each fold.

    training : tuple of ndarray of shape (n_rows,) or None
        Which rows train, for each fold; None if there is one fold, in which all do.

    moves : bool
        Whether the vectors of candidates move, if that pays.

    budget : int or None
        The budget of candidates; None means that of the search.

    has_few_rows : bool
        Whether so few rows train that scores depend much on chance. It is the same for all folds of
        a search, and for samples of them.
    """

    rows: CheckedRows
    targets: Targets
    n_rows: int
    held: tuple[Held, ...]
    training: tuple[NDArray[np.bool_], ...] | None = None
    moves: bool = True
    budget: int | None = None
    has_few_rows: bool = False

    @property
    def numbers(self) -> list[int]:
        """The places of the folds among all folds."""
        return [held.number for held in self.held]

    def common(self) -> tuple[CheckedRows, Targets]:
        """Return the rows that train in all folds."""
        if self.training is None:
            return self.rows, self.targets
        return _taken(self.rows, self.targets, np.logical_and.reduce(self.training))

    def single(self, place: int) -> "FoldGroup":
        """Return one of the folds alone."""
        if self.training is None:
            return self
        rows, targets = _taken(self.rows, self.targets, self.training[place])
        held = (self.held[place],)
        return FoldGroup(rows, targets, self.n_rows, held, has_few_rows=self.has_few_rows)

    def thinned(self, n_rows: int, seed: int) -> "FoldGroup":
        """Return the folds with a sample of their training rows, which stands for all of them."""
        if self.rows.n_rows <= n_rows:
            return self
        chosen, factors = _drawn(self.targets, n_rows, seed)
        training = self.training and tuple(mask[chosen] for mask in self.training)
        return replace(
            self,
            rows=self.rows.take(chosen),
            targets=self.targets.take(chosen, factors),
            training=training,
        )

    def few(self, n_rows: int, seed: int, budget: int) -> "FoldGroup":
        """Return the first fold with a sample of its training rows, which stand for themselves.

        Vectors do not move: with few rows, they would fit the noise.
        """
        few = self.single(0).thinned(n_rows, seed)
        budget = max(budget, 2 * self.targets.n_problems)  # every class needs two vectors
        return replace(few, n_rows=few.rows.n_rows, moves=False, budget=budget)


def _taken(
    rows: CheckedRows, targets: Targets, mask: NDArray[np.bool_]
) -> tuple[CheckedRows, Targets]:
    chosen = np.flatnonzero(mask)
    return rows.take(chosen), targets.take(chosen, np.ones(len(chosen)))


def targets_of(
    machine: BudgetedMachine, rows: CheckedRows, y: Array, weights: Any, classes: Array | None
) -> tuple[CheckedRows, Targets]:
    """Return some rows that have a weight, and their targets, which may lack some classes."""
    task = machine._what()
    if classes is not None:
        task = replace(task, classes=classes)  # type: ignore[call-arg]
    return task.targets(AtHand(rows, y, weights), machine._parameters(), None)


def splits(
    cv: Any, machine: BudgetedMachine, X: Any, y: Array, groups: Any, seed: int
) -> list[tuple[Array, Array]]:
    """Return the positions of the training rows and the held-out rows of every fold.

    A number means so many shuffled folds, stratified for classification.
    """
    if isinstance(cv, int | np.integer) or cv is None:
        folds = StratifiedKFold if is_classifier(machine) else KFold
        splitter = folds(5 if cv is None else int(cv), shuffle=True, random_state=seed)
    else:
        splitter = check_cv(cv, y, classifier=is_classifier(machine))
    found = []
    for number, fold in enumerate(splitter.split(X, y, groups), start=1):
        train, test = (_positions(part, len(y), number) for part in fold)
        if not len(train) or not len(test):
            part = "training" if not len(train) else "held-out"
            raise ValueError(f"Fold {number} of cv={cv!r} has no {part} rows.")
        found.append((train, test))
    if not found:
        raise ValueError(f"cv={cv!r} gives no folds.")
    return found


def _positions(chosen: Any, n_rows: int, number: int) -> Array:
    """Return the positions of rows that are chosen by their positions or by a mask."""
    chosen = np.asarray(chosen)
    try:
        return np.arange(n_rows)[chosen if chosen.size else []]
    except IndexError as error:
        raise ValueError(
            f"Fold {number} of `cv` does not fit the {n_rows:,} rows: give positions from 0 to "
            f"{n_rows - 1}, or masks with a value for each row."
        ) from error


def make_groups(
    machine: BudgetedMachine,
    places: Sequence[tuple[Array, Array]],
    part: Callable[[Array], Part],
    classes: Array | None,
    seed: int,
) -> list[FoldGroup]:
    """Return two groups of folds if they can share vectors, else every fold alone.

    The first group is the smaller one, because most candidates are dropped after it.

    `places` are the positions of the training rows and the held-out rows of each fold, and `part`
    returns the rows at some positions. `classes` are those of all rows.
    """
    half, groups = len(places) // 2, []
    if half and len(places) > 2 and machine.polish:
        for first, some in ((0, places[:half]), (half, places[half:])):
            groups.append(_shared(first, machine, some, part, classes, seed))
    found = [group for group in groups if group is not None]
    if not found or len(found) < len(groups):
        found = [
            make_fold(k, machine, part(train), part(test), classes, seed)
            for k, (train, test) in enumerate(places)
        ]
    return mark_few(found)


def mark_few(groups: Sequence[FoldGroup]) -> list[FoldGroup]:
    """Mark all folds of a search as those of few rows if one of them has few."""
    has_few_rows = min(group.n_rows for group in groups) < FEW_ROWS
    return [replace(group, has_few_rows=has_few_rows) for group in groups]


def _shared(
    first: int,
    machine: BudgetedMachine,
    places: Sequence[tuple[Array, Array]],
    part: Callable[[Array], Part],
    classes: Array | None,
    seed: int,
) -> FoldGroup | None:
    """Return folds that share vectors; None if there are too few rows of a class."""
    every = np.unique(np.concatenate([train for train, _ in places]))
    training = tuple(np.isin(every, train) for train, _ in places)
    common = np.logical_and.reduce(training)
    n_common = np.count_nonzero(common)
    n_rows = [len(train) for train, _ in places]
    repeats = n_rows != [np.count_nonzero(mask) for mask in training]
    if repeats or n_common < max(COMMON_PER_VECTOR * int(machine.budget), LEAST_COMMON):
        return None
    given = part(every)
    if classes is not None and not np.isin(classes, given[1][common]).all():
        return None  # the vectors of a class would be missing
    rows, targets = targets_of(machine, *given, classes)
    if rows.n_rows < len(every):  # rows of no weight
        return None
    held = tuple(
        Held(first + number, *_some_held(part(test), seed), classes)
        for number, (_, test) in enumerate(places)
    )
    group = FoldGroup(rows, targets, int(np.mean(n_rows)), held, training, moves=False)
    # What depends on all targets is learnt from the common rows.
    counted, y, weights = given
    weights = None if weights is None else weights[common]
    _, learnt = targets_of(machine, counted.take(common), y[common], weights, classes)
    group = replace(group, targets=targets.learnt_from(learnt))
    return group.thinned(_most_rows(machine), seed)


def make_fold(
    number: int,
    machine: BudgetedMachine,
    training: Part,
    held: Part,
    classes: Array | None,
    seed: int,
) -> FoldGroup:
    """Return a fold of rows, targets and weights; `classes` are those of all rows."""
    rows, targets = targets_of(machine, *training, classes)
    if classes is not None:
        _, y, weights = training
        classes = np.intersect1d(classes, y if weights is None else y[weights > 0])
    some = Held(number, *_some_held(held, seed), classes)
    fold = FoldGroup(rows, targets, rows.n_rows, (some,))
    return fold.thinned(_most_rows(machine), seed)


def _most_rows(machine: BudgetedMachine) -> int:
    return max(ROWS_PER_VECTOR * int(machine.budget), LEAST_SAMPLE)


def check_folds(
    machine: BudgetedMachine,
    places: Sequence[tuple[Array, Array]],
    y: Array,
    weights: Array | None,
    classes: Array | None,
    scoring: Any,
) -> None:
    """Refuse folds that cannot be scored or that train on rows of one class.

    Those that lack one of several classes get a warning. `classes` are those of all rows, None for
    a regression.
    """
    if classes is None:
        _check_regression(places, scoring)
        return
    for number, (train, _) in enumerate(places, start=1):
        counted = train if weights is None else train[weights[train] > 0]
        found = np.isin(classes, y[counted])
        if found.sum() < 2:
            raise ValueError(
                f"All training rows of fold {number} belong to the class "
                f"{classes[found].tolist()[0]!r}. Each fold needs two classes or more: use another "
                "`cv`, such as StratifiedKFold or StratifiedGroupKFold with shuffle=True."
            )
        if found.all():
            continue
        missing = ", ".join(map(repr, classes[~found].tolist()))
        is_one = np.count_nonzero(~found) == 1
        if getattr(machine, "class_weight", None) == "balanced":
            raise ValueError(
                "class_weight='balanced' needs all classes in every fold, but the training rows of "
                f"fold {number} have none of {missing}. Use fewer folds, or give the weights."
            )
        warnings.warn(
            f"The training rows of fold {number} have no row of the "
            f"{'class' if is_one else 'classes'} {missing}: no candidate predicts "
            f"{'it' if is_one else 'them'} there, which lowers all scores. Use fewer folds, or "
            "another `cv`.",
            UserWarning,
            stacklevel=5,
        )


def _check_regression(places: Sequence[tuple[Array, Array]], scoring: Any) -> None:
    """Refuse a fold of one held-out row if the score compares rows with their mean."""
    if scoring is not None and scoring not in SCORES_OF_TWO_ROWS:
        return
    for number, (_, test) in enumerate(places, start=1):
        if len(test) < 2:
            raise ValueError(
                f"Fold {number} has one held-out row, but {scoring or 'the default score'} needs "
                "two or more. Use fewer folds, or another `scoring`, such as "
                "'neg_mean_absolute_error'."
            )


def _drawn(
    targets: Targets, n_rows: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Draw a sample of rows that represents all of them, and what their weights change by."""
    least = n_rows // (8 * targets.n_problems)
    return draw(targets.groups(), targets.row_weight(), n_rows, least, seed)


def _some_held(held: Part, seed: int) -> Part:
    rows, y, weights = held
    if rows.n_rows <= MOST_HELD:
        return held
    chosen = np.random.default_rng(seed).choice(rows.n_rows, MOST_HELD, replace=False)
    chosen.sort()
    return rows.take(chosen), y[chosen], None if weights is None else weights[chosen]
