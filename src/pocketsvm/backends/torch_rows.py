"""Rows on a device of torch, and the kernel values that follow from them.

A row x stands on the device as (x - c, |x - c|^2, 1), and a vector v as (2 g (v - c), -g,
-g |v - c|^2), where g is gamma and c a centre. One matrix product gives the logarithms of kernel
values.
"""

import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..rows.checked import CheckedRows
from .slices import slices

Array = NDArray[Any]
T = TypeVar("T")

OLDEST = "2.5"
# Values that are worked on together, at most and at least.
MOST_VALUES, LEAST_VALUES = 2**26, 2**16
# Memory per value: in float32 and float64, and as much again.
VALUE_BYTES = 24
# Rows stay on the device if they take at most this share of its free memory.
MOST_RESIDENT = 0.4
# Rows that take at most so many bytes are copied without asking how much memory is free.
SMALL = 2**25
# The values of a matrix have addresses that matrix products like if rows are multiples of this.
ALIGNED = 4
# Bytes that are copied at once to pinned memory, and from there to the device; and the least number
# of rows for a thread.
STAGED_AT_ONCE, LEAST_COPIED = 2**25, 1024
# Streams that work on small matrices at once.
MOST_STREAMS = 8
# The memory that the CPU is taken to have, as a device of torch.
CPU_BYTES = 2**30

_lock = threading.RLock()
_resident: WeakKeyDictionary[CheckedRows, dict[tuple[str, Any], "DeviceRows"]] = WeakKeyDictionary()
_most_values: dict[str, int] = {}  # the values that are worked on together on each device
_after_errors: dict[str, int] = {}  # limits of devices that have run out of memory


def imported() -> Any:
    """Return torch; raise an ImportError that says whether it is missing or too old."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"it cannot be imported ({error}).") from error
    if tuple(map(int, torch.__version__.split(".")[:2])) < tuple(map(int, OLDEST.split("."))):
        raise ImportError(f"version {torch.__version__} is too old.")
    return torch


def free_bytes(device: str) -> int:
    """Return the memory of a device that can be allocated."""
    torch = imported()
    if torch.device(device).type != "cuda":
        return CPU_BYTES
    free, _ = torch.cuda.mem_get_info(device)
    # A flat dict of all statistics would take longer than all else.
    known = torch.cuda.memory.memory_stats_as_nested_dict(device)
    reserved, allocated = (
        known[name]["all"]["current"] if known else 0
        for name in ("reserved_bytes", "allocated_bytes")
    )
    return int(free + reserved - allocated)


def most_values(device: str) -> int:
    """Return how many values may be worked on together."""
    return _most_values.get(device) or settle_values(device)


def settle_values(device: str, free: int | None = None) -> int:
    """Find out how many values may be worked on together, from the memory that is free now."""
    free = free_bytes(device) if free is None else free
    most = min(_after_errors.get(device, MOST_VALUES), free // (2 * VALUE_BYTES))
    _most_values[device] = max(LEAST_VALUES, most)
    return _most_values[device]


def out_of_memory() -> type[Exception]:
    """Return the class of torch's out-of-memory errors."""
    error: type[Exception] = imported().OutOfMemoryError
    return error


