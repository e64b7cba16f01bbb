"""Readings: sums over all rows."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.solving.readings import Wanted, drawn_bent

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
