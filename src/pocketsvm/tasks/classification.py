"""Classification: labels, one-vs-rest problems, weights of classes."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..model.model import Model
from ..rows.checked import CheckedRows
from ..rows.chunk import Chunk, Needs
from ..rows.labels import check_classes, class_weights, encode_labels, find_classes
from ..rows.survey import AtHand
from ..rows.weights import Weights, in_units, keep, non_negative
from ..solving.class_losses import CLASS_LOSSES, ClassLoss
from ..training.settings import Choices, Parameters
from ..training.targets import Pass, Targets
from .base import Task


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassTargets(Targets):
    """Classes.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted labels.

    codes : ndarray of shape (n_rows,)
        The position of each row's label in `classes`; int8, or int32 for many classes.

    class_weight : ndarray of shape (n_classes,)
        The weights of the classes, in units of `weight_unit`.

    given_weight : ndarray of shape (n_classes,)
        The weights of the classes, with which the solver weighs all rows.
    """

    task: ClassVar[str] = "classification"
    classes: NDArray[Any]
    codes: NDArray[np.int8] | NDArray[np.int32]
    class_weight: Weights
    given_weight: Weights

    @property
    def positives(self) -> list[int]:
        """The class that is +1, for each one-vs-rest problem."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @property
    def n_problems(self) -> int:
        """The number of binary problems."""
        return len(self.positives)

    @property
    def group_weight(self) -> Weights:
        """The weights of the classes, in units of `weight_unit`."""
        return self.class_weight

    def groups(self) -> NDArray[np.int8] | NDArray[np.int32]:
        """Return the class of each row."""
        return self.codes

    def take(self, chosen: NDArray[Any], factors: Weights) -> Self:
        """Return the targets of the chosen rows, with their weights times some factors."""
        weights = self._taken(chosen, factors)
        return replace(self, codes=self.codes[chosen], sample_weight=weights)

    def of(self, chunk: Chunk) -> Self:
        """Return the targets of a chunk of rows that all have a weight."""
        codes, weights = encode_labels(chunk.y, self.classes), self.given_weight
        return replace(
            self, codes=codes, class_weight=weights, sample_weight=chunk.weight, weight_unit=1.0
        )

    def standardised(self) -> NDArray[np.float64]:
        """Return +1 for the rows of a class and -1 for others, for each problem."""
        return np.where(self.codes[:, None] == np.array(self.positives), 1.0, -1.0)

    def learnt_from(self, others: Self) -> Self:
        """Return the targets with the weights of classes, which may be balanced, of others."""
        given = others.given_weight
        weights = self.class_weight * (given / self.given_weight)
        return replace(self, class_weight=weights, given_weight=given)

    def whole_weights(self) -> Weights:
        """Return the weights of the classes, with which the solver weighs all rows."""
        return self.given_weight

    def make_pass(self, one: Pass) -> None:
        """Make a pass over the rows; if the solver follows, with the slopes of the hinge."""
        _core.train_pass(
            list(one.trainers),
            one.rows,
            "hinge" if one.settings.polish else self.loss,
            self.codes,
            self.positives,
            self.class_weight,
            self.sample_weight,
            one.settings.n_threads,
            one.most_merges,
        )

    def solver_loss(self, choices: Choices) -> ClassLoss:
        """Return the loss that the solver minimises."""
        return CLASS_LOSSES[self.loss].of(self.codes, self.positives, choices.hinge_width)


def class_targets(
    rows: CheckedRows,
    y: NDArray[Any],
    sample_weight: Any,
    class_weight: Any,
    loss: str,
    classes: NDArray[Any] | None = None,
) -> tuple[CheckedRows, ClassTargets]:
    """Encode checked labels; rows of zero weight are dropped.

    If `classes` is None, the classes are those of the remaining rows.
    """
    sample_weight = non_negative(sample_weight, rows)
    if sample_weight is not None and not sample_weight.all():
        rows, y, sample_weight = keep(sample_weight > 0, rows, y, sample_weight)
    found = find_classes(y) if classes is None else classes
    weights = class_weights(class_weight, found, y, sample_weight)
    if not weights.all():
        counted = weights > 0
        rows, y, sample_weight = keep(~np.isin(y, found[~counted]), rows, y, sample_weight)
        if classes is None:
            found, weights = found[counted], weights[counted]
        else:
            weights[~counted] = 1.0  # no row of these classes is left
    codes = encode_labels(y, found, certain=classes is None)
    given = weights
    weights, sample_weight, unit = in_units(weights, sample_weight, codes)
    return rows, ClassTargets(
        loss=loss,
        sample_weight=sample_weight,
        weight_unit=unit,
        classes=found,
        codes=codes,
        class_weight=weights,
        given_weight=given,
    )


@dataclass(frozen=True)
class Classification(Task):
    """Rows have labels.

    Attributes
    ----------
    loss : str
        The name of the loss.

    class_weight : dict, "balanced" or None
        The weights of the classes.

    classes : ndarray or None
        All classes, if they are known before the rows.
    """

    name: ClassVar[str] = "classification"
    loss: str = "hinge"
    class_weight: Any = None
    classes: NDArray[Any] | None = None

    @property
    def needs(self) -> Needs:
        """Labels; rows of classes without weight are left out."""
        weights = self.class_weight if isinstance(self.class_weight, dict) else {}
        return Needs(ignored=tuple(label for label, weight in weights.items() if weight == 0))

    def targets(
        self, found: AtHand, parameters: Parameters, start: Model | None
    ) -> tuple[CheckedRows, ClassTargets]:
        """Return the rows at hand that have a weight, and their encoded labels."""
        if found.survey is None:
            weights = self.class_weight
            if isinstance(weights, dict):  # a source has left out rows without weight
                weights = {c: w for c, w in weights.items() if w != 0 or (found.y == c).any()}
            rows, targets = class_targets(
                found.rows, found.y, found.weight, weights, self.loss, self.classes
            )
        else:
            summary = found.survey.summary
            weights = summary.class_weight(self.class_weight)
            rows, targets = class_targets(
                found.rows, found.y, found.weight, weights, self.loss, summary.labels
            )
            given = class_weights(weights, summary.labels, found.y, None)
            targets = targets.take(np.arange(rows.n_rows), found.survey.factors)
            targets = replace(targets, given_weight=given)
        before = targets.classes if start is None else start.classes
        assert before is not None
        if not np.array_equal(targets.classes, before):
            raise ValueError(
                f"warm_start=True continues a model of the classes {before.tolist()}, "
                f"but y holds {targets.classes.tolist()}."
            )
        check_classes(targets.classes, parameters.budget)
        return rows, targets
