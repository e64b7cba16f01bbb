"""Fuzz the readers of checkpoints and tables: whatever a file holds, it is refused or has rows.

    python tools/fuzz_files.py SECONDS [FOLDER] [checkpoint] [parquet] [csv]

Changes valid checkpoints, Parquet and CSV files at random. A checkpoint must be refused with a
ValueError that names it, or hold a progress, from which a fit may resume or fail, but not crash. A
table must be refused with a DataError that names it, or give finite rows. Each kind of file, or
each one named, takes so many seconds. FOLDER (default: build/fuzz) keeps the file that fails. Each
Parquet file is read by a process of its own, because Apache Arrow ends the process at some damaged
files; they are counted.
"""

import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from fuzz_models import _bytes, mutate

from pocketsvm import BudgetedSVC
from pocketsvm.callbacks import Checkpoint
from pocketsvm.estimators.checkpoint_file import read_checkpoint
from pocketsvm.files import DataError, DataFile, Options

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(400, 3))
LABELS = (ROWS[:, 0] > 0).astype(int)


class StoppedError(Exception):
    """Ends a fit after its first pass."""


class _Stop:
    def setup(self, estimator: object, context: object) -> None:
        """Do nothing."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: object, context: object) -> bool:
        """End the fit when a pass has ended and was kept."""
        if getattr(context, "task_name", "") == "pass" and getattr(context, "task_id", 0) == 1:
            raise StoppedError
        return False


def fit(path: Path, *callbacks: object) -> None:
    """Fit rows in memory with a checkpoint, from which the fit may resume."""
    clf = BudgetedSVC(8, polish=False, max_iter=4, random_state=0)
    clf.set_callbacks(Checkpoint(path, every=0), *callbacks).fit(ROWS, LABELS)


def checkpoint(path: Path) -> str:
    """Read a checkpoint, and let a fit resume from it; return what happened."""
    try:
        read_checkpoint(path)
    except ValueError as refusal:
        if str(path) not in str(refusal):
            raise RuntimeError("the message does not name the file") from refusal
        return "refused"
    try:
        fit(path)
    except Exception as error:
        return f"the fit failed with {type(error).__name__}"
    return "the fit resumed"


def table(path: Path) -> str:
    """Read a table; tell whether it was refused."""
    options = Options(label="label", texts=("text",), dates=True)
    try:
        with DataFile(str(path), options) as file:
            layout = file.layout()
            batches = list(file.batches(layout, labels=True))
    except DataError as refusal:
        if str(path) not in str(refusal):
            raise RuntimeError("the message does not name the file") from refusal
        return "refused"
    for batch in batches:
        numbers = np.delete(batch.X, layout.texts, axis=1).astype(np.float64)
        if not np.isfinite(numbers).all():
            raise RuntimeError("a value is not finite")
    return "read"


def table_apart(path: Path) -> str:
    """Read a table in a process of its own; tell whether it was refused, or ended the process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(write, table(path).encode())
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    os.close(write)
    with open(read, "rb") as answer:
        found = answer.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        path.rename(path.with_suffix(f".{-code}.parquet"))
        return f"Arrow ended the process by {signal.Signals(-code).name}"
    if code:
        raise RuntimeError("a table was neither refused nor read")
    return found


def seeds(folder: Path) -> dict[str, bytes]:
    """Write valid files; return their contents by their endings."""
    warnings.simplefilter("ignore")
    path = folder / "seed.checkpoint"
    path.unlink(missing_ok=True)
    with suppress(StoppedError):
        fit(path, _Stop())
    found = {"checkpoint": path.read_bytes()}
    path.unlink()
    days = np.datetime64("2024-01-01") + np.arange(400)
    columns = {"a": ROWS[:, 0], "text": ["x", "y"] * 200, "day": days}
    columns |= {"spelt": [str(day) for day in days], "label": LABELS}
    pq.write_table(pa.table(columns), folder / "seed.parquet", row_group_size=100)
    found["parquet"] = (folder / "seed.parquet").read_bytes()
    lines = zip(*columns.values(), strict=True)
    text = "\n".join([",".join(columns), *(",".join(map(str, line)) for line in lines)])
    return found | {"csv": text[:4000].rpartition("\n")[0].encode()}


def main() -> None:
    """Fuzz each kind of file for so many seconds."""
    seconds = float(sys.argv[1])
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "build/fuzz")
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random()
    targets: dict[str, Callable[[Path], str]] = {"parquet": table_apart, "csv": table}
    for ending, content in seeds(folder).items():
        if sys.argv[3:] and ending not in sys.argv[3:]:
            continue
        target, counts = targets.get(ending, checkpoint), Counter[str]()
        path, end = folder / f"latest.{ending}", time.monotonic() + seconds
        while time.monotonic() < end:
            change = mutate if target is checkpoint else _bytes
            path.write_bytes(change(content, rng))
            counts[target(path)] += 1
        print(f"{ending}: {counts.total():,} files; {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
