"""Each call of `timeball` in the documents names a command and options that exist."""

import re
import shlex
from typing import Any

import pytest
import typer

from docs.cli import contexts
from tests.docs.readme import ROOT, read
from timeball.cli.main import app

ALL: dict[str, Any] = {one.command_path: one.command for one in contexts(typer.main.get_command(app), None, "timeball")}
CALL = re.compile(r"^\s*(?:\$ )?(timeball [a-z].*)$|`(timeball [a-z][^`]*)`", re.MULTILINE)
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "cli.md"]


def calls() -> list[str]:
    """Return the calls in all pages; `timeball` by itself, or with an argument of curl, is a function of the README."""
    found = [call for page in PAGES for pair in CALL.findall(read(page)) for call in pair if call]
    return sorted({call for call in found if not call.startswith(("timeball -", "timeball dev", "timeball mcp"))})


@pytest.mark.parametrize("call", calls())
def test_a_call_names_a_command_and_its_options(call: str) -> None:
    words = shlex.split(call.replace("...", ""))
    path, command = words.pop(0), ALL["timeball"]
    while hasattr(command, "list_commands") and words:
        path = f"{path} {words.pop(0)}"
        assert path in ALL, path
        command = ALL[path]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    known |= {"--help"}
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known
