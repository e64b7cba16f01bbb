"""The paper's six data sets: files, splits, settings, and all that the paper says of them.

Files are looked for in ``$POCKETSVM_DATA``, then in the cache folder (see `download`), as LIBSVM
text, plain or compressed. Where the files that the paper took are not there, others can stand in
for them: every `Source` says in words what it is.
"""

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.model_selection import train_test_split

from ...data.compression import SUFFIXES, decompressed
from ...data.svmlight import load_svmlight

__all__ = [
    "DATA_SETS",
    "DataSet",
    "File",
    "Published",
    "Source",
    "Split",
    "cache_folder",
    "find",
    "load",
    "named",
    "susy_like",
]

ENDINGS = ("", *SUFFIXES)
BLOCK_ROWS = 10_000  # generated at once


# --- what is known of a data set ------------------------------------------------------------------


@dataclass(frozen=True)
class File:
    """A text of the LIBSVM data page, and how to know it again.

    `sha256` is that of the unpacked text, None where it is not known. `all_features` says that the
    last feature occurs in it, `one_text` that nobody writes the same rows in other words.
    """

    name: str
    n_rows: int
    n_features: int
    sha256: str | None = None
    ending: str = ""  # of the archive on the page
    all_features: bool = True
    one_text: bool = True

    def find(self, folder: Any = None) -> Path | None:
        """Return where the file is; see `find`."""
        return find(self.name, folder)

    def read(self, path: Path) -> tuple[Any, np.ndarray]:
        """Return X (CSR, float32) and y; raise ValueError where they are not this file's."""
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
        """Return by what the file was known again; raise ValueError where it is another one."""
        self.read(path)
        known = self.sha256 is not None and _digest(path) == self.sha256
        return "SHA-256" if known else "rows and features"


@dataclass(frozen=True)
class Source:
    """One or two files that a data set is read from, and what they stand for, in words.

    Two files are the training and the test part. One file is split: its first `n_train` rows are
    the training part where that number is given, else three quarters of them, drawn at random
    with a fixed seed, class by class.
    """

    label: str
    files: tuple[File, ...]
    says: str
    n_train: int | None = None

    def find(self, folder: Any = None) -> list[Path | None]:
        """Return where each of the files is."""
        return [file.find(folder) for file in self.files]

    def read(self, paths: list[Path]) -> "Split":
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
                X, y, test_size=0.25, random_state=7, stratify=y
            )
        return Split(self, X, _signs(y), X_test, _signs(y_test))


@dataclass(frozen=True)
class Split:
    """The rows of a data set: X as CSR of float32, y as -1 and 1."""

    source: Source
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Published:
    """What the paper prints of a data set, in its own units (percent, but for the factors).

    Attributes
    ----------
    n_rows, n_features, exact_accuracy
        Table 1: the training set, and the test accuracy of LIBSVM.

    accuracy
        Table 2: by budget and strategy, mean and deviation of the test accuracy of 5 runs.

    time_saved
        Table 3: by budget and strategy, what it saves of the training time of `gss`.

    merge_frequency, equal_decisions
        Table 3, at the smaller budget: steps that merge; events in which `gss` and `lookup-wd`
        decide alike.

    factor
        Table 3: by strategy, weight degradation over that of `gss-precise`.
    """

    n_rows: int
    n_features: int
    exact_accuracy: float
    accuracy: Mapping[int, Mapping[str, tuple[float, float]]]
    time_saved: Mapping[int, Mapping[str, float]]
    merge_frequency: float
    equal_decisions: float
    factor: Mapping[str, float]


