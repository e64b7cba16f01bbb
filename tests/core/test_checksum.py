"""Checksums of arrays in the core."""

import numpy as np
import pytest

from pocketsvm import _core

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (3,), (7, 5), (2, 3, 4)])
def test_equal_bytes_have_equal_checksums(dtype, shape):
    X = (100 * np.random.default_rng(0).random(shape)).astype(dtype)
    found = _core.checksum(X)
    assert 0 <= found < 2**64
    copy = X.copy()
    copy.flags.writeable = False
    assert _core.checksum(copy) == found
    assert _core.checksum(np.frombuffer(X.tobytes(), dtype=np.uint8)) == found


def test_checksums_do_not_depend_on_the_threads():
    X = np.random.default_rng(0).random((300_001, 17), dtype=np.float32)
    assert len({_core.checksum(X, n_threads) for n_threads in (1, 2, 3, 8)}) == 1


def test_every_bit_counts():
    rng = np.random.default_rng(0)
    for n_bytes in (1, 7, 8, 31, 32, 33, 100, 300_000):
        X = rng.integers(0, 256, n_bytes, dtype=np.uint8)
        found = {_core.checksum(X)}
        changes = [(k, bit) for k in {0, n_bytes // 2, n_bytes - 1} for bit in range(8)]
        for k, bit in changes:
            X[k] ^= 1 << bit
            found.add(_core.checksum(X))
            X[k] ^= 1 << bit
        assert len(found) == 1 + len(changes)


def test_the_length_counts():
    assert len({_core.checksum(np.zeros(n, dtype=np.uint8)) for n in range(1000)}) == 1000


@pytest.mark.parametrize("dtype", ["int8", "int64", "float32", "float64"])
def test_the_order_counts(dtype):
    """Labels -1 and 1 as floats differ in one bit alone."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 100_000).astype(dtype)
    found = {_core.checksum(rng.permutation(y)) for _ in range(200)}
    for _ in range(200):  # two rows change places
        i, j = rng.choice(np.flatnonzero(y > 0)), rng.choice(np.flatnonzero(y < 0))
        changed = y.copy()
        changed[[i, j]] = y[[j, i]]
        found.add(_core.checksum(changed))
    assert len(found) == 400
    rows = rng.random((200_000, 2))
    assert _core.checksum(rows) != _core.checksum(rows[::-1].copy())
    assert _core.checksum(rows) != _core.checksum(np.roll(rows, 1 << 14, axis=0))


def test_arrays_that_are_not_contiguous_are_refused():
    X = np.zeros((10, 10))
    for wrong in (X[:, :5], X[::2], np.asfortranarray(np.ones((2, 3)))):
        with pytest.raises(TypeError):
            _core.checksum(wrong)
    with pytest.raises(TypeError):
        _core.checksum([1.0, 2.0])
