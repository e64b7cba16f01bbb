"""The native core as Python sees it: it checks shapes and sizes, ``_validation.py`` values."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Dtype = Literal["float32", "float64"]

def instruction_set() -> str:
    """The instruction set whose code is in use: "baseline", "avx2", "avx512" or "neon"."""

def instruction_sets() -> list[str]:
    """The instruction sets that this build holds and this CPU can run, best first."""

def strategies() -> list[str]:
    """The maintenance strategies, in the order in which tables show them."""

def golden_section(
    m: NDArray[np.float64], kappa: NDArray[np.float64], eps: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """h and wd for 1-D arrays of equal length with values in [0, 1]."""

class MergeTable:
    def __init__(self, size: int, scaled: bool) -> None: ...
    def h(self, m: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def wd(self, m: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]: ...

class Rows:
    """A checked view of training or test rows; it keeps the arrays alive and copies nothing."""

    @staticmethod
    def dense(X: NDArray[Any]) -> Rows:
        """A C-contiguous 2-D array of float32 or float64."""

    @staticmethod
    def csr(
        data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
    ) -> Rows:
        """float32 or float64 data; int32 or int64 indices and indptr (each its own).

        Raises ValueError, naming the row, where indptr is not monotone or leaves the arrays, or
        a row's indices are out of range or not strictly increasing.
        """

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def dtype(self) -> Dtype: ...
    def max_squared_norm(self) -> float:
        """The largest squared norm of a row, in float64; inf or nan where the values overflow."""

    def variance(self) -> float:
        """The variance of all n_rows x n_features entries, in float64, without temporaries."""

class Trainer:
    """The state of one binary problem: support vectors, coefficients, step count, generator.

    The model after T steps is f(x) = (sum_j coefficients[j] k(x_j, x) + bias) / (alpha T).
    """

    def __init__(
        self,
        *,
        n_features: int,
        budget: int,
        gamma: float,
        alpha: float,
        maintenance: str,
        fit_intercept: bool,
        seed: int,
        dtype: Dtype,
        intercept_rate: float = 1.0,
        audit: list[str] = ...,
    ) -> None:
        """The strategies of audit, of which gss-precise is one, are asked at every maintenance
        event what they would do; it changes nothing.

        The intercept multiplies one more feature, whose value is the root of intercept_rate.
        """

    def state(self) -> dict[str, Any]:
        """The keys: vectors (size, n_features) of the trainer's dtype; coefficients (size,)
        float64; births (size,) int64, the step at which each vector entered; bias, float;
        steps, int; generator (4,) uint64. Fresh arrays, all that ``restore`` needs."""

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state. More vectors than the budget are brought down to it at once."""

    def profile(self) -> dict[str, float]:
        """The counters since construction: steps, violations, merges, removals (ints) and
        seconds_total, seconds_margin, seconds_solve, seconds_rest (floats)."""

    def audit(self) -> dict[str, dict[str, Any]]:
        """What the strategies of audit would have done, in the same state and for the same first
        partner, by name. Ints: events; merges, those in which it merges; factors, those whose
        least degradation is neither zero nor drowned in rounding. Dicts of ints, by the name of
        another strategy: equal, events with the same second partner; tied, with another one that
        is as good. Floats: factor, the sum over factors events of its degradation over that of
        gss-precise; degradation and least_degradation (of gss-precise), sums over all events."""

    def order(self) -> NDArray[np.uint32]:
        """The order in which the last pass took the rows."""

    def record(self, on: bool) -> None:
        """Keep (or stop keeping) every maintenance event."""

    def events(self) -> dict[str, NDArray[Any]]:
        """What was recorded, one entry an event: step (int64; the first step is 1), first and
        second (int64 slots, as they were before the event; second is -1 where nothing was merged),
        h (share of the first partner), coefficient (signed, of the merged vector; 0 if none),
        degradation (the squared weight degradation, in the units of the coefficients)."""

def train_pass(
    trainers: list[Trainer],
    rows: Rows,
    codes: NDArray[np.int8] | NDArray[np.int32],
    positives: list[int],
    class_weight: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int,
) -> None:
    """One pass of every trainer over all rows with the hinge loss, side by side on n_threads.

    Row i has class codes[i] in [0, len(class_weight)); trainer k takes the class positives[k] as
    +1 and all others as -1; the row's weight is class_weight[codes[i]] * sample_weight[i] > 0.
    Raises KeyboardInterrupt soon after Ctrl-C; the trainers are then to be thrown away.
    """

def train_pass_on_targets(
    trainer: Trainer,
    rows: Rows,
    targets: NDArray[np.float64],
    epsilon: float,
    sample_weight: NDArray[np.float64] | None,
    n_threads: int,
) -> None:
    """One pass over all rows with the epsilon-insensitive loss; the rest is as in train_pass."""

def decide(
    vectors: NDArray[Any],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    gamma: float,
    rows: Rows,
    n_threads: int,
) -> NDArray[np.float64]:
    """Decision values (n_rows, n_outputs), sum_j coefficients[o, j] k(s_j, x) + intercepts[o].

    vectors (n_sv, n_features) C-contiguous of the rows' dtype; coefficients (n_outputs, n_sv).
    """

def kernel_block(
    vectors: NDArray[Any], gamma: float, rows: Rows, begin: int, end: int, n_threads: int
) -> NDArray[Any]:
    """Kernel values (end - begin, n_sv) of rows [begin, end) and the vectors, in their dtype."""

class SvmlightChunk:
    """What a piece of LIBSVM text says; to be filled again and again, it keeps its memory.

    Lines and columns count from 1, columns in bytes.
    """

    def __init__(self) -> None: ...
    def parse(self, parts: list[bytes], size: int) -> None:
        """Take the first bytes of a text in parts, up to a line end or that of its file."""

    def read(self, file: int, begin: int, end: int) -> None:
        """Take the lines of a file (a descriptor) that begin in [begin, end), to their ends."""

    @property
    def labels(self) -> NDArray[np.float64]:
        """A copy."""

    def spelling(self, row: int) -> bytes:
        """Return the label of a row as it is written."""

    @property
    def n_lines(self) -> int:
        """All lines, empty ones too."""

    @property
    def least_index(self) -> int:
        """As written; 2^31 - 1 if there is none."""

    @property
    def largest_index(self) -> int:
        """As written; -1 if there is none."""

    @property
    def largest_place(self) -> tuple[int, int]:
        """Line and column where the largest index stands first."""

    @property
    def infinite_place(self) -> tuple[int, int] | None:
        """Line and column of the first label or value that is not finite."""

    @property
    def error(self) -> tuple[int, int, str] | None:
        """Line and column of the first error and what it is; nothing after it was parsed."""

class SvmlightRows:
    """The rows of a file, chunk after chunk; n_bytes is a guess at the size of its text."""

    def __init__(self, n_bytes: int) -> None: ...
    def append(self, chunk: SvmlightChunk) -> None: ...
    def finish(
        self, written_from_0: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Labels, row lengths after a zero, indices and values; leaves nothing behind."""
