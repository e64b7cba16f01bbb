"""The paper's six data sets with its settings and its published figures, from ``paper.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._replacing import PathLike
from .files import File, Source, TrainTest, folders


@dataclass(frozen=True)
class Published:
    """What the paper prints about a data set, in its own units (per cent, except for factors).

    Attributes
    ----------
    n_rows, n_features, exact_accuracy
        Table 1: the training set, and the test accuracy of LIBSVM.

    accuracy
        Table 2: mean and standard deviation of the test accuracy in 5 runs, by budget and strategy.

    time_saved
        Table 3: the training time saved relative to `gss`, by budget and strategy.

    merge_frequency, equal_decisions
        Table 3, for the smaller budget: the share of steps that merge; the share of events in which
        `gss` and `lookup-wd` choose the same partner.

    factor
        Table 3: weight degradation relative to that of `gss-precise`, by strategy.
    """

    n_rows: int
    n_features: int
    exact_accuracy: float
    accuracy: Mapping[int, Mapping[str, tuple[float, float]]]
    time_saved: Mapping[int, Mapping[str, float]]
    merge_frequency: float
    equal_decisions: float
    factor: Mapping[str, float]


@dataclass(frozen=True)
class DataSet:
    """A data set of the paper with its settings; the first source is the one the paper used."""

    name: str
    C: float
    gamma: float
    budgets: tuple[int, int]
    passes: int
    sources: tuple[Source, ...]
    published: Published

    def find(self, folder: PathLike | None = None) -> tuple[Source, list[Path]] | None:
        """Return the first source whose files all exist, and their paths; None if there is none."""
        for source in self.sources:
            paths = [path for path in source.find(folder) if path is not None]
            if len(paths) == len(source.files):
                return source, paths
        return None

    def load(self, folder: PathLike | None = None) -> tuple[Source, TrainTest]:
        """Read, check and split the data set; return the source it came from, and the rows.

        Parameters
        ----------
        folder : path-like, default=None
            Where to search first; None means ``$POCKETSVM_DATA``.

        Returns
        -------
        source : Source
            The first source that exists; its description says how it differs from the paper's.

        rows : TrainTest
            The rows and labels.

        Raises
        ------
        FileNotFoundError
            If its files are neither there nor in the cache folder.
        ValueError
            If a file is damaged or not the one that its name says.
        """
        found = self.find(folder)
        if found is None:
            names = " or ".join(
                " with ".join(file.name for file in source.files) for source in self.sources
            )
            places = " or ".join(map(str, folders(folder)))
            raise FileNotFoundError(
                f"{self.name} is missing: no {names} in {places}; set POCKETSVM_DATA to a folder "
                f"that contains it, or run: pocketsvm data fetch {self.name}"
            )
        source, paths = found
        return source, source.read(paths)


def named(name: str) -> DataSet:
    """Return the data set of that name, in upper or lower case; raise ValueError if unknown."""
    for data_set in DATA_SETS:
        if data_set.name == name.upper():
            return data_set
    names = ", ".join(data_set.name for data_set in DATA_SETS)
    raise ValueError(f"There is no data set '{name}'; there are {names}")


def _read_registry() -> tuple[DataSet, ...]:
    text = Path(__file__).with_name("paper.toml").read_text(encoding="utf-8")
    return tuple(_data_set(**entry) for entry in tomllib.loads(text)["data_set"])


def _data_set(
    budgets: list[int], sources: list[dict[str, Any]], published: dict[str, Any], **fields: Any
) -> DataSet:
    smaller, larger = budgets
    by_budget: dict[str, Any] = {
        "accuracy": {
            int(budget): {strategy: (mean, spread) for strategy, (mean, spread) in line.items()}
            for budget, line in published.pop("accuracy").items()
        },
        "time_saved": {int(b): line for b, line in published.pop("time_saved").items()},
    }
    return DataSet(
        **fields,
        budgets=(smaller, larger),
        sources=tuple(_source(**source) for source in sources),
        published=Published(**published, **by_budget),
    )


def _source(files: list[dict[str, Any]], **fields: Any) -> Source:
    return Source(**fields, files=tuple(File(**file) for file in files))


DATA_SETS = _read_registry()
