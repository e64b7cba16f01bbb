"""Write docs/api.md: the public names, described by their own docstrings.

Run it with ``make docs``. The tests compare the page with what `page` returns.
"""

import importlib
import inspect
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
MODULES = (
    "pocketsvm",
    "pocketsvm.tuning",
    "pocketsvm.plots",
    "pocketsvm.model",
    "pocketsvm.model.export",
    "pocketsvm.data",
    "pocketsvm.profile",
)
HEAD = """# API reference

Written from the docstrings by `make docs`. [The guide](guide.md) shows how the parts fit together.
"""
# Sections of a docstring whose entries are names with types.
LISTS = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def page() -> str:
    """Return the whole page: a list of contents, then every module's public names."""
    contents, parts, seen = [], [], set()
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        things = [(name, getattr(module, name)) for name in module.__all__]
        things = [
            (name, thing) for name, thing in things if name not in seen and _describable(thing)
        ]
        seen.update(name for name, _ in things)
        links = ", ".join(f"[{name}](#{name.lower()})" for name, _ in things)
        contents.append(f"- `{module_name}`: {links}")
        parts.append(f"## {module_name}\n\n{_summary(module)}")
        parts += [_describe(name, thing) for name, thing in things]
    return "\n\n".join([HEAD.rstrip(), "\n".join(contents), *parts]) + "\n"


def _describable(thing) -> bool:
    return inspect.isclass(thing) or inspect.isfunction(thing)


def _summary(module) -> str:
    return _prose(inspect.cleandoc(module.__doc__).split("\n\n")[0])


def _describe(name: str, thing) -> str:
    parts = [f"### {name}", _signature(name, thing), _markdown(inspect.getdoc(thing))]
    if inspect.isclass(thing):
        for member_name, member in inspect.getmembers(thing, _is_documented):
            if not member_name.startswith("_"):
                parts.append(f"#### {name}.{member_name}")
                if not isinstance(member, property):
                    parts.append(_signature(member_name, member))
                parts.append(_markdown(inspect.getdoc(member)))
    return "\n\n".join(parts)


def _is_documented(member) -> bool:
    """Whether a member is a method or property that pocketsvm defines."""
    if isinstance(member, property):
        member = member.fget
    is_method = inspect.isfunction(member) or inspect.ismethod(member)
    return is_method and member.__module__.startswith("pocketsvm")


def _signature(name: str, thing) -> str:
    """Return the call with its defaults, with one parameter per line if it is long."""
    parameters = []
    starred = False
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parameters.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        text = str(parameter.replace(annotation=parameter.empty))
        parameters.append(text.replace("'", '"').replace("<factory>", "..."))
    call = f"{name}({', '.join(parameters)})"
    if len(call) > 100:
        call = f"{name}(\n    {', '.join(parameters)},\n)".replace(", ", ",\n    ")
    return f"```python\n{call}\n```"


def _markdown(docstring: str) -> str:
    """Return a numpydoc docstring as Markdown."""
    pieces = re.split(r"^(\w[\w ]*)\n-{3,}\n", docstring, flags=re.MULTILINE)
    parts = [_prose(pieces[0])]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(f"**{title}**")
        if title in LISTS:
            parts.append(_entries(body))
        elif title == "Examples":
            parts.append(f"```pycon\n{body.strip()}\n```")
        elif title == "See Also":
            parts.append(re.sub(r"^([\w., ]+?) : ", r"- `\1`: ", body.strip(), flags=re.MULTILINE))
        else:
            parts.append(_prose(body))
    return "\n\n".join(parts)


def _entries(body: str) -> str:
    """Return ``name : type`` and its indented text as a list."""
    lines = []
    for entry in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, text = entry.replace("\\\n", "").partition("\n")
        name, _, kind = re.sub(r"\s+", " ", head).partition(" : ")
        text = "\n".join(
            f"  {line}" if line else "" for line in _prose(inspect.cleandoc(text)).split("\n")
        )
        names = ", ".join(f"`{one}`" for one in name.split(", "))
        lines.append(f"- {names}" + (f" ({kind})" if kind else "") + f":\n{text}")
    return "\n".join(lines)


def _prose(text: str) -> str:
    """Return paragraphs with names and code in one kind of quotes, literal blocks indented."""
    return text.strip().replace("``", "`").replace("::\n", ":\n")


if __name__ == "__main__":
    PAGE.write_text(page())
