"""Predictions of a model, as lines of text or as JSON."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._formats import FILES, by_ending
from .._replacing import replacing
from ..files import Batch
from ..model.prediction import probabilities
from .console import Task, one_line_of_json
from .escaping import escaped
from .predict import PredictionOptions
from .saved import Saved, predicted_codes

Columns = dict[str, NDArray[Any]]  # name -> one value, or one row of values, per row of the file


def answers(
    saved: Saved, batches: Iterable[Batch], wanted: PredictionOptions, task: Task
) -> Iterator[Columns]:
    """Yield the answers for each batch that has rows."""
    labels = None if saved.is_regression else np.array(saved.labels, dtype=object)
    for batch in batches:
        n_rows = batch.X.shape[0]
        if n_rows:
            values = saved.answers(batch.X)
            found = {} if batch.ids is None else {"id": np.array(batch.ids, dtype=object)}
            if labels is None:
                yield found | {"prediction": values}
            else:
                found["label"] = labels[predicted_codes(saved.model.task, values)]
                if wanted.decision:
                    found["decision"] = values
                if wanted.proba:
                    found["probability"] = probabilities(values.reshape(n_rows, -1))
                yield found
            task.advance(n_rows, n_rows)


def as_lines(batches: Iterable[Columns]) -> Iterator[str]:
    """Yield batches as lines: the values of a row, separated by tabs.

    Control characters in labels are escaped, so that each row is one line and safe to print.
    """
    spell_label = cache(escaped)
    for columns in batches:
        texts: list[Any] = []
        for values in columns.values():
            spell = spell_label if values.dtype == object else repr
            texts += (map(spell, part) for part in values.reshape(len(values), -1).T.tolist())
        yield "\n".join(map("\t".join, zip(*texts, strict=True))) + "\n"


def as_json(batches: Iterable[Columns]) -> Iterator[str]:
    """Yield batches as one list of objects, each on a line of its own."""
    before = "["
    for columns in batches:
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        objects = (dict(zip(columns, row, strict=True)) for row in rows)
        yield before + "\n" + ",\n".join(map(one_line_of_json, objects))
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def is_parquet(path: str | None) -> bool:
    """Whether a file that is written is to be Parquet."""
    found = None if path is None else by_ending(FILES, path)
    return found is not None and found.name == "parquet"


def as_parquet(
    batches: Iterable[Columns], stream: Any, saved: Saved, wanted: PredictionOptions
) -> None:
    """Write batches to a Parquet file, one row group for each.

    Columns are "id", "label" or "prediction", "decision" or one "decision_<label>" per class, and
    one "probability_<label>" per class. Several quantiles are "prediction_<quantile>".
    """
    if find_spec("pyarrow") is None:
        raise ImportError("writing Parquet needs pyarrow: pip install 'pocketsvm[data]'")
    import pyarrow as pa
    import pyarrow.parquet as parquet

    names = [("id", pa.string())] if wanted.id is not None else []
    found: list[str] = []
    if not saved.is_regression:
        names.append(("label", pa.string()))
    elif isinstance(saved.model.quantile, tuple):
        found += [f"prediction_{share:g}" for share in saved.model.quantile]
    elif saved.n_targets > 1:
        found += [f"prediction_{k}" for k in range(saved.n_targets)]
    else:
        found.append("prediction")
    if wanted.decision:
        several = len(saved.labels) > 2
        found += [f"decision_{label}" for label in saved.labels] if several else ["decision"]
    if wanted.proba:
        found += [f"probability_{label}" for label in saved.labels]
    names += [(name, pa.float64()) for name in found]
    schema = pa.schema(names)
    with parquet.ParquetWriter(stream, schema) as writer:
        for columns in batches:
            parts = [
                part
                for values in columns.values()
                for part in np.reshape(values, (len(values), -1)).T
            ]
            arrays = [pa.array(part, kind) for part, (_, kind) in zip(parts, names, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


@contextmanager
def open_output(path: str | None) -> Iterator[BinaryIO | Any]:
    """Open a file that appears when it is complete; stdout, a pipe or a device is written to."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    elif os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        with open(path, "wb") as file:
            yield file
    else:
        with replacing(path) as file:
            yield file
