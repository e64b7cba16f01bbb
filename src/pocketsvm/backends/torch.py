"""The torch backend: the user's own PyTorch computes, on a GPU.

Kernel values are float32 unless rows need float64; sums over rows and matrices among vectors are
float64. Kernel values, Hessians and their factors stay on the device.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..rows.checked import CheckedRows, Rows
from .base import Backend
from .batches import Start
from .hessian import FIRST_RIDGE, LEAST_REST, MOST_RIDGE, NEXT_RIDGE, jitter_of
from .kernel import KernelRows, Use
from .slices import slices
from .torch_batches import TorchBatches
from .torch_lbfgs import descend
from .torch_losses import DeviceLosses
from .torch_rows import (
    MOST_RESIDENT,
    DeviceRows,
    HostCopies,
    exact_products,
    fitting,
    free_bytes,
    imported,
    most_values,
    out_of_memory,
    resident_rows,
    rows_to_read,
    settle_values,
    side_streams,
    tensor,
)
from .torch_small_model import TorchSmallModel

Array = NDArray[Any]

# Square matrices of float64 that are in memory together.
SQUARES = 4
# SciPy's L-BFGS takes little time for so many values.
MOST_OF_SCIPY = 2**17
# Bytes of results that are copied from the device together, while it computes others.
RESULT_BYTES = 2**23


@dataclass(frozen=True)
class Torch(Backend):
    """PyTorch on a device.

    Attributes
    ----------
    device : str
        The name of the device, as torch has it; "torch:cpu" is the CPU.
    """

    device: str = "cuda:0"

    @property
    def on(self) -> str:
        """The device as torch names it."""
        return self.device.removeprefix("torch:")

    def kernel_rows(self, vectors: Array, rows: Rows, n_outputs: int, dtype: Any) -> "TorchRows":
        """Return the kernel values of rows with vectors, in blocks."""
        return TorchRows(vectors, rows, n_outputs, self, dtype)

    def kernel(self, vectors: Array, rows: Rows) -> Any:
        """Return the kernel values of few rows, as one block."""
        device_rows = DeviceRows(
            rows.checked.X, self.on, self.dtype(rows.core.dtype), self.n_threads, stays=False
        )
        with exact_products():
            return _kernel_of(device_rows, device_rows.vectors(vectors, rows.gamma))

    def penalty(self, vectors: Array, gamma: float) -> "TorchPenalty":
        """Return the penalty of coefficients of vectors."""
        return TorchPenalty(vectors, gamma, self.on)

    def row_hessian(self, n_vectors: int, n_rows: int) -> "TorchHessian":
        """Return the Hessian of no rows, to which up to so many can be added."""
        return TorchHessian(n_vectors, n_rows, self.on)

    def prefers_products(self, n_products: int, n_vectors: int, n_values: float) -> bool:
        """Return False: a device makes Hessians fast enough."""
        return False

    def whitens(self, rows: Any) -> bool:
        """Return False: a device makes Hessians fast enough."""
        return False

    def whitened(self, penalty: Any, rows: Any, n_outputs: int) -> Any:
        """Raise an error: rows are never whitened."""
        raise NotImplementedError

    def centred(self, rows: Rows, is_sparse: bool) -> tuple[Any, Array]:
        """Return rows and the centre that was subtracted."""
        found = self.resident(rows, rows.core.dtype)
        return found, found.centre.astype(np.float64)

    def resident(self, rows: Rows, dtype: Any) -> DeviceRows:
        """Return rows on the device, in this precision."""
        return resident_rows(rows.checked, self.on, self.dtype(dtype), self.n_threads)

    def dtype(self, dtype: Any) -> Any:
        """Return torch's name of a precision."""
        return getattr(imported(), np.dtype(dtype).name)

    def small_model(self, X: Array, values: Array, c: Array, penalty: float) -> TorchSmallModel:
        """Return the model of rows whose feature scales are learnt."""
        return TorchSmallModel(X, values, c, penalty, self.on)

    def batches(self, sample: Any, start: Start) -> TorchBatches:
        """Return mini-batches of rows with their weights and losses."""
        device_rows = self.resident(sample.rows, np.float32)
        return TorchBatches(sample, start, device_rows)

    def descend(
        self,
        look: Callable[[Array], tuple[float, Array]],
        start: Array,
        n_steps: int,
        is_flat: Callable[[float], bool],
    ) -> tuple[Array, int]:
        """Minimise by L-BFGS; return where this ends, and the number of steps."""
        if len(start) <= MOST_OF_SCIPY:  # the steps are those of the CPU
            return super().descend(look, start, n_steps, is_flat)
        return descend(look, start, n_steps, is_flat, self.on)

    def read(
        self,
        vectors: Array,
        points: Array,
        rows: Rows,
        loss: Any,
        c: Array,
        lengths: Array,
        reach: float,
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the losses of rows, their pull, and which rows are near."""
        given = vectors, rows.gamma, self.on, self.dtype(rows.core.dtype), self.n_threads
        device_rows, matrix = rows_to_read(rows.checked, *given)
        reading = _Reading(self.on, points, loss.formula, c, lengths, reach)

        def read(n_values: int) -> tuple[Array, Array, NDArray[np.bool_]]:
            with exact_products():
                return reading.of(device_rows, matrix, n_values)

        return fitting(self.on, read)

    def decide(
        self,
        vectors: Array,
        coefficients: Array,
        intercepts: Array,
        gamma: float,
        rows: CheckedRows,
    ) -> NDArray[np.float64]:
        """Return decision values (n_rows, n_outputs), in the precision of the vectors."""
        found: NDArray[np.float64] = np.empty((rows.n_rows, len(coefficients)))
        with HostCopies(self.on) as copies:

            def keep(at: slice, decisions: Any) -> None:
                copies.add(decisions, partial(np.add, intercepts, out=found[at]))

            self.decide_in_parts(vectors, coefficients, gamma, rows.X, keep)
        return found

    def decide_in_parts(
        self,
        vectors: Array,
        coefficients: Array,
        gamma: float,
        X: Any,
        keep: Callable[[slice, Any], None],
    ) -> None:
        """Hand decision values without intercepts to a function, for slices of rows."""
        torch, dtype = imported(), self.dtype(vectors.dtype)
        device_rows = DeviceRows(X, self.on, dtype, self.n_threads, stays=False)
        matrix = device_rows.vectors(vectors, gamma)
        weights = tensor(coefficients.T, self.on, dtype)
        n_outputs = weights.shape[1]

        def decide(n_values: int) -> None:
            n_kept = max(1, RESULT_BYTES // (dtype.itemsize * n_outputs))
            n_each = max(1, n_values // (matrix.shape[1] + matrix.shape[0]))
            parts, n_waiting = [], 0
            for here, part in device_rows.chunks(slice(0, device_rows.n_rows), n_each):
                parts.append(torch.mm(torch.mm(part, matrix).exp_(), weights))
                n_waiting += len(part)
                if n_waiting >= n_kept or here.stop == device_rows.n_rows:
                    keep(slice(here.stop - n_waiting, here.stop), torch.cat(parts))
                    parts, n_waiting = [], 0

        with exact_products():
            fitting(self.on, decide)


class _Reading:
    """Sums over rows at a point, or along a direction."""

    def __init__(
        self, device: str, points: Array, formula: Any, c: Array, lengths: Array, reach: float
    ) -> None:
        self.device, self.formula, self.c, self.reach = device, formula, c, reach
        there = tensor(points, device)
        self.coefficients, self.intercepts = there[:, :-1].T, there[:, -1]
        self.lengths: list[float] = lengths.tolist()

    def of(
        self, rows: DeviceRows, matrix: Any, n_values: int
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Read rows, of which few are on the device at a time."""
        torch = imported()
        n_each = max(1, n_values // (matrix.shape[0] + matrix.shape[1] + 8 * len(self.intercepts)))
        totals, pulls, nears = [], 0.0, []
        for at, part in rows.chunks(slice(0, rows.n_rows), n_each):
            kernel = torch.mm(part, matrix).exp_().double()
            decisions = torch.addmm(self.intercepts, kernel, self.coefficients)
            c = tensor(self.c[at], self.device, torch.float64)
            losses = DeviceLosses(self.formula, at, self.device)
            if self.lengths:
                start, step = decisions.chunk(2, dim=1)
                found = [losses.derivatives(start + length * step) for length in self.lengths]
            else:
                found = [losses.derivatives(decisions)]
                nears.append(losses.near(decisions, self.reach))
                slopes = found[0].slopes * c[:, None]
                pulls = pulls + torch.cat([slopes.T @ kernel, slopes.sum(dim=0)[:, None]], dim=1)
            totals.append(torch.stack([c @ each.values for each in found]))
        total = torch.stack(totals).sum(dim=0)
        if self.lengths:
            nothing = np.empty((len(self.intercepts) // 2, 0))
            return total.cpu().numpy(), nothing, np.zeros(0, dtype=bool)
        both = torch.cat([total.ravel(), pulls.ravel()]).cpu().numpy()  # type: ignore[attr-defined]
        near = torch.cat(nears).cpu().numpy() if nears else np.zeros(0, dtype=bool)
        n_losses = total.shape[1]
        return both[None, :n_losses], both[n_losses:].reshape(len(self.intercepts), -1), near


class TorchRows(KernelRows):
    """The kernel values of rows with vectors, in blocks, on a device."""

    def __init__(
        self, vectors: Array, rows: Rows, n_outputs: int, backend: Torch, dtype: Any
    ) -> None:
        self.device, self._dtype = backend.on, backend.dtype(dtype)
        self._device_rows = backend.resident(rows, dtype)
        self._matrix = self._device_rows.vectors(vectors, rows.gamma)
        most_kept, self._room = int(MOST_RESIDENT * free_bytes(self.device)), None
        while True:
            super().__init__(
                vectors,
                rows,
                n_outputs,
                backend.n_threads,
                dtype=dtype,
                most_kept=most_kept,
                block_values=most_values(self.device),
            )
            try:
                self._room = self._new_block(slice(0, self._n_kept))
            except out_of_memory():
                most_kept //= 2
            else:
                return

    def _new_block(self, at: slice) -> Any:
        if at.stop <= self._n_kept and self._room is not None:
            return self._room
        shape = (at.stop - at.start, len(self.vectors))
        return imported().empty(shape, device=self.device, dtype=self._dtype)

    def _filled(self, block: Any, at: slice) -> Any:
        def fill(n_values: int) -> None:
            n_each = max(1, n_values // self._matrix.shape[0])
            with exact_products():
                for here, part in self._device_rows.chunks(at, n_each):
                    to = block[here.start - at.start : here.stop - at.start]
                    imported().mm(part, self._matrix, out=to).exp_()

        fitting(self.device, fill)
        return block

    def _blocks_of(self, slopes: Array, use: Use | None) -> Iterator[tuple[slice, Any]]:
        """Yield all blocks: choosing rows takes longer than their kernel values."""
        return self.blocks()

    def decisions(self, kernel: Any, point: Array) -> Array:
        """Return the decision values of coefficients and intercepts (n_outputs, n_vectors + 1)."""
        coefficients = tensor(point[:, :-1].T, self.device)
        intercepts = tensor(point[:, -1], self.device)

        def decide(n_values: int) -> Array:
            shape = (len(kernel), len(point))
            found = imported().empty(shape, device=self.device, dtype=intercepts.dtype)
            for some in slices(len(kernel), max(1, n_values // len(self.vectors))):
                found[some] = kernel[some].double() @ coefficients
            decisions: Array = (found + intercepts).cpu().numpy()
            return decisions

        return fitting(self.device, decide)

    def pull(self, kernel: Any, slopes: Array) -> Array:
        """Return the derivative in coefficients and intercepts of losses with these slopes."""
        rows = tensor(slopes, self.device).T

        def pull(n_values: int) -> Array:
            parts = slices(len(kernel), max(1, n_values // len(self.vectors)))
            found = sum(rows[:, some] @ kernel[some].double() for some in parts)
            both = imported().cat([found, rows.sum(dim=1, keepdim=True)], dim=1)
            total: Array = both.cpu().numpy()
            return total

        if not len(kernel):
            return np.zeros((len(rows), len(self.vectors) + 1))
        return fitting(self.device, pull)

    def changes(self, hessians: Sequence[Any], curvatures: Array, least: Array) -> Use:
        """Return what brings the Hessians of outputs up to date with curvatures of all rows."""
        return DeviceChanges(hessians, curvatures, least, self.device)

    def forces(self, penalty: Any, X: Any, slopes: Array, beta: Array, vectors: Array) -> Array:
        """Return what pulls at each vector: the rows, and the other vectors."""
        torch = imported()
        total, pull = penalty.forces(beta, vectors)
        weights = tensor(beta, self.device, torch.float32)
        for at, kernel in self.blocks():
            some = tensor(slopes[at], self.device, torch.float32)
            with exact_products():
                sums, products = fitting(
                    self.device, partial(self._forces, X, kernel, at, some, weights)
                )
            total += sums
            pull += products
        forces: Array = (pull - total[:, None] * tensor(vectors, self.device)).cpu().numpy()
        return forces

    def _forces(
        self, X: Any, kernel: Any, at: slice, slopes: Any, beta: Any, n_values: int
    ) -> tuple[Any, Any]:
        """Return what the rows of one block add to the forces."""
        torch, shape = imported(), (len(self.vectors), X.n_features)
        sums = torch.zeros(shape[0], device=self.device, dtype=torch.float64)
        products = torch.zeros(shape, device=self.device, dtype=torch.float64)
        for here, part in X.chunks(at, max(1, n_values // (shape[0] + X.width))):
            inside = slice(here.start - at.start, here.stop - at.start)
            weights = (slopes[inside] @ beta).to(kernel.dtype).mul_(kernel[inside])
            sums += weights.sum(dim=0, dtype=torch.float64)
            products += weights.T @ part[:, : shape[1]].to(kernel.dtype)
        return sums, products


class DeviceChanges:
    """How the curvatures of rows have changed: it is called with blocks of their kernel values."""

    def __init__(
        self, hessians: Sequence["TorchHessian"], curvatures: Array, least: Array, device: str
    ) -> None:
        torch, self._hessians = imported(), hessians
        now = tensor(curvatures, device).T.contiguous()
        before = torch.stack([each.curvatures for each in hessians])
        found = now - before
        found *= found.abs() > now.sum(dim=1, keepdim=True) * tensor(least, device)
        anew = torch.count_nonzero(found, dim=1) > torch.count_nonzero(now, dim=1)
        found = torch.where(anew[:, None], now, found)
        after = torch.where(anew[:, None], now, before + found)
        for hessian, is_new, change, known in zip(
            hessians, anew.tolist(), found.sum(dim=1).tolist(), after, strict=True
        ):
            if is_new:
                hessian.reset()
            hessian.corner += change
            hessian.curvatures = known
        self._found = found

    @property
    def needed(self) -> NDArray[np.bool_]:
        """The rows whose curvature has changed in an output."""
        needed: NDArray[np.bool_] = (self._found != 0).any(dim=0).cpu().numpy()
        return needed

    def __call__(self, at: slice, kernel: Any) -> None:
        """Add the changes of some rows."""
        part = self._found[:, at]
        outputs, places = part.nonzero(as_tuple=True)
        weights = part[outputs, places]
        sizes = imported().bincount(outputs, minlength=len(part)).tolist()
        each = zip(self._hessians, places.split(sizes), weights.split(sizes), strict=True)
        for hessian, chosen, weight in each:
            hessian.add_chosen(kernel, chosen, weight)


class TorchHessian:
    """The Hessian of the losses of rows in one output, on a device: all of the square."""

    def __init__(self, n_vectors: int, n_rows: int, device: str) -> None:
        torch, self.device = imported(), device
        given = {"device": device, "dtype": torch.float64}
        self.square = torch.zeros((n_vectors, n_vectors), **given)
        self.column, self.curvatures = torch.zeros(n_vectors, **given), torch.zeros(n_rows, **given)
        self.corner = 0.0

    def reset(self) -> None:
        """Return to the Hessian of no rows."""
        self.square.zero_()
        self.column.zero_()
        self.corner = 0.0

    def add(self, kernel: Any, differences: Array) -> None:
        """Add rows of kernel values; some of these differences of curvatures are zero."""
        chosen = np.flatnonzero(differences != 0)
        weights = differences[chosen]
        self.add_chosen(kernel, tensor(chosen, self.device), tensor(weights, self.device))
        self.corner += float(weights.sum())

    def add_chosen(self, kernel: Any, places: Any, weights: Any) -> None:
        """Add the rows at some places, to all but the corner."""
        n_each = max(1, most_values(self.device) // max(1, kernel.shape[1]))
        for some in slices(len(places), n_each):
            rows = kernel[some] if len(places) == len(kernel) else kernel[places[some]]
            rows, weight = rows.double(), weights[some]
            self.column += weight @ rows
            self.square.addmm_(rows.T, rows * weight[:, None])


class TorchPenalty:
    """The matrix A = K + jitter I of the penalty 1/2 beta' A beta, on a device."""

    def __init__(self, vectors: Array, gamma: float, device: str) -> None:
        torch, n = imported(), len(vectors)
        self.device = device
        needed, free = SQUARES * 8 * n * n, free_bytes(device)
        if needed > free:
            raise MemoryError(
                f"A budget of {n:,} needs {needed:,} bytes for matrices of n_vectors x n_vectors, "
                f'but {device} has {free:,} free bytes: use a smaller budget, or device="cpu".'
            )
        settle_values(device, free)
        moved = tensor(vectors, device).double()
        moved -= moved.mean(dim=0)
        norms = moved.square().sum(dim=1)
        square = torch.addmm(norms[:, None] + norms, moved, moved.T, alpha=-2.0)
        square = square.clamp_min_(0.0).mul_(-gamma).exp_()
        square.fill_diagonal_(1.0)
        is_double = vectors.dtype == np.float64
        self.jitter, self.dtype = jitter_of(float(square.mean()) if is_double else 0.0)
        square.diagonal().add_(self.jitter)
        self._square = square
        self.preconditioner: TorchFactor | None = None

    def product(self, coefficients: Array) -> Array:
        """Return A beta for the coefficients (n_outputs, n_vectors)."""
        product: Array = (tensor(coefficients, self.device) @ self._square).cpu().numpy()
        return product

    def forces(self, coefficients: Array, vectors: Array) -> tuple[Any, Any]:
        """Return sum_l w_lj and sum_l w_lj v_l for w_lj = k_lj sum_o beta_ol beta_oj, l != j."""
        beta, moved = tensor(coefficients, self.device), tensor(vectors, self.device)
        weights = (beta.T @ beta).mul_(self._square).fill_diagonal_(0.0)
        return weights.sum(dim=1), weights @ moved.double()

    def factor(self, rows: TorchHessian, least: float, fit_intercept: bool) -> "TorchFactor":
        """Factorise A plus the Hessian of the losses of rows."""
        torch, ridge = imported(), 0.0
        total = self._square + rows.square
        while True:
            lower, info = torch.linalg.cholesky_ex(total)
            failed, largest = torch.stack([info.double(), total.diagonal().max()]).tolist()
            if not np.isfinite(largest) or ridge >= MOST_RIDGE * max(1.0, largest):
                raise FloatingPointError(
                    "kernel values and weights must be finite to solve for a model."
                )
            if not failed:
                corner = max(rows.corner, least)
                return TorchFactor(lower, rows.column.clone(), corner, fit_intercept)
            before, ridge = ridge, max(NEXT_RIDGE * ridge, FIRST_RIDGE * largest)
            total.diagonal().add_(ridge - before)

    def solve_each(
        self,
        rows: Sequence[TorchHessian],
        least: Sequence[float],
        fit_intercept: bool,
        right: Array,
    ) -> Array:
        """Return the solutions of linear systems (n_outputs, n_vectors + 1), one per Hessian."""
        torch, given = imported(), tensor(right, self.device)
        columns = torch.stack([each.column for each in rows])
        totals = self._square + torch.stack([each.square for each in rows])
        both = torch.stack([given[:, :-1], columns], dim=2)
        with side_streams(self.device, len(rows)) as streams:
            systems = []
            for total, one, on_stream in zip(totals, both, streams, strict=True):
                with on_stream:
                    lower, info = torch.linalg.cholesky_ex(total)
                    systems.append((torch.cholesky_solve(one, lower), info))
        solved, infos = (torch.stack(each) for each in zip(*systems, strict=True))
        found, of_columns = solved.unbind(dim=2)
        checks = torch.stack([infos.double(), totals.diagonal(dim1=1, dim2=2).amax(dim=1)], dim=1)
        corners = tensor(np.maximum([each.corner for each in rows], least), self.device)
        intercepts = torch.zeros_like(corners)
        if fit_intercept:
            rest = corners - (columns * of_columns).sum(dim=1)  # Schur's complement
            rest = torch.maximum(rest, LEAST_REST * corners)
            intercepts = (given[:, -1] - (columns * found).sum(dim=1)) / rest
            found = found - of_columns * intercepts[:, None]
        solutions: Array = torch.cat([found, intercepts[:, None], checks], dim=1).cpu().numpy()
        failed = (solutions[:, -2] != 0) | ~np.isfinite(solutions[:, -1])
        for k in np.flatnonzero(failed).tolist():  # with a ridge
            factor = self.factor(rows[k], least[k], fit_intercept)
            solutions[k, :-2] = factor.solve(right[k : k + 1])[0]
        return solutions[:, :-2]


@dataclass(frozen=True, eq=False)
class TorchFactor:
    """The factor of the Hessian in the coefficients and the intercept of an output."""

    lower: Any
    column: Any
    corner: float
    fit_intercept: bool

    def solve(self, gradient: Array) -> Array:
        """Return the solution of a linear system for each row (n_outputs, n_vectors + 1)."""
        torch, right = imported(), tensor(gradient.T, str(self.lower.device))
        both = torch.cat([right[:-1], self.column[:, None]], dim=1)
        both = torch.cholesky_solve(both, self.lower)
        found, of_column = both[:, :-1], both[:, -1:]
        intercepts = torch.zeros_like(right[-1:])
        if self.fit_intercept:
            rest = self.corner - self.column @ of_column  # Schur's complement
            rest = rest.clamp_min(LEAST_REST * self.corner)
            intercepts = (right[-1:] - self.column @ found) / rest
            found = found - of_column * intercepts
        solution: Array = torch.cat([found, intercepts]).T.contiguous().cpu().numpy()
        return solution


def _kernel_of(rows: DeviceRows, matrix: Any) -> Any:
    """Return the kernel values of all rows."""
    torch = imported()
    n_each = max(1, most_values(rows.device) // matrix.shape[0])
    parts = rows.chunks(slice(0, rows.n_rows), n_each)
    return torch.cat([torch.mm(part, matrix).exp_() for _, part in parts])
