"""What follows a fit: callbacks of scikit-learn, checkpoints, and lines of text."""

from collections.abc import Callable
from typing import Any

from .._sklearn import callback_context
from ..model.model import Model
from ..training.passes import PassReport
from ..training.settings import Settings
from ..training.state import VectorSet
from .checkpoints import Course, course_of


def given_data(X: Any, y: Any, sample_weight: Any, qid: Any = None) -> dict[str, Any]:
    """Bundle the data for callbacks as the user gave them, with feature names."""
    given = {"sample_weight": sample_weight, "qid": qid}
    metadata = {name: value for name, value in given.items() if value is not None}
    return {"X": X, "y": y, "metadata": metadata or None}


class FitWatch:
    """Follows a fit of an estimator: each pass is a task of its own, and may be the last.

    Parameters
    ----------
    estimator : estimator of pocketsvm
        The estimator that is fitted.

    given : dict
        The data, as `given_data` bundles them.

    is_stream : bool
        Whether this is a call of `partial_fit`.

    say : callable, default=None
        Called with notes about the fit, which are printed if the estimator is verbose.
    """

    def __init__(
        self,
        estimator: Any,
        given: dict[str, Any],
        *,
        is_stream: bool,
        say: Callable[[str], object] | None = None,
    ) -> None:
        self._estimator, self._given, self._is_stream, self._say = estimator, given, is_stream, say
        self._call = {"estimator": estimator, **given}
        self._course = Course()

    def begin(
        self, settings: Settings, model_of: Callable[[VectorSet], Model], data: tuple[Any, ...]
    ) -> Course:
        """Begin the fit and its first pass; return the course of the fit."""
        if not self._is_stream:
            self._course = course_of(self._estimator, *data)
        name = "partial_fit" if self._is_stream else "fit"
        self._task = callback_context(self._estimator, name, settings.n_passes)
        self._task.call_on_fit_task_begin(**self._call)
        self._model_of = model_of
        self._begin_pass()
        return self._course

    def _begin_pass(self) -> None:
        self._pass = self._task.subcontext(task_name="pass")
        self._pass.call_on_fit_task_begin(**self._call)

    def on_pass(self, report: PassReport) -> bool:
        """End the task of this pass and begin the next; return True to stop."""
        self.say(report)
        stop = self._pass.call_on_fit_task_end(
            **self._call,
            reconstruction_attributes=lambda: {"_model": self._model_of(report.snapshot())},
        )
        if not stop and report.done < report.n_passes:
            self._begin_pass()
        self._course.passed(report)
        return bool(stop)

    def end(self, model: Model) -> None:
        """End the fit, whose model is complete."""
        self._course.end()
        self._task.call_on_fit_task_end(**self._call, reconstruction_attributes={"_model": model})

    def note(self, message: str) -> None:
        """Say what a user may want to know."""
        self.say(message)
        if self._say is not None:
            self._say(message)

    def say(self, message: object) -> None:
        """Print a line if the estimator is verbose."""
        if self._estimator.verbose:
            print(f"[{type(self._estimator).__name__}] {message}")
