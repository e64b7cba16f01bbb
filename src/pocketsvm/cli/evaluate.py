"""``pocketsvm evaluate``: how good a model is on a data file with labels."""

from ..data import DataFile
from . import options
from .console import Reporter, print_json
from .saved import Saved
from .scores import score_file

__all__ = ["evaluate"]


def evaluate(
    model: options.ModelFile,
    data: options.Data,
    label: options.Label = None,
    header: options.Header = None,
    format: options.Format = None,
    n_jobs: options.Jobs = -1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Compare a model's predictions with the labels of a data file.

    Accuracy, precision, recall and F1 of each class and the confusion matrix; R2 and mean errors
    of a regression.
    """
    saved = Saved.load(model, n_jobs)
    with (
        DataFile(data, options.data_options(format, label, header)) as file,
        Reporter(quiet or json).task("evaluating") as task,
    ):
        scores = score_file(saved, file, task, n_jobs)
    if json:
        print_json(scores.as_json())
    else:
        scores.show()
