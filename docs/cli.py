"""The help of each command of the command line, as Markdown."""

# ruff: noqa: INP001 -- a folder of documents with scripts, not a package

from collections.abc import Iterator
from typing import Any

import typer

from timeball.cli.main import app

_WIDTH = 100


def commands_as_markdown() -> str:
    """Return a section for each command, and in it a part for each command of a group."""
    return "\n\n".join(_sections(typer.main.get_command(app), None, "timeball", level=2))


def contexts(command: Any, parent: Any, name: str) -> Iterator[Any]:  # noqa: ANN401
    """Yield the context of a command and of all below it; typer's own types are private."""
    context = command.context_class(
        command, info_name=name, parent=parent, terminal_width=_WIDTH, max_content_width=_WIDTH
    )
    yield context
    for below in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from contexts(command.get_command(context, below), context, below)


def _sections(command: Any, parent: Any, name: str, *, level: int) -> Iterator[str]:  # noqa: ANN401
    for context in contexts(command, parent, name):
        depth = context.command_path.count(" ")
        heading = "#" * (level + max(0, depth - 1))
        yield f"{heading} `{context.command_path}`\n\n```text\n{context.get_help().strip()}\n```"
