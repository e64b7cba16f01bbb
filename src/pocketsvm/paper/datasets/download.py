"""Downloads of the paper's data sets to the cache folder: complete and checked, or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .files import File, Source, cache_folder

PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


class WrongFileError(ValueError):
    """An existing file is not the one that its name says."""


def fetch(
    source: Source, *, force: bool = False, page: str = PAGE, progress: Any = None
) -> list[Path]:
    """Download the missing files of a source, and return the paths of all its files.

    Parameters
    ----------
    source : Source
        The source.

    force : bool, default=False
        Download existing files again.

    page : str
        The address of the folder that holds the files.

    progress : object, default=None
        A progress bar as pooch expects it: ``total``, ``update``, ``reset`` and ``close``.

    Raises
    ------
    OSError
        If a file cannot be downloaded or written.
    WrongFileError
        If an existing file is not the right one.
    ValueError
        If a downloaded file is not the right one. Nothing of a failed download is kept.
    """
    there = {} if force else _checked(source)
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as temporary:
        fresh = {
            file: _download(file, page, Path(temporary), progress)
            for file in source.files
            if file not in there
        }
        for file, path in fresh.items():
            there[file] = folder / path.name
            os.replace(path, there[file])
    return [there[file] for file in source.files]


def _checked(source: Source) -> dict[File, Path]:
    """Return the existing files and their paths; raise ValueError if one is not the right file."""
    there = {file: path for file, path in zip(source.files, source.find(), strict=True) if path}
    for file, path in there.items():
        try:
            file.read(path)
        except ValueError as error:
            raise WrongFileError(str(error)) from error
    return there


def _download(file: File, page: str, folder: Path, progress: Any) -> Path:
    try:
        import pooch
        import requests  # a dependency of pooch
    except ModuleNotFoundError as error:
        raise ImportError("downloads need pooch: pip install 'pocketsvm[data]'") from error
    url = page.rstrip("/") + "/" + file.name + file.ending
    path = folder / (file.name + file.ending)
    try:
        pooch.HTTPDownloader(progressbar=progress, chunk_size=1 << 16)(url, str(path), None)
    except (requests.ConnectionError, requests.Timeout) as error:
        host = urlsplit(url).hostname
        raise OSError(
            f"{url} could not be downloaded: {host} cannot be reached. Is this machine online? "
            f"You can also copy the file to {cache_folder()} or to $POCKETSVM_DATA."
        ) from error
    except OSError as error:  # the base class of all other errors of requests
        raise OSError(f"{url} could not be downloaded: {error}") from error
    try:
        file.read(path)
    except ValueError as error:
        reason = str(error).replace(str(path), "its content")
        raise ValueError(f"{url} was downloaded and deleted: {reason}") from error
    return path
