"""What the tests of model files share: small models, and files taken apart and put together."""

import hashlib
import json
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import issparse
from sklearn.datasets import make_blobs, make_moons

from pocketsvm import BudgetedSVC, load_model, save_model
from pocketsvm.model.container import CHECKSUM_SIZE, MAGIC, PREFIX, VERSION
from pocketsvm.training.state import VectorSet

GOLDEN = sorted((Path(__file__).parent / "golden").glob("*.psvm"))


def problem(n_classes=2, n=300):
    if n_classes == 2:
        return make_moons(n, noise=0.2, random_state=0)
    return make_blobs(n, n_features=3, centers=n_classes, cluster_std=2.0, random_state=1)


def small(**parameters):
    return BudgetedSVC(**{"budget": 12, "max_iter": 2, "random_state": 0} | parameters)


def round_trip(clf, path):
    save_model(clf, path)
    return load_model(path)


def assert_equal(one, other):
    """Equal types, values and bits, whatever it is."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert_array_equal(one, other, strict=True)
    elif issparse(one):
        for name in ("data", "indices", "indptr"):
            assert_equal(getattr(one, name), getattr(other, name))
    elif isinstance(one, list | tuple):
        for a, b in zip(one, other, strict=True):
            assert_equal(a, b)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif is_dataclass(one):
        # A file has one profile: that of the whole training, not that of the passes alone.
        skipped = {"profile"} if isinstance(one, VectorSet) else set()
        for name in {field.name for field in fields(one)} - skipped:
            assert_equal(getattr(one, name), getattr(other, name))
    else:
        assert one == other


def opened(path):
    """Return the header of a file, and the bytes of its arrays."""
    content = path.read_bytes()
    length = PREFIX.unpack_from(content)[2]
    start = PREFIX.size + length
    header = json.loads(content[PREFIX.size : start])
    bounds = [entry["offset"] for entry in header["arrays"].values()]
    bounds.append(len(content) - start - CHECKSUM_SIZE)
    data = {
        name: content[start + begin : start + end]
        for name, begin, end in zip(header["arrays"], bounds, bounds[1:], strict=False)
    }
    return header, data


def closed(header, data, version=VERSION):
    """Return a file with right lengths and checksum around any header (or text) and bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = b"".join(data.values())
    length = PREFIX.size + len(text) + len(body) + CHECKSUM_SIZE
    content = PREFIX.pack(MAGIC, version, len(text), length) + text + body
    return content + hashlib.sha256(content).digest()


def place(header, data, name, array):
    """Add an array to a header and its bytes; its size must be a multiple of 8."""
    offset = sum(map(len, data.values()))
    described = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
    header["arrays"][name] = described
    data[name] = array.tobytes()


def remove(header, data, name):
    """Remove an array; those after it move up."""
    del header["arrays"][name], data[name]
    offset = 0
    for key, described in header["arrays"].items():
        described["offset"] = offset
        offset += len(data[key])


def refused(path, content, reason, **options):
    """Check that a file is refused for this reason, and that the message names it."""
    path.write_bytes(content)
    with pytest.raises(ValueError, match=reason) as caught:
        load_model(path, **options)
    assert str(path) in str(caught.value)


# --- changes to a header and its bytes -----------------------------------------------------------


def entry(name, **changes):
    """Change what the header says about an array."""

    def change(header, data):
        header["arrays"][name] |= changes

    return change


def item(*where, to):
    """Change a value in the header."""

    def change(header, data):
        for name in where[:-1]:
            header = header[name]
        header[where[-1]] = to

    return change


def value(section, *where, to):
    """Change a value in a section."""
    return item("sections", section, *where, to=to)


def numbers(name, index, number, dtype):
    """Change a number in an array."""

    def change(header, data):
        array = np.frombuffer(data[name], dtype=dtype).copy()
        array[index] = number
        data[name] = array.tobytes()

    return change


def refused_after(change, saved, path, reason):
    """Check that a file is refused after a change."""
    header, data = opened(saved)
    change(header, data)
    refused(path, closed(header, data), reason)