@dataclass(frozen=True)
class DataSet:
    """A data set of the paper with its settings; of its sources the first is the paper's own."""

    name: str
    C: float
    gamma: float
    budgets: tuple[int, int]
    passes: int
    sources: tuple[Source, ...]
    published: Published

    def find(self, folder: Any = None) -> tuple[Source, list[Path]] | None:
        """Return the first source whose files are all there, and where they are."""
        for source in self.sources:
            paths = [path for path in source.find(folder) if path is not None]
            if len(paths) == len(source.files):
                return source, paths
        return None

    def load(self, folder: Any = None) -> Split:
        """Read it from the first source that is there; see `load`."""
        found = self.find(folder)
        if found is None:
            names = " or ".join(
                " with ".join(file.name for file in source.files) for source in self.sources
            )
            places = " or ".join(str(place) for place in _folders(folder))
            raise FileNotFoundError(
                f"{self.name} is not there: no {names} in {places}; point POCKETSVM_DATA at a "
                f"folder that has it, or run: pocketsvm data fetch {self.name}"
            )
        source, paths = found
        return source.read(paths)


def load(name: str, folder: Any = None) -> Split:
    """Load a data set of the paper, checked and split.

    Parameters
    ----------
    name : str
        Its name in the paper: SUSY, SKIN, IJCNN, ADULT, WEB or PHISHING, in any case.

    folder : path-like, default=None
        Where to look first; None means ``$POCKETSVM_DATA``.

    Returns
    -------
    Split
        ``X_train``, ``y_train``, ``X_test``, ``y_test``, and the ``source`` they came from, which
        says what it stands for.

    Raises
    ------
    FileNotFoundError
        If its files are neither there nor in the cache folder.
    ValueError
        If there is no such data set, or a file is damaged or another one than its name says.
    """
    return named(name).load(folder)


def named(name: str) -> DataSet:
    """Return the data set of that name, in any case; raise ValueError where there is none."""
    for data_set in DATA_SETS:
        if data_set.name == name.upper():
            return data_set
    names = ", ".join(data_set.name for data_set in DATA_SETS)
    raise ValueError(f"there is no data set '{name}'; there are {names}")


def find(name: str, folder: Any = None) -> Path | None:
    """Return where a file is, plain or compressed.

    It is looked for in the folder, by default ``$POCKETSVM_DATA``, then in the cache folder.
    """
    places = (place / (name + ending) for place in _folders(folder) for ending in ENDINGS)
    return next((place for place in places if place.is_file()), None)


def cache_folder() -> Path:
    """Return the user's cache folder, where downloads are kept."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "pocketsvm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pocketsvm"


def _folders(folder: Any) -> list[Path]:
    first = folder or os.environ.get("POCKETSVM_DATA")
    return [Path(first), cache_folder()] if first else [cache_folder()]


def _digest(path: Path) -> str:
    """SHA-256 of the unpacked text."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        text = decompressed(file)
        while block := text.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _signs(y: np.ndarray) -> np.ndarray:
    """Two labels, whatever they are, as -1 and 1."""
    return np.where(y == y.max(), 1, -1).astype(np.int8)


# --- rows like SUSY's, as many as you want --------------------------------------------------------


