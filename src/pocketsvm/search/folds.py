"""The folds of a cross-validation: rows that train, and rows that are held out.

A small copy of a fold has a sample of its training rows, to compare many candidates.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from ..rows.checked import CheckedRows
from ..rows.sampling import draw
from ..training.settings import SEARCH_CHOICES

Array = NDArray[Any]

# Scores of a regression that are not defined for one row.
SCORES_OF_TWO_ROWS = ("r2", "d2_absolute_error_score")


@dataclass(frozen=True, eq=False)
class Part:
    """Rows, their targets and their weights.

    Attributes
    ----------
    rows : CheckedRows
        The rows.

    y : ndarray of shape (n_rows,)
        The targets.

    weights : ndarray of shape (n_rows,) or None
        The weights; None means one.

    classifies : bool
        Whether the targets are labels.
    """

    rows: CheckedRows
    y: Array
    weights: Array | None
    classifies: bool

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.y)

    def take(self, chosen: Array) -> "Part":
        """Copy some of the rows."""
        weights = None if self.weights is None else self.weights[chosen]
        return replace(self, rows=self.rows.take(chosen), y=self.y[chosen], weights=weights)

    def draw(self, n_rows: int, seed: int) -> tuple[Array, Array]:
        """Draw rows of every class that has a weight, if there are more of them.

        Returns their positions, and what their weights are multiplied by.
        """
        counted = np.arange(self.n_rows) if self.weights is None else np.flatnonzero(self.weights)
        if len(counted) <= n_rows:
            return counted, np.ones(len(counted))
        codes, least = np.zeros(len(counted), np.int32), 0
        if self.classifies:
            labels, found = np.unique(self.y[counted], return_inverse=True)
            codes, least = found.astype(np.int32), n_rows // (4 * len(labels))
        weights = None if self.weights is None else self.weights[counted]
        chosen, factors = draw(codes, weights, n_rows, least, seed)
        return counted[chosen], factors


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold, whose rows are copied when they are needed.

    Attributes
    ----------
    number : int
        The place of the fold among all folds, from zero.

    whole : Part
        The rows of all folds.

    train, test : ndarray
        The positions of the rows that train, and of those that are held out.

    factors : ndarray or None
        What the weights of the training rows are multiplied by; None means one.

    share : float
        The share of the budget that candidates have.

    scales : ndarray of shape (n_features,) or None
        The feature scales that were learnt from the training rows.
    """

    number: int
    whole: Part
    train: Array
    test: Array
    factors: Array | None = None
    share: float = 1.0
    scales: NDArray[np.float64] | None = None

    def parts(self) -> tuple[Part, Part]:
        """Return the training rows and the held-out rows."""
        training, held = self.whole.take(self.train), self.whole.take(self.test)
        if (factors := self.factors) is not None:
            given = training.weights
            training = replace(training, weights=factors if given is None else given * factors)
        return training, held

    def copy(self, share: float, least: int, most: int, seed: int) -> "Fold":
        """Return a copy with a share of the budget, and of at most so many training rows.

        Its rows stand for themselves, not for all: C would be too large for them.
        """
        n_rows = min(len(self.train), most)
        chosen, factors = self.whole.take(self.train).draw(max(int(share * n_rows), least), seed)
        return replace(
            self,
            train=self.train[chosen],
            factors=factors if np.ptp(factors) > 0 else None,
            share=min(1.0, len(chosen) / n_rows),
        )


def first_of(folds: Sequence[Fold]) -> Sequence[Fold]:
    """Return the first folds, until enough rows are held out to compare."""
    n_held = np.cumsum([len(fold.test) for fold in folds])
    return folds[: 1 + int(np.searchsorted(n_held, SEARCH_CHOICES.few_rows))]


def splits(
    cv: Any, machine: Any, X: Any, y: Array, groups: Any, seed: int
) -> list[tuple[Array, Array]]:
    """Return the positions of the training rows and the held-out rows of every fold.

    A number means so many shuffled folds, stratified for classification.
    """
    if isinstance(cv, int | np.integer) or cv is None:
        folds = StratifiedKFold if is_classifier(machine) else KFold
        splitter = folds(5 if cv is None else int(cv), shuffle=True, random_state=seed)
        groups = None  # they are for a splitter that uses groups
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


def check_folds(
    machine: Any,
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
