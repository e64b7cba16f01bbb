"""Dask: the same model on any number of workers, also if one of them dies."""

import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from uuid import uuid4

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from children import LONGEST
from distributed import Client, LocalCluster, get_worker
from distributed.utils import get_mp_context
from models import assert_same_model
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pocketsvm import BudgetedSVC, BudgetedSVR, load_model
from pocketsvm.callbacks import Checkpoint
from pocketsvm.dask import DaskBudgetedSVC, DaskBudgetedSVR, partitions, passes
from pocketsvm.data.drawing import Plan
from pocketsvm.data.partitions import Draw
from pocketsvm.data.sampling import draw
from pocketsvm.estimators.checkpoint_file import read_checkpoint

# Dask leaves some sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("default::ResourceWarning"),
    pytest.mark.filterwarnings("default::pytest.PytestUnraisableExceptionWarning"),
]
N, D = 3000, 4
SETTINGS = {"budget": 4, "random_state": 0}


def problem():
    X = np.random.default_rng(0).normal(size=(N, D))
    return X, (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)


class Batches:
    def __init__(self, *arrays, size):
        self.arrays, self.size = arrays, size

    def batches(self):
        for begin in range(0, N, self.size):
            yield tuple(array[begin : begin + self.size] for array in self.arrays)


@pytest.fixture(scope="module")
def cluster():
    """Three workers, which are processes; a process that has imported all packages forks them."""
    config = {
        "distributed.comm.timeouts.connect": "60s",
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(config):
        context = get_mp_context()
        context.set_forkserver_preload(["dask.dataframe", "distributed", passes.__name__])
        with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster:
            yield cluster


@pytest.fixture
def client(cluster):
    with Client(cluster) as client:
        yield client


def arrays(*values, chunks=1000):
    return [da.from_array(each, chunks=(chunks, *each.shape[1:])) for each in values]


def frames(X, y, n=3):
    frame = pd.DataFrame(X, columns=list("abcd"))
    return dd.from_pandas(frame, npartitions=n), dd.from_pandas(pd.Series(y), npartitions=n)


def test_all_rows_in_the_sample_give_the_bits_of_a_fit_in_memory(client):
    X, y = problem()
    found = DaskBudgetedSVC(budget=20, random_state=0).fit(*arrays(X, y, chunks=700))
    local = found.to_local()
    assert type(local) is BudgetedSVC
    assert_same_model(local, BudgetedSVC(budget=20, random_state=0).fit(X, y))


def test_the_model_is_that_of_rows_on_disk(client):
    X, y = problem()
    weight = np.random.default_rng(1).uniform(0, 2, N).round(1)
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(X, y, weight, size=1000))
    found = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, weight))
    assert_same_model(found.to_local(), on_disk)
    other = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, weight, chunks=170))
    assert_array_equal(other._state.vectors, on_disk._state.vectors)
    assert_allclose(other.dual_coef_, on_disk.dual_coef_, rtol=1e-6)


def test_many_classes_and_regressions(client):
    X, y = problem()
    y = np.array(["a", "b", "c"])[y + (X[:, 3] > 1)]
    found = DaskBudgetedSVC(budget=6, random_state=0).fit(*arrays(X, y))
    on_disk = BudgetedSVC(budget=6, random_state=0).fit(Batches(X, y, size=1000))
    assert_same_model(found.to_local(), on_disk)
    lazy = da.from_array(X, chunks=(400, 2))  # columns are cut, too
    assert found.decision_function(lazy).chunks == ((400,) * 7 + (200,), (3,))
    assert_array_equal(found.decision_function(lazy).compute(), on_disk.decision_function(X))
    assert_array_equal(found.predict(lazy).compute(), on_disk.predict(X))
    targets = X[:, 0] + X[:, 1] ** 2
    regression = DaskBudgetedSVR(C=10, **SETTINGS).fit(*arrays(X, targets))
    local = BudgetedSVR(C=10, **SETTINGS).fit(Batches(X, targets, size=1000))
    assert_same_model(regression.to_local(), local)
    weight = np.arange(N) % 3 * 1.0
    rows = arrays(X, targets, weight, chunks=450)
    assert_allclose(regression.score(*rows), local.score(X, targets, weight), rtol=1e-9)


def test_dataframes_and_unknown_chunk_sizes(client):
    X, y = problem()
    frame, series = frames(X, y)
    found = DaskBudgetedSVC(**SETTINGS).fit(frame, series)
    assert found.feature_names_in_.tolist() == list("abcd")
    unknown = DaskBudgetedSVC(**SETTINGS).fit(frame.to_dask_array(), series.to_dask_array())
    assert np.isnan(frame.to_dask_array().chunks[0]).all()
    assert_array_equal(unknown.dual_coef_, found.dual_coef_)
    predicted = found.predict(frame)
    assert isinstance(predicted, dd.Series)
    expected = found.to_local().predict(pd.DataFrame(X, columns=list("abcd")))
    assert_array_equal(predicted.compute(), expected)
    assert_allclose(found.score(frame, series), (expected == y).mean())
    with pytest.raises(ValueError, match="feature names"):
        found.predict(frame[list("dcba")])


