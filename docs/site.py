"""Build the site of the documents into build/site: `python -m docs.site`.

A link that leads nowhere ends it with an error. The index states the order of the pages, once for readers of the
repository and for the site. Links to the source code become plain text, because the site does not have it.
"""

# ruff: noqa: INP001 -- a folder of documents with scripts, not a package

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from posixpath import dirname, normpath

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
COPIED = ("*.png", "*.svg", "openapi.json")
"""The files beside the pages that the site has."""

_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([\w./-]+(?:#[\w-]+)?)\)")


def navigation(index: str) -> dict[str, dict[str, str]]:
    """Return the pages that the index links: for each heading the paths, by their titles."""
    _, *sections = re.split(r"^## ", index, flags=re.MULTILINE)
    return {section.partition("\n")[0]: _linked(section) for section in sections}


def _linked(section: str) -> dict[str, str]:
    """Return what the rows and items of a section link first."""
    return dict(re.findall(r"^(?:\| |\* )\[([^\]]+)\]\(([\w/-]+\.md)\)", section, re.MULTILINE))


def without_source(markdown: str, path: str) -> str:
    """Return a page, which stands at a path in the documents, with links that leave them as plain text."""

    def unlinked(match: re.Match[str]) -> str:
        target = normpath(f"{dirname(path)}/{match[2].partition('#')[0]}".lstrip("/"))
        return match[1] if target.startswith("..") else match[0]

    return _LINK.sub(unlinked, markdown)


def write_pages(folder: Path) -> Path:
    """Write the pages and the settings into a folder; return the file of the settings."""
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    for source, text in _sources():
        target = pages / source.relative_to(DOCS)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text)
    settings = folder / "mkdocs.yml"
    sections = navigation((DOCS / "index.md").read_text(encoding="utf-8"))
    order = [{"Index": "index.md"}, *({title: _entries(section)} for title, section in sections.items())]
    stated = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings.write_text(f"{stated}nav: {json.dumps(order)}\n", encoding="utf-8")
    return settings


def _entries(section: Mapping[str, str]) -> list[dict[str, str]]:
    return [{title: path} for title, path in section.items()]


def _sources() -> Iterator[tuple[Path, bytes]]:
    for page in DOCS.rglob("*.md"):
        text = without_source(page.read_text(encoding="utf-8"), page.relative_to(DOCS).as_posix())
        yield page, text.encode()
    for pattern in COPIED:
        for file in DOCS.rglob(pattern):
            yield file, file.read_bytes()


def build(folder: Path) -> int:
    """Build the site into a folder; return the exit code."""
    folder.mkdir(exist_ok=True)
    program = Path(sys.executable).with_name("zensical")
    command = (program, "build", "--strict", "--clean", "--config-file", write_pages(folder))
    return subprocess.run(command, check=False).returncode  # noqa: S603 - a program of the locked environment


if __name__ == "__main__":
    sys.exit(build(ROOT / "build"))
