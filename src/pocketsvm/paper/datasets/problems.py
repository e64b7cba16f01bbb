"""Problems: the rows of the paper's data sets, ready for training, or generated in their place."""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._cached import cached_property
from ..._replacing import PathLike
from .files import Source, TrainTest
from .generated import susy_like
from .registry import DataSet

SCALE_ROWS = 4_500_000  # as many as the paper's training set of SUSY has
SCALE_TEST_ROWS = 100_000
QUICK_ROWS, QUICK_TEST_ROWS, QUICK_SCALE_ROWS = 2_000, 4_000, 50_000
DENSE_SHARE = 0.5  # rows are dense if more than this share of their entries is not zero


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows to train and test on, with the paper's settings for them."""

    data_set: DataSet
    label: str
    description: str
    make: Callable[[], TrainTest]
    n_rows: int
    generated: bool = False

    @cached_property
    def rows(self) -> TrainTest:
        """The rows; generated ones are made when they are first needed."""
        return self.make()

    @property
    def setting(self) -> dict[str, Any]:
        """The paper's C and gamma."""
        return {"C": self.data_set.C, "gamma": self.data_set.gamma}


def load_problems(
    data_sets: Iterable[DataSet],
    folder: PathLike | None = None,
    quick: bool = False,
    skipped: Container[DataSet] = (),
) -> list[Problem]:
    """Read the data sets; if SUSY is incomplete or skipped, rows generated to its size follow."""
    problems = []
    for data_set in data_sets:
        source = None
        if data_set not in skipped:
            source, rows = data_set.load(folder)
            problems.append(_problem(data_set, source, rows, quick))
        if data_set.name == "SUSY" and source is not data_set.sources[0]:
            problems.append(_scale(data_set, QUICK_SCALE_ROWS if quick else SCALE_ROWS))
    return problems


def _problem(data_set: DataSet, source: Source, rows: TrainTest, quick: bool) -> Problem:
    rows = _layout(rows)
    if quick:
        train = _some(rows.X, rows.y, QUICK_ROWS)
        rows = TrainTest(*train, *_some(rows.X_test, rows.y_test, QUICK_TEST_ROWS))
    return Problem(data_set, source.label, source.description, lambda: rows, len(rows.y))


def _layout(rows: TrainTest) -> TrainTest:
    """Make the rows dense if most of their entries are not zero."""
    if rows.X.nnz > DENSE_SHARE * rows.X.shape[0] * rows.X.shape[1]:
        return rows._replace(X=rows.X.toarray(), X_test=rows.X_test.toarray())
    return rows


def _some(X: Any, y: NDArray[Any], n_rows: int) -> tuple[Any, NDArray[Any]]:
    chosen = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[chosen], y[chosen]


def _scale(susy: DataSet, n_rows: int) -> Problem:
    return Problem(
        susy,
        f"SUSY ({n_rows:,} generated)",
        f"{n_rows:,} generated rows of 18 features in two overlapping classes, to compare time and "
        "merging frequency at the size of SUSY, but not accuracy.",
        lambda: TrainTest(*susy_like(n_rows), *susy_like(SCALE_TEST_ROWS, seed=1)),
        n_rows,
        generated=True,
    )
