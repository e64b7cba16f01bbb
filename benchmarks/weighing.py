"""How large the arguments and results of scans on a Dask cluster are."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from distributed import get_worker

from pocketsvm.dask.partitions import Partitions
from pocketsvm.rows.chunk import Chunk

TOPIC = "weighing"


@dataclass(frozen=True)
class Weighed:
    """A reading that reports the sizes of its results to the scheduler."""

    reading: Any
    token: str

    def __call__(self, batch: Chunk, first: int) -> Any:
        """Read a partition."""
        return self._noted("result", self.reading(batch, first))

    def merge(self, parts: Sequence[Any]) -> Any:
        """Merge the results of partitions."""
        return self._noted("merged", self.reading.merge(parts))

    def _noted(self, what: str, found: Any) -> Any:
        sizes = {"argument": _size(self.reading), what: _size(found)}
        traced = self.reading.reading  # a scanner traces what is read
        note = {"reading": type(traced).__name__, "token": self.token, **sizes}
        get_worker().log_event(TOPIC, note)
        return found


def _size(value: Any) -> int:
    return len(pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))


@dataclass(frozen=True, eq=False)
class WeighedPartitions(Partitions):
    """Partitions whose scans are weighed."""

    def tree(self, reading: Any) -> Any:
        """Return the lazy result of a reading."""
        return super().tree(Weighed(reading, uuid4().hex))


def weighed(client: Any) -> dict[str, dict[str, int]]:
    """Return the bytes of what the last reading of each name has moved.

    "argument" is sent to each worker, "results" come from all partitions, "merged" is the last
    result of the tree, for the client.
    """
    notes = [note for _, note in client.get_events(TOPIC)]
    last = {note["reading"]: note["token"] for note in notes}
    found = {name: {"partitions": 0, "results": 0, "merged": 0} for name in last}
    for note in notes:
        if note["token"] != last[note["reading"]]:
            continue
        sizes = found[note["reading"]]
        sizes["argument"] = note["argument"]
        if "result" in note:
            sizes["partitions"] += 1
            sizes["results"] += note["result"]
        else:
            sizes["merged"] = note["merged"]
    return found
