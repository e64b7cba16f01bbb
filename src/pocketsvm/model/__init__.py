"""The model."""

from .model import Model, Scaling, load_model, read_model, save_model

__all__ = ["Model", "Scaling", "load_model", "read_model", "save_model"]
