"""Dask's workers: they die, differ, hold few rows, and survive bad input."""

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from children import LONGEST
from dask_rows import SETTINGS, Batches, D, N, arrays, frames, problem
from distributed import Client, get_worker
from models import assert_same_model

from pocketsvm import BudgetedSVC
from pocketsvm.callbacks import Checkpoint
from pocketsvm.dask import DaskBudgetedSVC, partitions
from pocketsvm.estimators.checkpoint_file import read_checkpoint
from pocketsvm.rows.chunk import Needs

# Dask leaves some sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]


def dies(block, folder, k):
    """Kill the worker that reads a block for the k-th time, once."""
    for number in range(k + 1):
        try:
            with open(os.path.join(folder, f"{number}"), "x"):
                pass
        except FileExistsError:
            continue
        if number == k:
            os.kill(os.getpid(), signal.SIGKILL)
        break
    return block


@pytest.mark.parametrize("reading", [0, 3])
def test_one_of_three_workers_that_dies_does_not_change_a_bit(client, tmp_path, reading):
    client.wait_for_workers(3, timeout=LONGEST)
    assert len(client.nthreads()) == 3
    X, y = arrays(*problem(), chunks=500)
    expected = DaskBudgetedSVC(**SETTINGS).fit(X, y)
    fatal = X.blocks[3].map_blocks(dies, str(tmp_path), reading, dtype=X.dtype, meta=X._meta)
    rows = da.concatenate([X.blocks[:3], fatal, X.blocks[4:]])
    found = DaskBudgetedSVC(**SETTINGS).fit(rows, y)
    assert (tmp_path / f"{reading}").exists()
    assert_same_model(found.to_local(), expected.to_local())
    client.wait_for_workers(3, timeout=LONGEST)


def test_a_fit_that_was_interrupted_goes_on(client, tmp_path):
    X, y = arrays(*problem(), chunks=500)
    expected = DaskBudgetedSVC(**SETTINGS).fit(X, y)
    fatal = X.blocks[3].map_blocks(fails, str(tmp_path), 3, dtype=X.dtype, meta=X._meta)
    rows = da.concatenate([X.blocks[:3], fatal, X.blocks[4:]])
    path = tmp_path / "state"
    found = DaskBudgetedSVC(**SETTINGS).set_callbacks(Checkpoint(path, every=0))
    with pytest.raises(RuntimeError, match="read for the fourth time"):
        found.fit(rows, y)
    assert len(read_checkpoint(path)[1].sums) == 1
    found.fit(X, y)
    assert not path.exists()
    assert_same_model(found.to_local(), expected.to_local())


def fails(block, folder, k):
    """Fail when a block is read for the k-th time or later."""
    number = len(os.listdir(folder))
    with open(os.path.join(folder, f"reading-{number}"), "x"):
        pass
    if sum(name.startswith("reading") for name in os.listdir(folder)) > k:
        raise RuntimeError("read for the fourth time")
    return block


def test_other_versions_on_workers_are_refused(client, monkeypatch):
    monkeypatch.setattr(partitions, "version", lambda name: "0.0.1")
    with pytest.raises(RuntimeError, match=r"The worker tcp.* has pocketsvm .*client has 0\.0\.1"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(*problem()))


def test_rows_do_not_travel_with_the_tasks(client):
    """The graph of a reading is as large for many partitions as for few, but for the keys."""
    X, y = problem()
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(X, y, size=1000))
    sizes = []
    for n in (10, 100):
        lazy = da.random.default_rng(0).normal(size=(1000 * n, D), chunks=(1000, D))
        blocks = partitions.blocks_of(lazy, lazy[:, 0] > 0, None)
        rows = partitions.Partitions(client, blocks, Needs(), [0] * n)
        payload = np.zeros(10_000) + on_disk.gamma_
        tree = rows.tree(payload)
        sizes.append(sum(len(pickle.dumps(task)) for task in dict(tree.__dask_graph__()).values()))
    assert sizes[1] < sizes[0] + 100 * 10_000


def load(block, folder):
    """Take note of how many loaded blocks the worker holds."""
    held = sum("load" in str(key) for key in get_worker().data)
    Path(folder, uuid4().hex).write_text(str(held))
    return block


