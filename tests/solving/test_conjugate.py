"""Preconditioned conjugate gradients against a direct solution."""

import numpy as np
from numpy.testing import assert_allclose

from pocketsvm.solving import conjugate
from pocketsvm.solving.conjugate import conjugate_gradients


def system(n=30):
    random = np.random.default_rng(0)
    factor = random.normal(size=(n, n))
    return factor @ factor.T + 0.1 * np.eye(n), random.normal(size=(1, n))


def test_the_solution_is_that_of_a_direct_method(monkeypatch):
    monkeypatch.setattr(conjugate, "LEAST_GAIN", 0.0)
    monkeypatch.setattr(conjugate, "MOST_PRODUCTS", 500)
    matrix, right = system()
    inverse = np.linalg.inv(matrix + np.eye(len(matrix)))  # nearly the inverse
    found, has_ended = conjugate_gradients(
        lambda point: point @ matrix, lambda point: point @ inverse, right, 1e-30
    )
    assert_allclose(found, np.linalg.solve(matrix, right[0])[None], rtol=1e-6, atol=1e-8)
    assert has_ended


def test_the_exact_inverse_needs_one_product():
    matrix, right = system()
    inverse, made = np.linalg.inv(matrix), []

    def product(point):
        made.append(point)
        return point @ matrix

    found, has_ended = conjugate_gradients(product, lambda point: point @ inverse, right, 0.0)
    assert has_ended
    assert len(made) <= 2
    assert_allclose(found @ matrix, right, atol=1e-8)


def test_too_few_products_are_told(monkeypatch):
    monkeypatch.setattr(conjugate, "MOST_PRODUCTS", 2)
    matrix, right = system()
    _, has_ended = conjugate_gradients(lambda point: point @ matrix, np.copy, right, 0.0)
    assert not has_ended


def test_a_matrix_that_is_not_definite_ends_the_steps():
    right = np.ones((1, 3))
    found, has_ended = conjugate_gradients(np.zeros_like, np.copy, right, 0.0)
    assert has_ended
    assert not found.any()
