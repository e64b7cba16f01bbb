"""A callback that several tests share."""


class Recorder:
    """A scikit-learn callback that records its calls and can request a stop."""

    def __init__(self, stop_after=None):
        self.events, self.scores, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        self.events.append(("end", context.task_name, context.task_id))
        self.scores.append(fitted_estimator.score(X, y))
        self.metadata = metadata
        return context.parent is not None and context.task_id + 1 == self.stop_after

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name, context.max_subtasks))