def test_partitions_do_not_pile_up_in_memory(client, tmp_path):
    """A worker that reads ahead holds a few more partitions than the one that it works on."""
    X, y = arrays(*problem(), chunks=50)
    X = X.map_blocks(load, str(tmp_path), dtype=X.dtype, meta=X._meta)
    X += 0 * client.persist(X[:1].sum())  # tasks that depend on others are not joined
    DaskBudgetedSVC(**SETTINGS).fit(X, y)
    held = [int(path.read_text()) for path in tmp_path.iterdir()]
    assert len(held) >= 4 * X.npartitions
    assert max(held) <= 6  # of 60; it depends on the machine


def test_rows_on_the_cluster_and_shared_tasks_are_used_as_they_are(client):
    """A partition is loaded by the task that reads it, unless its tasks are not its own."""

    def packed(X, y):
        blocks = partitions.blocks_of(X, y, None)
        rows = partitions.Partitions(client, blocks, Needs(), [0, 1, 2])
        return [isinstance(block, partitions.OwnTasks) for block in rows.packed]

    X, y = arrays(*problem())
    expected = DaskBudgetedSVC(**SETTINGS).fit(X, y)
    assert packed(X, y) == [True] * 3
    kept = client.persist([X, y])
    assert packed(*kept) == [False] * 3
    assert_same_model(DaskBudgetedSVC(**SETTINGS).fit(*kept).to_local(), expected.to_local())
    shared = X + X.sum() * 0
    assert packed(shared, y) == [False] * 3
    assert_same_model(DaskBudgetedSVC(**SETTINGS).fit(shared, y).to_local(), expected.to_local())


class OnDemand:
    """A lazy value that makes its graph anew whenever it is asked for it."""

    def __init__(self, part):
        self.part, self.key = part, part.key

    @property
    def dask(self):
        return dict(self.part.dask)


def test_graphs_that_are_made_on_demand_are_not_mixed_up(client):
    """A graph that has been collected may leave its identity to another one."""
    X = da.concatenate([da.full((10, 2), k, chunks=10) for k in range(20)])
    blocks = [
        (OnDemand(part), OnDemand(part), None) for part, _, _ in partitions.blocks_of(X, X, None)
    ]
    rows = partitions.Partitions(client, blocks, Needs(), [0] * 20)
    for k, block in enumerate(rows.packed):
        assert (block.compute()[0] == k).all()


@pytest.fixture
def separate(tmp_path):
    """The address of a scheduler with two workers, as the guide starts them, and the workers."""
    address = tmp_path / "scheduler.json"
    common = ["--scheduler-file", str(address), "--no-dashboard"]
    worker = ["worker", *common, "--nthreads", "1", "--no-nanny"]
    scheduler = ["scheduler", *common, "--host", "127.0.0.1", "--port", "0"]
    started = [
        subprocess.Popen(
            [Path(sys.executable).with_name("dask"), *command],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for command in (scheduler, worker, worker)
    ]
    try:
        begin = time.monotonic()
        while not address.exists() and time.monotonic() - begin < LONGEST:
            time.sleep(0.1)
        yield address, started[1:]
    finally:
        # A worker that is asked to end says goodbye to its scheduler, and waits if this has ended.
        for process in started:
            process.kill()
        for process in started:
            process.wait(timeout=LONGEST)


def test_neither_the_cluster_nor_its_number_of_workers_changes_a_bit(client, separate):
    """Three workers of this process, then two and one that were started by dask's commands."""
    rows = arrays(*problem(), chunks=100)
    three = DaskBudgetedSVC(**SETTINGS, client=client).fit(*rows)
    address, workers = separate
    with Client(scheduler_file=address) as other:
        other.wait_for_workers(2, timeout=LONGEST)
        two = DaskBudgetedSVC(**SETTINGS).fit(*rows)  # the current client
        assert_same_model(two.to_local(), three.to_local())
        workers[0].kill()
        while len(other.nthreads()) > 1:
            time.sleep(0.05)
        one = DaskBudgetedSVC(**SETTINGS, client=other).fit(*rows)
        assert_same_model(one.to_local(), three.to_local())
        assert one.score(*rows) == three.score(*rows) > 0.7


def test_workers_need_neither_arrays_nor_dataframes_of_dask():
    """They take memory: dask.array imports cupy where it is installed, dask.dataframe pyarrow."""
    program = "import pocketsvm.dask, sys; print({'dask.array', 'dask.dataframe'} & {*sys.modules})"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LONGEST
    )
    assert found.stdout == "set()\n", found.stderr


