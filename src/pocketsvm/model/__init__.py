"""The model: its numbers, its file, its exports.

=============  ====================================================================================
`model`        `Model`, what a prediction needs, and `Training`, what further training needs
`preparation`  the steps before the kernel, for files and pipelines
`steps`        the kinds of steps: how a file keeps them, and what exports write
`calibrated`   `Calibrated`, models with calibrated probabilities; `calibrated_file`, in files
`file`         `write_model` and `read_model`; its docstring describes the format
`container`    a JSON header and arrays in one file; below `file`
`sections`     named parts of the header, which are added without a new version
`encode`       a model as sections
`check`        what the sections and arrays of a file must satisfy
`decode`       a model from sections
`strings`      lists of strings in sections
`export`       models for other programs
=============  ====================================================================================

Nothing here imports an estimator: `pocketsvm.estimators.saving` and `loading` do the rest.
"""

from .calibrated import Calibrated
from .file import read_model, write_model
from .model import Model, Training
from .preparation import Preparation

__all__ = ["Calibrated", "Model", "Preparation", "Training", "read_model", "write_model"]
