"""A model in integers, and its exact meaning: what the C code computes, bit for bit.

A row becomes integers q of 16 bits, and a vector integers p of 8 or 16 bits, which stand for
positions m p with a step m for each feature. With d = q - m p and A = sum d^2,

    t = A / 2^shift = gamma log2(e) |x - s|^2,        k = 2^-t in units of 2^-16,

where 2^-t is a table of 2^-(i / 64) with linear interpolation, shifted to the right by the integer
part of t. From t = 17 on, k is zero; sums A end there, so that 32 bits are enough. Decision values
are sums of integer coefficients times k in 64 bits, in units of 2^-(16 + coefficient_shift).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
IntegerType = Literal["int8", "int16"]

LIMIT = 32767  # of a row's integers
LARGEST_T = 17  # kernel values from here on are zero
TABLE_BITS, REST_BITS = 6, 10  # of the fraction of t: the place in the table, and between two
KERNEL_BITS = 16
SHIFTS = (TABLE_BITS + REST_BITS, 27)  # the range of the shift of t
TABLE = np.round((2**KERNEL_BITS - 1) * 2.0 ** (-np.arange(2**TABLE_BITS + 1) / 2**TABLE_BITS))
TABLE = TABLE.astype(np.int64)
# Probabilities: log2(e) in units of 2^-12, and the largest difference of decision values.
LOG2_E, LOG2_E_BITS, LARGEST_ODDS = 5909, 12, 11
ROWS_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class Integers:
    """The numbers of a model in integers.

    Attributes
    ----------
    features : ndarray of shape (n_used,), int32
        The features that the kernel uses.

    offsets, factors : ndarray of shape (n_used,), float32
        A row's integers are (x - offset) factor / 2, rounded, half away from zero, and limited.

    steps : ndarray of shape (n_used,), uint16
        The step of the vectors' integers, in that of the rows.

    vectors : ndarray of shape (n_vectors, n_used), int8 or int16
        The vectors.

    shift : int
        The bits of t after the point.

    coefficients : ndarray of shape (n_vectors, n_outputs), int16
        The coefficients, in units of 2^-coefficient_shift.

    coefficient_shift : int
        See above.

    intercepts : ndarray of shape (n_outputs,), int64
        The intercepts, in units of 2^-(16 + coefficient_shift).
    """

    features: Array
    offsets: Array
    factors: Array
    steps: Array
    vectors: Array
    shift: int
    coefficients: Array
    coefficient_shift: int
    intercepts: Array

    @property
    def dtype(self) -> str:
        """The type of the vectors."""
        return str(self.vectors.dtype.name)

    @property
    def unit(self) -> float:
        """What a decision value of one stands for."""
        return 2.0 ** -(KERNEL_BITS + self.coefficient_shift)

    def rows(self, X: Any) -> Array:
        """Return the integers of rows before the preparation, int16."""
        limit = np.float32(2 * LIMIT)
        with np.errstate(over="ignore", invalid="ignore"):
            x = np.asarray(X)[:, self.features].astype(np.float32)
            doubled = (x - self.offsets) * self.factors
            doubled = np.where(doubled > -limit, np.where(doubled < limit, doubled, limit), -limit)
        cut = doubled.astype(np.int32)
        found: Array = (np.sign(cut) * ((np.abs(cut) + 1) >> 1)).astype(np.int16)
        return found

    def kernel(self, rows: Array) -> Array:
        """Return kernel values (n_rows, n_vectors) in units of 2^-16, from the rows' integers."""
        # All numbers are integers below 2^53, so that float64 is exact.
        q, s = rows.astype(float), self.vectors.astype(float) * self.steps
        sums = np.square(q).sum(axis=1)[:, None] - 2 * (q @ s.T) + np.square(s).sum(axis=1)
        return exp2_minus(sums.astype(np.int64), self.shift)

    def decisions(self, rows: Array) -> Array:
        """Return decision values (n_rows, n_outputs), int64, in units of `unit`."""
        found = np.empty((len(rows), len(self.intercepts)), dtype=np.int64)
        for begin in range(0, len(rows), ROWS_AT_ONCE):
            at = slice(begin, begin + ROWS_AT_ONCE)
            found[at] = self.kernel(rows[at]) @ self.coefficients.astype(np.int64)
        return found + self.intercepts

    def probabilities(self, decisions: Array) -> Array:
        """Return the probabilities of the classes, in units of 1 / 65535."""
        if decisions.shape[1] == 1:
            rare = self._odds(np.abs(decisions[:, 0]))
            smaller = (rare << KERNEL_BITS) // (2**KERNEL_BITS + rare)
            larger, is_second = 2**KERNEL_BITS - 1 - smaller, decisions[:, 0] >= 0
            both = np.where(is_second, smaller, larger), np.where(is_second, larger, smaller)
            return np.column_stack(both)
        odds = self._odds(decisions.max(axis=1, keepdims=True) - decisions)
        shares: Array = odds * (2**KERNEL_BITS - 1) // odds.sum(axis=1, keepdims=True)
        return shares

    def _odds(self, differences: Array) -> Array:
        """Return exp(-x) of differences of decision values, in units of 2^-16."""
        bits = self.coefficient_shift
        most = LARGEST_ODDS << KERNEL_BITS
        if bits >= 0:
            x = np.minimum(differences >> bits, most)
        else:
            x = np.minimum(differences, most) << -bits
            x = np.minimum(x, most)
        return exp2_minus((x * LOG2_E) >> LOG2_E_BITS, KERNEL_BITS)


def exp2_minus(values: Array, shift: int) -> Array:
    """Return 2^-t in units of 2^-16, for t in units of 2^-shift."""
    is_zero = values >= LARGEST_T << shift
    values = np.where(is_zero, 0, values)
    at = (values >> (shift - TABLE_BITS)) & (2**TABLE_BITS - 1)
    rest = (values >> (shift - TABLE_BITS - REST_BITS)) & (2**REST_BITS - 1)
    between = TABLE[at] - (((TABLE[at] - TABLE[at + 1]) * rest) >> REST_BITS)
    return np.where(is_zero, 0, between >> (values >> shift))
