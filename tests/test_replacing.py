"""Files that appear in one step: what a failure leaves behind."""

import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from model_files import problem, small

from pocketsvm import _replacing, load_model, save_model


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.psvm"


def fails(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("function", ["fsync", "replace"])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_leaves_what_was_there(path, monkeypatch, function, exists):
    clf = small().fit(*problem())
    if exists:
        path.write_bytes(b"old")
    monkeypatch.setattr(_replacing.os, function, fails)
    with pytest.raises(OSError, match="No space left") as caught:
        save_model(clf, path)
    assert caught.value.filename == str(path)
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"old"] * exists


def test_an_interrupt_leaves_what_was_there(path, monkeypatch):
    def interrupts(*_):
        raise KeyboardInterrupt

    clf = small().fit(*problem())
    path.write_bytes(b"old")
    monkeypatch.setattr(_replacing.os, "fsync", interrupts)
    with pytest.raises(KeyboardInterrupt):
        save_model(clf, path)
    assert [file.read_bytes() for file in path.parent.iterdir()] == [b"old"]


def test_a_file_that_may_not_grow_leaves_nothing(path):
    clf = small().fit(*problem())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            save_model(clf, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(path.parent.iterdir())


def test_places_where_nothing_can_be_written(path):
    clf = small().fit(*problem())
    with pytest.raises(FileNotFoundError, match="missing"):
        save_model(clf, path.parent / "missing" / "model.psvm")
    with pytest.raises(IsADirectoryError):
        save_model(clf, path.parent)
    with pytest.raises(ValueError, match="not a regular file"):
        save_model(clf, os.devnull)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_permissions_are_respected(path):
    clf = small().fit(*problem())
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        save_model(clf, path)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError):
            save_model(clf, path.with_name("new"))
    finally:
        path.parent.chmod(0o755)


def test_links_and_permissions_stay(path):
    clf = small().fit(*problem())
    target = path.with_name("target.psvm")
    target.write_bytes(b"old")
    target.chmod(0o640)
    path.symlink_to(target)
    save_model(clf, path)
    assert path.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    load_model(target)
    umask = os.umask(0o022)
    os.umask(umask)
    save_model(clf, path.with_name("new.psvm"))
    assert stat.S_IMODE(path.with_name("new.psvm").stat().st_mode) == 0o666 & ~umask


WRITER = """
import sys, time
from pocketsvm._replacing import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    time.sleep(600)
"""


def age(path):
    os.utime(path, (1, 1))


def test_what_a_killed_writer_left_is_removed_by_the_next(path):
    clf = small().fit(*problem())
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout.readline() == "ready\n"
        (left,) = path.parent.iterdir()
        age(left)
        save_model(clf, path.with_name("other.psvm"))
        assert left.read_bytes() == b"half"  # its writer lives
        writer.send_signal(signal.SIGKILL)
    save_model(clf, path)
    assert sorted(path.parent.iterdir()) == [path, path.with_name("other.psvm")]


def test_only_stale_temporary_files_are_removed(path):
    stale = ".pocketsvm-0123456789abcdef.tmp"
    names = [".pocketsvm-x.tmp", ".0123456789abcdef.tmp", "a.tmp", stale + "2", "x" + stale]
    kept = [path.with_name(name) for name in names]
    for file in kept:
        file.write_bytes(b"")
        age(file)
    young = path.with_name(stale.replace("0", "1"))
    young.write_bytes(b"")
    link = path.with_name(stale.replace("0", "2"))
    link.symlink_to(kept[0])
    folder = path.with_name(stale.replace("0", "3"))
    folder.mkdir()
    age(folder)
    locked = path.with_name(stale.replace("0", "4"))
    path.with_name(stale).write_bytes(b"")
    age(path.with_name(stale))
    with locked.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        age(locked)
        save_model(small().fit(*problem()), path)
    assert sorted(path.parent.iterdir()) == sorted([*kept, young, link, folder, locked, path])


HOLDER = """
import sys, tempfile, time
from pocketsvm._replacing import temporary_folder
tempfile.tempdir = sys.argv[1]
with temporary_folder("pocketsvm-cache-") as folder:
    open(folder + "/rows", "wb").close()
    print(folder, flush=True)
    time.sleep(600)
"""


def test_the_folder_of_a_killed_process_is_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    others = [tmp_path / "pocketsvm-cache-of-mine", tmp_path / "pocketsvm-cache-12345678"]
    others[0].mkdir()
    others[1].touch()  # a file
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        left = Path(holder.stdout.readline().strip())
        for path in (left, *others):
            age(path)
        with _replacing.temporary_folder("pocketsvm-cache-") as folder:
            assert (left / "rows").exists()  # its owner lives
            assert Path(folder).parent == tmp_path
        assert not Path(folder).exists()
        holder.send_signal(signal.SIGKILL)
    with _replacing.temporary_folder("pocketsvm-cache-"):
        assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted(others)
