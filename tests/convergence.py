"""Fits and how far they end above the optimum for their vectors, by `exact_objective.py`."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from exact_objective import Objective
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pocketsvm.rows.chunk import Chunk
from pocketsvm.solving.solve import Solver

# The largest share by which an objective may be above its optimum without a warning.
LARGEST_EXCESS = 1e-3
# The largest share of an objective by which the minimum of the judge may be wrong.
LARGEST_ERROR = 1e-4


@dataclass(frozen=True)
class Judged:
    """A fit, judged.

    Attributes
    ----------
    excess : float
        The share by which the objective of all rows is above its optimum for the same vectors.

    reported : float
        The same, by the objective that the fit reports.

    error : float
        The share by which the optimum may be wrong.

    warned : bool
        Whether the fit gave a ConvergenceWarning.

    solved_all : bool
        Whether the solver had all rows in memory.

    estimator : estimator
        The fitted estimator.
    """

    excess: float
    reported: float
    error: float
    warned: bool
    solved_all: bool
    estimator: object

    def __str__(self):
        profile = self.estimator.profile_
        return (
            f"excess {self.excess:.1e}, reported {self.reported:.1e}, error {self.error:.0e}, "
            f"warned {self.warned}, {profile.solver_steps} steps, {profile.moves} moves"
        )


def judged(estimator, X, y, *, data=None, fit=None, **fit_arguments):
    """Fit an estimator and judge its solution.

    `data` is what `fit` gets, if it is not the rows themselves.
    """
    found = []
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        covering = Solver.covering

        def note(solver, *answers):
            found.append((solver, answers[-1]))
            return covering(solver, *answers)

        patch.setattr(Solver, "covering", note)
        if data is None:
            estimator.fit(X, y, **fit_arguments)
        else:
            estimator.fit(data)
    check_is_fitted(estimator)
    ((solver, answer),) = found
    sample = all_rows(solver, X, y)
    objective = Objective(answer.vectors, sample, solver._settings.fit_intercept)
    value, _ = objective(answer.point)
    point, error = objective.minimum(answer.point)
    best, _ = objective(point)
    return Judged(
        excess=value / best - 1,
        reported=answer.objective / best - 1,
        error=error / best,
        warned=any(issubclass(each.category, ConvergenceWarning) for each in given),
        solved_all=solver.whole is None,
        estimator=estimator,
    )


def all_rows(solver, X, y):
    """Return the sample of all rows."""
    if solver.whole is None:
        return solver.part
    if solver.whole.is_one_chunk:
        return solver.whole.rows.rows
    return solver.whole.encode(Chunk(X, y, None, "rows"))


def assert_converged(found, *, may_warn=False):
    """Assert that a fit is optimal, or that it gave a warning where one is allowed."""
    print(found)  # shown if a test fails, and with -rP
    assert found.error <= LARGEST_ERROR, f"the judge has not converged: {found}"
    assert may_warn or not found.warned, str(found)
    assert found.warned or found.excess <= LARGEST_EXCESS, str(found)
    assert np.isfinite(found.excess)
