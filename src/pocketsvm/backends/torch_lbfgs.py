"""L-BFGS on a device of torch, for positions of so many values that SciPy's takes most of the time.

The matrix is Byrd, Nocedal and Schnabel's compact form: with the last steps S and the changes Y of
the slope, the upper triangle R of S Y' and its diagonal D, the direction is minus

    h g + S' R^-T ((D + h Y Y') R^-1 S g - h Y g) - h Y' R^-1 S g,

where h is s y / y y of the last pair.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from .torch_rows import imported, tensor

Array = NDArray[Any]
Look = Callable[[Array], tuple[float, Array]]

# Pairs of steps and changes of the slope that are kept, as many as SciPy keeps.
N_PAIRS = 10
# A step must lower the objective by this share of what the slope promises, and the slope along it
# to this share: as in SciPy's L-BFGS-B.
LEAST_GAIN, LEAST_TURN = 1e-3, 0.9
MOST_TRIALS = 20
# A pair counts if the curvature of the objective is more than this.
LEAST_CURVATURE = 2.2e-16


class Pairs:
    """The last steps and the changes of the slope, on a device."""

    def __init__(self, n_values: int, n_pairs: int, device: str) -> None:
        torch = imported()
        shape = (n_pairs, n_values)
        self.device, self._order = device, list[int]()
        self._steps = torch.zeros(shape, device=device, dtype=torch.float64)
        self._changes = torch.zeros(shape, device=device, dtype=torch.float64)
        self._curvatures, self._squares = np.zeros((2, n_pairs, n_pairs))  # S Y' and Y Y'

    def __len__(self) -> int:
        return len(self._order)

    def clear(self) -> None:
        """Forget all pairs."""
        self._order.clear()

    def add(self, step: Any, change: Any) -> None:
        """Add a pair, tensors, which replaces the oldest one if there are too many."""
        curvature, square = imported().stack([step @ change, change @ change]).tolist()
        if curvature <= LEAST_CURVATURE * square:
            return
        n_pairs = len(self._steps)
        k = self._order.pop(0) if len(self) == n_pairs else len(self)
        self._steps[k], self._changes[k] = step, change
        self._order.append(k)
        now = self._order
        products = imported().stack([self._steps @ change, self._changes @ change]).cpu().numpy()
        self._curvatures[now, k], self._squares[now, k] = products[:, now]
        self._squares[k, now] = self._squares[now, k]

    def direction(self, gradient: Any) -> Any:
        """Return the direction, a tensor, in which L-BFGS goes."""
        if not self._order:
            return -gradient / (float(gradient.norm()) or 1.0)
        now, last = self._order, self._order[-1]
        products = imported().stack([self._steps @ gradient, self._changes @ gradient])
        along_steps, along_changes = products.cpu().numpy()[:, now]
        curvatures, squares = (each[np.ix_(now, now)] for each in (self._curvatures, self._squares))
        h = self._curvatures[last, last] / self._squares[last, last]
        inner = solve_triangular(curvatures, along_steps)
        outer = np.diag(curvatures) * inner + h * (squares @ inner) - h * along_changes
        weights = np.zeros((2, len(self._steps)))
        weights[0, now] = solve_triangular(curvatures, outer, trans=1)
        weights[1, now] = -h * inner
        of_steps, of_changes = tensor(weights, self.device)
        return -(h * gradient + of_steps @ self._steps + of_changes @ self._changes)


def descend(
    look: Look, start: Array, n_steps: int, is_flat: Callable[[float], bool], on: str
) -> tuple[Array, int]:
    """Minimise; return where this ends, and the number of steps. See `Backend.descend`."""
    here, pairs, n_made = start, Pairs(len(start), N_PAIRS, on), 0
    value, slope = look(here)
    gradient = tensor(slope, on)
    while n_made < n_steps and slope.any():
        towards = pairs.direction(gradient)
        found = searched(look, here, value, slope, towards.cpu().numpy())
        if found is None:
            if not pairs:
                break
            pairs.clear()
            continue
        length, here, value, slope = found
        before, gradient = gradient, tensor(slope, on)
        pairs.add(length * towards, gradient - before)
        n_made += 1
        if is_flat(value):
            break
    return here, n_made


def searched(
    look: Look, here: Array, value: float, slope: Array, direction: Array
) -> tuple[float, Array, float, Array] | None:
    """Return how far to go along a direction, the point there, and its value and slope.

    The point meets Wolfe's conditions, or is the best one after many trials. None: none is better.
    """
    falls = float(slope @ direction)
    low, high, length, best = 0.0, np.inf, 1.0, None
    for _ in range(MOST_TRIALS if falls < 0 else 0):
        there = here + length * direction
        found, after = look(there)
        if not found <= value + LEAST_GAIN * length * falls:
            high = length
            curvature = 2 * (found - value - length * falls) / length**2  # of a parabola
            guess = -falls / curvature if np.isfinite(curvature) and curvature > 0 else 0.0
            margin = 0.1 * (high - low)
            length = min(max(guess, low + margin), high - margin)
            continue
        if best is None or found < best[2]:
            best = length, there, found, after
        if float(after @ direction) >= LEAST_TURN * falls:
            return length, there, found, after
        low = length
        length = 4 * length if np.isinf(high) else (low + high) / 2
    return best
