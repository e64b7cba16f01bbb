"""Saving fitted estimators to model files."""

from collections.abc import Mapping
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._replacing import PathLike
from .._sklearn import validate_parameters
from ..model.calibrated import Calibrated, machines_of
from ..model.file import write_model
from ..model.model import Model, SupportsModel
from ..model.preparation import split

# A file may come from anyone, and must not start more threads than any machine can use.
MAX_THREADS = 1024
# Where the classes are whose models can be saved.
OWN_MODULES = ("pocketsvm.estimators.", "pocketsvm.search.")


def save_model(estimator: Any, path: PathLike, *, extra: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator to a model file.

    The file appears, or replaces an existing one, in one step once it is complete. A failure leaves
    what was there before.

    Parameters
    ----------
    estimator : BudgetedSVC, BudgetedSVR, Pipeline or CalibratedClassifierCV
        The fitted estimator, of exactly a class of this package; or a pipeline of fitted
        transformers and such an estimator; or a CalibratedClassifierCV of them, with the method
        "sigmoid" or "temperature". The transformers may be StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler, SimpleImputer, OneHotEncoder, OrdinalEncoder, PowerTransformer,
        QuantileTransformer, PCA and TruncatedSVD, and ColumnTransformer, FeatureUnion and Pipeline
        of these.

    path : str or path-like
        The file. Any suffix is allowed; ``.psvm`` is the usual one.

    extra : mapping, default=None
        More to keep with the model: numeric arrays, and values of JSON.
        `pocketsvm.model.read_model` returns it.

    See Also
    --------
    load_model : Read the estimator back.

    Notes
    -----
    The file keeps all constructor parameters, the decision function, the labels and feature names,
    the profile, and the state that `partial_fit` and `warm_start` continue from, including the
    random number generators and the rows of `reservoir`. A `random_state` that is not an int or
    None, and callbacks, are not kept. Merged support vectors are generally not training rows: there
    are no indices (``support_``) to keep.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC, load_model, save_model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> clf = BudgetedSVC(budget=10, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "moons.psvm")
    ...     save_model(clf, path)
    ...     twin = load_model(path)
    >>> print(abs(twin.decision_function(X) - clf.decision_function(X)).max())
    0.0
    """
    machines = machines_of(estimator)
    for machine in machines:
        is_ours = type(machine).__module__.startswith(OWN_MODULES)
        if not (is_ours and isinstance(machine, SupportsModel)):
            raise TypeError(
                "Only the estimators of pocketsvm themselves can be saved, and pipelines and "
                f"CalibratedClassifierCV of them, got {type(estimator)!r}. Of a search, save the "
                "best_estimator_."
            )
    for step in (*split(estimator)[0], *machines):
        check_is_fitted(step)
    try:
        for machine in machines:
            check_parameters(machine)
        write_model(Calibrated.of(estimator) or Model.of(estimator), path, extra or {})
    except ValueError as error:
        raise ValueError(f"This {type(estimator).__name__} cannot be saved: {error}") from error


def check_parameters(machine: Any) -> None:
    """Check the parameters of an estimator."""
    validate_parameters(machine)
    if machine.n_jobs is not None and not 1 <= abs(machine.n_jobs) <= MAX_THREADS:
        raise ValueError(
            f"its n_jobs={str(machine.n_jobs)[:100]} is out of range: use None, 1 to {MAX_THREADS} "
            f"threads, or -1 to -{MAX_THREADS} (all processors, all but one, and so on)."
        )
