"""Write the parts of the documents that are generated from code: `python -m docs.generate`.

A generated part stands in a page between `<!-- generated: name -->` and `<!-- end -->`; the rest is written by hand.
"""

# ruff: noqa: INP001 -- a folder of documents with one script, not a package

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from bench.scale.report import (
    arithmetic_as_markdown,
    capacity_as_markdown,
    cases_as_markdown,
    curves_as_markdown,
    placed_as_markdown,
    scans_as_markdown,
    steps_as_markdown,
)
from docs.availability import agreements_as_markdown, outages_as_markdown
from docs.cli import commands_as_markdown
from docs.client import methods_as_markdown
from docs.writes import writes_as_markdown
from infra.limits import functions_as_markdown, queues_as_markdown, tables_as_markdown
from infra.settings import as_markdown
from tests.drills.table import drills_as_markdown
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import MOVES, TERMINAL, RunState
from timeball.engine.metrics import MEANINGS

DOCS = Path(__file__).parent

_BORN = (RunState.QUEUED, RunState.SKIPPED)
"""The states in which a row is inserted (`domain/planning/ledger.py`)."""


class NoSuchPartError(ValueError):
    """A page lacks the markers of one of its parts, or has markers of an unknown part."""


def states() -> str:
    """Return the moves of a run as a Mermaid diagram."""
    lines = ["```mermaid", "stateDiagram-v2", *(f"    [*] --> {state}" for state in _BORN)]
    lines += [f"    {state} --> {after}" for state in RunState for after in RunState if after in MOVES[state]]
    lines += [f"    {state} --> [*]" for state in RunState if state in TERMINAL]
    return "\n".join([*lines, "```"])


def reasons() -> str:
    """Return the reasons of runs and their sentences as a table."""
    rows = [f"| `{reason}` | {reason.sentence} |" for reason in Reason]
    return "\n".join(["| reason | what it says |", "|---|---|", *rows])


def metrics() -> str:
    """Return the metrics as a table."""
    rows = [
        f"| `{name}` | {one.unit} | {one.sentence} | {'`basic`' if one.is_basic else '`full`'} | "
        f"{f'`reason`: {one.reason}' if one.reason else '`priority`' if one.by_priority else 'none'} |"
        for name, one in MEANINGS.items()
    ]
    return "\n".join(["| metric | unit | what it says | written from | split by |", "|---|---|---|---|---|", *rows])


PAGES: Mapping[str, Mapping[str, Callable[[], str]]] = {
    "reference/aws.md": {
        "functions": functions_as_markdown,
        "queues": queues_as_markdown,
        "tables": tables_as_markdown,
    },
    "concepts/availability.md": {"outages": outages_as_markdown, "agreements": agreements_as_markdown},
    "reference/cli.md": {"commands": commands_as_markdown},
    "reference/client.md": {"methods": methods_as_markdown},
    "reference/drills.md": {"drills": drills_as_markdown},
    "concepts/runs.md": {"states": states, "reasons": reasons, "metrics": metrics},
    "concepts/scale.md": {
        "arithmetic": arithmetic_as_markdown,
        "placed": placed_as_markdown,
        "cases": cases_as_markdown,
        "steps": steps_as_markdown,
        "curves": curves_as_markdown,
        "capacity": capacity_as_markdown,
        "scans": scans_as_markdown,
    },
    "reference/settings.md": {"settings": as_markdown},
    "reference/writes.md": {"writes": writes_as_markdown},
}
"""The pages that have generated parts, and what makes each part."""


def renewed(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """Return a page with its generated parts brought up to date; raise `NoSuchPartError` if it has others."""
    missing = set(parts)

    def part(match: re.Match[str]) -> str:
        name = match[1]
        if name not in parts:
            raise NoSuchPartError(f"nothing generates {name}")
        missing.discard(name)
        return f"<!-- generated: {name} -->\n{parts[name]()}\n<!-- end -->"

    pattern = r"<!-- generated: ([a-z]+) -->\n.*?<!-- end -->"
    renewed_text = re.sub(pattern, part, text, flags=re.DOTALL)
    if missing:
        raise NoSuchPartError(f"there is no place for {', '.join(sorted(missing))}")
    return renewed_text


def main() -> None:
    """Write every page anew."""
    for name, parts in PAGES.items():
        page = DOCS / name
        page.write_text(renewed(page.read_text(encoding="utf-8"), parts), encoding="utf-8")


if __name__ == "__main__":
    main()
