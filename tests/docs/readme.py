"""Readers of the documents, for tests."""

import re
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "tests/README.md"])
"""Every page that people read."""

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def prose(text: str) -> str:
    """Return a page without its blocks of code."""
    return _FENCE.sub("", text)


def code(text: str) -> list[str]:
    """Return the code of a page: its shell blocks, and the code spans in its prose."""
    blocks = [body for language, body in _FENCE.findall(text) if language == "sh"]
    return [*blocks, *re.findall(r"`([^`\n]+)`", prose(text))]


def shell_blocks(page: Path) -> list[str]:
    """Return the shell blocks of a page, in their order."""
    fence = re.compile(r"^( *)```sh\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
    return [dedent(body) for _, body in fence.findall(read(page))]


def runbook_commands() -> dict[str, list[str]]:
    """Return the shell blocks of each runbook, by the name of its page."""
    return {page.stem: shell_blocks(page) for page in sorted((ROOT / "docs/runbooks").glob("*.md"))}
