"""Transformations of the distribution of each column: PowerTransformer, QuantileTransformer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import PowerTransformer, QuantileTransformer

from ..._sklearn import power_scaler, set_power_scaler
from .fields import Numbers, Scalar
from .kind import Kind, Step
from .program import Program
from .scalers import ROWS, SCALERS

STANDARD_SCALER = SCALERS[0]


@dataclass(frozen=True, eq=False)
class PowerTransform(Kind):
    """`PowerTransformer`: powers, and a StandardScaler of their results."""

    def values(self, step: Step) -> dict[str, Any]:
        """Return the powers and what the scaler has learnt."""
        scaler = STANDARD_SCALER.values(power_scaler(step)) if step.standardize else {}
        return {"lambdas": step.lambdas_} | scaler

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return the transformer with its scaler."""
        step = PowerTransformer(**parameters)
        step.lambdas_ = values["lambdas"]
        step.n_features_in_ = n_inputs
        if step.standardize:
            scaler = STANDARD_SCALER.restored({"copy": False}, values, n_inputs)
            STANDARD_SCALER.check(scaler)
            set_power_scaler(step, scaler)
        return step

    def lower(self, step: Step, program: Program) -> None:
        """Raise to powers, then scale."""
        # SciPy takes smaller powers as zero.
        tiny = 1e-19 if step.method == "box-cox" else np.spacing(1.0)
        lambdas = np.where(np.abs(step.lambdas_) < tiny, 0.0, step.lambdas_)
        program.power(lambdas, step.method == "box-cox")
        if step.standardize:
            STANDARD_SCALER.lower(power_scaler(step), program)


@dataclass(frozen=True, eq=False)
class QuantileTransform(Kind):
    """`QuantileTransformer`: the share of smaller training rows, or its normal quantile."""

    def check(self, step: Step) -> None:
        """Refuse quantiles that are not sorted."""
        for table in (step.quantiles_, step.references_):
            if not (np.diff(table, axis=0) >= 0).all():
                raise ValueError("the quantiles of its QuantileTransformer are not sorted.")

    def lower(self, step: Step, program: Program) -> None:
        """Interpolate."""
        is_normal = step.output_distribution == "normal"
        program.interpolate(step.quantiles_, step.references_, is_normal)


STANDARDIZE = ("standardize",)
TRANSFORMS = (
    PowerTransform(
        PowerTransformer,
        ("method", "standardize"),
        learnt={
            "lambdas": Numbers(),
            **{name: Numbers(when=STANDARDIZE) for name in ("mean", "var", "scale")},
            "n_rows": Scalar(int, ROWS.low, ROWS.high, when=STANDARDIZE),
        },
    ),
    QuantileTransform(
        QuantileTransformer,
        ("output_distribution",),
        ("n_quantiles", "ignore_implicit_zeros", "subsample", "random_state"),
        {
            "n_quantiles": Scalar(int, 1, 2**31),
            "references": Numbers(("quantiles",)),
            "quantiles": Numbers(("quantiles", "inputs")),
        },
    ),
)
