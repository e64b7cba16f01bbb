"""The state of the passes: how its coefficients become those of a model."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from pocketsvm.profile import Profile
from pocketsvm.training.state import PassState, VectorSet


def state(vectors, coefficients, bias, weight):
    return PassState(
        vectors=np.array(vectors, dtype=np.float32),
        coefficients=np.array(coefficients, dtype=float),
        births=np.arange(len(coefficients)),
        bias=bias,
        steps=100,
        weight=weight,
        generator=np.zeros(4, dtype=np.uint64),
    )


def test_coefficients_are_in_units_of_one_over_alpha_times_weight():
    states = (state([[1, 2], [3, 4]], [4, -2], 1.0, 10), state([[5, 6]], [3], -0.5, 20))
    found = VectorSet(states, 0.5, 0.01, 7.0, 1, Profile())
    assert_array_equal(found.vectors, [[1, 2], [3, 4], [5, 6]])
    # A problem uses its own vectors only.
    assert_allclose(found.dual_coef, [[40, -20, 0], [0, 0, 15]])
    assert_allclose(found.biases, [10, -2.5])


def test_problem_without_vectors():
    found = VectorSet((state(np.empty((0, 2)), [], 0.0, 10),), 0.5, 0.01, 0.0, 1, Profile())
    assert found.vectors.shape == (0, 2)
    assert found.dual_coef.shape == (1, 0)
    assert_array_equal(found.biases, [0.0])
