"""Kernel values, and the gradient in vectors and scales, for small models and mini-batches.

With z = s x, u = s v, w_ij = k_ij sum_o slope_io beta_jo, and m_jl = k_jl sum_o beta_jo beta_lo,
the gradient is

    g_j = 2 (sum_i w_ij (z_i - u_j) + sum_l m_jl (u_l - u_j))      in u_j, s g_j in v_j,
    -2 (sum_ij w_ij z_i^2 - sum_j u_j sum_i w_ij z_i) + sum_j u_j g_j    in log s.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def kernel_values(Z: Array, u: Array) -> Array:
    """Return the kernel values of multiplied rows and vectors, in the precision of the rows."""
    exponents: Array = Z @ (2 * u.T).astype(Z.dtype)
    exponents -= np.square(Z).sum(axis=1)[:, None]
    exponents -= np.square(u).sum(axis=1).astype(Z.dtype)
    np.minimum(exponents, 0.0, out=exponents)
    return np.exp(exponents, out=exponents)


def gradients(pull: Any, total: Any, squares: Any, m: Any, u: Any) -> tuple[Any, Any]:
    """Return the gradient in u and in log s, from sums over rows; arrays of NumPy or PyTorch.

    The sums are pull_j = sum_i w_ij z_i, total_j = sum_i w_ij, and squares = sum_ij w_ij z_i^2.
    """
    in_u = 2 * (pull + m @ u - (total + m.sum(1))[:, None] * u)
    return in_u, -2 * (squares - (u * pull).sum(0)) + (u * in_u).sum(0)
