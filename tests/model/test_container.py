"""Array files: what is refused before anything is allocated."""

import os

import pytest
from model_files import closed, entry, item, opened, refused, refused_after

from pocketsvm import load_model
from pocketsvm.model.container import PREFIX, VERSION


def test_other_and_truncated_files_are_refused(path, saved):
    content = saved.read_bytes()
    refused(path, b"", "not a file of pocketsvm")
    refused(path, b"svm_type c_svc\nkernel_type rbf\n", "not a file of pocketsvm")
    refused(path, content.replace(b"\r\n", b"\n", 1), "not a file of pocketsvm")
    refused(path, content[:20], "truncated to 20 bytes")
    refused(path, content[:-1], "truncated: .* bytes long")
    refused(path, content + b"\0", "damaged: .* bytes long")
    refused(path, content[:500] + b"\xff" + content[501:], "checksum does not match")
    with pytest.raises(FileNotFoundError):
        load_model(path.with_name("missing"))
    with pytest.raises(ValueError, match="not a regular file"):
        load_model(path.parent)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_does_not_block(path):
    os.mkfifo(path)
    with pytest.raises(ValueError, match="not a regular file"):
        load_model(path)


def test_unknown_versions_are_refused(path, saved):
    header, data = opened(saved)
    refused(path, closed(header, data, VERSION + 1), f"version {VERSION + 1} .* newer pocketsvm")
    for old in (0, 1, 2):
        refused(path, closed(header, data, old), f"version {old} of .*: train the model again")


def test_the_version_is_3(saved):
    assert PREFIX.unpack_from(saved.read_bytes())[1] == VERSION == 3


VECTORS, COEFFICIENTS, INTERCEPT = (
    "decision.vectors",
    "decision.dual_coef",
    "decision.intercept",
)
FORGERIES = {
    "dtype": (entry(COEFFICIENTS, dtype="object"), "dtype 'object'"),
    "unicode dtype": (entry(COEFFICIENTS, dtype="<U1000000000"), "is of dtype"),
    "many vectors": (entry(VECTORS, shape=[2**62, 3]), "has the shape"),
    "product overflows": (entry(VECTORS, shape=[2**32, 2**32]), "has the shape"),
    "large product": (entry(VECTORS, shape=[800, 800]), "of 2560000 bytes would"),
    "negative size": (entry(VECTORS, shape=[-12, -3]), "has the shape"),
    "size true": (entry(INTERCEPT, shape=[True]), "has the shape"),
    "size 3.0": (entry(INTERCEPT, shape=[3.0]), "has the shape"),
    "many dimensions": (entry(INTERCEPT, shape=[3] + [1] * 40), "has the shape"),
    "shape missing": (entry(INTERCEPT, shape=None), "'shape' is 'None'"),
    "overlap": (entry(COEFFICIENTS, offset=0), "would start at 0"),
    "gap": (entry(COEFFICIENTS, offset=10**6), "would start at 1000000"),
    "negative offset": (entry(VECTORS, offset=-8), "would start at -8"),
    "offset text": (entry(COEFFICIENTS, offset="0"), "not int"),
    "scalar": (entry(VECTORS, shape=[]), "would start at 144, where 8"),
    "bytes at the end": (entry("extra.values", shape=[2]), "arrays end at"),
    "arrays a list": (item("arrays", to=[]), "'arrays' is '.*' in its header, not dict"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_arrays_that_do_not_fill_the_file_are_refused(path, saved, name):
    change, reason = FORGERIES[name]
    refused_after(change, saved, path, reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "Expecting value"),
        (b"{}", "lacks 'arrays'"),
        (b"[]", "lacks 'arrays'"),
        (b"[" * 100_000, "recursion"),
        (b'{"arrays": ' * 50_000, "recursion"),
        (b'{"a": 1, "a": 2}', "a name twice"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "digits"),
        (b'{"a": NaN}', "holds NaN"),
        (b'{"a": -Infinity}', "holds -Infinity"),
        (b"\xff\xfe{\x00}\x00", "can't decode"),
        (b" " * (2**20 + 8), "claims a header"),
    ],
)
def test_hostile_headers_are_refused(path, saved, text, reason):
    refused(path, closed(text, opened(saved)[1]), reason)
