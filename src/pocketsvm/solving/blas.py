"""BLAS on one thread, so that its sums have the same bits whatever the machine."""

import threading
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneBlasThread:
    """A context in which BLAS runs on one thread.

    The number of BLAS threads belongs to the process: the first thread that enters sets it, and the
    last one that leaves restores it, so that concurrent fits do not undo each other's setting.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                controller = ThreadpoolController().select(user_api="blas")
                self._before = [(blas, blas.num_threads) for blas in controller.lib_controllers]
                for blas, _ in self._before:
                    _set_threads(blas, 1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for blas, n_threads in self._before:
                    _set_threads(blas, n_threads)


def _set_threads(blas: Any, n_threads: int) -> None:
    getattr(blas, "_real_set_num_threads", blas.set_num_threads)(n_threads)


ONE_BLAS_THREAD = _OneBlasThread()
