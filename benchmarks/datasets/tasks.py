"""Tasks: rows to train and test on, with C and gamma, a measure of success and exact machines.

A task is a classification or a regression, of a data set of the paper, of one beyond it (`tuned`)
or of generated rows (`hard`).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, SVR

from pocketsvm.estimators import BudgetedSVC, BudgetedSVR
from pocketsvm.paper.datasets.files import TrainTest
from pocketsvm.paper.datasets.problems import Problem

ACCURACY, BALANCED, PRECISION, R2 = "accuracy", "balanced accuracy", "average precision", "R²"
AUC = "AUC"
CACHE_MEGABYTES = 1000  # of the exact machines: enough for the kernel rows that they need again


@dataclass(frozen=True, eq=False)
class Task:
    """Rows with the settings to train with.

    Attributes
    ----------
    label : str
        The name of the task in tables.

    rows : TrainTest
        The rows; labels or, for a regression, target values.

    C, gamma : float
        The regularisation and the kernel.

    epsilon : float or None
        The width of the tube of a regression; None: a classification.

    measure : str
        How predictions of the test rows are judged: `ACCURACY`, the mean over the classes of it,
        average precision of the last class, the area under its ROC curve, or `R2`.

    sample_weight : ndarray or None
        Weights of the training rows.
    """

    label: str
    rows: TrainTest
    C: float
    gamma: float
    epsilon: float | None = None
    measure: str = ACCURACY
    sample_weight: NDArray[Any] | None = None

    @classmethod
    def of(cls, problem: Problem) -> "Task":
        """Return a problem of the paper as a task."""
        return cls(problem.label, problem.rows, **problem.setting)

    def budgeted(self, budget: int, seed: int, **parameters: Any) -> Any:
        """Return an estimator with a budget, with default parameters except for these."""
        setting = {"gamma": self.gamma, "random_state": seed, **parameters}
        if self.epsilon is None:
            return BudgetedSVC(budget, self.C, **setting)
        return BudgetedSVR(budget, self.C, epsilon=self.epsilon, **setting)

    def exact(self) -> Any:
        """Return the exact machine of scikit-learn."""
        setting = {"C": self.C, "gamma": self.gamma, "cache_size": CACHE_MEGABYTES}
        return SVC(**setting) if self.epsilon is None else SVR(**setting, epsilon=self.epsilon)

    def fit(self, model: Any) -> Any:
        """Fit a model to the training rows."""
        return model.fit(self.rows.X, self.rows.y, sample_weight=self.sample_weight)

    def score(self, model: Any) -> float:
        """Return how well a model predicts the test rows, by `measure`, in per cent."""
        X, y = self.rows.X_test, self.rows.y_test
        if self.measure == PRECISION:
            return 100 * float(average_precision_score(y == y.max(), model.decision_function(X)))
        if self.measure == AUC:
            has_decisions = hasattr(model, "decision_function")
            values = model.decision_function(X) if has_decisions else model.predict_proba(X)[:, 1]
            return 100 * float(roc_auc_score(y == y.max(), values))
        predicted = model.predict(X)
        if self.measure == R2:
            return 100 * float(r2_score(y, predicted))
        if self.measure == BALANCED:
            return 100 * float(balanced_accuracy_score(y, predicted))
        return 100 * float(np.mean(predicted == y))

    def held_out(self, share: float, seed: int) -> "Task":
        """Return the task whose test rows are a random share of its training rows."""
        chosen = np.arange(len(self.rows.y))
        train, test = train_test_split(
            chosen,
            test_size=share,
            random_state=seed,
            stratify=self.rows.y if self.epsilon is None else None,
        )
        return self._of_rows(train, self.rows.X[test], self.rows.y[test])

    def some(self, n_rows: int, n_test: int) -> "Task":
        """Return the task with no more than these numbers of training and test rows."""
        random = np.random.default_rng(0)
        train = np.sort(random.permutation(len(self.rows.y))[:n_rows])
        test = np.sort(random.permutation(len(self.rows.y_test))[:n_test])
        return self._of_rows(train, self.rows.X_test[test], self.rows.y_test[test])

    def _of_rows(self, train: NDArray[Any], X_test: Any, y_test: NDArray[Any]) -> "Task":
        weight = None if self.sample_weight is None else self.sample_weight[train]
        rows = TrainTest(self.rows.X[train], self.rows.y[train], X_test, y_test)
        return replace(self, rows=rows, sample_weight=weight)
