"""Checkpoints of a search: the scores that it has found, and the fit of the best candidate."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._sklearn import callbacks_of
from ..estimators.checkpoints import Checkpoint, course_of
from .candidates import Result
from .folds import Fold


class Course:
    """Keeps the results of a search with a checkpoint; the same search resumes with them.

    Parameters
    ----------
    search : BudgetedSVCCV or BudgetedSVRCV
        The search.

    *data : arrays
        What tells whether a checkpoint belongs to it.
    """

    def __init__(self, search: Any, *data: Any) -> None:
        callbacks = callbacks_of(search)
        self.checkpoint = next((c for c in callbacks if isinstance(c, Checkpoint)), None)
        self._kept = course_of(search, *data)
        self._known = {tuple(each[:6]): Result(*each[6:]) for each in self._kept.progress.results}

    def known(self, machine: Any, fold: Fold) -> Result | None:
        """Return the result of an estimator on a fold, if it has been found before."""
        return self._known.get(_key(machine, fold))

    def keep(self, machine: Any, fold: Fold, result: Result) -> None:
        """Keep a result."""
        if self.checkpoint is None:
            return
        self._kept.progress.results.append((*_key(machine, fold), *result.numbers))
        self._kept.save_if_due()

    def end(self) -> None:
        """End the search, whose best candidate is fitted."""
        self._kept.end()


def _key(machine: Any, fold: Fold) -> tuple[float, float, str, int, float, bool]:
    place, is_learnt = fold.number + fold.share, fold.scales is not None
    return machine.gamma, machine.C, machine.loss, machine.budget, place, is_learnt


@contextmanager
def finishing(plain: Any, course: Course, task: Any, given: dict[str, Any]) -> Iterator[None]:
    """Let the callbacks of a search follow the fit of its best candidate.

    This fit has a checkpoint of its own, in a file beside that of the search.
    """
    if (checkpoint := course.checkpoint) is not None:
        plain.set_callbacks(Checkpoint(f"{os.fspath(checkpoint.path)}.fit", checkpoint.every))
    last = task.subcontext(task_name="refit-with-best-params")
    with last.propagate_callback_context(plain):
        last.call_on_fit_task_begin(**given)
        yield
    last.call_on_fit_task_end(**given)
    plain.set_callbacks()
    course.end()
