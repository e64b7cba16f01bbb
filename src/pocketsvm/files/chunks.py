"""LIBSVM text in chunks of whole lines, which threads parse in native code.

A regular file is cut into pieces of equal size, and each thread reads its own. Every other text is
read by the calling thread, which decompresses it if needed and hands on chunks that end with a
line. Chunks come in the order of the text, so the result depends neither on the cuts nor on the
number of threads.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from operator import methodcaller
from typing import Any

from .. import _core
from .compression import Stream, named_errors, regular_size
from .errors import DataError

CHUNK = 1 << 18  # bytes of text: they and their parsed rows fit into the cache of one core
# Bytes of a line that are always accepted; parsing takes about six times as much memory. Twice as
# many are always refused: a hostile file could have a single line that fills the memory.
MAX_LINE = 1 << 26
PROBE = 1 << 16  # bytes read at once to find the end of a line
AHEAD = 2  # chunks being parsed or waiting, per helper thread, so that none runs out of work
PENDING = 4  # chunks per thread that may wait for an earlier one, which bounds the memory

Fill = Callable[["_core.SvmlightChunk"], None]


def parsed_chunks(
    text: Any, name: str, n_threads: int, *, finite: bool = False
) -> Iterator[tuple[_core.SvmlightChunk, int]]:
    """Yield the chunks of a text, each with the number of lines before it.

    Parameters
    ----------
    text : stream
        The text, decompressed.

    name : str
        What messages call it.

    n_threads : int
        Number of threads, the calling one included.

    finite : bool, default=False
        Whether labels and values must be finite.

    Yields
    ------
    chunk : SvmlightChunk
        The next chunk; its memory is used again when the next one is asked for.

    line : int
        The number of lines before it.
    """
    fills: Iterable[Fill] = _streamed_to_damage(text, name)
    size = regular_size(text)
    if size:
        _check_lines(text.fileno(), size, name)
        n_pieces = -(-size // CHUNK)
        fills, n_threads = _pieces(text.fileno(), n_pieces), min(n_threads, n_pieces)
    line = 0
    with closing(_filled(fills, n_threads)) as chunks:
        for chunk in chunks:
            if chunk.error:
                raise DataError(place(name, line + chunk.error[0], chunk.error[1]) + chunk.error[2])
            if finite and chunk.infinite_place:
                at_line, column = chunk.infinite_place
                raise DataError(place(name, line + at_line, column) + "the number is not finite")
            yield chunk, line
            line += chunk.n_lines


def place(name: str, line: int, column: int) -> str:
    """Return the start of a message about one place in a text."""
    return f"{name}, line {line}, column {column}: "


# --- cuts -----------------------------------------------------------------------------------------


def _pieces(descriptor: int, n_pieces: int) -> Iterator[Fill]:
    """Cut a file that can be read at any position: each thread reads its own piece."""
    for k in range(n_pieces):
        yield methodcaller("read", descriptor, k * CHUNK, (k + 1) * CHUNK)


def _check_lines(descriptor: int, size: int, name: str) -> None:
    """Refuse a file with a line that covers a whole window of MAX_LINE bytes.

    In other windows, the first bytes contain a line end, so little is read.
    """
    for begin in range(0, size - MAX_LINE, MAX_LINE):
        end = begin + MAX_LINE
        while begin < end and (block := _read_at(descriptor, min(PROBE, end - begin), begin)):
            if b"\n" in block:
                break
            begin += len(block)
        else:
            raise _too_long(name)


def _read_at(descriptor: int, size: int, position: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, position)
    os.lseek(descriptor, position, os.SEEK_SET)  # Windows: no other thread reads yet
    return os.read(descriptor, size)


def _too_long(name: str) -> DataError:
    return DataError(f"{name} has a line of more than {MAX_LINE:,} bytes, which is the limit.")


def _streamed(text: Stream, name: str) -> Iterator[Fill]:
    """Read a text from front to back, and cut it at line ends."""
    parts: list[bytes] = []
    size = 0
    while block := text.read(CHUNK):
        parts.append(block)
        if end := block.rfind(b"\n") + 1:
            yield methodcaller("parse", parts, size + end)
            parts, size = [block[end:]], 0
        size += len(block) - end
        if size > MAX_LINE:
            raise _too_long(name)
    yield methodcaller("parse", parts, size)


def _streamed_to_damage(text: Stream, name: str) -> Iterator[Fill]:
    """Stream a text; if it is damaged, the chunks before the damage are parsed first."""
    try:
        with named_errors(name):
            yield from _streamed(text, name)
    except DataError as error:
        damage = error

        def refuse(chunk: _core.SvmlightChunk) -> None:
            raise damage

        yield refuse


# --- threads --------------------------------------------------------------------------------------


def _filled(fills: Iterable[Fill], n_threads: int) -> Generator[_core.SvmlightChunk]:
    """Yield chunks in order, filled on n_threads, one of which is the calling thread.

    The calling thread fills a chunk itself when the other threads have enough to do.
    """
    ahead = AHEAD * (n_threads - 1)
    pending: deque[tuple[Future[None], _core.SvmlightChunk]] = deque()
    spare: list[_core.SvmlightChunk] = []
    with ThreadPoolExecutor(max(n_threads - 1, 1)) as pool:  # starts threads when needed
        try:
            for fill in fills:
                chunk = spare.pop() if spare else _core.SvmlightChunk()
                waiting = sum(not future.done() for future, _ in pending)
                filled = pool.submit(fill, chunk) if waiting < ahead else _call(fill, chunk)
                pending.append((filled, chunk))
                while pending and (pending[0][0].done() or len(pending) > PENDING * n_threads):
                    future, chunk = pending.popleft()
                    future.result()
                    yield chunk
                    spare.append(chunk)
            for future, chunk in pending:
                future.result()
                yield chunk
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _call(fill: Fill, chunk: _core.SvmlightChunk) -> Future[None]:
    """Fill a chunk in this thread; an error is kept until the chunk's turn comes."""
    future: Future[None] = Future()
    try:
        fill(chunk)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(None)
    return future
