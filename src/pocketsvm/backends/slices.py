"""Slices of rows, and functions of them on several threads, in their order."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")

# Results for each thread that are computed, or being computed, before they are needed.
AHEAD = 2


def slices(n_all: int, n_each: int) -> list[slice]:
    """Cut a range into slices."""
    return [slice(begin, min(begin + n_each, n_all)) for begin in range(0, n_all, n_each)]


def in_order(
    function: Callable[[Argument], Result], arguments: list[Argument], n_threads: int
) -> Iterator[Result]:
    """Yield the function's results, computed on some threads, in the order of the arguments.

    Threads are only a few results ahead, so that these do not fill the memory.
    """
    if n_threads == 1 or len(arguments) <= 1:
        yield from map(function, arguments)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(arguments)))
    ahead: deque[Future[Result]] = deque()
    try:
        for argument in arguments:
            if len(ahead) == AHEAD * n_threads:
                yield ahead.popleft().result()
            ahead.append(pool.submit(function, argument))
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
