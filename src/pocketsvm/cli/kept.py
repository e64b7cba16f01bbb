"""What the scores of all tasks share: they keep rows until all of them are known."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .console import show


class Scores(ABC):
    """How good answers are."""

    def __init__(self) -> None:
        self.kept: list[tuple[NDArray[Any], ...]] = []

    @abstractmethod
    def add(
        self, true: NDArray[Any], answers: NDArray[Any], weights: Any = None, queries: Any = None
    ) -> None:
        """Add rows by what is true and what the model answers, with weights and queries."""

    @abstractmethod
    def as_json(self) -> dict[str, Any]:
        """Return all scores."""

    @abstractmethod
    def summary(self) -> str:
        """Return the main scores in one line."""

    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return what has been kept of all rows."""
        return tuple(map(np.concatenate, zip(*self.kept, strict=True)))

    def show(self) -> None:
        """Print the scores."""
        show(self.summary())