def test_columns_of_one_frame_have_its_partitions(client, tmp_path):
    """Dask would join the small partitions of y, but not those of X."""
    X, y = problem()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    frame = frame.assign(**{f"more{k}": frame["a"] for k in range(20)})
    for k in range(8):
        frame[375 * k : 375 * (k + 1)].to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(tmp_path)
    found = DaskBudgetedSVC(**SETTINGS).fit(rows[list("abcd")], rows["y"])
    expected = DaskBudgetedSVC(**SETTINGS).fit(*arrays(X, y, chunks=375))
    assert_same_model(found.to_local(), expected.to_local())


@pytest.mark.parametrize("order", ["label", "feature"])
def test_sorted_partitions_give_the_vectors_of_rows_in_memory(client, order):
    X, y = problem()
    at = np.argsort(y if order == "label" else X[:, 0], kind="stable")
    parameters = SETTINGS | {"gamma": 0.25}  # "scale" would differ by the rounding of float32
    found = DaskBudgetedSVC(**parameters).fit(*arrays(X[at], y[at], chunks=300))
    in_memory = BudgetedSVC(**parameters).fit(X[at], y[at])
    assert_array_equal(found._state.vectors, in_memory._state.vectors)
    assert_allclose(found.profile_.objective_after, in_memory.profile_.objective_after, rtol=0.05)


def test_partitions_may_be_empty_small_or_of_another_dtype(client):
    X, y = problem()
    cuts = [0, 0, 1, 1500, 1500, 2400, N, N]
    parts = [slice(*cut) for cut in pairwise(cuts)]
    blocks = [da.from_array(X[at], chunks=(-1, -1)) for at in parts]
    blocks[2] = blocks[2].astype(np.float32)
    labels = [da.from_array(y[at].astype(np.int8), chunks=-1) for at in parts]
    labels[3] = labels[3].astype(np.int64)
    found = DaskBudgetedSVC(**SETTINGS).fit(da.concatenate(blocks), da.concatenate(labels))
    mixed = X.copy()
    mixed[1:1500] = mixed[1:1500].astype(np.float32)
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(mixed, y, size=600))
    assert_array_equal(found._state.vectors, on_disk._state.vectors)
    empty = found.predict(da.concatenate(blocks)).compute()
    assert_array_equal(empty, found.to_local().predict(mixed))


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


def test_other_versions_on_workers_are_refused(client, monkeypatch):
    monkeypatch.setattr(partitions, "version", lambda name: "0.0.1")
    with pytest.raises(RuntimeError, match=r"The worker tcp.* has pocketsvm .*client has 0\.0\.1"):
        DaskBudgetedSVC(**SETTINGS).fit(*arrays(*problem()))


def test_parameters_clones_pickles_and_files(client, tmp_path):
    X, y = problem()
    found = DaskBudgetedSVC(**SETTINGS, client=client).fit(*arrays(X, y))
    assert found.get_params() == BudgetedSVC(**SETTINGS).get_params() | {"client": client}
    assert clone(found).client is client
    assert not hasattr(clone(found), "classes_")
    twin = pickle.loads(pickle.dumps(found))
    assert twin.client is None
    assert_array_equal(twin.predict(X), found.to_local().predict(X))  # rows in memory: at once
    found.save(tmp_path / "model.psvm")
    loaded = load_model(tmp_path / "model.psvm")
    assert type(loaded) is BudgetedSVC
    assert_array_equal(loaded.predict(X), twin.predict(X))


@pytest.mark.parametrize("heavy", [0, 40])
def test_the_sample_is_that_of_rows_in_memory(client, heavy, monkeypatch):
    """Rows with most of the weight are drawn for sure, so that a guess finds too few others."""
    X, y = problem()
    weight = np.random.default_rng(1).uniform(1, 2, N)
    weight[:heavy] = 1e6
    drawn = []
    monkeypatch.setattr(partitions, "Draw", lambda *given: drawn.append(given) or Draw(*given))
    blocks = partitions.blocks_of(*arrays(X, y, weight, chunks=700))
    rows = partitions.Partitions(client, blocks, partitions.Rules(False), list(range(5)))
    found, *_ = partitions.survey_of(rows, Plan(1000, 100, 7))
    numbers, factors = draw(y, weight, 1000, 100, 7)
    assert_array_equal(found.numbers, numbers)
    assert_allclose(found.factors, factors, rtol=1e-6)
    assert_array_equal(found.sample.X, X[numbers])
    assert len(drawn) == (2 if heavy else 1)


