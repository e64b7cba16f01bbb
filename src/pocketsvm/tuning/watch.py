"""What ends the fits of a search of scikit-learn that is interrupted."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..estimators.searching.workers import raise_in


class SearchIsOver(Exception):  # noqa: N818
    """Ends the fits of an interrupted search; nobody sees it but the search's own threads."""


class Watch:
    """A callback on all fits of a search, which ends them if the search is interrupted.

    No thread may outlive the search, because Python cannot stop threads in native code. An
    exception ends a fit, because one whose callback only stops the passes would still be polished.
    """

    def __init__(self) -> None:
        self.is_over = False
        self.threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        self._fitting: set[int] = set()  # threads in a fit, where an exception may be raised

    def setup(self, estimator: Any, context: Any) -> None:
        """Begin a fit: remember its thread."""
        with self._lock:
            self.threads.add(threading.current_thread())
            self._fitting.add(threading.get_ident())

    def teardown(self, estimator: Any, context: Any) -> None:
        """End a fit, also one that has failed."""
        with self._lock:
            self._fitting.discard(threading.get_ident())

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        """End the fit if the search is over."""
        if self.is_over:
            raise SearchIsOver

    on_fit_task_end = on_fit_task_begin

    @contextmanager
    def ended(self) -> Iterator[None]:
        """On an exception, end every fit and wait for its thread."""
        try:
            yield
        except BaseException:
            with self._lock:
                self.is_over = True
                for thread_id in self._fitting - {threading.get_ident()}:
                    raise_in(thread_id, SearchIsOver)
            for thread in self.threads - {threading.current_thread()}:
                thread.join()
            raise
