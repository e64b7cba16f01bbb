"""Imputation: SimpleImputer."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from .fields import Numbers, Values
from .kind import Kind, Step
from .program import Program


@dataclass(frozen=True, eq=False)
class Imputer(Kind):
    """`SimpleImputer`: numbers or texts that stand for missing values, and indicators of these."""

    def check(self, step: Step) -> None:
        """Refuse a fitted imputer that a file cannot keep."""
        missing = step.missing_values
        if not (isinstance(missing, float) and np.isnan(missing)):
            raise ValueError(
                f"{step!r} is not supported; missing_values=nan is. Replace {missing!r} by NaN "
                "before training and prediction."
            )
        if callable(step.strategy):
            raise ValueError(
                f"{step!r} is not supported: its strategy is a function. Use strategy='constant'."
            )
        empty = [k for k, value in enumerate(step.statistics_.tolist()) if value != value]
        if empty:
            raise ValueError(
                f"column {empty[0]} of its SimpleImputer has no values. Leave the column out, or "
                "set keep_empty_features=True."
            )

    def values(self, step: Step) -> dict[str, Any]:
        """Return the values that are filled in, and the columns that have an indicator."""
        indicated = step.indicator_.features_ if step.add_indicator else None
        return {"statistics": step.statistics_, "indicated": indicated}

    def restored(self, parameters: dict[str, Any], values: dict[str, Any], n_inputs: int) -> Step:
        """Return an imputer that is fitted to a single row: the statistics of a row are the row."""
        step = SimpleImputer(**parameters).fit(values["statistics"].reshape(1, n_inputs))
        if step.add_indicator:
            indicated = values["indicated"]
            if not ((np.diff(indicated) > 0).all() and np.isin(indicated, range(n_inputs)).all()):
                raise ValueError(f"its SimpleImputer indicates columns outside of {n_inputs}.")
            step.indicator_.features_ = indicated
        return step

    def n_outputs(self, header: Any, sizes: Any) -> int:
        """Count the indicators, too."""
        return int(sizes["inputs"] + sizes.get("indicated", 0))

    def lower(self, step: Step, program: Program) -> None:
        """Fill in missing values; add the indicators."""
        values, columns = step.statistics_.tolist(), [*range(program.n_outputs)]
        if not step.add_indicator:
            program.fill(values)
            return
        indicated = step.indicator_.features_.tolist()
        program.join(
            [
                (columns, lambda part: part.fill(values)),
                (columns, lambda part: part.indicate_missing(indicated)),
            ]
        )


IMPUTER = Imputer(
    SimpleImputer,
    ("strategy",),
    ("fill_value", "add_indicator", "keep_empty_features"),
    {
        "statistics": Values(),
        "indicated": Numbers(("indicated",), ("int64",), when=("add_indicator",)),
    },
)
