"""`compress`: a model that is already trained becomes one on a budget."""

import time
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ..backends.base import Backend
from ..backends.native import Native
from ..estimators.base import LARGEST_INT
from ..model.integers import IntegerType
from ..model.model import Model
from ..rows.checked import CheckedRows, checked_rows
from ..training.settings import COMPRESSION_CHOICES as CHOICES
from .distilled import distilled, on_labels, takes_labels
from .finished import finished
from .given import Given, given, values_of
from .measured import Measured, checked_inputs
from .merged import merged
from .rounded import dequantised, in_halves, in_integers
from .sizes import largest_budget, size_of

Array = NDArray[Any]
TARGETS = ("model", "labels")
# Values of dense rows that are at hand for rounding.
MOST_VALUES = 2**25
TYPES = ("float32", "float16", "int16", "int8")


def compress(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    budget: int | None = None,
    bytes: int | None = None,
    dtype: str | None = None,
    tolerance: float | None = None,
    targets: str = "model",
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
) -> Any:
    """Make a model that is already trained small.

    Give exactly one of `budget`, `bytes` and `tolerance`.

    Parameters
    ----------
    model : estimator, Pipeline or path
        `SVC`, `NuSVC`, `SVR`, `NuSVR` or `OneClassSVM` of scikit-learn with ``kernel="rbf"``, also
        those of scikit-learn-intelex; an estimator of pocketsvm; a pipeline that ends with one of
        them; or the path of a model file of LIBSVM or of pocketsvm.

    X : {array-like, sparse matrix} of shape (n_samples, n_features), default=None
        Rows, best those that the model was trained on. The new model is solved so that its
        decision values are those of the given model. Without rows, the given vectors are merged,
        and coefficients and positions are solved so that both functions are close everywhere; a
        regression is solved on its vectors.

    y : array-like of shape (n_samples,), default=None
        The labels or target values of the rows: the report has scores, too.

    budget : int, default=None
        The largest number of support vectors.

    bytes : int, default=None
        The most bytes that the numbers of the model may take: vectors, coefficients, intercepts
        and labels. The budget is the largest one that fits.

    dtype : {"float32", "float16", "int16", "int8"}, default=None
        The type of the numbers. None means "float32", and with `bytes` "int8", which has the most
        vectors. Models in "int16" and "int8" compute in integers when they are exported to C; the
        report is about these. In Python, they compute in floating point with the same vectors and
        coefficients.

    tolerance : float, default=None
        Find the smallest budget whose labels are those of the given model for all but this share
        of the rows. For numbers, it is the mean squared change over the variance of the values.

    targets : {"model", "labels"}, default="model"
        What the new model is solved on: what the given model computes, or the labels in `y`.

    n_jobs : int, default=None
        Threads.

    random_state : int, RandomState instance or None, default=None
        Draws the rows that are held out, and the order of training.

    verbose : int, default=0
        Whether to print the report.

    Returns
    -------
    estimator : BudgetedSVC, BudgetedSVR, BudgetedOneClassSVM, BudgetedRanker or Pipeline
        The matching estimator of pocketsvm, fitted. Its attribute ``compression_`` is the
        `pocketsvm.compression.Report`. In a pipeline, only the last step is another one.

    Notes
    -----
    A tenth of the rows, at most 2,000, are held out: the model does not see them, and the report
    is about them. If pairs of classes vote, it is at most 500. Without rows, the report is about
    the support vectors of the given model.

    Where pairs of classes vote, as in `SVC` with several classes, the new model has one output per
    class, and is solved on the labels that the given model predicts. Without rows, these are the
    labels of its support vectors.

    Probabilities of an `SVC` are not kept. Those of ``loss="log_loss"`` are.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> from pocketsvm import compress
    >>> X, y = make_moons(1000, noise=0.3, random_state=0)
    >>> svc = SVC(C=10).fit(X, y)
    >>> small = compress(svc, X, budget=15, random_state=0)
    >>> len(svc.support_vectors_), len(small.support_vectors_)
    (217, 15)
    >>> print(f"{small.compression_.agreement:.2f}")
    1.00
    """
    begin = time.perf_counter()
    _check(budget, bytes, dtype, tolerance, targets, X, y)
    found = given(model)
    found, rows, y = checked_inputs(found, X, y)
    kind = dtype or ("float32" if bytes is None else "int8")
    work = _Work.of(found, rows, y, targets, kind, n_jobs, check_random_state(random_state))
    if tolerance is not None:
        small, most = work.within(float(tolerance))
    else:
        most = work.budget_of(bytes) if bytes is not None else int(budget or 0)
        small = work.made(most)
    report = work.measured.report(small, kind)
    estimator = finished(found, small, most)
    estimator.compression_ = replace(report, seconds=time.perf_counter() - begin)
    if verbose:
        print(estimator.compression_)
    return estimator


