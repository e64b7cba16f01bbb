"""What commands show: progress and messages on stderr, results on stdout."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.text import Text

from .escaping import escaped, escaped_json

# A log stays short, and a reader still sees that the command is alive.
SECONDS_BETWEEN_LINES = 5.0


def show(renderable: Any) -> None:
    """Print a result: a line, or a renderable of rich whose texts are `escaped`.

    Text is not wrapped.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    if isinstance(renderable, str):
        console.print(escaped(renderable), soft_wrap=True)
    else:
        console.print(renderable, soft_wrap=isinstance(renderable, Text))


def print_json(value: Any) -> None:
    """Print a result as JSON."""
    print(escaped_json(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def one_line_of_json(value: Any) -> str:
    """Return a value as JSON without line breaks."""
    return escaped_json(json.dumps(value, ensure_ascii=False, allow_nan=False))


class Reporter:
    """Shows the progress of long tasks: a bar on a terminal, plain lines elsewhere, or nothing."""

    def __init__(self, quiet: bool) -> None:
        self.console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self.quiet = quiet
        self.bars = self.console.is_terminal and not quiet and os.environ.get("TERM") != "dumb"

    def say(self, message: str) -> None:
        """Print a line, unless quiet."""
        if not self.quiet:
            self.console.print(escaped(message), soft_wrap=True)

    @contextmanager
    def task(
        self, name: str, total: float | None = None, *, is_last: bool = True
    ) -> Iterator["Task"]:
        """Follow a task with this number of parts; None if it is unknown.

        Only the last task of a piece of work shows the time left.
        """
        if self.bars:
            with _bars(self.console) as bars:
                key = bars.add_task(name, total=total, text="")

                def update(done: float, total: float | None, text: str) -> None:
                    bars.update(key, completed=done, total=total, text=text)

                yield Task(total, update, is_last)
        elif self.quiet:
            yield Task(total, lambda done, total, text: None, is_last)
        else:
            yield Task(total, _Lines(self.say, name), is_last)


class Task:
    """Counts parts and rows of a task, and estimates its speed and, for a last one, the time left.

    The total may be set again, if the task turns out to have more parts.
    """

    def __init__(
        self,
        total: float | None,
        update: Callable[[float, float | None, str], None],
        is_last: bool = True,
    ) -> None:
        self.total, self.update, self.is_last = total, update, is_last
        self.begin = time.perf_counter()
        self.done, self.rows = 0.0, 0

    def advance(self, n_rows: int, parts: float = 1, note: str = "") -> None:
        """Count parts of the task that are done, and the rows they took."""
        self.done += parts
        self.rows += n_rows
        seconds = max(time.perf_counter() - self.begin, 1e-9)
        text = f"{note}, {self.rows / seconds:,.0f} rows/s".removeprefix(", ")
        if self.total is None:
            self.update(self.done, None, f"{self.rows:,} rows, {text}")
        else:
            if self.is_last:
                left = timedelta(seconds=round(seconds * (self.total / self.done - 1)))
                text = f"{text}, {left} left"
            self.update(self.done, self.total, text)


class _Lines:
    """Prints a line every few seconds."""

    def __init__(self, say: Callable[[str], None], name: str) -> None:
        self.say, self.name = say, name
        self.last = time.perf_counter()

    def __call__(self, done: float, total: float | None, text: str) -> None:
        now = time.perf_counter()
        if now - self.last < SECONDS_BETWEEN_LINES:
            return
        self.last = now
        share = "" if total is None else f"{done / total:.0%}, "
        self.say(f"{self.name}: {share}{text}")


class FitProgress:
    """A scikit-learn callback that counts the passes of a fit."""

    def __init__(self, task: Task, n_rows: int) -> None:
        self.task, self.n_rows = task, n_rows

    def setup(self, estimator: Any, context: Any) -> None:
        """Do nothing; the protocol requires the method."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Count a pass; never stop the fit."""
        if context.task_name == "pass":
            self.task.advance(self.n_rows)
        return False


class ScanProgress:
    """Follows the scans of rows in batches."""

    def __init__(self, task: Task, n_scans: int) -> None:
        self.task, self.n_scans, self.done = task, n_scans, 0.0

    def __call__(self, progress: Any) -> None:
        """Count what has been read since the last call."""
        done = progress.reading - 1 + progress.share
        self.task.total = max(self.n_scans, progress.reading)
        note = (
            f"scan {progress.reading}, {progress.share * progress.n_bytes / 1e6:,.0f} of "
            f"{progress.n_bytes / 1e6:,.0f} MB"
        )
        self.task.advance(progress.n_new, max(done - self.done, 1e-9), note)
        self.done = max(done, self.done)


def _bars(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        TextColumn("{task.fields[text]}"),
        console=console,
        transient=True,
        expand=True,
    )
