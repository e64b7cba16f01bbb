"""``pocketsvm evaluate``: how good a model is on data with labels."""

from typing import Annotated

import typer

from . import options
from .groups import grouped


@grouped
def evaluate(
    model: options.ModelFile,
    data: options.Data,
    *,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the weights of the rows; it is no feature.",
            rich_help_panel=options.TABLES,
        ),
    ] = None,
    query: options.Query = None,
    columns: options.DataOptions,
    n_jobs: options.Jobs = -1,
    device: options.Device = "cpu",
    output: options.OutputOptions,
) -> None:
    """Compare a model's predictions with the labels of a data file.

    A folder, or a pattern in quotes, stands for several files.

    Shows accuracy, ROC-AUC, the precision, recall and F1 of each class, and the confusion matrix;
    log loss, Brier score and calibration error if the model has probabilities. For a regression it
    shows R2 and mean errors, or the pinball loss and coverage of quantiles; for a ranking NDCG and
    the share of pairs in the right order. A row counts as often as its weight in the column
    --weights says.
    """
    from .console import Reporter, print_json
    from .rank_scores import RankScores
    from .reading import ONE_QUERY, opened_files
    from .saved import Saved
    from .scores import score_files

    saved = Saved.load(model, n_jobs, device)
    reporter = Reporter(output.quiet or output.json)
    is_ranking = saved.model.task == "ranking"
    if not is_ranking and query is not None:
        raise typer.BadParameter("only a ranking has queries.", param_hint="--query")
    if is_ranking and weights is not None:
        raise typer.BadParameter("a ranking has no weights of rows.", param_hint="--weights")
    purpose = options.TaskOptions(rank=is_ranking, query=query)
    files = opened_files(data, columns, weights=weights, task=purpose)
    with reporter.task("evaluating") as task:
        scores = score_files(saved, files, task, n_jobs)
    if isinstance(scores, RankScores) and not scores.has_queries:
        reporter.say(ONE_QUERY)
    if output.json:
        print_json(scores.as_json())
    else:
        scores.show()
