"""``pocketsvm export``: a model for other programs."""

import os
from typing import Annotated, Literal

import typer

from . import options

ENDINGS = {".onnx": "onnx", ".h": "c", ".model": "libsvm", ".libsvm": "libsvm"}


def export(
    model: options.ModelFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        Literal["libsvm", "onnx", "c"] | None,
        typer.Option(help="Format of the file.", show_default="by the ending of OUT"),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Prefix of the names in C.", show_default="by the name of OUT"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write a model for LIBSVM, for ONNX runtimes, or as a C header."""
    from ..model import read_model
    from ..model.export import export_model
    from .console import print_json, show

    kind = to or ENDINGS.get(os.path.splitext(out)[1].lower())
    if kind is None:
        raise typer.BadParameter(
            f"the format cannot be inferred from {out}: use --to, or {', '.join(ENDINGS)}.",
            param_hint="--to",
        )
    if name is not None and kind != "c":
        raise typer.BadParameter("only C has names.", param_hint="--name")
    options.check_apart(out, model)
    settings = {} if name is None else {"name": name}
    exported = export_model(read_model(model)[0], out, kind, **settings)
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
