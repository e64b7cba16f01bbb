"""The native core as Python sees it. It checks shapes and sizes; Python checks values."""

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

def class_losses() -> list[str]:
    """The losses that `train_pass` accepts."""

def target_losses() -> list[str]:
    """The losses that `train_pass_on_targets` accepts."""

def golden_section(
    m: NDArray[np.float64], kappa: NDArray[np.float64], eps: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """h and wd for 1-D arrays of equal length with values in [0, 1]."""

class MergeTable:
    def __init__(self, size: int, scaled: bool) -> None: ...
    def h(self, m: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]: ...
    def wd(self, m: NDArray[np.float64], kappa: NDArray[np.float64]) -> NDArray[np.float64]: ...

class Rows:
    """A checked view of training or test rows. It keeps the arrays alive and copies nothing."""

    @staticmethod
    def dense(X: NDArray[Any]) -> Rows:
        """A C-contiguous 2-D array of float32 or float64."""

    @staticmethod
    def csr(
        data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_features: int
    ) -> Rows | None:
        """float32 or float64 data; int32 or int64 indices and indptr (they may differ).

        Returns None if the indices of some row are not strictly increasing: the caller has to sort
        them and to sum duplicates. Raises ValueError, with the position, if indptr decreases or
        exceeds the arrays, or if an index is out of range.
        """

    def with_values(self, data: NDArray[Any]) -> Rows:
        """The same rows with other values, whose structure is not checked again.

        float32 or float64; as many values as before, or the same shape for dense rows.
        """

    @property
    def n_rows(self) -> int: ...
    @property
    def n_features(self) -> int: ...
    @property
    def dtype(self) -> Dtype: ...
    def all_finite(self, n_threads: int = 1) -> bool:
        """Whether no entry is infinite or NaN."""

    def max_squared_norm(self, n_threads: int = 1) -> float:
        """The largest squared norm of a row, in float64; inf or nan if the values overflow."""

    def variance(self, n_threads: int = 1) -> float:
        """The variance of all n_rows x n_features entries, in float64, without temporaries."""

class Trainer:
    """The state of one binary problem: support vectors, coefficients, step count, generator.

    The model is f(x) = (sum_j coefficients[j] k(x_j, x) + bias) / (alpha weight).
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
        half_life: float = ...,
        random_steps: int = 0,
    ) -> None:
        """The intercept multiplies one more feature, whose value is the root of intercept_rate.

        For the first `random_steps` steps per vector, the strategy "merge" chooses one of equally
        small vectors at random; later, the newest.

        A row that was seen half_life rows before another counts half as much; by default, all
        count the same.
        """

    def state(self) -> dict[str, Any]:
        """The keys: vectors (size, n_features) of the trainer's dtype; coefficients (size,)
        float64; births (size,) int64, the step at which each vector entered; bias, float;
        steps, int; weight, float, of all rows so far, in units of the last one: the number of steps
        without a half-life; generator (4,) uint64. Fresh arrays, all that ``restore`` needs."""

    def restore(
        self,
        *,
        vectors: NDArray[Any],
        coefficients: NDArray[np.float64],
        births: NDArray[np.int64],
        bias: float,
        steps: int,
        weight: float,
        generator: NDArray[np.uint64],
    ) -> None:
        """Continue from a state. If it exceeds the budget, maintenance runs at once.

        Raises KeyboardInterrupt soon after Ctrl-C; the trainer must not be used after that.
        """

    def profile(self) -> dict[str, Any]:
        """The counters since construction: steps, violations, merges, removals (ints) and
        seconds_total, seconds_margin, seconds_solve, seconds_rest (floats)."""

    def order(self) -> NDArray[np.uint32]:
        """The order in which the last pass took the rows."""

    def observe(self, strategies: list[str] = ...) -> None:
        """Attach a new observer: it records every maintenance event from now on.

        At every event it also asks these strategies what they would do. One of them must be
        gss-precise, if there are any. Training is not affected.
        """

    def events(self) -> dict[str, NDArray[Any]]:
        """The recorded events, one entry each: step (int64; the first step is 1), first and second
        (int64 slots before the event; second is -1 if nothing was merged), h (the share of the
        first partner), coefficient (signed, of the merged vector; 0 if there is none), degradation
        (the squared weight degradation, in the units of the coefficients)."""

    def audit(self) -> dict[str, dict[str, Any]]:
        """What the strategies of the observer would have done, by name, in the same state and for
        the same first partner.

        Ints: events; merges, those in which the strategy merges; factors, those whose smallest
        degradation exceeds rounding errors. Dicts of ints, by the name of another strategy: equal,
        events with the same second partner; tied, events with another partner that is as good.
        Floats: factor, the sum over factors events of its degradation over that of gss-precise;
        degradation and least_degradation (of gss-precise), sums over all events.
        """

def train_pass(
    trainers: list[Trainer],
    rows: Rows,
    loss: str,
    codes: NDArray[np.int8] | NDArray[np.int32],
    positives: list[int],
    class_weight: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    n_threads: int,
    most_merges: int | None = None,
) -> None:
    """One pass of every trainer over all rows; n_threads make passes side by side.

    A trainer ends its pass early after `most_merges`; None is no limit.

    Row i has class codes[i] in [0, len(class_weight)); trainer k takes the class positives[k] as
    +1 and all others as -1; the row's weight is class_weight[codes[i]] * sample_weight[i] > 0.
    Raises KeyboardInterrupt soon after Ctrl-C; the trainers must not be used after that.
    """

def train_pass_on_targets(
    trainer: Trainer,
    rows: Rows,
    loss: str,
    parameter: float,
    targets: NDArray[np.float64],
    sample_weight: NDArray[np.float64] | None,
    most_merges: int | None = None,
) -> None:
    """One pass over all rows with a loss on target values; the rest is as in train_pass.

    parameter is that of the loss: epsilon for epsilon_insensitive.
    """

def train_pass_on_pairs(
    trainer: Trainer,
    rows: Rows,
    places: NDArray[np.uint32],
    row_weight: NDArray[np.float64],
    most_merges: int | None = None,
) -> None:
    """One step for each row and a random row of the same query with another relevance.

    If the more relevant row of a pair is not above the other one by 1, both become vectors, with
    coefficients of opposite sign. Rows are sorted by query and relevance. places (n_rows, 4) has
    the begin of the row's query, the begin and the end of the rows of its relevance, and the end of
    its query. row_weight is the weight of the query times its number of rows over its number of
    pairs. The order of the pass has two entries for each step. The rest is as in train_pass.
    """

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

def fill_kernel(
    out: NDArray[Any],
    vectors: NDArray[Any],
    gamma: float,
    rows: Rows,
    begin: int,
    n_threads: int,
) -> None:
    """Write the kernel values of the rows from `begin` on, as many as out has, to out."""

def kernel_decisions(
    kernel: NDArray[Any],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """Decision values (n_rows, n_outputs), sum_j coefficients[o, j] kernel[i, j] + intercepts[o].

    kernel (n_rows, n_vectors) C-contiguous, float32 or float64; coefficients (n_outputs,
    n_vectors). Sums are in float64. The bits of a row's values depend on that row only.
    """

class ThreadPool:
    """A context in which the calling thread keeps its threads from one call to the next."""

    def __init__(self, n_threads: int) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

def random_numbers(seed: int, first: int, n: int) -> NDArray[np.float64]:
    """Random numbers in [0, 1) of n rows; each depends on the seed and the row's position alone."""

def group_counts(
    groups: NDArray[np.int8] | NDArray[np.int32], n_groups: int, n_threads: int = 1
) -> NDArray[np.int64]:
    """Return the number of rows of each group; groups must be in [0, n_groups)."""

def rows_below(
    groups: NDArray[np.int8] | NDArray[np.int32],
    limits: NDArray[np.float64],
    seed: int,
    n_threads: int = 1,
    first: int = 0,
) -> NDArray[np.int64]:
    """Positions of the rows whose random number is below the limit of their group.

    `first` is the position of the first of these rows among all rows, and so in the sequence of
    `random_numbers`. The positions that are returned count from the first of these rows.
    """

def smallest_priorities(
    groups: NDArray[np.int8] | NDArray[np.int32],
    quotas: NDArray[np.int64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    seed: int,
    n_threads: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Positions, sorted, of the rows with the smallest priorities of each group, and thresholds.

    The priority of a row is its random number over its weight; None is a weight of one. Of equal
    priorities, the first are taken; infinite ones never are. A threshold is the smallest priority
    of a group that was not taken, and inf if all were. It must lie between the lower and the upper
    limit of the group; otherwise returns None. With the limits 0 and inf, it does. A group with a
    quota of 0 may have the limits 0 and 0; then its threshold is 0.
    """

def row_weights(
    groups: NDArray[np.int8] | NDArray[np.int32],
    group_weights: NDArray[np.float64],
    weights: NDArray[np.float64] | None,
    divisor: float = 1.0,
    n_threads: int = 1,
) -> NDArray[np.float64]:
    """The weight of each row's group times its own weight, over a divisor."""

def total(numbers: NDArray[np.float32] | NDArray[np.float64], n_threads: int = 1) -> float:
    """The sum of numbers, in float64."""

def checksum(array: NDArray[Any], n_threads: int = 1) -> int:
    """A checksum of the bytes of a C-contiguous array, a 64-bit integer; order matters.

    Two arrays that differ have the same one with a probability of about 2^-64. It depends neither
    on the shape and the type of the array nor on the threads.
    """

def take_rows(X: NDArray[Any], chosen: NDArray[np.int64], n_threads: int = 1) -> NDArray[Any]:
    """Copy the rows at these positions; X is a C-contiguous matrix."""

def add_outer_products(
    square: NDArray[np.float64],
    kernel: NDArray[Any],
    chosen: NDArray[np.int64],
    scales: NDArray[np.float64],
    n_threads: int = 1,
    subtract: bool = False,
) -> None:
    """Add the outer products of the chosen rows, each times its scale, to the upper triangle.

    With `subtract`, they are subtracted. The terms of a sum are added in the order of the rows, in
    blocks of a fixed number of rows: the bits do not depend on the threads.
    """

def kernel_pull(
    kernel: NDArray[Any], slopes: NDArray[np.float64], n_threads: int = 1
) -> NDArray[np.float64]:
    """Pull (n_outputs, n_vectors) of the rows, sum_i slopes[i, o] kernel[i, j].

    slopes (n_rows, n_outputs); terms whose slope is zero are skipped. Sums are in float64, in
    blocks of rows, whose sums are added in their order: the bits do not depend on the threads.
    """

def pair_sums(
    decisions: NDArray[np.float64],
    levels: NDArray[np.int32],
    begins: NDArray[np.int64],
    scales: NDArray[np.float64],
    width: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Four sums (n_rows,) of the rounded hinge over the pairs of each query.

    Query q has the rows [begins[q], begins[q + 1]) and multiplies its sums by scales[q]. A row has
    the loss of its pairs with rows of a lower level; the slope of all of its pairs; twice their
    curvature, a diagonal bound on the second derivative; and its entry of the second derivative
    times the decision values.
    """

def bent_partners(
    decisions: NDArray[np.float64],
    levels: NDArray[np.int32],
    begins: NDArray[np.int64],
    width: float,
    rows: NDArray[np.int64],
    draws: NDArray[np.float64],
) -> NDArray[np.int64]:
    """A random partner of each of some rows, on the quadratic part of the loss of their pair.

    draws are random numbers in [0, 1). A row without such a partner is its own.
    """

class RowLosses:
    """The losses of rows. It keeps its arrays alive.

    ramp(u) is max(0, u) with its kink rounded off, `width` to either side.
    """

    @staticmethod
    def classes(name: str, codes: NDArray[Any], positives: list[int], width: float) -> RowLosses:
        """One output per positive class; int8 or int32 codes.

        "hinge" is ramp(1 - y f), "squared_hinge" max(0, 1 - y f)^2, "log_loss" log(1 + exp(-y f)).
        "softmax" is one loss of all outputs, log sum_o exp(f_o) - f_y, where y is the code.
        """

    @staticmethod
    def values(
        name: str,
        targets: NDArray[np.float64],
        epsilon: float,
        down: list[float],
        up: list[float],
        widths: list[float],
    ) -> RowLosses:
        """Targets (n_rows, n_outputs), or (n_rows, 1) for all outputs.

        "tube" is down ramp(y - epsilon - f) + up ramp(f - y - epsilon), with factors for each
        output; "huber" is (y - f)^2 / 2, and a line where |y - f| > epsilon.
        """

    @property
    def separable(self) -> bool:
        """Whether every output is a problem of its own, with targets that all outputs share."""

    def derivatives(
        self, decisions: NDArray[np.float64], c: NDArray[np.float64], n_threads: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Losses (n_losses,) of decision values (n_rows, n_outputs), and their derivatives.

        The losses are summed with the weights c (n_rows,). The slopes and curvatures of the rows
        (n_rows, n_outputs) are weighted, too.
        """
    def near(
        self, decisions: NDArray[np.float64], reach: float, n_threads: int
    ) -> NDArray[np.bool_]:
        """Whether rows have a slope, or would have one within `reach` widths of the loss."""
    def along(
        self,
        decisions: NDArray[np.float64],
        change: NDArray[np.float64],
        lengths: NDArray[np.float64],
        c: NDArray[np.float64],
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Weighted first and second derivatives (2, n_outputs) along a change of decision values.

        They are those at one length for each loss. The bits do not depend on the threads.
        """

def solve_rows(
    losses: RowLosses,
    kernel: NDArray[Any],
    c: NDArray[np.float64],
    tilt: float,
    fit_intercept: bool,
    bound: float,
    least: float,
    n_steps: int,
    tolerance: float,
) -> tuple[NDArray[Any], ...] | None:
    """Minimise 1/2 a' K a + sum_i c_i loss_i((K a)_i + b) + tilt b for each output.

    kernel is K, tilt the derivative of the objective in the intercept besides the losses, bound one
    on the curvature of a loss, and least the least curvature of the intercept. Steps end if one
    predicts a decrease below half the tolerance's share of the objective. Returns the point and its
    gradient (n_outputs, n_rows + 1), the decision values, and for each output the objective, twice
    the decrease that the last step predicted, and the number of steps. Returns None if rounding
    makes a matrix indefinite, which happens with a large c.
    """

def read_losses(
    vectors: NDArray[Any],
    gamma: float,
    rows: Rows,
    losses: RowLosses,
    c: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    intercepts: NDArray[np.float64],
    lengths: NDArray[np.float64],
    reach: float,
    n_threads: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Losses (n_lengths or 1, n_losses), their pull (n_outputs, n_vectors + 1), and near rows.

    Sums over all rows, whose weights are c. Without lengths, they are those at a point. With
    lengths, coefficients and intercepts hold a point and then a direction, the losses are those at
    these lengths along the direction, and the others are empty. Sums are in float64; the bits do
    not depend on the threads. A row is near if it would have a slope after a change of its decision
    value by `reach` widths.
    """

class SvmlightChunk:
    """The content of a piece of LIBSVM text. It keeps its memory when it is filled again.

    Lines and columns count from 1, columns in bytes.
    """

    def __init__(self) -> None: ...
    def parse(self, parts: list[bytes], size: int) -> None:
        """Parse the first bytes of a text in parts, which end at a line end or with the file."""

    def read(self, file: int, begin: int, end: int) -> None:
        """Parse the lines of a file (a descriptor) that begin in [begin, end)."""

    @property
    def labels(self) -> NDArray[np.float64]:
        """A copy."""

    def spelling(self, row: int) -> bytes:
        """The label of a row as it is written."""

    @property
    def n_lines(self) -> int:
        """All lines, including empty ones."""

    @property
    def least_index(self) -> int:
        """As written; 2^31 - 1 if there is none."""

    @property
    def largest_index(self) -> int:
        """As written; -1 if there is none."""

    @property
    def largest_place(self) -> tuple[int, int]:
        """Line and column of the first occurrence of the largest index."""

    @property
    def infinite_place(self) -> tuple[int, int] | None:
        """Line and column of the first label or value that is not finite."""

    @property
    def unasked_place(self) -> tuple[int, int] | None:
        """Line and column after the first label that is not followed by qid:NUMBER."""

    @property
    def error(self) -> tuple[int, int, str] | None:
        """Line and column of the first error and a message; nothing after it was parsed."""

class NarrowColumns:
    """The columns of some rows of LIBSVM text whose values lie close together.

    Values that a row leaves out are zeros.
    """

    def __init__(self) -> None: ...
    def merge(self, other: NarrowColumns) -> None:
        """Add other rows of the same text."""

    @property
    def need_float64(self) -> bool:
        """Whether float32 would lose more than 1e-6 of the spread of a column.

        If this is false, it remains false when rows that do not need float64 are added.
        """

class SvmlightRows:
    """The rows of a file, appended chunk by chunk; n_bytes is an estimate of its size."""

    def __init__(self, n_bytes: int) -> None: ...
    def append(self, chunk: SvmlightChunk) -> None: ...
    @property
    def narrow_columns(self) -> NarrowColumns:
        """Those of all rows; still there after `finish`."""

    def finish(
        self, written_from_0: bool, float64: bool
    ) -> tuple[
        NDArray[np.float64],
        NDArray[np.int64],
        NDArray[np.int32],
        NDArray[np.int32],
        NDArray[np.float32] | NDArray[np.float64],
    ]:
        """Labels, queries, a zero and the row lengths, indices and values. Empties the object.

        Values can be float64 only if the narrow columns of a text that has these rows need it.
        """
