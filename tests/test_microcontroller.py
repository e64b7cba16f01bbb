"""Models in integers for ARM, where there is a cross-compiler, and an emulator of boards."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import make_blobs
from sklearn.svm import SVC

from pocketsvm import compress
from pocketsvm.model.export import export_c

EXAMPLE = Path(__file__).parents[1] / "examples" / "microcontroller" / "run.py"


CALL = """\
#include "model.h"
int call(const int16_t *row) { return model_predict(row); }
"""


def need(*programs):
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")


@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m3"])
def test_a_prediction_calls_no_library_and_needs_little_stack(tmp_path, cpu):
    need("arm-none-eabi-gcc", "arm-none-eabi-nm")
    X, y = make_blobs(600, n_features=10, centers=2, cluster_std=6.0, random_state=0)
    small = compress(SVC().fit(X, y), X, budget=20, dtype="int8", random_state=0)
    export_c(small, tmp_path / "model.h")
    (tmp_path / "call.c").write_text(CALL)
    flags = ["-Os", f"-mcpu={cpu}", "-mthumb", "-ffreestanding", "-fstack-usage"]
    command = ["arm-none-eabi-gcc", *flags, "-c", "call.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
    stack = int((tmp_path / "call.su").read_text().split("\t")[1])
    assert stack <= 64
    command = ["arm-none-eabi-nm", "--undefined-only", "call.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert not done.stdout


def test_boards_compute_the_same_bits(tmp_path):
    need("arm-none-eabi-gcc", "qemu-system-arm")
    done = subprocess.run(
        [sys.executable, EXAMPLE, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("the same bits") == 2
