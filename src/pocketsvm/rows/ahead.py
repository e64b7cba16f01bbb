"""Reading ahead: the next batch is read while the current one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def read_ahead(batches: Iterator[T]) -> Iterator[T]:
    """Yield batches, of which one more is read by another thread."""
    with ThreadPoolExecutor(1) as pool:
        ready = pool.submit(next, batches, None)
        while (batch := ready.result()) is not None:
            ready = pool.submit(next, batches, None)
            yield batch
