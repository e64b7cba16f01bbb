"""Scalers: StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .fields import Numbers, Scalar
from .kind import Kind, Step
from .program import Program

# scikit-learn counts rows in int64 and adds to this number when a scaler is continued.
ROWS = Scalar(int, 1, 2**62 - 1)


@dataclass(frozen=True, eq=False)
class Scaler(Kind):
    """A scaler, which subtracts `centre` and divides by ``scale_``; either may be None."""

    centre: str = ""

    def check(self, step: Step) -> None:
        """Refuse scales that are not positive, or so small that dividing by them overflows."""
        scale = step.scale_
        if scale is None:
            return
        with np.errstate(divide="ignore", over="ignore"):
            if not (scale > 0).all():
                raise ValueError("a feature of its scaling has a scale that is not positive.")
            if not np.isfinite(1 / np.asarray(scale, dtype=np.float64)).all():
                raise ValueError("a feature of its scaling has a scale out of range.")

    def lower(self, step: Step, program: Program) -> None:
        """Subtract the centre and divide by the scale."""
        # StandardScaler learns the mean even if it does not subtract it.
        centre = getattr(step, self.centre, None) if getattr(step, "with_mean", True) else None
        if centre is not None:
            program.compute("Sub", centre)
        if step.scale_ is not None:
            program.compute("Div", step.scale_)
        if getattr(step, "clip", False):
            program.clip(-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class RangeScaler(Scaler):
    """`MinMaxScaler`, which multiplies first."""

    def lower(self, step: Any, program: Program) -> None:
        """Multiply by the scale, add the minimum, and clip."""
        program.compute("Mul", step.scale_)
        program.compute("Add", step.min_)
        if step.clip:
            program.clip(*map(float, step.feature_range))


SCALERS = (
    Scaler(
        StandardScaler,
        ("with_mean", "with_std"),
        learnt={
            "mean": Numbers(when=("with_mean", "with_std")),
            "var": Numbers(when=("with_std",)),
            "scale": Numbers(when=("with_std",)),
            "n_rows": ROWS,
        },
        centre="mean_",
    ),
    RangeScaler(
        MinMaxScaler,
        ("feature_range",),
        ("clip",),
        dict.fromkeys(("min", "scale", "data_min", "data_max", "data_range"), Numbers())
        | {"n_rows": ROWS},
    ),
    Scaler(MaxAbsScaler, (), ("clip",), {"scale": Numbers(), "max_abs": Numbers(), "n_rows": ROWS}),
    Scaler(
        RobustScaler,
        ("with_centering", "with_scaling", "quantile_range", "unit_variance"),
        learnt={
            "center": Numbers(when=("with_centering",)),
            "scale": Numbers(when=("with_scaling",)),
        },
        centre="center_",
    ),
)