def _check(
    budget: Any, bytes: Any, dtype: Any, tolerance: Any, targets: Any, X: Any, y: Any
) -> None:
    """Refuse parameters that do not go together."""
    n_given = sum(each is not None for each in (budget, bytes, tolerance))
    if n_given != 1:
        raise ValueError(f"Give exactly one of budget, bytes and tolerance, got {n_given}.")
    for name, value, least in (("budget", budget, 2), ("bytes", bytes, 1)):
        is_count = isinstance(value, Integral) and not isinstance(value, bool)
        if value is not None and not (is_count and value >= least):
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}.")
    if budget is not None and budget > LARGEST_INT:
        raise ValueError(f"budget must be at most {LARGEST_INT}, got {budget!r}.")
    if tolerance is not None and not (isinstance(tolerance, Real) and 0 < float(tolerance) < 1):
        raise ValueError(f"tolerance must be between 0 and 1, got {tolerance!r}.")
    if dtype not in (None, *TYPES):
        raise ValueError(f"dtype must be one of {', '.join(TYPES)}, got {dtype!r}.")
    if targets not in TARGETS:
        raise ValueError(f"targets must be 'model' or 'labels', got {targets!r}.")
    if X is None and (y is not None or targets == "labels"):
        raise ValueError("Labels need rows: give X, too.")
    if targets == "labels" and y is None:
        raise ValueError("targets='labels' needs the labels of the rows: give y, too.")


def _outputs(model: Model) -> str:
    count = len(model.intercept)
    return f"{count} output" if count == 1 else f"{count} outputs"


