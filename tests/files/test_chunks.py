"""Chunks of LIBSVM text: neither cuts nor threads nor compression change the result."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from children import LONGEST
from sklearn.datasets import load_svmlight_file

from pocketsvm import load_svmlight
from pocketsvm.files import chunks

from .samples import COMPRESSORS, EVERYTHING, assert_equal_rows, random_text


@pytest.mark.parametrize("suffix", [".txt", *COMPRESSORS])
@pytest.mark.parametrize("n_jobs", [None, 1, 2, 5, -1])
def test_the_bits_do_not_depend_on_threads_cuts_and_compression(
    n_jobs, suffix, tiny_chunks, write_text
):
    path, plain = write_text(EVERYTHING, suffix), write_text(EVERYTHING, name="plain")
    assert_equal_rows(load_svmlight(path, n_jobs=n_jobs), load_svmlight_file(str(plain)))


@pytest.mark.parametrize("suffix", [".txt", *COMPRESSORS])
def test_files_of_many_chunks(suffix, write_text, monkeypatch):
    text = random_text(np.random.default_rng(0), 1500)
    expected = load_svmlight_file(str(write_text(text, name="plain")))
    path = write_text(text, suffix)
    assert_equal_rows(load_svmlight(path), expected)
    monkeypatch.setattr(chunks, "CHUNK", 10_000)
    assert_equal_rows(load_svmlight(path, n_jobs=3), expected)


def test_a_line_longer_than_many_chunks(write_text):
    features = b" ".join(b"%d:%d" % (i, i % 10) for i in range(1, 400_000))
    text = b"1 " + features + b"\n-1 2:3\n2 " + features
    assert len(text) > 20 * chunks.CHUNK
    expected = load_svmlight_file(str(write_text(text, name="plain")))
    for suffix in (".txt", ".gz"):
        assert_equal_rows(load_svmlight(write_text(text, suffix), n_jobs=2), expected)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_pipe_is_read_from_front_to_back(n_jobs, tmp_path, write_text, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 5000)
    text = random_text(np.random.default_rng(0))
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[text])
    writer.start()
    result = load_svmlight(tmp_path / "pipe", n_jobs=n_jobs)
    writer.join()
    assert_equal_rows(result, load_svmlight_file(str(write_text(text))))


@pytest.mark.parametrize("suffix", [".txt", ".gz"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_first_error_is_named_whatever_the_threads(n_jobs, suffix, write_text, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 100)
    lines = random_text(np.random.default_rng(0)).splitlines(keepends=True)
    lines[123] = b"1 1:1 2:bad\n"
    lines[124] = lines[200] = b"bad 1:1\n"
    with pytest.raises(ValueError, match=r", line 124, column 9: .* got 'bad'"):
        load_svmlight(write_text(b"".join(lines), suffix), n_jobs=n_jobs)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_reading_can_be_interrupted(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"from pocketsvm import load_svmlight; load_svmlight({str(pipe)!r}, n_jobs=2)"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # may be ignored here
    )
    with open(pipe, "wb", buffering=0) as writer:
        writer.write(b"1 1:1\n" * 1000)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONGEST)
    assert "KeyboardInterrupt" in errors