def test_partial_fit_takes_one_partition_after_the_other(client):
    X, y = problem()
    weight = np.arange(N) % 3 * 1.0
    cuts = [0, 700, 1400, 2100, 2800, N]
    stream = {"alpha": 1e-3, "reservoir": 500}
    local = BudgetedSVC(**SETTINGS, **stream)
    regression = BudgetedSVR(**SETTINGS, **stream)
    for begin, end in pairwise(cuts):
        at = slice(begin, end)
        local.partial_fit(X[at], y[at], classes=[0, 1], sample_weight=weight[at])
        regression.partial_fit(X[at], X[at, 0])
    lazy = arrays(X, y, weight, chunks=700)
    found = DaskBudgetedSVC(**SETTINGS, **stream)
    found.partial_fit(lazy[0], lazy[1], classes=[0, 1], sample_weight=lazy[2])
    assert_same_model(found.to_local(), local)
    assert_same_model(found.polish_stream().to_local(), local.polish_stream())
    other = DaskBudgetedSVR(**SETTINGS, **stream).partial_fit(lazy[0], lazy[0][:, 0])
    assert_same_model(other.to_local(), regression)
    before = dict(vars(found))
    wrong = y.copy()
    wrong[2500] = 7
    with pytest.raises(ValueError, match="label 7"):
        found.partial_fit(lazy[0], *arrays(wrong, chunks=700))
    assert vars(found) == before
    rows = DaskBudgetedSVC(**SETTINGS, **stream).partial_fit(X[:700], y[:700], classes=[0, 1])
    assert rows.n_features_in_ == D


def test_callbacks_see_each_pass_and_may_stop_the_fit(client, capsys):
    found = DaskBudgetedSVC(budget=4, random_state=0, verbose=1).fit(*arrays(*problem()))
    said = capsys.readouterr().out
    assert said.count("] pass ") == found.n_iter_
    assert "polish" in said


def test_rows_do_not_travel_with_the_tasks(client):
    """The graph of a reading is as large for many partitions as for few, but for the keys."""
    X, y = problem()
    on_disk = BudgetedSVC(**SETTINGS).fit(Batches(X, y, size=1000))
    sizes = []
    for n in (10, 100):
        lazy = da.random.default_rng(0).normal(size=(1000 * n, D), chunks=(1000, D))
        rules = partitions.Rules(regression=False)
        blocks = partitions.blocks_of(lazy, lazy[:, 0] > 0, None)
        rows = partitions.Partitions(client, blocks, rules, [0] * n)
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
    DaskBudgetedSVC(**SETTINGS).fit(X, y)
    held = [int(path.read_text()) for path in tmp_path.iterdir()]
    assert len(held) >= 4 * X.npartitions
    assert max(held) <= 6  # of 60; it depends on the machine


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


def test_probabilities_and_quantiles_are_lazy(client):
    X, y = problem()
    lazy = da.from_array(X, chunks=(700, D))
    clf = DaskBudgetedSVC(loss="log_loss", **SETTINGS).fit(lazy, da.from_array(y, chunks=700))
    assert_same_model(clf, BudgetedSVC(loss="log_loss", **SETTINGS).fit(Batches(X, y, size=700)))
    found = clf.predict_proba(lazy)
    assert found.chunks == (lazy.chunks[0], (2,))
    assert_array_equal(found.compute(), clf.to_local().predict_proba(X))
    assert_array_equal(clf.predict_log_proba(lazy).compute(), clf.predict_log_proba(X))
    assert not hasattr(DaskBudgetedSVC(), "predict_proba")
    setting = SETTINGS | {"loss": "quantile", "quantile": [0.1, 0.9]}
    target = X[:, 0] + X[:, 1] ** 2
    svr = DaskBudgetedSVR(**setting).fit(lazy, da.from_array(target, chunks=700))
    local = BudgetedSVR(**setting).fit(Batches(X, target, size=700))
    assert_array_equal(svr.dual_coef_, local.dual_coef_)
    assert_array_equal(svr.predict(lazy).compute(), svr.to_local().predict(X))
    with pytest.raises(ValueError, match="score of quantiles needs all rows"):
        svr.score(lazy, da.from_array(target, chunks=700))


def test_predictions_before_a_fit():
    X = da.zeros((10, 2), chunks=5)
    for method in ("predict", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(DaskBudgetedSVC(), method)(X)
    with pytest.raises(NotFittedError):
        DaskBudgetedSVR().score(X, X[:, 0])
