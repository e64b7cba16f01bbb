"""Option groups: a command takes its options in dataclasses, one field per option.

typer makes an option of each parameter of a function, so a command with many options has a
signature that nobody reads. With `grouped` a command says which groups it takes::

    @dataclass(frozen=True)
    class OutputOptions:
        quiet: Annotated[bool, typer.Option("--quiet", help="Print no progress.")] = False

    @grouped
    def inspect(model: Model, *, output: OutputOptions) -> None: ...

typer sees the fields in place of the group, as if the signature were
``inspect(*, model: Model, quiet: Annotated[...] = False)``, and the function is called with one
object per group. A group that extends another one inherits its options.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def grouped(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its option groups as parameters."""
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @functools.wraps(function)
    def command(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        function(**values)

    signature = inspect.signature(function)
    parameters: list[Parameter] = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def _parameters(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
