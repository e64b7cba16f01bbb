"""`Model`: the numbers that decide, and the state that further training continues from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..files.columns import Layout
from ..profile import Profile
from ..rows.feature_scales import FeatureScales, scaling_steps
from ..rows.preparation import Steps, names_after
from ..rows.stream import StreamReservoir
from ..training.state import VectorSet
from .integers import Integers
from .preparation import Preparation, split

Array = NDArray[Any]

# The losses of each task; the first one is that of files that name none.
TASKS = {
    "classification": ("hinge", "squared_hinge", "log_loss"),
    "regression": ("epsilon_insensitive", "squared_error", "huber", "quantile"),
    "novelty": ("one_class",),
    "ranking": ("pairwise_hinge",),
}


@dataclass(frozen=True, eq=False)
class Training:
    """How a model was trained, and what further training needs.

    Attributes
    ----------
    vectors : VectorSet
        The state that further passes continue from: always the last iterate, before solving.

    alpha : float
        The regularisation lambda.

    profile : Profile
        What training did and where its time went.

    estimator : str
        The name of the estimator's class.

    parameters : mapping of str to object
        The estimator's parameters.

    reservoir : StreamReservoir or None
        The rows that `partial_fit` has kept, as the kernel sees them.
    """

    vectors: VectorSet
    alpha: float
    profile: Profile
    estimator: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reservoir: StreamReservoir | None = None


@dataclass(frozen=True, eq=False)
class Model:
    """The decision function of a fitted estimator, and how it was trained.

    ``f_o(x) = sum_j dual_coef[o, j] exp(-gamma |x - vectors[j]|^2) + intercept[o]``

    A row x is prepared and multiplied by the feature scales before.

    Attributes
    ----------
    vectors : ndarray of shape (n_sv, n_features)
        The support vectors, float32 or float64: the precision in which rows are expected. They are
        multiplied by the feature scales, as the rows are.

    dual_coef : ndarray of shape (n_outputs, n_sv)
        Their coefficients.

    intercept : ndarray of shape (n_outputs,)
        The constants.

    gamma : float
        The kernel coefficient.

    classes : ndarray of shape (n_classes,) or None
        The labels: with two, a positive value means the second; with more, the largest value wins.
        None for other tasks than classification.

    feature_names : ndarray of shape (n_features,) or None
        The names of the features, if they have any.

    preparation : Preparation or None
        The steps that are applied to rows before the kernel; None if there are none.

    training : Training or None
        How the model was trained; an export does not need it.

    feature_scales : ndarray of shape (n_features,) or None
        What the features are multiplied by, after the preparation; None means one.

    integers : Integers or None
        The same model in integers, for C; None if it has not been rounded.

    task : {"classification", "regression", "novelty", "ranking"}
        What the decision values are for.

    loss : str
        The loss that was minimised, one of `TASKS`. With "log_loss", decision values have
        probabilities.

    quantile : float, tuple of float or None
        The quantiles that the outputs predict; None for other losses than "quantile".

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pocketsvm import BudgetedSVC
    >>> from pocketsvm.model import Model
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = Model.of(BudgetedSVC(budget=10, random_state=0).fit(X, y))
    >>> model.vectors.shape, model.dual_coef.shape, model.classes
    ((10, 2), (1, 10), array([0, 1]))
    """

    vectors: Array
    dual_coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    gamma: float
    classes: Array | None = None
    feature_names: Array | None = None
    preparation: Preparation | None = None
    training: Training | None = None
    feature_scales: NDArray[np.float64] | None = None
    integers: Integers | None = None
    task: str = field(kw_only=True)
    loss: str = field(kw_only=True)
    quantile: float | tuple[float, ...] | None = field(default=None, kw_only=True)

    @property
    def steps(self) -> Steps:
        """What is done to rows before the kernel sees them."""
        steps = () if self.preparation is None else self.preparation.steps
        return scaling_steps(steps, self.feature_scales)

    @property
    def support_vectors(self) -> Array:
        """The vectors in the units of the prepared rows; zero where a feature scale is zero."""
        if self.feature_scales is None:
            return self.vectors
        return FeatureScales(self.feature_scales).restored(self.vectors)

    @property
    def dtype(self) -> str:
        """The smallest type that holds vectors and coefficients: of integers, or of real numbers.

        Only a model that was made for it has integers, or fits into float16.
        """
        if self.integers is not None:
            return self.integers.dtype
        with np.errstate(over="ignore"):
            is_half = all(
                np.array_equal(numbers.astype(np.float16), numbers)
                for numbers in (self.vectors, self.dual_coef)
            )
        return "float16" if is_half and len(self.vectors) else str(self.vectors.dtype.name)

    @property
    def prepared_names(self) -> list[str]:
        """The names of the features after the preparation; x0, x1 and so on if they have none."""
        steps = () if self.preparation is None else self.preparation.steps
        return names_after(self.feature_names, steps, self.vectors.shape[1])

    @property
    def n_inputs(self) -> int:
        """The number of features of rows before the preparation."""
        return self.vectors.shape[1] if self.preparation is None else self.preparation.n_features

    @property
    def layout(self) -> Layout:
        """The columns of rows before the preparation."""
        names = None if self.feature_names is None else list(map(str, self.feature_names))
        if self.preparation is None:
            return Layout(self.n_inputs, names)
        program = self.preparation.program
        texts = list(program.inputs.texts)
        return Layout(self.n_inputs, names, texts=texts, missing=program.takes_missing)

    @classmethod
    def of(cls, estimator: Any) -> "Model":
        """Return the model of a fitted estimator; a Model is returned as it is.

        Parameters
        ----------
        estimator : estimator of pocketsvm, Pipeline or Model
            The fitted estimator; a pipeline of transformers and an estimator of this package is a
            model with a preparation.

        Returns
        -------
        model : Model
            Its arrays are not copied.
        """
        if isinstance(estimator, cls):
            return estimator
        steps, machine = split(estimator)
        if not isinstance(machine, SupportsModel):
            raise TypeError(
                f"Expected a fitted estimator of pocketsvm, got {type(estimator).__name__}."
            )
        model = machine.to_model()
        if not steps:
            return model
        names = getattr(steps[0], "feature_names_in_", None)
        return replace(model, feature_names=names, preparation=Preparation.of(steps))


@runtime_checkable
class SupportsModel(Protocol):
    """An estimator that has a model."""

    def to_model(self) -> Model:
        """Return the fitted model."""
        ...
