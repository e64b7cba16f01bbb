"""Pieces of a part, stored as soon as they are measured: a run that was stopped resumes there."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any

from pocketsvm._replacing import replacing
from pocketsvm.paper.toolkit.tables import Table


class Pieces:
    """What was measured so far, by name.

    Parameters
    ----------
    path : Path or None
        The file; None: nothing is stored.

    stamp : str
        What is measured: pieces of another stamp are not used.
    """

    def __init__(self, path: Path | None = None, stamp: str = "") -> None:
        self.path, self.stamp = path, stamp
        self.found: dict[str, Any] = {}
        self.seconds = 0.0  # that earlier runs spent on the pieces
        if path is not None and path.is_file():
            stored = json.loads(path.read_text())
            if stored["stamp"] == stamp:
                self.found, self.seconds = stored["pieces"], stored["seconds"]
        self._spent = self.seconds
        self._begin = perf_counter()

    def add(self, name: str, value: Any) -> Any:
        """Store a piece; return it as it will be read: lists, dicts, texts and numbers."""
        value = json.loads(json.dumps(value, default=lambda number: number.item()))
        self.found[name] = value
        spent = self._spent + perf_counter() - self._begin
        if self.path is not None:
            stored = {"stamp": self.stamp, "seconds": spent, "pieces": self.found}
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(self.path) as file:
                file.write(json.dumps(stored).encode())
            print(f"stored: {name}", flush=True)
        return value

    def remove(self) -> None:
        """Remove the file."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


_current: Pieces | None = None


@contextmanager
def kept_in(pieces: Pieces) -> Iterator[Pieces]:
    """Let `piece`, `table_piece` and `each` store there."""
    global _current
    _current = pieces
    try:
        yield pieces
    finally:
        _current = None


def piece(name: str, measure: Callable[[], Any]) -> Any:
    """Return a piece that was stored, or else measure and store it."""
    pieces = _current or Pieces()
    return pieces.found[name] if name in pieces.found else pieces.add(name, measure())


def table_piece(name: str, measure: Callable[[], Table]) -> Table:
    """Return a table that was stored, or else measure and store it."""
    return Table(**piece(name, lambda: asdict(measure())))


def each(
    function: Callable[..., Any],
    units: Sequence[tuple[Any, ...]],
    jobs: int,
    names: Sequence[str] | None = None,
) -> list[Any]:
    """Return `function(*unit)` of all units, some at a time in processes of their own.

    Each unit is a piece, called by its values or by its name. An error is raised when all other
    units are stored.
    """
    pieces = _current or Pieces()
    names = names or [", ".join(map(str, unit)) for unit in units]
    left = [k for k, name in enumerate(names) if name not in pieces.found]
    if jobs > 1:
        with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
            started = {pool.submit(function, *units[k]): k for k in left}
            for future in as_completed(started):
                if not future.exception():
                    pieces.add(names[started[future]], future.result())
            for future in started:
                future.result()  # raises the error of a unit
    else:
        for k in left:
            pieces.add(names[k], function(*units[k]))
    return [pieces.found[name] for name in names]
