"""The passes, on one worker."""

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from ..data.drawing import Drawn
from ..data.rows import Dtype, Rows, checked_rows
from ..data.survey import Survey
from ..training.passes import OnPass, PassReport, is_enough, make_trainers, run_passes
from ..training.settings import Settings
from ..training.state import VectorSet
from .partitions import same

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class _Passes:
    """What a pass needs, beside the rows of the sample."""

    targets: Any
    settings: Settings
    gamma: float
    dtype: Dtype

    def rows(self, sample: Drawn, chosen: Array) -> Rows:
        checked = checked_rows(sample.rows.X[chosen])
        return Rows(checked, checked.core(self.dtype), self.gamma)


def _one_pass(
    sample: Drawn, chosen: Array, given: _Passes, start: VectorSet | None, before: VectorSet | None
) -> VectorSet:
    """Make one pass over the sample, on one worker."""
    rows = given.rows(sample, chosen)
    trainers = make_trainers(rows, given.targets, given.settings, before or start)
    return run_passes(trainers, rows, given.targets, given.settings, lambda report: True, before)


@dataclass(frozen=True, eq=False)
class RunPasses:
    """Makes the passes on a worker, each as a task of its own."""

    client: Any
    lazy: Any
    drawn: Drawn
    found: Survey
    n_threads: int

    def __call__(
        self,
        rows: Rows,
        targets: Any,
        settings: Settings,
        on_pass: OnPass,
        start: VectorSet | None,
        before: VectorSet | None,
    ) -> VectorSet:
        """Make all passes, or those after `before`; the callbacks are told between them."""
        settings = replace(settings, n_threads=self.n_threads)
        given = _Passes(targets, settings, rows.gamma, rows.core.dtype)
        chosen = np.flatnonzero(np.isin(self.drawn.numbers, self.found.numbers))
        token = uuid4().hex
        shared = self.client.submit(same, given, key=f"passes-shared-{token}")
        at = self.client.submit(same, chosen, key=f"passes-rows-{token}")
        vectors, done = before, 0 if before is None else before.n_passes

        def is_done(found: VectorSet) -> bool:
            return is_enough(done, found.profile, rows, targets, settings)

        while done < settings.n_passes and (vectors is None or not is_done(vectors)):
            done, begin = done + 1, time.perf_counter()
            found: VectorSet = self.client.submit(
                _one_pass, self.lazy, at, shared, start, vectors, key=f"pass-{token}-{done}"
            ).result()
            made = found.profile if vectors is None else found.profile - vectors.profile
            seconds = time.perf_counter() - begin
            vectors = found
            report = PassReport(done, settings.n_passes, made, seconds, partial(same, found))
            if on_pass(report):
                break
        assert vectors is not None
        self.lazy.release()  # the sample is no longer needed on the cluster
        return vectors