def susy_like(
    n_rows: int = 4_500_000, n_features: int = 18, sharpness: float = 0.61, seed: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Make rows for experiments of SUSY's size: they stand for its scale, not for its accuracy.

    Standardised dense float32 rows of two classes that overlap so much that, with the paper's
    settings for SUSY, as many steps end in a merge as in the paper: 43 %.

    Parameters
    ----------
    n_rows, n_features : int
        The shape.

    sharpness : float
        The sharper, the less the classes overlap. At 1.62 the best accuracy is about SUSY's.

    seed : int or sequence of ints
        It decides every value.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features), float32
    y : ndarray of shape (n_rows,), int8
        0 and 1.
    """
    random = np.random.default_rng(seed)
    X = np.empty((n_rows, n_features), np.float32)
    y = np.empty(n_rows, np.int8)
    for begin in range(0, n_rows, BLOCK_ROWS):  # so that nothing but X and y is large
        part = slice(begin, min(begin + BLOCK_ROWS, n_rows))
        random.standard_normal(dtype=np.float32, out=X[part])
        a, b, c, d, e = X[part, :5].T
        score = a + 0.5 * e + 0.7 * b * c + 0.5 * (d**2 - 1)
        y[part] = random.random(len(score)) < expit(sharpness * score)
    return X, y


# --- the six --------------------------------------------------------------------------------------

RANDOM_SPLIT = "The paper's split is not known; this one is random, 3 : 1, class by class."


def _published(
    n_rows: int,
    n_features: int,
    exact_accuracy: float,
    accuracy: dict[int, tuple[tuple[float, float], ...]],
    time_saved: dict[int, tuple[float, float]],
    quality: tuple[float, float, float, float],
) -> Published:
    """Lines of tables 1, 2 and 3, in the order in which the paper prints them."""
    strategies = ("gss-precise", "gss", "lookup-h", "lookup-wd")
    merge_frequency, equal_decisions, gss, lookup_wd = quality
    return Published(
        n_rows,
        n_features,
        exact_accuracy,
        {b: dict(zip(strategies, line, strict=True)) for b, line in accuracy.items()},
        {b: dict(zip(strategies[2:], line, strict=True)) for b, line in time_saved.items()},
        merge_frequency,
        equal_decisions,
        {"gss": gss, "lookup-wd": lookup_wd},
    )


DATA_SETS = (
    DataSet(
        "SUSY",
        C=2**5,
        gamma=2**-7,
        budgets=(100, 500),
        passes=1,
        sources=(
            Source(
                "SUSY",
                (File("SUSY", 5_000_000, 18, ending=".xz"),),
                "All 5,000,000 rows. The paper's split is not known; the last 500,000 rows are "
                "the test part, as is the custom with this file.",
                n_train=4_500_000,
            ),
            Source(
                "SUSY (21k rows)",
                (File("susy21k", 20_930, 18),),
                "20,930 real rows of SUSY's 5,000,000 stand for its accuracy. " + RANDOM_SPLIT,
            ),
        ),
        published=_published(
            4_500_000,
            18,
            79.79,
            {
                100: ((76.975, 1.372), (76.628, 2.030), (76.934, 1.426), (76.884, 1.261)),
                500: ((76.989, 3.109), (75.583, 3.0558), (75.581, 2.558), (75.570, 3.925)),
            },
            {100: (43.911, 43.396), 500: (39.201, 39.199)},
            (43, 93.64, 1.01795, 1.00733),
        ),
    ),
    DataSet(
        "SKIN",
        C=2**5,
        gamma=2**-7,
        budgets=(100, 200),
        passes=20,
        sources=(
            Source(
                "SKIN",
                (
                    File(
                        "skin_nonskin",
                        245_057,
                        3,
                        "dc8999649592aae3164238a677a2977ee7e24ef57a2a1f3ab06f69a10f00d060",
                        one_text=False,  # that is the UCI table without its zeros
                    ),
                ),
                f"The whole data set. {RANDOM_SPLIT}",
            ),
        ),
        published=_published(
            183_793,
            3,
            99.96,
            {
                100: ((99.621, 0.711), (99.629, 0.852), (99.621, 0.201), (99.617, 0.877)),
                200: ((99.868, 0.033), (99.877, 0.053), (99.855, 0.054), (99.754, 0.089)),
            },
            {100: (20.515, 17.788), 200: (14.173, 14.900)},
            (16, 74.31, 1.00047, 1.00005),
        ),
    ),
    DataSet(
        "IJCNN",
        C=2**5,
        gamma=2**1,
        budgets=(100, 500),
        passes=20,
        sources=(
            Source(
                "IJCNN",
                (
                    File(
                        "ijcnn1",
                        49_990,
                        22,
                        "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19",
                        ending=".bz2",
                    ),
                    File(
                        "ijcnn1.t",
                        91_701,
                        22,
                        "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                        ending=".bz2",
                    ),
                ),
                "The paper's training part, and the test part published with it.",
            ),
        ),
        published=_published(
            49_990,
            22,
            98.77,
            {
                100: ((97.141, 0.317), (96.807, 0.344), (97.132, 0.371), (97.130, 0.363)),
                500: ((98.138, 0.158), (98.055, 0.334), (98.113, 0.448), (98.070, 0.372)),
            },
            {100: (28.091, 30.372), 500: (30.569, 29.861)},
            (17, 91.79, 1.02429, 1.00149),
        ),
    ),
    DataSet(
        "ADULT",
        C=2**5,
        gamma=2**-7,
        budgets=(100, 500),
        passes=20,
        sources=(
            Source(
                "ADULT",
                (
                    File(
                        "a9a",
                        32_561,
                        123,
                        "f5d5ffd8d865ff41328e7ee043e4b020816914ff6843ff15b98905ddbedce906",
                    ),
                    File(
                        "a9a.t",
                        16_281,
                        123,
                        "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
                        all_features=False,
                    ),
                ),
                "The paper's training part, and the test part published with it.",
            ),
        ),
        published=_published(
            32_561,
            123,
            84.82,
            {
                100: ((84.234, 0.883), (84.166, 0.701), (84.164, 0.988), (84.200, 0.798)),
                500: ((84.280, 0.800), (83.739, 1.303), (83.836, 1.157), (83.949, 1.001)),
            },
            {100: (21.627, 18.452), 500: (22.334, 22.339)},
            (32, 92.54, 1.05064, 1.00402),
        ),
    ),
    DataSet(
        "WEB",
        C=2**3,
        gamma=2**-5,
        budgets=(100, 500),
        passes=20,
        sources=(
            Source(
                "WEB",
                (File("w6a", 17_188, 300), File("w6a.t", 32_561, 300, all_features=False)),
                "The paper's training part, and the test part published with it.",
            ),
            Source(
                "WEB (w8a)",
                (
                    File(
                        "w8a",
                        49_749,
                        300,
                        "6a9fa8fd5f524303240a5db07d4b3d4a51e8b7b4b20a914105d8e3e8c81640f2",
                    ),
                    File(
                        "w8a.t",
                        14_951,
                        300,
                        "618929ecb01bebb841daec4cae4aa07b97832d29b08652452775598929547fde",
                        all_features=False,
                    ),
                ),
                "The whole of what the paper's 17,188 training rows (w6a) are a part of: w8a, "
                "49,749 rows, and its test part stand for WEB.",
            ),
        ),
        published=_published(
            17_188,
            300,
            98.81,
            {
                100: ((98.805, 0.026), (98.793, 0.027), (98.783, 0.045), (98.793, 0.039)),
                500: ((98.809, 0.023), (98.781, 0.047), (98.799, 0.029), (98.807, 0.016)),
            },
            {100: (3.053, 5.649), 500: (7.483, 0.508)},
            (6, 93.77, 1.00255, 1.00039),
        ),
    ),
    DataSet(
        "PHISHING",
        C=2**3,
        gamma=2**3,
        budgets=(100, 500),
        passes=20,
        sources=(
            Source(
                "PHISHING",
                (
                    File(
                        "phishing",
                        11_055,
                        68,
                        "0cf66ef36604c393da9359b2e5d894a2df8aee31fd184633cefa138add2ef08a",
                    ),
                ),
                f"The whole data set. {RANDOM_SPLIT}",
            ),
        ),
        published=_published(
            8_315,
            68,
            97.55,
            {
                100: ((96.554, 0.158), (96.254, 0.301), (96.539, 0.242), (96.389, 0.371)),
                500: ((97.555, 0.187), (97.517, 0.292), (97.518, 0.280), (97.525, 0.201)),
            },
            {100: (15.385, 13.946), 500: (7.563, 10.924)},
            (21, 96.96, 1.00055, 1.00008),
        ),
    ),
)
