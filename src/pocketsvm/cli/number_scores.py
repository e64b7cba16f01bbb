"""How good predicted numbers are: values, or quantiles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    mean_absolute_error,
    mean_pinball_loss,
    r2_score,
    root_mean_squared_error,
)

from .kept import Scores


class RegressionScores(Scores):
    """True and predicted numbers."""

    def add(
        self, true: NDArray[Any], answers: NDArray[Any], weights: Any = None, queries: Any = None
    ) -> None:
        """Add rows by their numbers."""
        self.kept.append((true, answers, np.ones(len(true)) if weights is None else weights))

    def as_json(self) -> dict[str, Any]:
        """Return R2 and mean errors; R2 is None for fewer than two rows."""
        true, predicted, weights = self.columns()
        weighted = {"sample_weight": weights}
        return {
            "rows": len(true),
            "r2": float(r2_score(true, predicted, **weighted)) if len(true) > 1 else None,
            "mae": float(mean_absolute_error(true, predicted, **weighted)),
            "rmse": float(root_mean_squared_error(true, predicted, **weighted)),
        }

    def summary(self) -> str:
        """Return the scores in one line."""
        found = self.as_json()
        r2 = "unknown" if found["r2"] is None else f"{found['r2']:.4f}"
        return (
            f"R2 {r2}, mean absolute error {found['mae']:.6g}, "
            f"root mean squared error {found['rmse']:.6g} ({found['rows']:,} rows)"
        )


class QuantileScores(RegressionScores):
    """True numbers, and one predicted number for each quantile."""

    def __init__(self, quantiles: list[float]) -> None:
        super().__init__()
        self.quantiles = quantiles

    def as_json(self) -> dict[str, Any]:
        """Return the pinball loss and the coverage of each quantile.

        The coverage is the share of the rows whose number is at most the predicted quantile.
        """
        true, predicted, weights = self.columns()
        columns = predicted.reshape(len(true), -1).T
        quantiles = []
        for share, column in zip(self.quantiles, columns, strict=True):
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
