"""BLAS on one thread: concurrent fits, interrupts, forked processes."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from children import LONGEST
from numpy.testing import assert_array_equal
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_info, threadpool_limits

from pocketsvm import BudgetedSVC
from pocketsvm.solving import blas
from pocketsvm.solving.blas import ONE_BLAS_THREAD

# A script that hangs is ended after this many seconds; it takes a few.

SCRIPT = """
import os
import threading
import time

from sklearn.datasets import make_moons
from threadpoolctl import threadpool_info, threadpool_limits

from pocketsvm import BudgetedSVC
from pocketsvm.solving.blas import ONE_BLAS_THREAD

X, y = make_moons(200, noise=0.2, random_state=0)


def fit():
    BudgetedSVC(10, max_iter=1, polish=True, random_state=0).fit(X, y)


def blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def fork(function):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if function() else 1
        finally:
            os._exit(status)
    return child


def statuses(children):
    end = time.monotonic() + 100
    codes = []
    for child in children:
        while (found := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
            time.sleep(0.01)
        if found[0] == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        codes.append(os.waitstatus_to_exitcode(found[1]) if found[0] else "hangs")
    return codes


fit()
threadpool_limits(2, "blas")  # also on a machine with one core
before = blas_threads()
"""

FORK_DURING_FITS = """
over = threading.Event()


def fit_often():
    while not over.is_set():
        fit()


def child():
    fit()
    return blas_threads() == before


thread = threading.Thread(target=fit_often)
thread.start()
children = []
for _ in range(8):
    time.sleep(0.02)
    children.append(fork(child))
print(statuses(children))
over.set()
thread.join()
print(blas_threads() == before)
"""

FORK_WHILE_INSIDE = """
entered, over = threading.Event(), threading.Event()


def stay():
    with ONE_BLAS_THREAD:
        entered.set()
        over.wait()


def child():
    at_first = blas_threads()
    with ONE_BLAS_THREAD:
        inside = blas_threads()
    return [at_first, inside, blas_threads()] == [before, [1] * len(before), before]


thread = threading.Thread(target=stay)
thread.start()
entered.wait()
print(statuses([fork(child)]))
with ONE_BLAS_THREAD:  # forked from inside
    print(statuses([fork(lambda: blas_threads() == before)]))
over.set()
thread.join()
print(blas_threads() == before)
"""


def output(script):
    """Return the lines that a script prints; Python 3.12 warns about forks beside threads."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SCRIPT + script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def blas_threads():
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


def test_concurrent_fits_are_reproducible_and_keep_blas_settings():
    X, y = make_classification(6000, 10, n_informative=6, random_state=0)

    def fit(seed):
        return BudgetedSVC(60, random_state=seed % 2).fit(X, y).dual_coef_

    alone = [fit(0), fit(1)]
    before = [library["num_threads"] for library in threadpool_info()]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit, range(8)))
    for seed, coefficients in enumerate(together):
        assert_array_equal(coefficients, alone[seed % 2])
    assert [library["num_threads"] for library in threadpool_info()] == before


def test_processes_forked_during_fits_can_fit():
    assert output(FORK_DURING_FITS) == [str([0] * 8), "True"]


def test_a_forked_process_starts_with_the_blas_threads_from_before():
    assert output(FORK_WHILE_INSIDE) == ["[0]", "[0]", "True"]


@pytest.mark.parametrize("is_set", [False, True])
@pytest.mark.parametrize("n_calls", [1, 2, 3, 4])
def test_an_interrupt_while_threads_are_set_leaves_them_as_before(n_calls, is_set, monkeypatch):
    calls, set_threads = [], blas._set_threads

    def interrupted(library, n_threads):
        calls.append(n_threads)
        if len(calls) != n_calls or is_set:
            set_threads(library, n_threads)
        if len(calls) == n_calls:
            raise KeyboardInterrupt

    def use_twice():
        for _ in range(2):  # four settings at least, also with a single library
            with ONE_BLAS_THREAD:
                assert blas_threads() == [1] * len(before)

    with threadpool_limits(2, "blas"):  # also on a machine with one core
        before = blas_threads()
        with monkeypatch.context() as patch:
            patch.setattr(blas, "_set_threads", interrupted)
            with pytest.raises(KeyboardInterrupt):
                use_twice()
        assert blas_threads() == before
        use_twice()
        assert blas_threads() == before


def test_a_thread_that_ends_without_leaving_does_not_count():
    with threadpool_limits(2, "blas"):  # also on a machine with one core
        before = blas_threads()
        thread = threading.Thread(target=ONE_BLAS_THREAD.__enter__)
        thread.start()
        thread.join()
        with ONE_BLAS_THREAD:
            assert blas_threads() == [1] * len(before)
        assert blas_threads() == before
