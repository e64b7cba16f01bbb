"""Fixtures that run commands, and the files they read."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_blobs, make_moons

from pocketsvm.cli.app import run

from .files import write_csv


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(folder, capsys):
    """A function that runs a command line: exit code, stdout and stderr."""

    def call(*arguments):
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


@pytest.fixture
def succeed(call):
    def succeed(*arguments):
        code, out, err = call(*arguments)
        assert code == 0, err
        return out

    return succeed


@pytest.fixture
def refuse(call, folder):
    """A function that runs a command line, and checks that it fails and leaves no file."""

    def refuse(arguments, code, message):
        before = sorted(folder.iterdir())
        found, out, err = call(*arguments)
        assert (found, out) == (code, "")
        assert message in " ".join(err.replace("│", " ").split())
        assert "Traceback" not in err
        assert sorted(folder.iterdir()) == before

    return refuse


@pytest.fixture
def moons(folder):
    """moons.txt with the labels +1 and -1.0; returns rows and labels."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    X = np.round(X, 5)
    dump_svmlight_file(X, y, "moons.txt", zero_based=False)
    lines = (folder / "moons.txt").read_text().splitlines()
    spelled = ["+1" if label else "-1.0" for label in y]
    rows = [line.split(" ", 1)[1] for line in lines if not line.startswith("#")]
    (folder / "moons.txt").write_text("\n".join(map(" ".join, zip(spelled, rows, strict=True))))
    return X, spelled


@pytest.fixture
def blobs(folder):
    """blobs.csv with a header and three named classes."""
    X, y = make_blobs(300, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    X = np.round(X * [1, 100, 0.01], 5)
    labels = np.array(["oak", "elm", "ash"])[y].tolist()
    write_csv(folder / "blobs.csv", ["a", "b", "c", "tree"], X, labels)
    return X, labels
