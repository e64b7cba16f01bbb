"""Dates in tables: which texts look like dates, and the numbers that stand for a date."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataError, Hint

# A date is used as these numbers; Monday is the weekday 0.
PARTS = ("year", "month", "weekday", "hour")
EXAMPLE = "2024-01-31"
NO_DATE = f"is not a date such as {EXAMPLE} or {EXAMPLE}T18:30:00, without a time zone."
# Other dates than these look like dates, but day and month may be in any order.
READABLE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)?")
OTHERS = re.compile(
    r"([0-9]{4}[-./][0-9]{1,2}[-./][0-9]{1,2}|[0-9]{1,2}[-./][0-9]{1,2}[-./]([0-9]{2}|[0-9]{4}))"
    r"([T ][0-9]{1,2}:[0-9]{2}.*)?"
)


def no_date(at: str, column: str, *, is_training: bool) -> DataError:
    """Return the error of a value that is no date; a training file can do without its column."""
    drop = Hint("If the column is not needed, leave it out: {}.", "drop", column)
    return DataError(f"{at} {NO_DATE}", *([drop] if is_training else []))


def are_dates(texts: Sequence[str]) -> bool:
    """Tell whether most texts look like dates."""
    found = [text for text in texts if READABLE.fullmatch(text) or OTHERS.fullmatch(text)]
    return 2 * len(found) > len(texts)


def names_of_parts(column: str) -> list[str]:
    """Return the names of the features that stand for a column of dates."""
    return [f"{column}.{part}" for part in PARTS]


def part_of(column: Any, part: str) -> NDArray[np.float64]:
    """Return one part of a column of pyarrow; NaN is missing."""
    import pyarrow as pa

    times = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
    days = times.astype("datetime64[D]")
    counts = {
        "year": lambda: times.astype("datetime64[Y]").astype(np.int64) + 1970,
        "month": lambda: times.astype("datetime64[M]").astype(np.int64) % 12 + 1,
        "weekday": lambda: (days.astype(np.int64) + 3) % 7,  # the first of 1970 was a Thursday
        "hour": lambda: (times - days).astype("timedelta64[h]").astype(np.int64),
    }
    return np.where(np.isnat(times), np.nan, counts[part]().astype(np.float64))
