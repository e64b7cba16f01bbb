"""scikit-learn's callbacks: each pass is a task of its own."""

from collections.abc import Callable
from typing import Any

from ..training.passes import PassReport
from ..training.state import VectorSet


def given_data(X: Any, y: Any, sample_weight: Any, qid: Any = None) -> dict[str, Any]:
    """Bundle the data for callbacks as the user gave them, with feature names."""
    given = {"sample_weight": sample_weight, "qid": qid}
    metadata = {name: value for name, value in given.items() if value is not None}
    return {"X": X, "y": y, "metadata": metadata or None}


class PassTasks:
    """Tells the callbacks of every pass; a callback may stop training.

    Parameters
    ----------
    estimator : BudgetedMachine
        The estimator that is fitted.

    task : CallbackContext
        The task of the whole fit.

    given : dict
        The data, as `given_data` bundles them.

    attributes : callable
        Returns the fitted attributes for the vectors found so far.
    """

    def __init__(
        self,
        estimator: Any,
        task: Any,
        given: dict[str, Any],
        attributes: Callable[[VectorSet], dict[str, Any]],
    ) -> None:
        self._call = {"estimator": estimator, **given}
        self._task, self._attributes = task, attributes
        self._begin()

    def _begin(self) -> None:
        self._pass = self._task.subcontext(task_name="pass")
        self._pass.call_on_fit_task_begin(**self._call)

    def __call__(self, report: PassReport) -> bool:
        """End the task of this pass and begin the next; return True to stop."""
        stop = self._pass.call_on_fit_task_end(
            **self._call,
            reconstruction_attributes=lambda: self._attributes(report.snapshot()),
        )
        if not stop and report.done < report.n_passes:
            self._begin()
        return bool(stop)
