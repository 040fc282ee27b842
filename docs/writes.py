"""Gather the order of writes of each verb from its docstring: docs/reference/writes.md is generated from it.

A docstring states it in one form: a line `Order of writes of <verb>:`, numbered steps, and a paragraph that begins with
`Safe:` and says why nothing is lost or doubled.
"""

# ruff: noqa: INP001 -- a folder of documents with scripts, not a package

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
ENGINE: Final = ROOT / "layers/core/python/timeball/engine"

_ORDER = re.compile(
    r"^Order of writes of (?P<verb>[^\n]+):\n\n(?P<steps>\d\. .+?)\n\nSafe: (?P<why>.+?)(?=\n\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_ROOMS = ("scheduling", "dependencies", "events", "execution", "runs", "blackouts", "changes", "operations")
"""The folders of the engine in the order of the page, before the modules that stand in none."""

_RECORDS = {int(page.name[:4]): page.name for page in (ROOT / "docs/adr").glob("*.md")}


class Order(NamedTuple):
    """The order of writes of a verb."""

    verb: str
    """The verb, with what it applies to in brackets."""
    steps: tuple[str, ...]
    """The steps, each with its number."""
    why: str
    """Why nothing is lost or doubled, wherever a process dies."""
    file: Path
    """The file of the function whose docstring states it."""


def orders() -> list[Order]:
    """Return the order of writes of every verb: by the room of its file, by file, and then as they stand in it."""
    folders = [*(ENGINE / room for room in _ROOMS), ENGINE]
    return [order for folder in folders for file in sorted(folder.glob("*.py")) for order in _orders_in(file)]


def _orders_in(file: Path) -> Iterator[Order]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for match in _ORDER.finditer(ast.get_docstring(node) or ""):
                steps = re.split(r"\n(?=\d\. )", match["steps"])
                yield Order(match["verb"], tuple(map(_one_line, steps)), _one_line(match["why"]), file)


def _one_line(text: str) -> str:
    return re.sub(r"ADR (\d+)", _link, " ".join(text.split()))


def _link(match: re.Match[str]) -> str:
    return f"[ADR {match[1]}](../adr/{_RECORDS[int(match[1])]})"


def writes_as_markdown() -> str:
    """Return a section for each verb: its file, its steps and why they are safe."""
    return "\n\n".join(map(_section, orders()))


def _section(order: Order) -> str:
    name = order.file.relative_to(ENGINE.parent).as_posix()
    link = f"[`{name}`](../../{order.file.relative_to(ROOT).as_posix()})"
    return "\n".join([f"### {order.verb}", "", link, "", *order.steps, "", f"*Safe:* {order.why}"])
