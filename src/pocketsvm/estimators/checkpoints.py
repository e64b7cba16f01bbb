"""Checkpoints: a fit that is killed resumes where it was, and ends with the same bits.

Everything in a fit follows from its settings, its rows and its seed. A checkpoint keeps what took
long: the state of the passes, and the sums over all rows that the solver has read on a disk or a
cluster. The rest is computed again.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any, TypeVar

import joblib
import numpy as np

from .._replacing import PathLike
from .._sklearn import callbacks_of
from .._versions import instruction_set
from .._warnings import warn
from ..rows.source import Reading, Source
from ..training.passes import PassReport
from ..training.state import VectorSet
from .checkpoint_file import Progress, read_checkpoint, write_checkpoint

T = TypeVar("T")

# Parameters that do not change a bit of the model.
FREE = {"n_jobs", "device", "verbose", "client"}
# The part of the identity that stands for the rows.
ROWS = "rows"


class Checkpoint:
    """Callback that lets `fit` resume after its process was killed.

    While `fit` runs, the state of the passes and of the solver is written to a file at intervals.
    If the file exists when `fit` begins, `fit` resumes from it, and the model has the same bits as
    that of a fit without an interruption. When `fit` ends, the file is removed.

    Parameters
    ----------
    path : str or path-like
        The file. It is replaced in one step, and has a checksum, as model files have.

    every : float, default=60
        Seconds between two checkpoints.

    Notes
    -----
    A checkpoint belongs to one fit: a file of other rows, another order of them, or other
    parameters is refused with a ValueError that names what differs. `n_jobs`, `device` and
    `verbose` may differ. The `random_state` must be an int.

    Passes are kept when they end. For rows on disk, the solver is kept in the middle of a scan,
    on Dask after each scan. The survey, which is the first scan, is made again: it also
    shows whether the rows are the same. For rows in memory, the solver begins again.

    `partial_fit` writes no checkpoint; save the model after a batch instead.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.callbacks import Checkpoint
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(os.path.join(folder, "moons.checkpoint"), every=10)
    ...     clf = BudgetedSVC(budget=20, random_state=0).set_callbacks(checkpoint).fit(X, y)
    ...     os.listdir(folder)
    []
    """

    def __init__(self, path: PathLike, every: float = 60.0) -> None:
        if not isinstance(every, int | float) or not every >= 0:
            raise ValueError(f"every={every!r} must be a number of seconds that is not negative.")
        self.path, self.every = path, float(every)

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol of scikit-learn requires the method."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Never stop the fit."""
        return False


class Course:
    """The course of a fit without a checkpoint: it begins at the beginning, and keeps nothing."""

    progress = Progress()

    def save_if_due(self) -> None:
        """Keep the progress, from time to time."""

    def passes(self, make: Callable[[VectorSet | None], VectorSet]) -> VectorSet:
        """Make the passes; `make` continues from what it is given."""
        return make(None)

    def passed(self, report: PassReport) -> None:
        """Take note of a pass."""

    def followed(self, source: Source) -> Source:
        """Return rows whose scans are kept."""
        return source

    def end(self) -> None:
        """Take note that the fit is complete."""


class KeptCourse(Course):
    """The course of a fit that writes checkpoints."""

    def __init__(self, checkpoint: Checkpoint, identity: dict[str, str]) -> None:
        self._path, self._every, self._identity = checkpoint.path, checkpoint.every, identity
        self._written = time.monotonic()
        self.progress = Progress()
        if os.path.exists(self._path):
            found, self.progress = read_checkpoint(self._path)
            _check(self._path, found, identity)

    def save_if_due(self) -> None:
        """Write a checkpoint if the last one is old enough; if that fails, the fit continues."""
        if time.monotonic() - self._written < self._every:
            return
        try:
            write_checkpoint(self._path, self._identity, self.progress)
        except OSError as error:
            warn(
                f"The checkpoint {os.fspath(self._path)} cannot be written: {error}. The fit "
                "continues, and tries again later."
            )
        self._written = time.monotonic()

    def passes(self, make: Callable[[VectorSet | None], VectorSet]) -> VectorSet:
        """Make the passes that are missing."""
        progress = self.progress
        if not progress.passes_done:
            progress.vectors = make(progress.vectors)
            progress.passes_done = True
            self.save_if_due()
        assert progress.vectors is not None
        return progress.vectors

    def passed(self, report: PassReport) -> None:
        """Keep the state after a pass, from time to time."""
        if time.monotonic() - self._written >= self._every:
            self.progress.vectors = report.snapshot()
            self.save_if_due()

    def followed(self, source: Source) -> Source:
        """Return rows whose scans are kept."""
        return _KeptScans(source, self)

    def end(self) -> None:
        """Remove the file."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)


class _KeptScans(Source):
    """Rows whose scans are kept: known ones are not made again."""

    def __init__(self, source: Source, course: KeptCourse) -> None:
        self._source, self._course, self._number = source, course, 0
        self.n_threads = source.n_threads

    def scan(self, reading: Reading[T], follow: Any = None) -> T:
        """Return the result of a scan, or resume it."""
        progress, number = self._course.progress, self._number
        self._number += 1
        if number < len(progress.sums):
            known: T = progress.sums[number]
            return known
        found = self._source.scan(reading, self)
        progress.sums.append(found)
        progress.part, progress.part_rows = None, 0
        self._course.save_if_due()
        return found

    @property
    def before(self) -> tuple[Any, int]:
        """What the scan that was interrupted had found, and in how many rows."""
        return self._course.progress.part, self._course.progress.part_rows

    def __call__(self, part: Any, n_rows: int) -> None:
        """Take note of what has been found in the first rows."""
        self._course.progress.part, self._course.progress.part_rows = part, n_rows
        self._course.save_if_due()


def course_of(estimator: Any, *data: Any) -> Course:
    """Return the course of a fit; the data tell whether a checkpoint belongs to it."""
    found = [c for c in callbacks_of(estimator) if isinstance(c, Checkpoint)]
    if not found:
        return Course()
    parameters = estimator.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer):
        raise ValueError(
            "A checkpoint needs a random_state that is an int, got "
            f"{parameters['random_state']!r}: a fit that resumes must draw the same rows."
        )
    identity = {
        "estimator": type(estimator).__name__,
        **{name: _text(value) for name, value in parameters.items() if name not in FREE},
        "version of pocketsvm": version("pocketsvm"),
        "instruction set": instruction_set(),
        ROWS: joblib.hash(data, hash_name="sha1"),
    }
    return KeptCourse(found[0], identity)


def _text(value: Any) -> str:
    if isinstance(name := getattr(value, "__qualname__", None), str):
        return name  # of a function, whose repr is another one in each process
    if hasattr(value, "__array__"):  # whose repr may leave numbers out
        value = np.asarray(value).tolist()
    return repr(value)


def _check(path: PathLike, found: dict[str, str], wanted: dict[str, str]) -> None:
    """Refuse the checkpoint of another fit."""
    names = [name for name in {**wanted, **found} if found.get(name) != wanted.get(name)]
    if not names:
        return
    name = names[0]
    what = f"with {name} {found.get(name)}, and this fit has {wanted.get(name)}"
    if name == ROWS:
        what = "for other rows, or for the same rows in another order"
    raise ValueError(
        f"{os.fspath(path)} is the checkpoint of another fit: it was written {what}. Remove the "
        "file to begin anew, or use another one."
    )