@dataclass(frozen=True, eq=False)
class _Work:
    """Makes models of one model with different budgets."""

    found: Given
    measured: Measured
    y: Array | None  # to solve on; None: what the given model computes
    dtype: str
    backend: Backend
    seed: int

    @classmethod
    def of(
        cls,
        found: Given,
        rows: CheckedRows | None,
        y: Array | None,
        targets: str,
        dtype: str,
        n_jobs: int | None,
        random: np.random.RandomState,
    ) -> "_Work":
        backend = Native(effective_n_jobs(n_jobs))
        measured = Measured.of(found, rows, y, backend, random)
        if targets == "labels" and found.model.task in ("novelty", "ranking"):
            raise ValueError(f"targets='labels' is not for {found.model.task}.")
        return cls(
            found,
            measured,
            None if targets == "model" else y,
            dtype,
            backend,
            int(random.randint(2**31)),
        )

    @property
    def least(self) -> int:
        """The smallest budget: an output needs two vectors."""
        return 2 * len(self.found.model.intercept)

    def budget_of(self, n_bytes: int) -> int:
        """Return the largest budget that fits into so many bytes."""
        model = self.found.model
        budget = min(largest_budget(model, self.dtype, n_bytes), LARGEST_INT)
        if budget < self.least:
            raise ValueError(
                f"bytes={n_bytes} is too small: {self.least} vectors of {model.vectors.shape[1]} "
                f"features and {_outputs(model)} take "
                f"{size_of(model, self.dtype, self.least):,} bytes in {self.dtype}."
            )
        return budget

    def made(self, budget: int) -> Model:
        """Return a model of at most so many vectors."""
        found, measured = self.found, self.measured
        if budget < self.least:
            raise ValueError(
                f"budget={budget} is too small: a model with {_outputs(found.model)} needs at "
                f"least {self.least} vectors."
            )
        if budget >= len(found.model.vectors) and found.pairs is None and self.y is None:
            small = replace(found.model, training=None, integers=None)  # nothing is lost
        elif measured.rows is None and found.pairs is None and found.model.task != "regression":
            budget = min(budget, len(found.model.vectors))
            small = merged(found.model, budget, self.backend.n_threads)
        else:
            small = self._learnt(self._enough(budget), budget)
        return self._typed(small)

    def _enough(self, budget: int) -> Array:
        """Return the rows to learn from, a sample of many: decision values have no noise."""
        learnt = self.measured.learnt
        most = max(CHOICES.least_learnt, CHOICES.rows_per_vector * budget)
        if len(learnt) <= most or takes_labels(self.found.model) or self.y is not None:
            return learnt
        return np.sort(np.random.default_rng(self.seed).permutation(learnt)[:most])

    def _typed(self, small: Model) -> Model:
        """Return a model in the type that is wanted, solved for on some rows."""
        if self.dtype == "float32":
            return small
        rows = self._some_rows(small)
        values = values_of(small, checked_rows(rows), self.backend)
        if self.dtype == "float16":
            return in_halves(small, rows, values)
        return dequantised(small, in_integers(small, rows, values, cast(IntegerType, self.dtype)))

    def _some_rows(self, small: Model) -> Array:
        """Return rows that show the errors of rounding; without any, around the vectors."""
        n_rows = max(1, min(CHOICES.rounded_rows, MOST_VALUES // small.vectors.shape[1]))
        dtype, random = small.vectors.dtype, np.random.default_rng(self.seed)
        if self.measured.rows is None:
            near = random.choice(len(small.vectors), n_rows)
            noise = random.normal(size=(n_rows, small.vectors.shape[1]))
            found = small.vectors[near] + noise / np.sqrt(2 * small.gamma * noise.shape[1])
            return np.ascontiguousarray(found, dtype=dtype)
        learnt = self.measured.learnt
        chosen = np.sort(random.permutation(learnt)[:n_rows])
        some = self.measured.rows.take(chosen)
        X: Any = some.X if some.structure is None else some.X.toarray()
        return np.ascontiguousarray(X, dtype=dtype)

    def _learnt(self, chosen: Array, budget: int) -> Model:
        """Return a model that is solved on some of the rows."""
        measured = self.measured
        rows, values = measured.seen.take(chosen).X, measured.values[chosen]
        options = {
            "budget": budget,
            "n_jobs": self.backend.n_threads,
            "random_state": self.seed,
        }
        if self.y is not None:
            return on_labels(self.found, rows, self.y[chosen], **options)
        return distilled(self.found, rows, values, **options)

    def within(self, tolerance: float) -> tuple[Model, int]:
        """Return the smallest model that agrees but for this share, and its budget.

        Budgets grow by factors of two until one is enough, and then the last factor is halved on a
        logarithmic scale.
        """
        most = max(self.least, len(self.found.model.vectors))
        low, high = self.least, self.least
        while True:
            model = self.made(high)
            if 1.0 - self.measured.agreement(model) <= tolerance:
                break
            if high >= most:
                raise ValueError(
                    f"tolerance={tolerance:g} cannot be met: even with {high:,} vectors, the share "
                    f"of changes is {1.0 - self.measured.agreement(model):.4g}."
                )
            low, high = high + 1, min(2 * high, most)
        while high > low and high > low * CHOICES.precision:
            middle = int(np.sqrt(low * high))
            smaller = self.made(middle)
            if 1.0 - self.measured.agreement(smaller) <= tolerance:
                model, high = smaller, middle
            else:
                low = middle + 1
        return model, high
