"""``pocketsvm train --checkpoint``: the same command resumes after kill -9."""

import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from children import LONGEST

from pocketsvm import load_model

from .files import assert_same_model


def command(*arguments):
    return [sys.executable, "-m", "pocketsvm", *arguments]


@pytest.fixture
def rows(folder):
    """Write rows that take some seconds to train, in three Parquet files."""
    X = np.random.default_rng(0).normal(size=(240_000, 6)).astype(np.float32)
    y = (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(y=y)
    (folder / "rows").mkdir()
    for k in range(3):
        frame[k::3].to_parquet(folder / "rows" / f"{k}.parquet", index=False)
    frame[:20_000].to_csv(folder / "some.csv", index=False)


def killed_once_there(arguments, path):
    """Start a command, and kill it as soon as a file is there; return whether it was killed."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, text=True)
    begin = time.monotonic()
    while not path.exists() and process.poll() is None and time.monotonic() - begin < LONGEST:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), errors
    return process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("data", ["rows", "some.csv"])
def test_the_same_command_goes_on_after_kill_9(succeed, folder, rows, data):
    arguments = ["-B", "40", "--max-iter", "10", "--n-jobs", "1"]
    arguments = [*arguments, "--polish", "no"] if data == "some.csv" else arguments
    succeed("train", data, "expected.psvm", *arguments)
    kept = ["train", data, "model.psvm", *arguments, "--checkpoint", "state", "--every", "0s"]
    assert killed_once_there(kept, folder / "state")
    assert (folder / "state").exists()
    assert not (folder / "model.psvm").exists()
    succeed(*kept)
    assert not (folder / "state").exists()
    assert_same_model(load_model("model.psvm"), load_model("expected.psvm"))


def test_a_checkpoint_of_other_settings_is_refused(refuse, folder, rows):
    arguments = ["train", "some.csv", "m.psvm", "-B", "40", "--polish", "no"]
    arguments += ["--checkpoint", "state", "--every", "0s"]
    assert killed_once_there(arguments, folder / "state")
    refuse([*arguments, "--seed", "7"], 1, "random_state 0, and this fit has 7")
    refuse([*arguments, "--c", "2"], 1, "is the checkpoint of another fit")
    refuse([*arguments, "--drop", "f"], 1, "for other rows")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.psvm", "--checkpoint", "m.psvm"], "would replace m.psvm"),
        (["m.psvm", "--checkpoint", "data.svm"], "would replace data.svm"),
        (["m.psvm", "--checkpoint", "state", "--every", "soon"], "is not a time such as 60s"),
        (["-v", "3", "--checkpoint", "state"], "a cross-validation has no checkpoint"),
    ],
)
def test_misuse(refuse, folder, arguments, message):
    (folder / "data.svm").write_text("1 1:1\n0 1:2\n")
    refuse(["train", "data.svm", *arguments], 2, message)
