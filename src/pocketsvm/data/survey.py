"""The survey: the first reading of rows that are not in memory.

It counts the rows, learns what gamma, the precision and a scaler need, and draws the sample.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from .batch import RowBatch
from .dataset import Source
from .drawing import Plan, Reservoir
from .errors import DataError
from .precision import FLOAT32_SPREAD, decided
from .query_drawing import QueryReservoir
from .rows import Dtype
from .summary import Summary, largest_norm, merged, rounded, summarise
from .targets import find_classes

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Survey:
    """What the first reading finds.

    Attributes
    ----------
    summary : Summary
        What is known about all rows.

    sample : RowBatch
        The drawn rows, in their order.

    factors : ndarray of shape (n_drawn,)
        What their weights are multiplied by.

    numbers : ndarray of shape (n_drawn,)
        Their positions among all rows with a weight.

    share : float
        The share of all rows that the sample stands for: a ranker learns from queries with a pair.
    """

    summary: Summary
    sample: RowBatch
    factors: NDArray[np.float64]
    numbers: NDArray[np.int64]
    share: float = 1.0

    @property
    def is_whole(self) -> bool:
        """Whether the sample holds all rows."""
        return self.sample.n_rows == self.summary.n_rows


def survey(
    source: Source,
    plan: Plan,
    *,
    regression: bool,
    ignored: Sequence[Any] = (),
    queries: bool = False,
) -> Survey:
    """Read all rows once; a second time only if the sample turns out to need it.

    The sample is one of rows, or of whole queries.
    """
    summary: Summary | None = None
    reservoir: Reservoir | QueryReservoir
    reservoir = QueryReservoir(plan) if queries else Reservoir(plan, regression)
    for batch in source.read():
        batch = batch.counted(ignored)
        if batch.n_rows:
            try:
                summary = merged(summary, summarise(batch, regression=regression))
            except DataError as error:
                raise DataError(f"{batch.place}: {error}") from error
            reservoir.add(batch)
    if summary is None:
        raise DataError(NO_ROWS)
    if not regression:
        find_classes(summary.labels)
    found = reservoir.sample(summary)
    share = reservoir.share if isinstance(reservoir, QueryReservoir) else 1.0
    if found is None:
        if isinstance(reservoir, QueryReservoir):
            reservoir = reservoir.again()
        else:
            counts = dict(zip(summary.labels.tolist(), summary.counts.tolist(), strict=True))
            reservoir = Reservoir(plan, regression, counts)
        for batch in source.read():
            reservoir.add(batch.counted(ignored))
        if reservoir.n_rows == summary.n_rows:
            found = reservoir.sample(summary)
    if found is None:
        raise DataError("the rows changed between two readings.")
    return Survey(summary, *found, share)


NO_ROWS = "there are no rows of positive weight: the files, or batches(), gave none."


def fitted_scaler(scaler: Any, found: Survey) -> Any:
    """Return a fitted copy of a scaler.

    RobustScaler learns its quantiles from the sample, the others learn from all rows.
    """
    scaler, summary = clone(scaler), found.summary
    if isinstance(scaler, RobustScaler):
        return scaler.fit(found.sample.X)
    if not isinstance(scaler, StandardScaler | MinMaxScaler | MaxAbsScaler):
        raise TypeError(
            "scaler must be a StandardScaler, MinMaxScaler, MaxAbsScaler or RobustScaler, got "
            f"{type(scaler).__name__}. Use other transformers in a pipeline, on rows in memory."
        )
    # Two rows with the range of the columns make scikit-learn check and set everything else.
    scaler.fit(np.stack([summary.least, summary.most]))
    scaler.n_samples_seen_ = summary.n_rows
    if isinstance(scaler, StandardScaler):
        _set_moments(scaler, summary)
    return scaler


def _set_moments(scaler: Any, summary: Summary) -> None:
    if scaler.with_mean or scaler.with_std:
        scaler.mean_ = rounded(summary.mean)
    if scaler.with_std:
        scaler.var_ = summary.variances
        constant = (summary.most == summary.least) | (scaler.var_ == 0)
        scaler.scale_ = np.sqrt(np.where(constant, 1.0, scaler.var_))


def precision_and_gamma(
    gamma: str | float,
    found: Survey,
    scaler: Any,
    least_dtype: Dtype,
    read: Callable[[], Iterable[RowBatch]],
) -> tuple[Dtype, float]:
    """Decide on the precision of the (scaled) rows and the value of gamma."""
    summary = found.summary
    means, variances, norm = summary.mean, summary.variances, summary.squared_norm
    if scaler is not None:
        ends = [scaler.transform(np.full((1, summary.n_features), k))[0] for k in (0.0, 1.0)]
        slope, offset = ends[1] - ends[0], ends[0]
        means, variances = offset + slope * means, slope**2 * variances
        norm = float(
            np.square(
                np.maximum(abs(offset + slope * summary.least), abs(offset + slope * summary.most))
            ).sum()
        )
    variance = summary.variance(means, variances)
    distance = 2.0 * float(rounded(variances.sum()))
    dtype, value = decided(gamma, summary.n_features, variance, norm, distance, least_dtype)
    if scaler is not None and dtype == "float64" and value * norm > FLOAT32_SPREAD:
        # The ranges of the columns only bound the norm: read the rows for the largest one.
        norm = max(largest_norm(scaler.transform(b.X)) for b in read() if b.n_rows)
        return decided(gamma, summary.n_features, variance, norm, distance, least_dtype)
    return dtype, value
