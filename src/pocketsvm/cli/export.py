"""``pocketsvm export``: a model for other programs."""

import os
from dataclasses import replace
from typing import Annotated, Literal

import numpy as np
import typer

from ..model import Model
from ..model.export import FORMATS, export_model
from . import options
from .console import print_json, show
from .saved import Saved

__all__ = ["export"]

ENDINGS = {".onnx": "onnx", ".h": "c", ".model": "libsvm", ".libsvm": "libsvm"}


def export(
    model: options.ModelFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        Literal[tuple(FORMATS)] | None,  # type: ignore[misc]
        typer.Option("--to", help="Its format.", show_default="told by its ending"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="What names in C begin with.", show_default="model"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write a model for LIBSVM, for ONNX runtimes, or as a header of C."""
    kind = to or ENDINGS.get(os.path.splitext(out)[1].lower())
    if kind is None:
        raise typer.BadParameter(
            f"the ending of {out} does not tell: use --to, or {', '.join(ENDINGS)}.",
            param_hint="--to",
        )
    if name is not None and kind != "c":
        raise typer.BadParameter("only C has names.", param_hint="--name")
    options.check_apart(out, model)
    exported = export_model(_model(model), out, kind, **({} if name is None else {"name": name}))
    if json:
        print_json(
            {
                "out": out,
                "to": kind,
                "bytes": exported.file_size,
                "table_bytes": exported.table_size,
                "labels": exported.labels,
            }
        )
        return
    show(f"{out} has {exported.file_size:,} bytes; its tables take {exported.table_size:,}")
    if exported.labels is not None:
        show(f"its labels are {', '.join(map(str, exported.labels))}")


def _model(path: str) -> Model:
    saved = Saved.load(path)
    names = saved.layout.names
    return replace(
        Model.of(saved.estimator),
        feature_names=None if names is None else np.array(names, dtype=object),
    )
