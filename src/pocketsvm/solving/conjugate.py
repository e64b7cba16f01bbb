"""Preconditioned conjugate gradients: a linear system of which only products are known."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# They end where a step gains less than this share of all steps, or after so many. It only saves
# time: steps of Newton's method end by the tolerance.
LEAST_GAIN, MOST_PRODUCTS = 0.05, 20


def conjugate_gradients(
    product: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    right: Array,
    negligible: float,
) -> tuple[Array, bool]:
    """Return nearly the solution of a positive definite system, and whether steps were enough.

    Parameters
    ----------
    product : callable
        Multiplies an array (1, n) by the matrix.

    precondition : callable
        Multiplies it by nearly the inverse.

    right : ndarray of shape (1, n)
        The right-hand side.

    negligible : float
        The solution need not be precise if steps gain no more than that together.
    """
    found, residual = np.zeros(right.shape), right
    along, last, gained = np.zeros(right.shape), np.inf, 0.0
    for _ in range(MOST_PRODUCTS):
        solved = precondition(residual)
        size = float(row_products(residual, solved)[0])
        if size <= 0:
            return found, True
        along = solved + size / last * along
        image = product(along)
        curvature = float(row_products(along, image)[0])
        if not curvature > 0:
            return found, True
        length = size / curvature
        found += length * along
        residual = residual - length * image
        last, gained = size, gained + length * size
        if length * size <= LEAST_GAIN * gained or gained <= negligible:
            return found, True
    return found, False


def row_products(left: Array, right: Array) -> Array:
    """Return the sum of products in each row."""
    products: Array = np.einsum("ij,ij->i", left, right)
    return products
