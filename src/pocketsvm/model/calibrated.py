"""Calibrated models: classifiers whose decision values a calibration turns into probabilities.

This is `CalibratedClassifierCV` of scikit-learn, with the methods "sigmoid" and "temperature". Its
members, one for each fold or a single one, are complete models, each with its preparation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from .._sklearn import is_calibration
from .model import Model
from .preparation import join, split

METHODS = ("sigmoid", "temperature")
FEWER_FOLDS = (
    "the models that it calibrates do not have the same classes. A fold lacks a class: calibrate "
    "with fewer folds."
)


@dataclass(frozen=True, eq=False)
class Calibrated:
    """Models and their calibrations; the probabilities are the mean of those of the members.

    Attributes
    ----------
    members : tuple of Model
        The models. For "temperature", their labels may be the positions in `classes`.

    classes : ndarray of shape (n_classes,)
        The labels.

    method : {"sigmoid", "temperature"}
        "sigmoid": the share of class o is ``1 / (1 + exp(slopes[o] f_o + offsets[o]))``, and shares
        of more than two classes are divided by their sum. "temperature": the softmax of
        ``slopes[0] f``. With two classes, f is (-f_0, f_0).

    slopes : ndarray of shape (n_members, n_calibrators)
        One calibrator for each decision value, and a single one for "temperature".

    offsets : ndarray of shape (n_members, n_calibrators)
        Zeros for "temperature".

    parameters : dict
        ensemble, cv and n_jobs of `CalibratedClassifierCV`.

    is_frozen : bool
        Whether the member was a `FrozenEstimator`.

    n_outer : int
        The number of steps of the members that came before the calibration in a pipeline.

    Examples
    --------
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model import Calibrated
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = CalibratedClassifierCV(BudgetedSVC(budget=10, random_state=0), cv=3).fit(X, y)
    >>> calibrated = Calibrated.of(clf)
    >>> len(calibrated.members), calibrated.method, calibrated.slopes.shape
    (3, 'sigmoid', (3, 1))
    """

    members: tuple[Model, ...]
    classes: NDArray[Any]
    method: str
    slopes: NDArray[np.float64]
    offsets: NDArray[np.float64]
    parameters: dict[str, Any]
    is_frozen: bool = False
    n_outer: int = 0

    @classmethod
    def of(cls, estimator: Any) -> "Calibrated | None":
        """Return a fitted `CalibratedClassifierCV`, or a pipeline that ends with one, else None."""
        steps, machine = split(estimator)
        if not is_calibration(machine):
            return None
        check_is_fitted(machine)
        if machine.method not in METHODS:
            raise ValueError(
                f"method={machine.method!r} of CalibratedClassifierCV is not supported. Fit it "
                "with method='sigmoid' or method='temperature'."
            )
        pairs = machine.calibrated_classifiers_
        names = ("a_", "b_") if machine.method == "sigmoid" else ("beta_",)
        numbers = [[[getattr(c, n) for n in names] for c in pair.calibrators] for pair in pairs]
        if len({len(each) for each in numbers}) > 1:  # one for each class that a fold has
            raise ValueError(FEWER_FOLDS)
        slopes = np.array(numbers, dtype=np.float64)
        found = cls(
            tuple(_member(steps, pair.estimator) for pair in pairs),
            machine.classes_,
            machine.method,
            slopes[:, :, 0],
            slopes[:, :, 1] if machine.method == "sigmoid" else np.zeros(slopes.shape[:2]),
            {
                "ensemble": machine.ensemble,
                "cv": machine.cv if type(machine.cv) is int else None,
                "n_jobs": machine.n_jobs,
            },
            type(pairs[0].estimator) is FrozenEstimator,
            len(steps),
        )
        found.check()
        return found

    def check(self) -> None:
        """Refuse members that do not know all classes."""
        allowed = [self.classes.tolist()]
        if self.method == "temperature":
            allowed.append([*range(len(self.classes))])
        for member in self.members:
            if member.classes is None or member.classes.tolist() not in allowed:
                raise ValueError(FEWER_FOLDS)


def machines_of(estimator: Any) -> list[Any]:
    """Return the estimators of an estimator: one, or those that are calibrated."""
    machine = split(unfrozen(estimator))[1]
    if not is_calibration(machine):
        return [machine]
    check_is_fitted(machine)
    return [
        each for pair in machine.calibrated_classifiers_ for each in machines_of(pair.estimator)
    ]


def unfrozen(estimator: Any) -> Any:
    """Return the estimator that a `FrozenEstimator` holds."""
    return estimator.estimator if type(estimator) is FrozenEstimator else estimator


def _member(steps: Sequence[Any], estimator: Any) -> Model:
    inner, machine = split(unfrozen(estimator))
    return Model.of(join((*steps, *inner), machine))
