"""The thread pool: calls inside its context give the same bits, whatever happens around them."""

import os
import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from pocketsvm import _core

KERNEL = np.random.default_rng(0).random((4000, 30))
SLOPES = np.random.default_rng(1).random((4000, 2))


def pull(n_threads=3):
    return _core.kernel_pull(KERNEL, SLOPES, n_threads)


@pytest.mark.parametrize("n_threads", [0, 1, 2, 5])
def test_calls_in_a_pool_give_the_same_bits(n_threads):
    expected = pull(1)
    with _core.ThreadPool(n_threads):
        for _ in range(20):
            assert_array_equal(pull(3), expected)
    assert_array_equal(pull(3), expected)


def test_a_pool_inside_another_one_uses_it():
    expected = pull(1)
    with _core.ThreadPool(3):
        with _core.ThreadPool(5):
            assert_array_equal(pull(4), expected)
        assert_array_equal(pull(4), expected)


def test_an_error_leaves_the_pool():
    context = _core.ThreadPool(3)
    with pytest.raises(ValueError, match="slopes must have one row per row"), context:
        _core.kernel_pull(KERNEL, SLOPES[1:], 3)
    with context:  # again
        assert_array_equal(pull(), pull(1))


def test_every_thread_has_its_own_pool():
    expected, found = pull(1), []

    def work():
        with _core.ThreadPool(2):
            found.extend(pull(2) for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    for each in found:
        assert_array_equal(each, expected)


def test_another_thread_cannot_leave_the_pool():
    context, errors = _core.ThreadPool(3), []

    def leave():
        try:
            context.__exit__(None, None, None)
        except RuntimeError as error:
            errors.append(str(error))

    with context:
        pull()
        other = threading.Thread(target=leave)
        other.start()
        other.join()
        assert_array_equal(pull(), pull(1))
    assert errors == ["a thread must leave the ThreadPool that it entered itself"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_inside_the_context_starts_its_own_threads():
    expected = pull(1)
    with _core.ThreadPool(3):
        pull()
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(pull(), expected) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert_array_equal(pull(), expected)
