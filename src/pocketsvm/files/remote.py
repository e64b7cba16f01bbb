"""Files at URLs, such as ``s3://bucket/rows``, through the file systems of pyarrow and fsspec.

pyarrow has those of S3, Google Cloud Storage, Azure and HDFS; fsspec has, or finds, all others.
"""

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from .errors import DataError

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
UNKNOWN = "Unrecognized filesystem type"  # how pyarrow begins this message


class RemotePath(str):
    """The URL of a file, with its file system.

    Attributes
    ----------
    system : pyarrow.fs.FileSystem
        The file system.

    key : str
        What the file system calls the file.
    """

    system: Any
    key: str

    @classmethod
    def of(cls, url: str) -> "RemotePath":
        """Find the file system of a URL."""
        if isinstance(url, cls):
            return url
        if find_spec("pyarrow") is None:
            raise ImportError(f"Reading {url} needs pyarrow: pip install 'pocketsvm[data]'")
        import pyarrow as pa
        from pyarrow import fs

        path = cls(url)
        try:
            path.system, path.key = fs.FileSystem.from_uri(url.replace(" ", "%20"))
        except pa.ArrowInvalid as error:
            if not str(error).startswith(UNKNOWN):
                raise DataError(f"{url} is no URL of a file: {error}") from error
            path.system, path.key = _by_fsspec(url)
        return path

    def sibling(self, url: str, key: str) -> "RemotePath":
        """Return another path of the same file system."""
        path = RemotePath(url)
        path.system, path.key = self.system, key
        return path

    def info(self) -> Any:
        """Return what is known about the file or the folder; refuse one that is not there."""
        with remote_errors(self):
            found = self.system.get_file_info(self.key)
        if not found.type:
            raise _missing(self)
        return found

    def open(self) -> Any:
        """Open the file to be read at any position."""
        with remote_errors(self):
            return self.system.open_input_file(self.key)

    def files(self) -> "list[RemotePath]":
        """Return the files of a folder and of those in it, in the order of their names."""
        from pyarrow import fs

        with remote_errors(self):
            found = self.system.get_file_info(fs.FileSelector(self.key, recursive=True))
        base, _, query = self.partition("?")
        query = f"?{query}" if query else ""
        keys = sorted(each.path for each in found if each.is_file)
        names = [key.removeprefix(self.key).strip("/") for key in keys]
        return [
            self.sibling(f"{base.rstrip('/')}/{name}{query}", key)
            for name, key in zip(names, keys, strict=True)
        ]


@contextmanager
def remote_errors(url: str) -> Iterator[None]:
    """Make errors of a file system name the URL."""
    try:
        yield
    except FileNotFoundError:
        raise _missing(url) from None
    except OSError as error:
        raise DataError(f"{url} cannot be read: {error}") from error


def _missing(url: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)


def _by_fsspec(url: str) -> tuple[Any, str]:
    """Return the file system of a URL that only fsspec may know, and the path in it."""
    scheme = url.partition(":")[0]
    if find_spec("fsspec") is None:
        raise ImportError(f"Reading {url} needs a file system for {scheme}: pip install fsspec")
    from fsspec.core import url_to_fs
    from pyarrow import fs

    try:
        system, key = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise DataError(f"{url} cannot be read: {error}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), key


def is_url(path: str) -> bool:
    """Whether a path is a URL."""
    return URL.match(path) is not None


def open_binary(path: str) -> Any:
    """Open a file, which may be at a URL, to read its bytes."""
    return RemotePath.of(path).open() if is_url(path) else open(path, "rb", buffering=0)


def is_remote(stream: Any) -> bool:
    """Whether a stream is the file of a URL."""
    pa = sys.modules.get("pyarrow")
    return pa is not None and isinstance(stream, pa.NativeFile) and stream.seekable()


def found_at(url: str) -> list[str]:
    """Return the files of a URL: a file, a folder, or a pattern with ``*``."""
    path, _, query = url.partition("?")
    start = re.search(r"[^/]*\*", path)
    if start is None:
        found = RemotePath.of(url)
        if found.info().is_file:
            return [found]
        files = [file for file in found.files() if not _is_hidden(file, found)]
        if not files:
            raise FileNotFoundError(f"the folder {url} has no files.")
        return [*files]
    base = path[: start.start()] + (f"?{query}" if query else "")
    pattern = re.escape(path).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    files = RemotePath.of(base).files()
    chosen = [file for file in files if re.fullmatch(pattern, file.partition("?")[0])]
    if not chosen:
        raise FileNotFoundError(f"no file matches {url}.")
    return [*chosen]


def _is_hidden(file: RemotePath, folder: RemotePath) -> bool:
    parts = file.key.removeprefix(folder.key).strip("/").split("/")
    return any(part.startswith((".", "_")) for part in parts)
