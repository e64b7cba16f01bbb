"""Training in the core: interrupts and other threads."""

import subprocess
import sys
import threading
import time

import pytest
from children import LONGEST, interrupt
from trainers import (
    make_trainer,
    noisy_data,
    run_pass,
)

LONG_RUN = """
import signal
import numpy as np
from pocketsvm import _core

signal.signal(signal.SIGINT, signal.default_int_handler)
rng = np.random.default_rng(0)

def train(n, budget, n_trainers):
    X = rng.normal(size=(n, 18)).astype(np.float32)
    codes = rng.integers(0, 2, n).astype(np.int32)
    trainers = [
        _core.Trainer(
            n_features=18, budget=budget, gamma=0.1, alpha=1 / n, maintenance="gss-precise",
            fit_intercept=True, seed=seed, dtype="float32",
        )
        for seed in range(n_trainers)
    ]
    rows = _core.Rows.dense(X)
    print("started", flush=True)
    labels = (codes, [1] * n_trainers, np.ones(2), None)
    _core.train_pass(trainers, rows, "hinge", *labels, N_THREADS)

try:
    train(400_000, 1000, 2)
    print("never interrupted", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
train(1000, 10, 1)
print("healthy", flush=True)
"""


def interrupted_run(n_threads):
    """Interrupt a pass of many minutes; return the seconds until it stops."""
    lines, seconds = interrupt(LONG_RUN.replace("N_THREADS", str(n_threads)), delay=0.3)
    assert lines == ["started", "interrupted", "started", "healthy"]
    return seconds


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_stops_a_long_pass(n_threads):
    interrupted_run(n_threads)


@pytest.mark.timing
@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_stops_a_pass_within_two_seconds(n_threads):
    assert interrupted_run(n_threads) < 2


DAEMON = """
import threading, time
import numpy as np
from pocketsvm import _core

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 18)).astype(np.float32)
rows, codes = _core.Rows.dense(X), rng.integers(0, 2, len(X)).astype(np.int8)

def train():
    trainers = [
        _core.Trainer(
            n_features=18, budget=200, gamma=0.1, alpha=1 / len(X), maintenance="merge",
            fit_intercept=True, seed=seed, dtype="float32",
        )
        for seed in range(3)
    ]
    while True:
        _core.train_pass(trainers, rows, "hinge", codes, [1] * 3, np.ones(2), None, N_THREADS)

def predict():
    coefficients = np.ones((1, 1000))
    while True:
        _core.decide(X[:1000], coefficients, np.zeros(1), 0.1, rows, N_THREADS)

threading.Thread(target=TARGET, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("target", ["train", "predict"])
def test_process_ends_while_a_daemon_thread_is_in_the_core(target, n_threads):
    script = DAEMON.replace("TARGET", target).replace("N_THREADS", str(n_threads))
    for _ in range(2):
        subprocess.run([sys.executable, "-c", script], check=True, timeout=LONGEST)


def test_other_threads_run_during_training(core_rows):
    X, y, _ = noisy_data(n=100_000, d=18, dtype="float32")
    trainer = make_trainer(X, budget=500, maintenance="gss", gamma=0.05)
    worker = threading.Thread(target=run_pass, args=(trainer, core_rows(X), y))
    ticks = 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.001)
        ticks += 1
    worker.join()
    assert ticks > 10  # a pass that kept Python's lock would leave one or two
