"""Models for other programs: LIBSVM's text format, ONNX, a C header, a JavaScript module.

Each export takes a fitted estimator, or its `pocketsvm.model.Model`, and writes one file in one
step. Exported models only predict; a model from a model file (`pocketsvm.load_model`) can also be
trained further. A new format is a module here with a function like the others, and a line in
`EXPORTS` of `pocketsvm/_formats.py`.
"""

from collections.abc import Callable
from typing import Any

from ..._formats import EXPORTS
from ..._replacing import PathLike
from .c import export_c
from .common import Exported
from .js import export_js
from .libsvm import export_libsvm
from .onnx import export_onnx

__all__ = [
    "FORMATS",
    "Exported",
    "export_c",
    "export_js",
    "export_libsvm",
    "export_model",
    "export_onnx",
]

FORMATS: dict[str, Callable[..., Exported]] = {each.name: each.load() for each in EXPORTS}


def export_model(estimator: Any, path: PathLike, to: str, **options: Any) -> Exported:
    """Write a fitted model in the format of another program.

    Parameters
    ----------
    estimator : estimator of pocketsvm, Pipeline, CalibratedClassifierCV or Model
        The fitted estimator.

    path : str or path-like
        The file.

    to : {"libsvm", "onnx", "c", "js"}
        The format.

    **options
        Options of the format: `name`, `dtype` and `X` for "c".

    Returns
    -------
    exported : Exported
        What was written: path, file_size, table_size, labels.

    See Also
    --------
    export_libsvm, export_onnx, export_c, export_js : The formats, with their conventions.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model.export import export_model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exported = export_model(clf, os.path.join(folder, "moons.h"), to="c")
    >>> exported.labels
    [0, 1]
    """
    if to not in FORMATS:
        raise ValueError(f"to must be one of {', '.join(map(repr, FORMATS))}, got {to!r}.")
    return FORMATS[to](estimator, path, **options)
