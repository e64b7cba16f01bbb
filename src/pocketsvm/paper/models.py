"""The models that are measured: pocketsvm and its alternatives in scikit-learn."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from ..estimators import BudgetedSVC
from .datasets.files import TrainTest
from .toolkit.measure import timed

POCKETSVM, EXACT = "pocketsvm", "SVC"
NYSTROEM, FOURIER = "Nystroem + LinearSVC", "RBFSampler + SGD"
APPROXIMATIONS = (NYSTROEM, FOURIER)
CACHE_MEGABYTES = 1000  # of SVC: enough for the kernel rows that it needs again


class Run(NamedTuple):
    """Test accuracy in per cent, seconds, and the number of vectors that a prediction visits."""

    accuracy: float
    seconds_fit: float
    seconds_a_prediction: float
    vectors: int


def make(
    name: str,
    *,
    C: float,
    gamma: float,
    n_rows: int,
    budget: int | None,
    seed: int | None,
    **parameters: Any,
) -> Any:
    """Make a model with default parameters, except for those given here."""
    if name == POCKETSVM:
        assert budget is not None
        return BudgetedSVC(budget, C, gamma=gamma, random_state=seed, **parameters)
    if name == EXACT:
        return SVC(C=C, gamma=gamma, cache_size=CACHE_MEGABYTES)
    if name == NYSTROEM:
        features = Nystroem(gamma=gamma, n_components=budget, random_state=seed)
        return make_pipeline(features, LinearSVC(C=C, random_state=seed))
    features = RBFSampler(gamma=gamma, n_components=budget, random_state=seed)
    return make_pipeline(features, SGDClassifier(alpha=1 / (n_rows * C), random_state=seed))


def fit_and_predict(model: Any, rows: TrainTest, predictions: int = 1) -> Run:
    """Fit the model and predict the test rows; the fastest of several predictions counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = timed(lambda: model.fit(rows.X, rows.y))
    runs = [timed(lambda: model.predict(rows.X_test)) for _ in range(predictions)]
    return Run(
        accuracy=100 * float(np.mean(runs[0].value == rows.y_test)),
        seconds_fit=fit.seconds,
        seconds_a_prediction=min(run.seconds for run in runs) / len(rows.y_test),
        vectors=n_vectors(model),
    )


def summarise(runs: Sequence[Run]) -> dict[str, Any]:
    """Return mean and deviation of the accuracy, median training time, fastest prediction."""
    accuracy, fit, predict, vectors = (np.array(values) for values in zip(*runs, strict=True))
    return {
        "size": int(vectors.max()),
        "accuracy": float(accuracy.mean()),
        "deviation": float(accuracy.std(ddof=1)) if len(runs) > 1 else None,
        "fit": float(np.median(fit)),
        "predict": float(predict.min() * 1e6),
        "seeds": len(runs),
    }


def n_vectors(model: Any) -> int:
    """Count the support vectors of an SVM, or the components of an approximation; others have 0."""
    if hasattr(model, "named_steps"):
        return int(model[0].n_components)
    if hasattr(model, "budget"):
        return len(model.support_vectors_)
    return int(sum(getattr(model, "n_support_", ())))
