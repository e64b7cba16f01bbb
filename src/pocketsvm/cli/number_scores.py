"""How good predicted quantiles are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_pinball_loss

from .console import show


class QuantileScores:
    """True numbers, and predicted quantiles."""

    def __init__(self, quantiles: list[float]) -> None:
        self.quantiles = quantiles
        self.true: list[NDArray[Any]] = []
        self.predicted: list[NDArray[Any]] = []
        self.weights: list[NDArray[Any]] = []

    def add(
        self,
        true: NDArray[Any],
        predicted: NDArray[Any],
        values: NDArray[Any] | None = None,
        weights: NDArray[Any] | None = None,
    ) -> None:
        """Add rows by their numbers, and one predicted number for each quantile."""
        self.true.append(true)
        self.predicted.append(predicted.reshape(len(true), -1))
        self.weights.append(np.ones(len(true)) if weights is None else weights)

    def as_json(self) -> dict[str, Any]:
        """Return the pinball loss and the coverage of each quantile.

        The coverage is the share of the rows whose number is at most the predicted quantile.
        """
        true, predicted = np.concatenate(self.true), np.concatenate(self.predicted)
        weights = np.concatenate(self.weights)
        quantiles = []
        for share, column in zip(self.quantiles, predicted.T, strict=True):
            pinball = mean_pinball_loss(true, column, alpha=share, sample_weight=weights)
            coverage = np.average(true <= column, weights=weights)
            quantiles.append(
                {"quantile": share, "pinball": float(pinball), "coverage": float(coverage)}
            )
        mean = float(np.mean([each["pinball"] for each in quantiles]))
        return {"rows": len(true), "pinball": mean, "quantiles": quantiles}

    def summary(self) -> str:
        """Return the scores in one line."""
        found = self.as_json()
        covered = ", ".join(
            f"{each['coverage']:.1%} below the {each['quantile']:g} quantile"
            for each in found["quantiles"]
        )
        return f"pinball loss {found['pinball']:.6g}, {covered} ({found['rows']:,} rows)"

    def show(self) -> None:
        """Print the scores."""
        show(self.summary())
