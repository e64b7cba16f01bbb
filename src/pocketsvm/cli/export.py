"""``pocketsvm export``: a model for other programs."""

from typing import Annotated, Literal

import typer

from .._formats import EXPORTS, by_ending, listed, names
from . import options


def export(
    model: options.ModelFile,
    out: Annotated[str, typer.Argument(metavar="OUT", help="File to write.")],
    to: Annotated[
        Literal[names(EXPORTS)] | None,  # type: ignore[valid-type]
        typer.Option(
            help=f"Format of the file: {listed(EXPORTS)}.", show_default="by the ending of OUT"
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="Prefix of the names in C.", show_default="by the name of OUT"),
    ] = None,
    dtype: Annotated[
        Literal["float32", "float16", "int16", "int8"] | None,
        typer.Option(
            help="Type of the numbers in C; others than float32 need a model that was compressed "
            "to them.",
            show_default="that of the model",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write a model for another program."""
    from ..model import read_model
    from ..model.export import export_model
    from .console import print_json, show

    found = by_ending(EXPORTS, out)
    kind = to or (None if found is None else found.name)
    if kind is None:
        endings = ", ".join(ending for each in EXPORTS for ending in each.endings)
        raise typer.BadParameter(
            f"the format cannot be inferred from {out}: use --to, or {endings}.",
            param_hint="--to",
        )
    if name is not None and kind != "c":
        raise typer.BadParameter(
            "it names the functions of C code, and the other formats have none; leave it out.",
            param_hint="--name",
        )
    options.check_apart(out, model)
    if dtype is not None and kind != "c":
        raise typer.BadParameter("only C has types.", param_hint="--dtype")
    given = {"name": name, "dtype": dtype}
    settings = {key: value for key, value in given.items() if value is not None}
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
    if exported.names is not None:
        pairs = zip(exported.labels or (), exported.names, strict=True)
        show(f"it returns {', '.join(f'{label} for {text!r}' for label, text in pairs)}")
    elif exported.labels is not None:
        show(f"its labels are {', '.join(map(str, exported.labels))}")
