"""The blocks of code in the pages that people paste from, and what each is: a comment in the line above it says so.

| comment | the block |
|---|---|
| `<!-- run -->` | is pasted into the page's shell; `run: exit 1` expects that status, `run: after 8h` waits first |
| `<!-- shows -->` | stands in the output of the block above, line by line; `…` stands for anything within a line |
| `<!-- file: NAME -->` | is saved under that name, in the folder of the shell |
| `<!-- terminal -->` | is pasted into another terminal, where it goes on |
| `<!-- aws -->` | can be answered by AWS alone |
| `<!-- by hand: WHY -->` | is typed by a person, and no test can |

`<!-- blocks: TEST -->` in a page says which test runs all its blocks.
"""

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from textwrap import dedent

from tests.docs.readme import ROOT, read

_FENCED = re.compile(r"^( *)```([\w-]*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
_MARKER = re.compile(r"<!-- ([a-z ]+?)(?:: (.+))? -->")
_ELSEWHERE = re.compile(r"^<!-- blocks: (tests/\S+) -->$", re.MULTILINE)


class Kind(Enum):
    """What a block is."""

    RUN = "run"
    SHOWS = "shows"
    FILE = "file"
    TERMINAL = "terminal"
    AWS = "aws"
    BY_HAND = "by hand"


@dataclass(frozen=True)
class Block:
    """A block of a page."""

    page: Path
    line: int
    """Its first line."""
    kind: Kind | None
    """None: no comment says what it is."""
    about: str
    """The rest of the comment."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, as they stand in it; a drawing is none."""
    text = read(page)
    return [_block(page, text, match) for match in _FENCED.finditer(text) if match[2] != "mermaid"]


def _block(page: Path, text: str, match: re.Match[str]) -> Block:
    before = text[: match.start()]
    marker = _MARKER.fullmatch(before.rstrip("\n").rpartition("\n")[2].strip())
    kinds = {kind.value: kind for kind in Kind}
    kind = kinds.get(marker[1]) if marker and before.endswith("-->\n") else None
    return Block(page, before.count("\n") + 2, kind, (marker[2] or "") if marker and kind else "", dedent(match[3]))


def runner_of(page: Path) -> str | None:
    """Return the file of the test that runs all blocks of a page; None if the common one does."""
    named = _ELSEWHERE.search(read(page))
    return named[1] if named else None
