"""The example of a microcontroller, run by an emulator where there are compiler and emulator."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "microcontroller" / "run.py"


def test_boards_compute_the_same_bits(tmp_path):
    for program in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")
    done = subprocess.run(
        [sys.executable, EXAMPLE, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("the same bits") == 2
