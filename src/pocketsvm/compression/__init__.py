"""Compression: an SVM that is already trained becomes one on a budget.

    given ─► vectors ─► coefficients ─► positions ─► model ─► report

=============  =====================================================================================
`given`        the model to compress, as decision values: of scikit-learn, LIBSVM or pocketsvm
`libsvm_file`  model files of LIBSVM
`distilled`    with rows: solved on the decision values, or labels, of the given model
`merged`       without rows: its vectors merged, then solved in the space of the kernel
`making`       `compress`: the budget, what it is measured on, the estimator
`report`       what was lost
=============  =====================================================================================
"""

from .making import compress
from .report import Report

__all__ = ["Report", "compress"]
