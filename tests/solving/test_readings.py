"""Readings: sums over all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from solver_problems import PROBLEMS, rounded_ramp

from pocketsvm import _core
from pocketsvm.solving.readings import (
    LENGTHS,
    InMemory,
    Wanted,
    _read_blocks,
    _read_blocks_along,
    drawn_bent,
    read,
    read_along,
)

CURVATURES = np.where(np.arange(1000) % 3 == 0, np.linspace(0.1, 2, 1000), 0).astype(np.float32)


def test_few_bent_rows_are_all_drawn():
    drawn, curvatures = drawn_bent(CURVATURES, Wanted(334, 0, 7))
    assert_array_equal(drawn, np.arange(0, 1000, 3))
    assert_array_equal(curvatures, CURVATURES[::3])


def test_drawn_rows_bend_and_represent_all_of_them():
    drawn, curvatures = drawn_bent(CURVATURES, Wanted(100, 0, 7))
    assert len(drawn) == 100
    assert_array_equal(drawn, np.unique(drawn))
    assert not (drawn % 3).any()
    assert_allclose(curvatures.sum(), CURVATURES.sum(), rtol=1e-6)
    assert_allclose(curvatures / CURVATURES[drawn], curvatures[0] / CURVATURES[drawn[0]], rtol=1e-6)


def test_a_row_is_drawn_by_its_position_and_the_seed():
    drawn = drawn_bent(CURVATURES, Wanted(100, 0, 7))[0]
    longer = np.concatenate([CURVATURES, np.zeros(500, np.float32)])
    assert_array_equal(drawn_bent(longer, Wanted(100, 0, 7))[0], drawn)
    assert not np.array_equal(drawn_bent(CURVATURES, Wanted(100, 0, 8))[0], drawn)
    # More rows are drawn besides, none is replaced.
    assert set(drawn) < set(drawn_bent(CURVATURES, Wanted(200, 0, 7))[0])


# --- the core's sums, against those of blocks -----------------------------------------------------


@pytest.fixture(params=PROBLEMS)
def chunk(request):
    """Vectors, rows and two points."""
    vectors, sample = PROBLEMS[request.param](n=1000)
    random = np.random.default_rng(0)
    return vectors, sample, *random.normal(size=(2, sample.loss.n_outputs, len(vectors) + 1))


def test_the_core_sums_at_a_point_as_blocks_do(chunk):
    vectors, sample, point, _ = chunk
    core, blocks = read(vectors, point, sample, 1), _read_blocks(vectors, point, sample, 1)
    assert_allclose(core.losses, blocks.losses, rtol=1e-12)
    assert_allclose(core.pull, blocks.pull, rtol=1e-12, atol=1e-10)
    assert_array_equal(core.near, blocks.near)
    assert_allclose(core.curvatures, blocks.curvatures, rtol=1e-6)
    assert 0 < np.count_nonzero(core.curvatures) < len(core.curvatures)


def test_the_core_sums_along_a_direction_as_blocks_do(chunk):
    vectors, sample, point, direction = chunk
    losses, pull = read_along(vectors, point, direction, sample, 1)
    other_losses, other_pull = _read_blocks_along(vectors, point, direction, sample, 1)
    assert losses.shape == (len(LENGTHS), sample.loss.n_outputs)
    assert_allclose(losses, other_losses, rtol=1e-12)
    assert_allclose(pull, other_pull, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("n", [1, 64, 4095, 4096, 4097, 9000])
def test_bits_do_not_depend_on_threads(n):
    vectors, sample = PROBLEMS["four classes"](n=n, n_vectors=min(n, 12))
    point = np.random.default_rng(0).normal(size=(4, len(vectors) + 1))
    one, three = (read(vectors, point, sample, n_threads) for n_threads in (1, 3))
    for name in ("losses", "pull", "near", "curvatures"):
        assert_array_equal(getattr(one, name), getattr(three, name))


def test_outputs_may_have_targets_and_factors_of_their_own():
    vectors, sample = PROBLEMS["values"](n=500)
    random = np.random.default_rng(0)
    targets, point = random.normal(size=(500, 3)), random.normal(size=(3, len(vectors) + 1))
    down, up, width = [0.1, 0.5, 1.0], [0.9, 0.5, 0.0], 0.2
    losses = _core.RowLosses.values("tube", targets, 0.05, down, up, [width] * 3)
    rows = vectors, sample.rows.gamma, sample.rows.core
    common = point[:, :-1].copy(), point[:, -1].copy(), np.empty(0), 2.0, 1
    sums, pull, near, _ = _core.read_losses(*rows, losses, sample.c, *common)
    f = _core.kernel_block(*rows, 0, 500, 1) @ point[:, :-1].T + point[:, -1]
    below, rise = rounded_ramp(targets - 0.05 - f, width)
    above, fall = rounded_ramp(f - targets - 0.05, width)
    c = sample.c[:, None]
    assert_allclose(sums[0], (c * (down * below + up * above)).sum(axis=0))
    assert_allclose(pull[:, -1], (c * (up * fall - down * rise)).sum(axis=0))
    is_near = (targets - 0.05 - f > -0.4) | ((f - targets - 0.05 > -0.4) & (np.array(up) > 0))
    assert_array_equal(near, is_near.any(axis=1))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"c": np.ones(9)}, "one entry per row, 10"),
        ({"coefficients": np.ones((2, 3))}, "must have 1 rows and 3 columns, got 2 and 3"),
        ({"coefficients": np.ones((1, 4))}, "must have 1 rows and 3 columns, got 1 and 4"),
        ({"lengths": np.ones(1)}, "must have 2 rows and 3 columns, got 1 and 3"),
        ({"intercepts": np.ones(2)}, "intercepts must have 1 entries, got 2"),
        ({"vectors": np.ones((3, 3))}, "must have 3 features"),
        ({"gamma": -1.0}, "gamma"),
    ],
)
def test_the_core_refuses_wrong_sizes(changes, message):
    good = {
        "vectors": np.ones((3, 2)),
        "gamma": 1.0,
        "rows": _core.Rows.dense(np.ones((10, 2))),
        "losses": _core.RowLosses.classes("hinge", np.zeros(10, np.int8), [1], 0.5),
        "c": np.ones(10),
        "coefficients": np.ones((1, 3)),
        "intercepts": np.ones(1),
        "lengths": np.empty(0),
        "reach": 1.0,
        "n_threads": 1,
    }
    _core.read_losses(**good)
    with pytest.raises(ValueError, match=message):
        _core.read_losses(**good | changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: _core.RowLosses.classes("hinge", np.zeros(3), [1], 0.5),
            "codes must be int8 or int32",
        ),
        (
            lambda: _core.RowLosses.classes("hinge", np.zeros(3, np.int8), [], 0.5),
            "at least 1 output",
        ),
        (lambda: _core.RowLosses.classes("hinge", np.zeros(3, np.int8), [1], 0.0), "width"),
        (
            lambda: _core.RowLosses.values("tube", np.ones((3, 1)), 0, [1], [1, 1], [1]),
            "same length",
        ),
        (
            lambda: _core.RowLosses.values("tube", np.ones((3, 2)), 0, [1] * 3, [1] * 3, [1] * 3),
            "1 column or",
        ),
    ],
)
def test_the_core_refuses_wrong_losses(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_total_is_that_of_all_weights(chunk):
    _, sample, *_ = chunk
    found = InMemory(sample, 2)
    assert_allclose(found.total_c, sample.c.sum())
    assert found.n_rows == len(sample.c)
