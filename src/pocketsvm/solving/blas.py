"""BLAS on one thread, so that its sums have the same bits whatever the machine."""

import os
import threading
from typing import Any

# These imports load the BLAS libraries of NumPy and SciPy, the only ones that polishing calls.
import numpy as np  # noqa: F401
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

# Looking for libraries is slow, so it is done once, and not under the lock.
LIBRARIES = ThreadpoolController().select(user_api="blas").lib_controllers


class _OneBlasThread:
    """A context in which BLAS runs on one thread.

    The number of BLAS threads belongs to the process: the first thread that enters sets it, and the
    last one that leaves restores it, so that concurrent fits do not undo each other's setting.

    An interrupt can end any of these methods early. Therefore `_before` is set before the first
    library changes and cleared after the last one is restored, and leaving twice is the same as
    leaving once.
    """

    def __init__(self) -> None:
        # A signal handler may fork, or fit a model, while its own thread holds the lock.
        self._lock = threading.RLock()
        self._inside: set[threading.Thread] = set()
        self._before: list[tuple[Any, int]] = []  # libraries and their numbers of threads
        # A fork waits while a thread sets a library, whose locks the child would inherit.
        if hasattr(os, "register_at_fork"):  # Windows does not fork
            os.register_at_fork(
                before=lambda: self._lock.acquire(),
                after_in_parent=lambda: self._lock.release(),
                after_in_child=self._begin_child,
            )

    def __enter__(self) -> None:
        try:
            with self._lock:
                if not self._inside:
                    self._before = self._before or [(blas, blas.num_threads) for blas in LIBRARIES]
                    for blas, _ in self._before:
                        _set_threads(blas, 1)
                self._inside.add(threading.current_thread())
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            self._leave()
        finally:
            # An interrupt may have ended the first call early; otherwise this one does nothing.
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            # A thread that ended without leaving, because of an interrupt, does not count.
            alive = {thread for thread in self._inside if thread.is_alive()}
            self._inside = alive - {threading.current_thread()}
            if not self._inside:
                self._restore()

    def _restore(self) -> None:
        for blas, n_threads in self._before:
            _set_threads(blas, n_threads)
        self._before = []

    def _begin_child(self) -> None:
        """Start a forked process, where no other thread exists, with nobody inside."""
        self._lock = threading.RLock()
        self._inside = set()
        self._restore()


def _set_threads(blas: Any, n_threads: int) -> None:
    getattr(blas, "_real_set_num_threads", blas.set_num_threads)(n_threads)


ONE_BLAS_THREAD = _OneBlasThread()
"""BLAS runs on one thread during a fit, also if several fits run at the same time."""