def test_arrays_need_no_dataframes():
    """Workers that read arrays do not import dask.dataframe, which takes memory."""
    program = """
import sys
import dask.array as da
import numpy as np
from distributed import Client
from pocketsvm.dask import DaskBudgetedSVC

with Client(processes=False, n_workers=1, dashboard_address=None):
    X = da.random.default_rng(0).normal(size=(3000, 2), chunks=(1000, 2))
    DaskBudgetedSVC(budget=4, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
print("dask.dataframe" in sys.modules)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=LONGEST
    )
    assert found.stdout == "False\n", found.stderr


def test_bad_input_is_named_and_workers_stay_alive(client):
    X, y = problem()
    workers = set(client.nthreads())
    wrong = X.copy()
    wrong[2345, 1] = np.nan
    with pytest.raises(ValueError, match=r"partition 2, row 346, column 2: .*missing"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(wrong, y))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(X), *arrays(y[:-1]))
    frame, series = frames(X, y)
    with pytest.raises(ValueError, match=r"X has 3 partitions and y 2"):
        DaskBudgetedSVC(**SETTINGS).fit(frame, series.repartition(npartitions=2))
    with pytest.raises(ValueError, match="row 1: a weight"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, -np.ones(N)))
    with pytest.raises(ValueError, match="no rows of positive weight"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, np.zeros(N)))
    with pytest.raises(TypeError, match="dask array or dataframe, got ndarray"):
        DaskBudgetedSVC(**SETTINGS).fit(X, y)
    with pytest.raises(ValueError, match="budget"):
        DaskBudgetedSVC(budget=0).fit(*arrays(X, y))
    with pytest.raises(ValueError, match="polish=False"):
        DaskBudgetedSVC(**SETTINGS, polish=False).fit(*arrays(X, y))
    assert set(client.nthreads()) == workers


def test_bad_files_are_named_and_workers_stay_alive(client, tmp_path):
    X, y = problem()
    workers = set(client.nthreads())

    def write(k, frame):
        frame.to_parquet(tmp_path / f"part-{k}.parquet")

    def fit():
        rows = dd.read_parquet(str(tmp_path / "*.parquet"))
        return DaskBudgetedSVC(**SETTINGS).fit(rows[list("abcd")], rows["y"])

    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    for k in range(4):
        write(k, frame[750 * k : 750 * (k + 1)])
    fit()
    some = frame[1500:2250]
    write(2, some.assign(a=some["a"].where(some["a"].index != 2000)))
    with pytest.raises(ValueError, match=r"partition 2, row 501, column 1: .*missing"):
        fit()
    write(2, some.drop(columns="c"))
    with pytest.raises(KeyError, match=r"(?s)'c'.*not in index.*Partition 2 could not be"):
        fit()
    write(2, some.assign(a="word"))
    with pytest.raises(ValueError, match=r"partition 2: .*'word'"):
        fit()
    write(2, some)
    rows = dd.read_parquet(str(tmp_path / "*.parquet"))
    (tmp_path / "part-2.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"(?s)part-2\.parquet.*Partition 2 could not"):
        DaskBudgetedSVC(**SETTINGS).fit(rows[list("abcd")], rows["y"])
    lazy = da.from_array(X, chunks=(1000, D))
    words = da.from_array(np.full((1000, D), "word"), chunks=(1000, D))
    mixed = da.concatenate([lazy[:2000], words.astype(object)])
    with pytest.raises(ValueError, match=r"partition 2: .*word"):
        DaskBudgetedSVC(**SETTINGS).fit(mixed, *arrays(y))
    assert set(client.nthreads()) == workers
