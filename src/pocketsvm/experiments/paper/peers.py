"""What a user would take instead of pocketsvm, and how every model is measured."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from .measure import timed

__all__ = [
    "APPROXIMATIONS",
    "CACHE_MEGABYTES",
    "EXACT",
    "FOURIER",
    "NYSTROEM",
    "POCKETSVM",
    "Run",
    "fit_and_predict",
    "make",
    "summarise",
]

POCKETSVM, EXACT = "pocketsvm", "SVC"
NYSTROEM, FOURIER = "Nystroem + LinearSVC", "RBFSampler + SGD"
APPROXIMATIONS = (NYSTROEM, FOURIER)
CACHE_MEGABYTES = 1000


class Run(NamedTuple):
    """A model's accuracy in per cent, its seconds, and the vectors that a prediction visits."""

    accuracy: float
    seconds_fit: float
    seconds_a_prediction: float
    vectors: int


def make(
    name: str, *, C: float, gamma: float, n_rows: int, budget: int | None, seed: int | None
) -> Any:
    """Make one of scikit-learn's models: all defaults, but for the parameters given here."""
    if name == EXACT:
        return SVC(C=C, gamma=gamma, cache_size=CACHE_MEGABYTES)
    if name == NYSTROEM:
        features = Nystroem(gamma=gamma, n_components=budget, random_state=seed)
        return make_pipeline(features, LinearSVC(C=C, random_state=seed))
    features = RBFSampler(gamma=gamma, n_components=budget, random_state=seed)
    return make_pipeline(features, SGDClassifier(alpha=1 / (n_rows * C), random_state=seed))


def fit_and_predict(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, predictions: int = 1
) -> Run:
    """Fit the model and predict the test rows; of several predictions the fastest counts."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fit = timed(lambda: model.fit(X, y))
    runs = [timed(lambda: model.predict(X_test)) for _ in range(predictions)]
    return Run(
        accuracy=100 * float(np.mean(runs[0].value == y_test)),
        seconds_fit=fit.seconds,
        seconds_a_prediction=min(run.seconds for run in runs) / len(y_test),
        vectors=_n_vectors(model),
    )


def summarise(runs: Sequence[Run]) -> dict[str, Any]:
    """Mean and deviation of the accuracy, the median time to fit, the fastest prediction."""
    accuracy, fit, predict, vectors = (np.array(values) for values in zip(*runs, strict=True))
    return {
        "size": int(vectors.max()),
        "accuracy": float(accuracy.mean()),
        "deviation": float(accuracy.std(ddof=1)) if len(runs) > 1 else None,
        "fit": float(np.median(fit)),
        "predict": float(predict.min() * 1e6),
        "seeds": len(runs),
    }


def _n_vectors(model: Any) -> int:
    """Count the support vectors of a kernel machine, the components of an approximation."""
    if hasattr(model, "named_steps"):
        return int(model[0].n_components)
    return len(model.support_vectors_) if hasattr(model, "budget") else int(sum(model.n_support_))
