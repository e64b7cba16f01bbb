"""The merging problem: golden section search, and the table that replaces it.

Two support vectors of equal label are merged into ``z = h x_i + (1 - h) x_j``. Let ``m`` be the
share of ``x_i`` in the sum of both coefficients, ``a_i / (a_i + a_j)``, and ``kappa`` the kernel
value of the two vectors. The best ``h`` maximizes

    s(h) = m kappa^((1-h)^2) + (1-m) kappa^(h^2)

and the merge costs ``wd = m^2 + (1-m)^2 - s(h)^2 + 2 m (1-m) kappa``, the squared weight
degradation in units of the squared sum of the coefficients.
"""

from collections.abc import Sequence
from functools import lru_cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from .plots.merge_table import MergeTableDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The largest table takes seconds to build and hundreds of megabytes.
SMALLEST_TABLE, LARGEST_TABLE = 2, 4096
# Native tables are kept, because building one takes longer than most uses of it.
CACHED_TABLES = 16


def golden_section(m: ArrayLike, kappa: ArrayLike, eps: float = 0.01) -> tuple[Any, Any]:
    """Solve the merging problem by golden section search.

    Parameters
    ----------
    m : array-like of values in [0, 1]
        The share of ``x_i`` in the coefficients, ``a_i / (a_i + a_j)``.

    kappa : array-like of values in [0, 1]
        The kernel value of the two vectors. ``m`` and ``kappa`` broadcast.

    eps : float, default=0.01
        The width of the interval at which the search stops. The paper's "GSS" uses 0.01, its
        "GSS-precise" 1e-10.

    Returns
    -------
    h : float or ndarray
        The position of the merged vector, ``z = h x_i + (1 - h) x_j``.

    wd : float or ndarray
        The squared weight degradation, in units of ``(a_i + a_j)^2``.

    See Also
    --------
    MergeTable : The same functions, from a table.

    Examples
    --------
    >>> from pocketsvm import golden_section
    >>> h, wd = golden_section(1 / 6, 0.5, eps=1e-10)
    >>> round(h, 3), round(wd, 4)
    (0.103, 0.0098)
    """
    if not isinstance(eps, Real) or not 0.0 < eps <= 1.0:
        raise ValueError(f"eps must be a number in (0, 1], got {eps!r}.")
    m, kappa, shape = _arguments(m, kappa)
    h, wd = _core.golden_section(m, kappa, float(eps))
    return _answer(h, shape), _answer(wd, shape)


class MergeTable:
    """The solutions of the merging problem, tabulated once and interpolated bilinearly.

    Parameters
    ----------
    size : int, default=400
        The number of cells per side, an even number from 2 to 4096.

    scaled : bool, default=True
        If True, interpolate ``wd / (m^2 (1-m)^2 (1-kappa)^2)`` and multiply the result by the
        denominator, which keeps the relative error small where ``wd`` vanishes. If False, use the
        paper's plain table.

    See Also
    --------
    golden_section : The search that the table replaces.

    Notes
    -----
    Both functions are folded at ``m = 1/2``, where ``h`` jumps for ``kappa < e^-2``: the table
    holds the branch ``h <= 1/2`` and reflects it. At ``kappa = 1`` every ``h`` is optimal, and
    the table holds ``h = m``. The native table is built once per size and cached.

    Examples
    --------
    >>> import numpy as np
    >>> from pocketsvm import MergeTable
    >>> table = MergeTable()
    >>> table.h(np.array([0.25, 0.5, 0.75]), 0.9).round(3)
    array([0.24, 0.5 , 0.76])
    >>> round(table.wd(1 / 6, 0.5), 4)
    0.0098
    """

    def __init__(self, size: int = 400, scaled: bool = True) -> None:
        even = isinstance(size, Integral) and size % 2 == 0
        if not even or not SMALLEST_TABLE <= size <= LARGEST_TABLE:
            raise ValueError(
                f"size must be an even number from {SMALLEST_TABLE} to {LARGEST_TABLE}, "
                f"got {size!r}."
            )
        self.size = int(size)
        self.scaled = bool(scaled)

    def __repr__(self) -> str:
        return f"MergeTable(size={self.size}, scaled={self.scaled})"

    def h(self, m: ArrayLike, kappa: ArrayLike) -> Any:
        """Return the position of the merged vector.

        Parameters
        ----------
        m, kappa : array-like of values in [0, 1]
            The share of ``x_i`` in the coefficients, and the kernel value; they broadcast.

        Returns
        -------
        h : float or ndarray
            The position of the merged vector, ``z = h x_i + (1 - h) x_j``.
        """
        m, kappa, shape = _arguments(m, kappa)
        return _answer(_native_table(self.size, self.scaled).h(m, kappa), shape)

    def wd(self, m: ArrayLike, kappa: ArrayLike) -> Any:
        """Return the cost of the merge.

        Parameters
        ----------
        m, kappa : array-like of values in [0, 1]
            The share of ``x_i`` in the coefficients, and the kernel value; they broadcast.

        Returns
        -------
        wd : float or ndarray
            The squared weight degradation, in units of ``(a_i + a_j)^2``.
        """
        m, kappa, shape = _arguments(m, kappa)
        return _answer(_native_table(self.size, self.scaled).wd(m, kappa), shape)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "NDArray[Any]":
        """Draw the paper's two graphs: h, and wd on a logarithmic scale.

        Parameters
        ----------
        axes : two matplotlib axes, default=None
            The axes to draw on. If None, a new figure is created.

        Returns
        -------
        axes : ndarray of two matplotlib axes
            The axes of h and of wd.
        """
        return MergeTableDisplay(table=self).plot(axes).ax_


@lru_cache(maxsize=CACHED_TABLES)
def _native_table(size: int, scaled: bool) -> _core.MergeTable:
    return _core.MergeTable(size, scaled)


def _arguments(
    m: ArrayLike, kappa: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[int, ...]]:
    """Return both arguments as 1-D float64 arrays of equal length, and their common shape."""
    checked = []
    for name, values in (("m", m), ("kappa", kappa)):
        array = np.asarray(values, dtype=np.float64)
        inside = (array >= 0.0) & (array <= 1.0)  # False for NaN, too
        if not inside.all():
            raise ValueError(f"{name} must lie in [0, 1], got {array[~inside].flat[0]}.")
        checked.append(array)
    try:
        m, kappa = np.broadcast_arrays(*checked)
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in checked)
        raise ValueError(f"The shapes of m and kappa must broadcast, got {shapes}.") from None
    return np.ascontiguousarray(m.ravel()), np.ascontiguousarray(kappa.ravel()), m.shape


def _answer(values: NDArray[np.float64], shape: tuple[int, ...]) -> Any:
    """Return an array of this shape, or a float if the arguments were scalars."""
    return float(values[0]) if shape == () else values.reshape(shape)
