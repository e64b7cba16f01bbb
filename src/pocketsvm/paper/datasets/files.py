"""The files of a data set: where they are, whether they are the right ones, how they are split.

Files are LIBSVM text, plain or compressed. They are searched in ``$POCKETSVM_DATA``, then in the
cache folder (see `download`).
"""

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

try:
    from platformdirs import user_cache_path
except ImportError as error:
    raise ImportError("data sets need platformdirs: pip install 'pocketsvm[data]'") from error

from ..._replacing import PathLike
from ...files.compression import SUFFIXES, decompressed
from ...files.svmlight import load_svmlight

ENDINGS = ("", *SUFFIXES)
TEST_SHARE, SPLIT_SEED = 0.25, 7  # of the random splits; the published results depend on them


def cache_folder() -> Path:
    """Return the user's cache folder, where downloads are kept."""
    return user_cache_path("pocketsvm")


def folders(folder: PathLike | None = None) -> list[Path]:
    """Return the folders in which files are searched; None means ``$POCKETSVM_DATA``."""
    first = folder or os.environ.get("POCKETSVM_DATA")
    return [Path(first), cache_folder()] if first else [cache_folder()]


def find(name: str, folder: PathLike | None = None) -> Path | None:
    """Return the path of a file, plain or compressed, or None; see `folders`."""
    places = (place / (name + ending) for place in folders(folder) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


@dataclass(frozen=True)
class File:
    """A file of the LIBSVM data page, and how to recognise it.

    Attributes
    ----------
    name, n_rows, n_features
        Its name without the ending of a compressed file, and its shape.

    sha256 : str or None
        The digest of the decompressed text, if it is known.

    ending : str
        The ending of the compressed file on the LIBSVM data page.

    all_features : bool
        Whether the last feature occurs in the file.

    one_text : bool
        Whether the digest is the only one: the same rows may be written differently.
    """

    name: str
    n_rows: int
    n_features: int
    sha256: str | None = None
    ending: str = ""
    all_features: bool = True
    one_text: bool = True

    def read(self, path: Path) -> tuple[Any, NDArray[Any]]:
        """Return X (CSR, float32) and y; raise ValueError if they are not those of this file."""
        X, y = load_svmlight(path)
        n_rows, n_features = X.shape
        if (
            n_rows != self.n_rows
            or n_features > self.n_features
            or (self.all_features and n_features < self.n_features)
        ):
            raise ValueError(
                f"{path} is not {self.name}: it has {n_rows:,} rows and {n_features} features, "
                f"not {self.n_rows:,} and {self.n_features}"
            )
        if self.sha256 and self.one_text and (digest := _digest(path)) != self.sha256:
            raise ValueError(
                f"{path} is not {self.name}: the SHA-256 of its text is {digest}, not {self.sha256}"
            )
        X.resize(n_rows, self.n_features)
        return X, y

    def check(self, path: Path) -> str:
        """Return what confirmed that the file is right; raise ValueError if it is not."""
        self.read(path)
        known = self.sha256 is not None and _digest(path) == self.sha256
        return "SHA-256" if known else "rows and features"


@dataclass(frozen=True)
class Source:
    """One or two files from which a data set is read.

    Two files are the training and the test set. One file is split: its first `n_train` rows are the
    training set if that number is given; otherwise the split is random, stratified and fixed.
    """

    label: str
    files: tuple[File, ...]
    description: str
    n_train: int | None = None

    def find(self, folder: PathLike | None = None) -> list[Path | None]:
        """Return the path of each file, or None if it is missing."""
        return [find(file.name, folder) for file in self.files]

    def read(self, paths: list[Path]) -> "TrainTest":
        """Read the files and split them."""
        parts = [file.read(path) for file, path in zip(self.files, paths, strict=True)]
        if len(parts) == 2:
            (X, y), (X_test, y_test) = parts
        elif self.n_train is not None:
            (X, y), n = parts[0], self.n_train
            X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
        else:
            X, y = parts[0]
            X, X_test, y, y_test = train_test_split(
                X, y, test_size=TEST_SHARE, random_state=SPLIT_SEED, stratify=y
            )
        return TrainTest(X, _signs(y), X_test, _signs(y_test))


class TrainTest(NamedTuple):
    """Training rows and labels, test rows and labels; those of files are CSR, and -1 and 1."""

    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]


def _digest(path: Path) -> str:
    """Return the SHA-256 of the decompressed text."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        text = decompressed(file)
        while block := text.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _signs(y: NDArray[Any]) -> NDArray[np.int8]:
    """Return two labels, whatever they are, as -1 and 1."""
    return np.where(y == y.max(), 1, -1).astype(np.int8)
