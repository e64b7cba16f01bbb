"""The model: its numbers, its file, its exports."""

from .model import Model, Training
from .preparation import Scaling

__all__ = ["Model", "Scaling", "Training"]
