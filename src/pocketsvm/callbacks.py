"""Callbacks for `set_callbacks`, in the way of scikit-learn."""

from .estimators.checkpoints import Checkpoint

__all__ = ["Checkpoint"]
