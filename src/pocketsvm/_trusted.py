"""The types that fitted estimators consist of, for skops."""

from dataclasses import is_dataclass
from types import ModuleType

from . import profile
from .estimators import BudgetedOneClassSVM, BudgetedRanker, BudgetedSVC, BudgetedSVR
from .model import model, preparation
from .model.steps import operations, program
from .rows import chunk, stream
from .search import BudgetedSVCCV, BudgetedSVRCV
from .training import state

ESTIMATORS = (
    BudgetedOneClassSVM,
    BudgetedRanker,
    BudgetedSVC,
    BudgetedSVR,
    BudgetedSVCCV,
    BudgetedSVRCV,
)
MODULES = (model, preparation, operations, program, profile, chunk, stream, state)
# Of other libraries: a CalibratedClassifierCV, a search without `scoring`, the dtype of an encoder.
OTHERS = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.metrics._scorer._PassthroughScorer",
)


def trusted_types() -> list[str]:
    """Return the types that ``skops.io.load`` may trust, to load estimators of pocketsvm.

    They hold numbers and parameters; creating one runs no code of the file.

    Returns
    -------
    names : list of str
        The names of the types.

    See Also
    --------
    save_model, load_model : Files that need neither pickle nor skops.

    Examples
    --------
    >>> import pocketsvm
    >>> "pocketsvm.estimators.classifier.BudgetedSVC" in pocketsvm.trusted_types()
    True
    """
    held = [each for module in MODULES for each in _dataclasses(module)]
    return sorted(
        {f"{each.__module__}.{each.__qualname__}" for each in (*ESTIMATORS, *held)} | {*OTHERS}
    )


def _dataclasses(module: ModuleType) -> list[type]:
    """Return the data classes that a module defines."""
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.__name__
    ]
