"""``--device``."""

import pytest
from numpy.testing import assert_allclose

from pocketsvm.backends.devices import device_of

from .files import FAST


@pytest.mark.parametrize("command", ["train", "tune", "predict", "evaluate"])
def test_a_device_that_is_missing_is_refused(fails, succeed, moons, command, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    arguments = ["moons.txt", "n.psvm"]
    if command in ("predict", "evaluate"):
        succeed("train", "moons.txt", "m.psvm", *FAST)
        arguments = ["m.psvm", "moons.txt"]
    message = fails(command, *arguments, "--device", "cuda")
    assert 'device="cuda" needs PyTorch' in " ".join(message.split())


def test_unknown_devices_are_refused(fails, moons):
    assert "must be 'cpu', 'cuda'" in " ".join(
        fails("train", "moons.txt", "m", "--device", "gpu").split()
    )


@pytest.mark.parametrize("device", ["torch:cpu", "cuda"])
def test_commands_on_a_device(succeed, moons, device):
    try:
        device_of(device)
    except (ImportError, RuntimeError) as error:
        pytest.skip(str(error))
    succeed("train", "moons.txt", "m.psvm", *FAST, "--device", device)
    there = succeed("predict", "m.psvm", "moons.txt", "--decision", "--device", device)
    here = succeed("predict", "m.psvm", "moons.txt", "--decision")
    numbers = [[float(word.split()[-1]) for word in text.splitlines()] for text in (there, here)]
    assert_allclose(*numbers, atol=1e-4)
    assert "accuracy" in succeed("evaluate", "m.psvm", "moons.txt", "--device", device).lower()
