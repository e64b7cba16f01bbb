"""Restart the scheduler of Dask during fits, and count what comes of them.

    python tools/dask_scheduler.py [ROUNDS]

Every round starts a scheduler and two workers as processes, kills the scheduler at some reading of
the rows, and starts a new scheduler at the same address, with new workers. The fit must end with an
error, and a fit after it, from the checkpoint of the first, must give the model of a fit that
nothing disturbed.
"""

import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client

from pocketsvm import BudgetedSVC
from pocketsvm.callbacks import Checkpoint
from pocketsvm.dask import DaskBudgetedSVC

N_WORKERS = 2
LONGEST = 120
SETTINGS = {"budget": 8, "random_state": 0}


def start(port: int) -> list[subprocess.Popen[bytes]]:
    """Start a scheduler and its workers."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    processes = [subprocess.Popen([*command, "--host", "127.0.0.1", "--port", str(port)], **quiet)]
    command = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--no-nanny"]
    for _ in range(N_WORKERS):
        processes.append(subprocess.Popen([*command, f"tcp://127.0.0.1:{port}"], **quiet))
    return processes


def stop(processes: list[subprocess.Popen[bytes]]) -> None:
    """Kill processes."""
    for process in processes:
        process.kill()
        process.wait()


def rows(folder: Path, wait: float = 0.0) -> tuple[da.Array, da.Array]:
    """Return rows whose blocks write a file when they are read."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 4))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)

    def read(block: np.ndarray) -> np.ndarray:
        time.sleep(wait)
        (folder / f"{time.time_ns()}").touch()
        return block

    X = da.from_array(X, chunks=(500, 4)).map_blocks(read, dtype=float, meta=np.empty((0, 4)))
    return X, da.from_array(y, chunks=500)


def disturbed(port: int, n_reads: int, folder: Path) -> tuple[str, DaskBudgetedSVC]:
    """Kill the scheduler after so many reads of blocks; return what came of the fit, and it."""
    processes = start(port)
    told: list[str] = []
    model = DaskBudgetedSVC(**SETTINGS).set_callbacks(Checkpoint(folder / "state", every=0))
    reads = folder / "reads"
    reads.mkdir()
    try:
        with Client(f"tcp://127.0.0.1:{port}", timeout=LONGEST) as client:
            client.wait_for_workers(N_WORKERS, timeout=LONGEST)

            def fit() -> None:
                try:
                    model.fit(*rows(reads, 0.02))
                    told.append("the fit ended before")
                except Exception as error:
                    told.append(f"the fit raised {type(error).__name__}")

            thread = threading.Thread(target=fit, daemon=True)
            thread.start()
            while thread.is_alive() and len(list(reads.iterdir())) < n_reads:
                time.sleep(0.005)
            stop(processes[:1])
            processes += start(port)
            thread.join(LONGEST)
    finally:
        stop(processes)
    return told[0] if told else "the fit waited for ever", model


def undisturbed(model: DaskBudgetedSVC, folder: Path) -> BudgetedSVC:
    """Fit on a cluster that nothing disturbs; return the model."""
    with Client(processes=False, n_workers=1, dashboard_address=None):
        return model.fit(*rows(folder)).to_local()


def main() -> None:
    """Restart schedulers; print what was counted."""
    n_rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "alone").mkdir()
        expected = undisturbed(DaskBudgetedSVC(**SETTINGS), folder / "alone")
        n_reads = len(list((folder / "alone").iterdir()))
        for k in range(n_rounds):
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            own = folder / str(k)
            own.mkdir()
            outcome, model = disturbed(port, 1 + k * (n_reads - 1) // n_rounds, own)
            has_state = (own / "state").exists()
            again = undisturbed(model, own / "reads")
            same = np.array_equal(again.dual_coef_, expected.dual_coef_)
            same &= np.array_equal(again.support_vectors_, expected.support_vectors_)
            counts[outcome] += 1
            counts["then from the checkpoint" if has_state else "then from the start"] += 1
            counts["the same bits" if same else "another model"] += 1
            print(f"round {k}: {outcome}; then {'the same bits' if same else 'another model'}")
    print(dict(counts))


if __name__ == "__main__":
    main()
