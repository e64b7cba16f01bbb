"""Small data sets, problems and results for the tests of the experiments."""

import bz2
import gzip
import hashlib
import lzma

import pytest
from sklearn.datasets import make_moons

from pocketsvm.paper import protocol, tables
from pocketsvm.paper.datasets import registry
from pocketsvm.paper.datasets.files import File, Source
from pocketsvm.paper.datasets.problems import Problem
from pocketsvm.paper.datasets.registry import DataSet, named

N_TRAIN, N_TEST = 240, 80


def text_of(n_rows, seed):
    X, y = make_moons(n_rows, noise=0.2, random_state=seed)
    lines = (f"{2 * label - 1} 1:{a:.4f} 2:{b:.4f}" for (a, b), label in zip(X, y, strict=True))
    return ("\n".join(lines) + "\n").encode()


def make_set(folder, name, budgets=(10, 20)):
    """A data set in the folder, with the figures that the paper prints for ADULT."""
    files = []
    for ending, n_rows in (("", N_TRAIN), (".t", N_TEST)):
        text = text_of(n_rows, seed=len(ending))
        (folder / (name.lower() + ending)).write_bytes(text)
        digest = hashlib.sha256(text).hexdigest()
        files.append(File(name.lower() + ending, n_rows, 2, digest))
    source = Source(name, tuple(files), "Rows made for a test.")
    return DataSet(name, 8, 2, budgets, 2, (source,), named("ADULT").published)


def use_two_sets(tmp_path, monkeypatch):
    """Make the only two data sets in a folder, with few budgets, and return the folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("POCKETSVM_DATA", str(folder))
    data_sets = tuple(make_set(folder, name) for name in ("ONE", "TWO"))
    monkeypatch.setattr(registry, "DATA_SETS", data_sets)
    for module in (protocol, tables):
        monkeypatch.setattr(module, "CURVE_BUDGETS", (10, 30))
    return folder


def a_problem(name="ADULT", n_rows=1000, generated=False):
    """A problem of the paper without its rows."""
    return Problem(named(name), name, "Rows.", lambda: None, n_rows, generated)


def row(part, strategy, seed=0, budget=100, data="ADULT", **values):
    """A line of the results."""
    return {
        "part": part,
        "data": data,
        "strategy": strategy,
        "budget": budget,
        "seed": seed,
        **values,
    }


# --- a data set of six rows -----------------------------------------------------------------------

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENDINGS = pytest.mark.parametrize("ending", PACKERS)

# A label without features, trailing blanks, -1.0 beside -1, zeros written out, CRLF line ends, no
# last newline; the test part lacks the last feature.
TRAIN = b"-1.0 1:0.5 2:0.0 4:2 \n+1\n1 3:1\r\n-1 1:-3.5 4:1"
TEST = b"+1 1:1 \n-1 2:2\n"


def a_file(name, text, n_rows, *, all_features=True, **changes):
    digest = hashlib.sha256(text).hexdigest()
    return File(name, n_rows, 4, digest, all_features=all_features, **changes)


def small_source(ending=""):
    files = (
        a_file("small", TRAIN, 4, ending=ending),
        a_file("small.t", TEST, 2, ending=ending, all_features=False),
    )
    return Source("SMALL", files, "Made for a test.")


def write(folder, name, text, ending=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / (name + ending)).write_bytes(PACKERS[ending](text))
