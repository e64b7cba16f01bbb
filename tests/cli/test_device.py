"""``--device``."""

import sys

import pytest
from numpy.testing import assert_allclose

from pocketsvm.backends.devices import device_of

from .files import FAST

COMMANDS = {
    "train": ["moons.txt", "n.psvm"],
    "tune": ["moons.txt", "n.psvm"],
    "predict": ["m.psvm", "moons.txt"],
    "evaluate": ["m.psvm", "moons.txt"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_device_that_is_missing_is_refused(refuse, succeed, moons, command, monkeypatch):
    succeed("train", "moons.txt", "m.psvm", *FAST)
    monkeypatch.setitem(sys.modules, "torch", None)
    arguments = [command, *COMMANDS[command], "--device", "cuda"]
    refuse(arguments, 2, "--device cuda needs PyTorch")
    refuse(arguments, 2, "or pass --device cpu.")


def test_too_little_memory_names_the_flag(refuse, moons, monkeypatch):
    def fit(*_, **__):
        raise MemoryError('use a smaller budget, or device="cpu".')

    monkeypatch.setattr("pocketsvm.BudgetedSVC.fit", fit)
    refuse(["train", "moons.txt", "m.psvm"], 1, "use a smaller budget, or --device cpu.")


def test_unknown_devices_are_refused(refuse, moons):
    refuse(["train", "moons.txt", "m.psvm", "--device", "gpu"], 2, "must be 'cpu', 'cuda'")


@pytest.mark.parametrize("device", ["torch:cpu", "cuda"])
def test_commands_on_a_device(succeed, moons, device):
    try:
        device_of(device)
    except (ImportError, RuntimeError) as error:
        pytest.skip(str(error))
    succeed("train", "moons.txt", "m.psvm", *FAST, "--device", device)
    there = succeed("predict", "m.psvm", "moons.txt", "--decision", "--device", device)
    here = succeed("predict", "m.psvm", "moons.txt", "--decision")
    numbers = [[float(line.split()[-1]) for line in text.splitlines()] for text in (there, here)]
    assert_allclose(*numbers, atol=1e-4)
    assert "accuracy" in succeed("evaluate", "m.psvm", "moons.txt", "--device", device).lower()
