"""The settings of one call of `fit` or `partial_fit`."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a model is trained; the estimators' parameters, checked and resolved.

    Attributes
    ----------
    budget : int
        The maximum number of support vectors in the whole model.

    alpha : float
        The regularisation lambda.

    n_passes : int
        Passes over the rows.

    maintenance : str
        The strategy that keeps the budget.

    fit_intercept : bool
        Whether the model has an intercept.

    polish : bool
        Whether the solver follows the passes.

    n_threads : int
        Threads; the result does not depend on them.

    random_state : RandomState
        Draws the seeds of new trainers.
    """

    budget: int
    alpha: float
    n_passes: int
    maintenance: str
    fit_intercept: bool
    polish: bool
    n_threads: int
    random_state: np.random.RandomState
