"""Temporary."""
from . import _core
if not hasattr(_core.Rows, "with_values"):
    import numpy as np
    old_csr, old_dense = _core.Rows.csr, _core.Rows.dense
    parts = {}
    def csr(data, indices, indptr, n):
        try:
            rows = old_csr(data, indices, indptr, n)
        except ValueError as error:
            if "increasing" in str(error):
                return None
            raise
        return rows
    class R:
        def __init__(self, core, parts): self.core, self.parts = core, parts
    _core.train_pass_old, _core.train_pass_on_targets_old = _core.train_pass, _core.train_pass_on_targets
    _core.train_pass = lambda trainers, rows, loss, *rest: _core.train_pass_old(trainers, rows, *rest)
    _core.train_pass_on_targets = lambda trainer, rows, loss, p, t, *rest: _core.train_pass_on_targets_old(trainer, rows, t, p, *rest)
    _core.class_losses = lambda: ["hinge"]
    _core.target_losses = lambda: ["epsilon_insensitive"]
    _core.Rows.csr = staticmethod(csr)
    _core.Rows.with_values = None
    old_restore = _core.Trainer.restore
    _core.Trainer.restore = lambda self, **state: old_restore(self, state)
