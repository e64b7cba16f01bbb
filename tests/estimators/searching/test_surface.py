"""Values that are smoothed over neighbours."""

import numpy as np
from numpy.testing import assert_allclose

from pocketsvm.estimators.searching.surface import smoothed

GRID = np.array([(i, j) for i in np.arange(0, 3, 0.5) for j in np.arange(0, 3, 0.5)])


def test_a_plane_stays_as_it_is():
    plane = 2 + 3 * GRID[:, 0] - GRID[:, 1]
    assert_allclose(smoothed(GRID, plane), plane, atol=1e-12)


def test_noise_becomes_smaller():
    noise = np.random.default_rng(0).normal(size=len(GRID))
    assert smoothed(GRID, noise).std() < 0.8 * noise.std()


def test_points_without_neighbours_keep_their_value():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    assert_allclose(smoothed(points, np.array([1.0, 2.0, 3.0])), [1, 2, 3])


def test_points_on_a_line_are_smoothed_along_it():
    line = np.column_stack([np.arange(5) / 2, np.zeros(5)])
    values = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    found = smoothed(line, values)
    assert 0.3 < found[2] < 1
    assert found[1] > 0
    assert_allclose(found[1], found[3])


def test_no_points_give_no_values():
    assert len(smoothed(np.empty((0, 2)), np.empty(0))) == 0
