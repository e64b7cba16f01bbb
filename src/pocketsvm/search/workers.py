"""Tasks on threads: results in the order of the tasks, and no thread left after an interrupt."""

import ctypes
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

Result = TypeVar("Result")


class TaskIsOver(Exception):  # noqa: N818
    """Ends a task whose caller was interrupted; nobody sees it but the task's own thread."""


def run_tasks(
    tasks: Sequence[Callable[[], Result]], n_threads: int, on_end: Callable[[int, Result], None]
) -> list[Result]:
    """Return the results of all tasks, in their order.

    `on_end` is called in this thread with the number and the result of a task that has ended. An
    exception, also an interrupt, ends all tasks and is raised once their threads have ended.
    """
    if n_threads == 1 or len(tasks) <= 1:
        results = []
        for number, task in enumerate(tasks):
            results.append(task())
            on_end(number, results[-1])
        return results
    running = _Running()
    name = f"pocketsvm-{id(running)}"
    pool = ThreadPoolExecutor(min(n_threads, len(tasks)), thread_name_prefix=name)
    try:
        futures = [pool.submit(running.run, task) for task in tasks]
        numbers = {future: number for number, future in enumerate(futures)}
        waiting: set[Future[Result]] = set(futures)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                on_end(numbers[future], future.result())
        return [future.result() for future in futures]
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        running.end()
        # An interrupt may come before the pool knows a thread that it has just started.
        for thread in threading.enumerate():
            if thread.name.startswith(name):
                thread.join()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Running:
    """The threads that are in a task, where an exception may be raised."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._is_over = False

    def run(self, task: Callable[[], Result]) -> Result:
        """Run a task, unless all tasks are over."""
        with self._lock:
            if self._is_over:
                raise TaskIsOver
            self._threads.add(threading.get_ident())
        try:
            return task()
        finally:
            with self._lock:
                self._threads.discard(threading.get_ident())

    def end(self) -> None:
        """End all tasks."""
        with self._lock:
            self._is_over = True
            for thread_id in self._threads:
                raise_in(thread_id, TaskIsOver)


def raise_in(thread_id: int, exception: type[Exception]) -> None:
    """Raise an exception in another thread, as Ctrl-C does in the main thread."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), ctypes.py_object(exception)
    )
