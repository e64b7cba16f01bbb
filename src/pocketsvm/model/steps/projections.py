"""Projections to fewer columns: PCA, TruncatedSVD."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD

from .fields import Numbers, Scalar
from .kind import Kind, Step
from .program import Program

OUTPUTS = Numbers(("outputs",))
SHARED: dict[str, Any] = {
    "components": Numbers(("outputs", "inputs")),
    "explained_variance": OUTPUTS,
    "explained_variance_ratio": OUTPUTS,
    "singular_values": OUTPUTS,
}


@dataclass(frozen=True, eq=False)
class Projection(Kind):
    """Products with components, of centred columns if there is a mean."""

    def check(self, step: Step) -> None:
        """Refuse variances that are negative."""
        if not (step.explained_variance_ >= 0).all():
            raise ValueError(f"a variance of its {self.cls.__name__} is negative.")

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return the transformer with the number of its components."""
        step = super().restored(parameters, values, n_inputs)
        step.n_components_ = len(step.components_)
        return step

    def lower(self, step: Step, program: Program) -> None:
        """Subtract the mean, multiply, and divide by the standard deviations if wanted."""
        mean = getattr(step, "mean_", None)
        if mean is not None and np.any(mean):
            program.compute("Sub", mean)
        program.product(step.components_)
        if getattr(step, "whiten", False):
            scale = np.sqrt(step.explained_variance_)
            smallest = np.finfo(scale.dtype).eps  # as scikit-learn does
            program.compute("Div", np.where(scale < smallest, smallest, scale))


PROJECTIONS = (
    Projection(
        PCA,
        ("whiten",),
        (
            *("n_components", "svd_solver", "tol", "iterated_power", "n_oversamples"),
            *("power_iteration_normalizer", "random_state"),
        ),
        SHARED
        | {
            "mean": Numbers(),
            "noise_variance": Scalar(float, -np.inf, np.inf),
            "n_samples": Scalar(int, 1, 2**62),
        },
    ),
    Projection(
        TruncatedSVD,
        (),
        (
            *("n_components", "algorithm", "n_iter", "n_oversamples"),
            *("power_iteration_normalizer", "random_state", "tol"),
        ),
        SHARED,
    ),
)
