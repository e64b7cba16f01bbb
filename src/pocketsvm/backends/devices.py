"""The estimators' parameter `device`: which backend it names, and whether this machine has it."""

import re
from typing import Any

from .base import Backend
from .native import Native
from .torch import Torch
from .torch_rows import OLDEST, imported

PATTERN = re.compile(r"cpu|auto|cuda(:\d+)?|torch:cpu")  # the last one is for tests
HOW_TO_INSTALL = (
    f"Install PyTorch {OLDEST} or newer with CUDA as https://pytorch.org says, for example by "
    '`pip install "pocketsvm[gpu]"`, or pass device="cpu".'
)


def backend_of(device: str, n_threads: int) -> Backend:
    """Return the backend of a device; raise an error that says what is missing."""
    name = device_of(device)
    return Native(n_threads) if name == "cpu" else Torch(n_threads, name)


def device_of(device: Any) -> str:
    """Return a device of this machine by its name: "cpu", "cuda:0", ..."""
    if not isinstance(device, str) or not PATTERN.fullmatch(device):
        raise ValueError(
            f"The 'device' parameter must be 'cpu', 'cuda', 'cuda:' with a number, or 'auto'. "
            f"Got {device!r} instead."
        )
    if device == "cpu":
        return device
    if device == "auto":
        return "cpu" if _missing("cuda") else "cuda:0"
    if error := _missing(device):
        raise error
    return device if device != "cuda" else "cuda:0"


def _missing(device: str) -> Exception | None:
    """Return an error that says why this machine does not have the device; None if it has."""
    try:
        torch = imported()
    except ImportError as error:
        return ImportError(f'device="{device}" needs PyTorch: {error} {HOW_TO_INSTALL}')
    if device == "torch:cpu":
        return None
    if not torch.cuda.is_available():
        return RuntimeError(
            f'device="{device}" needs CUDA, but PyTorch {torch.__version__} finds no CUDA device: '
            "there is no NVIDIA GPU or driver, or this PyTorch was built without CUDA. "
            f"{HOW_TO_INSTALL}"
        )
    number, count = int(device.partition(":")[2] or 0), torch.cuda.device_count()
    if number >= count:
        return RuntimeError(
            f'device="{device}" does not exist: this machine has {count} CUDA device'
            f'{"s" if count > 1 else ""}, the last of which is "cuda:{count - 1}".'
        )
    return None