def fitting(device: str, work: Callable[[int], T]) -> T:
    """Do work on at most so many values at once; on fewer if memory does not suffice."""
    while True:
        n_values = most_values(device)
        try:
            return work(n_values)
        except out_of_memory() as error:
            if n_values <= LEAST_VALUES:
                raise MemoryError(
                    f"{device} has {free_bytes(device):,} free bytes, which is too little even for "
                    'small parts of the rows: use a smaller budget, or device="cpu".'
                ) from error
            # The trace of the error holds arrays.
            error.__traceback__ = None
        if device not in _after_errors:
            warnings.warn(
                f"{device} ran out of memory: smaller parts of the rows follow.",
                RuntimeWarning,
                stacklevel=2,
            )
        _most_values[device] = _after_errors[device] = max(LEAST_VALUES, n_values // 2)
        if device.startswith("cuda"):
            imported().cuda.empty_cache()


@contextmanager
def exact_products() -> Iterator[None]:
    """Let torch multiply in float32, and not in a format of fewer digits."""
    matmul = imported().backends.cuda.matmul
    name, exact = (
        ("fp32_precision", "ieee")
        if hasattr(matmul, "fp32_precision")
        else (
            "allow_tf32",
            False,
        )
    )
    before = getattr(matmul, name)
    if before == exact:
        yield
        return
    setattr(matmul, name, exact)
    try:
        yield
    finally:
        setattr(matmul, name, before)


@contextmanager
def side_streams(device: str, n: int) -> Iterator[list[Any]]:
    """Give contexts of streams for work on small arrays, which leaves most of a GPU idle alone.

    What was computed before and what follows waits for this work.
    """
    torch = imported()
    if not device.startswith("cuda") or n == 1:
        yield [nullcontext()] * n
        return
    main = torch.cuda.current_stream(device)
    streams = [torch.cuda.Stream(device) for _ in range(min(n, MOST_STREAMS))]
    for each in streams:
        each.wait_stream(main)
    try:
        yield [torch.cuda.stream(streams[k % len(streams)]) for k in range(n)]
    finally:
        for each in streams:
            main.wait_stream(each)


def tensor(array: Any, device: str, dtype: Any = None) -> Any:
    """Copy an array to the device."""
    torch, array = imported(), np.ascontiguousarray(array)
    if device.startswith("cuda") and array.flags.writeable:  # without a copy on the CPU
        return torch.from_numpy(array).to(device=device, dtype=dtype)
    return torch.tensor(array, device=device, dtype=dtype)


def is_tensor(X: Any) -> bool:
    """Tell whether X is a tensor of torch."""
    return type(X).__module__.partition(".")[0] == "torch"


def device_name(X: Any) -> str | None:
    """Return the name of the GPU that an array of torch or CuPy is on; None for other objects."""
    if is_tensor(X):
        return f"cuda:{X.device.index}" if X.device.type == "cuda" else None
    if type(X).__module__.partition(".")[0] == "cupy":
        return f"cuda:{X.device.id}"
    return None


def as_tensor(X: Any) -> Any:
    """Return an array on a GPU as a tensor of torch, without a copy."""
    return X if is_tensor(X) else imported().from_dlpack(X)


def check_tensor(X: Any, n_features: int, name: str) -> None:
    """Refuse rows on a device that do not fit a model, as scikit-learn refuses those of NumPy."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead.")
    if X.shape[1] != n_features:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {n_features} features as input."
        )
    if X.is_complex():
        raise ValueError("Complex data not supported.")
    if not imported().isfinite(X).all():
        raise ValueError(f"Input X contains NaN or infinity, but {name} does not accept them.")


class Centre:
    """A point that is subtracted from rows and vectors."""

    def __init__(self, mean: Array, device: str, dtype: Any) -> None:
        # In the precision of the rows, so that rows and vectors are moved by the same.
        self.array: Array = mean.astype(np.float32 if dtype.itemsize == 4 else np.float64)
        self.here = tensor(self.array, device, dtype)
        self.exact = self.here.double()


class VectorMatrix:
    """Vectors as a matrix with which rows are multiplied, and the centre of these rows."""

    def __init__(self, vectors: Array, gamma: float, centre: Centre, dtype: Any) -> None:
        moved = tensor(vectors, str(centre.exact.device)).double() - centre.exact
        n_features = vectors.shape[1]
        matrix = moved.new_zeros((width_of(n_features), len(vectors)))
        matrix[:n_features] = 2 * gamma * moved.T
        matrix[n_features] = -gamma
        matrix[n_features + 1] = -gamma * moved.square().sum(dim=1)
        self.centre, self.matrix = centre, matrix.to(dtype)


class LastMatrix:
    """The matrix of the vectors that rows were read with last, as long as the vectors exist."""

    def __init__(self) -> None:
        self._last: tuple[Any, Any, Any] | None = None

    def of(self, vectors: Array, gamma: float, device: str, dtype: Any) -> VectorMatrix:
        """Return the matrix of vectors; the centre is their mean."""
        key = gamma, device, dtype
        if (last := self._last) is not None and last[0]() is vectors and last[1] == key:
            found: VectorMatrix = last[2]
            return found
        mean = vectors.mean(axis=0, dtype=np.float64)
        found = VectorMatrix(vectors, gamma, Centre(mean, device, dtype), dtype)
        self._last = weakref.ref(vectors, self._forget), key, found
        return found

    def _forget(self, gone: Any) -> None:
        if (last := self._last) is not None and last[0] is gone:
            self._last = None


def width_of(n_features: int) -> int:
    """Return the number of values of a row on a device."""
    return -(-(n_features + 2) // ALIGNED) * ALIGNED


class DeviceRows:
    """Rows for a device, in one precision: on it, if there is room, or copied when needed.

    Parameters
    ----------
    X : ndarray, CSR matrix or tensor of shape (n_rows, n_features)
        The rows.

    device : str
        The device.

    dtype : dtype of torch
        float32 or float64.

    n_threads : int
        Threads that copy rows.

    stays : bool
        Whether the rows should stay on the device.

    centre : Centre or None
        What is subtracted; None means the mean of the first rows.
    """

    def __init__(
        self,
        X: Any,
        device: str,
        dtype: Any,
        n_threads: int,
        *,
        stays: bool,
        centre: Centre | None = None,
    ) -> None:
        self.X, self.device, self.dtype, self.n_threads = X, device, dtype, n_threads
        self.n_rows, self.n_features = X.shape
        self.width = width_of(self.n_features)
        self.is_sparse = sp.issparse(X)
        self._centre = centre or Centre(self._mean(), device, dtype)
        self._rows: Any = None
        self._sparse: Any = None
        # Asking for free memory takes longer than it takes to read few rows.
        is_small = self._bytes() <= SMALL and device in _most_values
        if not is_small:
            settle_values(device)
        if stays and (is_small or self._bytes() <= MOST_RESIDENT * free_bytes(device)):
            try:
                self._stay()
            except out_of_memory():
                self._rows = self._sparse = None

    @property
    def item(self) -> int:
        """The bytes of a value."""
        return int(self.dtype.itemsize)

    @property
    def centre(self) -> Array:
        """What is subtracted from the rows."""
        return self._centre.array

    def _mean(self) -> Array:
        """Return the mean of the first rows."""
        if not self.n_rows:
            return np.zeros(self.n_features)
        some = self.X[: min(self.n_rows, 4096)]
        some = some.cpu().numpy() if is_tensor(some) else some
        return np.asarray(some.mean(axis=0), dtype=np.float64).ravel()

    def _bytes(self) -> int:
        values = self.X.nnz * 4 if self.is_sparse else self.n_rows * self.width
        return int(values) * self.item

    def _stay(self) -> None:
        torch = imported()
        if self.is_sparse:
            self._sparse = (
                tensor(self.X.indices, self.device, torch.int64),
                tensor(self.X.data, self.device, self.dtype),
            )
            return
        rows = torch.empty((self.n_rows, self.width), device=self.device, dtype=self.dtype)
        for at, part in self._moved(slice(0, self.n_rows), self.n_rows):
            self._extend(part, rows[at])
        self._rows = rows

    def vectors(self, vectors: Array, gamma: float) -> Any:
        """Return the matrix of vectors with which rows are multiplied."""
        return VectorMatrix(vectors, gamma, self._centre, self.dtype).matrix

    def chunks(self, at: slice, n_each: int) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows, and these rows on the device."""
        if self._rows is not None:
            for part in slices(at.stop - at.start, n_each):
                here = slice(at.start + part.start, at.start + part.stop)
                yield here, self._rows[here]
            return
        for here, moved in self._moved(at, n_each):
            for some in slices(len(moved), n_each):
                begin = here.start + some.start
                yield slice(begin, begin + len(moved[some])), self._extend(moved[some], None)

    def at(self, chosen: Any) -> Any:
        """Return the rows at some positions, a tensor, less the centre."""
        if self._rows is not None:
            return self._rows[chosen, : self.n_features]
        places = chosen.cpu().numpy()
        rows = self.X[places]
        rows = rows.toarray() if self.is_sparse else rows
        return tensor(rows, self.device, self.dtype) - self._centre.here

    @property
    def is_resident(self) -> bool:
        """Whether rows at any positions are on the device."""
        return self._rows is not None

    def _extend(self, part: Any, out: Any) -> Any:
        """Return rows as the module says."""
        torch, d = imported(), self.n_features
        if out is None:
            out = torch.empty((len(part), self.width), device=self.device, dtype=self.dtype)
        torch.sub(part, self._centre.here, out=out[:, :d])
        torch.linalg.vector_norm(out[:, :d], dim=1, out=out[:, d])
        out[:, d].square_()
        out[:, d + 1] = 1
        out[:, d + 2 :] = 0
        return out

    def _moved(self, at: slice, n_each: int) -> Iterator[tuple[slice, Any]]:
        """Yield slices of rows, and their values on the device."""
        if self.is_sparse:
            n_each = max(1, min(n_each, most_values(self.device) // self.width))
            for here in _within(at, n_each):
                yield here, self._dense(here)
        elif is_tensor(self.X):
            for here in _within(at, n_each):
                yield here, self.X[here].to(device=self.device, dtype=self.dtype)
        else:
            n_each = max(1, STAGED_AT_ONCE // (self.item * max(1, self.n_features)))
            yield from self._staged(_within(at, n_each))

    def _dense(self, at: slice) -> Any:
        """Return sparse rows with all of their values."""
        torch, X = imported(), self.X
        begin, end = int(X.indptr[at.start]), int(X.indptr[at.stop])
        if self._sparse is not None:
            indices, data = (each[begin:end] for each in self._sparse)
        else:
            indices = tensor(X.indices[begin:end], self.device, torch.int64)
            data = tensor(X.data[begin:end], self.device, self.dtype)
        n_rows = at.stop - at.start
        counts = tensor(np.diff(X.indptr[at.start : at.stop + 1]), self.device, torch.int64)
        first = torch.arange(n_rows, device=self.device) * self.n_features
        places = torch.repeat_interleave(first, counts, output_size=end - begin) + indices
        dense = torch.zeros(n_rows * self.n_features, device=self.device, dtype=self.dtype)
        return dense.index_copy_(0, places, data).view(n_rows, self.n_features)

    def _staged(self, parts: list[slice]) -> Iterator[tuple[slice, Any]]:
        """Copy rows while the device computes on those before: two buffers take turns.

        The rows of one part are copied at once: threads would have to wait for those that read
        the next rows of a file.
        """
        torch = imported()
        if len(parts) == 1 or not self.device.startswith("cuda"):
            for at in parts:
                yield at, tensor(self.X[at], self.device, self.dtype)
            return
        shape = (max((at.stop - at.start for at in parts), default=0), self.n_features)
        buffers = [
            torch.empty(shape, dtype=self.dtype, pin_memory=True) for _ in range(min(2, len(parts)))
        ]
        copied: list[Any] = [None, None]
        stream, main = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        with ThreadPoolExecutor(self.n_threads) as pool:
            for k, at in enumerate(parts):
                buffer = buffers[k % 2][: at.stop - at.start]
                if copied[k % 2] is not None:
                    copied[k % 2].synchronize()
                self._copy(at, buffer.numpy(), pool)
                with torch.cuda.stream(stream):
                    part = buffer.to(self.device, non_blocking=True)
                    copied[k % 2] = stream.record_event()
                main.wait_event(copied[k % 2])
                part.record_stream(main)
                yield at, part

    def _copy(self, at: slice, to: Array, pool: Executor) -> None:
        """Copy rows to a buffer, in the precision of the buffer."""
        n_each = max(LEAST_COPIED, -(-len(to) // self.n_threads))

        def copy(some: slice) -> None:
            with np.errstate(over="ignore"):
                np.copyto(to[some], self.X[at.start + some.start : at.start + some.stop])

        parts = slices(len(to), n_each)
        for _ in pool.map(copy, parts):
            pass


class HostCopies:
    """Copies results from a device while it computes others, and hands them to functions."""

    def __init__(self, device: str) -> None:
        torch, is_gpu = imported(), device.startswith("cuda")
        self.device, self._stream = device, torch.cuda.Stream(device) if is_gpu else None
        self._pool, self._waiting = ThreadPoolExecutor(1), list[Future[None]]()

    def __enter__(self) -> "HostCopies":
        return self

    def __exit__(self, *error: object) -> None:
        """Wait for all copies; raise what has gone wrong."""
        self._pool.shutdown()
        if error[0] is None:
            for each in self._waiting:
                each.result()

    def add(self, found: Any, use: Callable[[Array], Any]) -> None:
        """Copy a tensor, and call a function with the array."""
        done = None
        if self._stream is not None:
            done = imported().cuda.current_stream(self.device).record_event()
        self._waiting.append(self._pool.submit(self._copy, found, done, use))

    def _copy(self, found: Any, done: Any, use: Callable[[Array], Any]) -> None:
        torch = imported()
        if self._stream is None:
            use(found.numpy())
            return
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(done)
            host = torch.empty(found.shape, dtype=found.dtype, pin_memory=True)
            host.copy_(found, non_blocking=True)
            found.record_stream(self._stream)
            self._stream.synchronize()
        use(host.numpy())


def resident_rows(checked: CheckedRows, device: str, dtype: Any, n_threads: int) -> DeviceRows:
    """Return rows that are used often: they stay on the device as long as they exist."""
    with _lock:
        known = _resident.setdefault(checked, {})
        found = known.get((device, dtype))
        if found is None:
            found = DeviceRows(checked.X, device, dtype, n_threads, stays=True)
            known[device, dtype] = found
        return found


def rows_to_read(
    checked: CheckedRows, vectors: Array, gamma: float, device: str, dtype: Any, n_threads: int
) -> tuple[DeviceRows, Any]:
    """Return rows that are read with vectors, and the matrix of these.

    Few rows, as those of a batch of a file, are not kept; batches share the matrix.
    """
    known = checked in _resident or checked.X.nbytes > SMALL
    if checked.structure is not None or known:
        rows = resident_rows(checked, device, dtype, n_threads)
        return rows, rows.vectors(vectors, gamma)
    found = _last_matrix.of(vectors, gamma, device, dtype)
    rows = DeviceRows(checked.X, device, dtype, n_threads, stays=False, centre=found.centre)
    return rows, found.matrix


def _within(at: slice, n_each: int) -> list[slice]:
    parts = slices(at.stop - at.start, max(1, n_each))
    return [slice(at.start + part.start, at.start + part.stop) for part in parts]


_last_matrix = LastMatrix()
