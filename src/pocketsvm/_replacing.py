"""Files that appear in one step, complete, or not at all; and temporary folders.

A file is written under a temporary name in the same folder. Its writer holds a lock on it, which
the system releases when the process ends. So a temporary file that nobody has locked was left by a
process that was killed, and the next writer in the folder removes it. Temporary folders are locked
and removed in the same way.

Windows has no such locks: there, what a killed process leaves stays until somebody removes it.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PathLike = str | os.PathLike[str]

TEMPORARY = re.compile(r"\.pocketsvm-[0-9a-f]{16}\.tmp")
# Seconds in which a new file gets its lock, and is not taken for a stale one.
YOUNG = 60.0


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file to write, which takes the place of `path` once it is complete and on the disk.

    A failure leaves what was there before, and nothing else. Errors name `path`.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".pocketsvm-{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode_to_keep(target)
        _remove_stale(folder, TEMPORARY, stat.S_ISREG, os.unlink)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, flags, 0o666)
        try:
            with open(descriptor, "wb") as file:
                _lock(descriptor)
                if mode is not None and hasattr(os, "fchmod"):
                    with suppress(OSError):
                        os.fchmod(descriptor, mode)
                yield file
                file.flush()
                os.fsync(descriptor)
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        _sync_folder(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def _mode_to_keep(target: str) -> int | None:
    """Return the permissions of the file that is to be replaced; refuse what should not be."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise ValueError(f"{target} is not a regular file: it cannot be replaced.")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(mode)


def _lock(descriptor: int) -> None:
    if fcntl is None:
        return
    with suppress(OSError):  # not every file system has locks
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_stale(
    folder: str,
    pattern: re.Pattern[str],
    is_kind: Callable[[int], bool],
    remove: Callable[[str], object],
) -> None:
    """Remove the files, or folders, that processes left when they were killed, and nothing else."""
    if fcntl is None:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                _remove_if_stale(entry.path, is_kind, remove)


def _remove_if_stale(
    path: str, is_kind: Callable[[int], bool], remove: Callable[[str], object]
) -> None:
    with suppress(OSError):  # locked by its owner, of another user, or gone
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            is_old = time.time() - found.st_mtime > YOUNG
            if is_kind(found.st_mode) and found.st_uid == os.geteuid() and is_old:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
        finally:
            os.close(descriptor)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[str]:
    """Make a folder that is removed at the end, together with those that killed processes left.

    A process that is killed cannot remove its folder: the next one that asks for a folder with the
    same prefix does, if the system's locks say that its owner has ended.
    """
    parent = tempfile.gettempdir()
    pattern = re.compile(re.escape(prefix) + r"\w{8}")
    _remove_stale(parent, pattern, stat.S_ISDIR, shutil.rmtree)
    folder = tempfile.mkdtemp(prefix=prefix, dir=parent)
    descriptor = None if fcntl is None else os.open(folder, os.O_RDONLY)
    try:
        if descriptor is not None:
            _lock(descriptor)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # the file is in place; not every system can sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
