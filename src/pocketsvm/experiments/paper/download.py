"""Downloads of the paper's data sets: into the cache folder, whole and checked, or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .datasets import File, Source, cache_folder

__all__ = ["PAGE", "fetch"]

PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"


def fetch(
    source: Source, *, force: bool = False, page: str = PAGE, progress: Any = None
) -> list[Path]:
    """Download the files of a source that are not there yet, and return where all of them are.

    Parameters
    ----------
    source : Source
        Whose files.

    force : bool, default=False
        Download those that are there, too.

    page : str
        The address below which the files are.

    progress : object, default=None
        A progress bar as pooch wants it: ``total``, ``update``, ``reset`` and ``close``.

    Raises
    ------
    OSError
        If a file cannot be downloaded or written.
    ValueError
        If a file, downloaded or there before, is not what it should be. In either case nothing of
        a download is left behind.
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
    """Where those files are that are there; ValueError if one is not what it should be."""
    there = {file: path for file, path in zip(source.files, source.find(), strict=True) if path}
    for file, path in there.items():
        try:
            file.read(path)
        except ValueError as error:
            raise ValueError(f"{error} (--force downloads it again)") from error
    return there


def _download(file: File, page: str, folder: Path, progress: Any) -> Path:
    try:
        import pooch
        import requests  # which pooch needs
    except ModuleNotFoundError as error:
        raise ImportError("downloads need pooch; pip install 'pocketsvm[data]'") from error
    url = page.rstrip("/") + "/" + file.name + file.ending
    path = folder / (file.name + file.ending)
    try:
        pooch.HTTPDownloader(progressbar=progress, chunk_size=1 << 16)(url, str(path), None)
    except (requests.ConnectionError, requests.Timeout) as error:
        host = urlsplit(url).hostname
        raise OSError(
            f"{url} could not be downloaded: {host} cannot be reached. Is this machine online? A "
            f"copy of the file can be put into {cache_folder()}, too, or into $POCKETSVM_DATA."
        ) from error
    except OSError as error:  # as which requests raises all others of its own
        raise OSError(f"{url} could not be downloaded: {error}") from error
    try:
        file.read(path)
    except ValueError as error:
        reason = str(error).replace(str(path), "what it holds")
        raise ValueError(f"{url} was downloaded and thrown away: {reason}") from error
    return path
