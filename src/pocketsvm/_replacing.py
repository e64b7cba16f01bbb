"""Files that appear in one step, complete, or not at all."""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file to write, which takes the place of `path` once it is complete and on the disk.

    A failure leaves what was there before, and nothing else. Errors name `path`.
    """
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{secrets.token_hex(8)}.tmp")
    try:
        mode = _mode_to_keep(target)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            with open(descriptor, "wb") as file:
                if mode is not None:
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
        _sync_folder(os.path.dirname(target))
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


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # the file is in place; not every system can sync a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
