"""Compares prose, names, complexity and sizes with their bars: `python -m tests.house`.

`--figures` prints each measure, and `--list` each finding too.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.house.complexity import MOST, complex_in
from tests.house.names import banned_in, homonyms_in
from tests.house.prose import per_thousand, sentences_in
from tests.house.sizes import MOST_LINES, MOST_MODULES, crowded, size_of

ROOT = Path(__file__).parents[2]
CODE = ("layers/core", "functions", "infra", "local")
CORE = ROOT / "layers/core/python/timeball"
API = CORE / "api"
TOOLS = [CORE / name for name in ("cdk", "cli", "client", "dev", "importing", "mcp", "rehearsal")]
"""What users install on their own machines; nothing of it is deployed."""
PROSE = {
    "code": ("layers/core", "functions", "infra", "local", "bench"),
    "tests": ("tests",),
    "documents": ("docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
}
"""The rooms of the prose, each with a bar of its own."""


@dataclass(frozen=True)
class Measure:
    """A count or a share, and a line for each finding. More than `most` fails; `most` will come down to `aim`."""

    name: str
    found: float
    most: float
    aim: float
    findings: Sequence[str]


def measures() -> Iterator[Measure]:
    """Yield all measures of the repository."""
    for room, roots in PROSE.items():
        sentences = sentences_in(_files(roots))
        hard = [
            f"{_short(one.path)}:{one.line}: {one.text}  [{', '.join(one.faults)}]" for one in sentences if one.faults
        ]
        yield Measure(f"hard sentences in a thousand, {room}", per_thousand(sentences), 10, 10, hard)
    modules = [path for path in _files(CODE, "*.py") if not _is_generated(path)]
    homonyms = [f"{name}: {', '.join(map(_short, paths))}" for name, paths in _homonyms(modules).items()]
    yield Measure("names of several classes", len(homonyms), 0, 0, homonyms)
    banned = [f"{_short(path)}: {name}" for path, name in banned_in(modules)]
    yield Measure("identifiers with a banned word", len(banned), 0, 0, banned)
    dense = [f"{_short(one.path)}:{one.line}: {one.name} makes {one.decisions}" for one in complex_in(modules)]
    yield Measure(f"functions with more than {MOST} decisions", len(dense), 0, 0, dense)
    yield from _sizes(modules)


def _homonyms(modules: Sequence[Path]) -> Mapping[str, list[Path]]:
    """Return the names of several classes; a program that imports the client sees no others than the client's."""
    client = [path for path in modules if path.is_relative_to(CORE / "client")]
    return {**homonyms_in(set(modules) - set(client)), **homonyms_in(client)}


def _is_generated(path: Path) -> bool:
    """Return whether a module is written by a program: what it is written from is measured."""
    return path.read_text(encoding="utf-8").startswith("# Generated from ")


def _sizes(modules: Sequence[Path]) -> Iterator[Measure]:
    """Yield the sizes of files and folders, and of the package's parts: the core, the edge around it, users' tools."""
    sizes = [size_of(path) for path in modules]
    long = [f"{_short(one.path)} has {one.code}" for one in sizes if one.code > MOST_LINES]
    yield Measure(f"files with more than {MOST_LINES} lines of code", len(long), 0, 0, long)
    full = [f"{_short(folder)} has {number}" for folder, number in crowded(modules).items()]
    yield Measure(f"folders with more than {MOST_MODULES} modules", len(full), 0, 0, full)
    edge = [one for one in sizes if one.path.is_relative_to(API) or one.path.is_relative_to(ROOT / "functions")]
    tools = [one for one in sizes if any(one.path.is_relative_to(folder) for folder in TOOLS)]
    core = [one for one in sizes if one.path.is_relative_to(CORE) and one not in edge and one not in tools]
    lines = sum(one.code for one in core)
    yield Measure("files of the core", len(core), 300, 240, [])
    yield Measure("lines of code of the core", lines, 24_000, 16_000, [])
    yield Measure(
        "lines of imports in a hundred of the core", 100 * sum(one.imports for one in core) / lines, 14, 11, []
    )
    yield Measure("lines of code of the edge", sum(one.code for one in edge), 12_600, 7_500, [])
    dev = [one for one in tools if one.path.is_relative_to(CORE / "dev")]
    # Until it was shipped in the wheel, most of it was in `local`, which has no bar: so it has one of its own.
    yield Measure("lines of code of the local Timeball", sum(one.code for one in dev), 1_000, 1_000, [])
    others = sum(one.code for one in tools) - sum(one.code for one in dev)
    yield Measure("lines of code of users' other tools", others, 9_000, 9_000, [])


def main(arguments: Sequence[str]) -> int:
    """Print each measure beside its bar, and the findings where it is above; return 1 if any is."""
    lists_all, failed = "--list" in arguments, False
    for one in measures():
        is_above = one.found > one.most
        failed = failed or is_above
        if is_above or lists_all:
            sys.stdout.writelines(f"{finding}\n" for finding in one.findings)
        aim = "" if one.aim == one.most else f", aim {one.aim:g}"
        if is_above or arguments:
            sys.stdout.write(f"{one.name}: {one.found:.3g} (bar {one.most:g}{aim})\n")
    return int(failed)


def _files(roots: Sequence[str], *patterns: str) -> list[Path]:
    """Return files, and the files in folders that match a pattern (by default Python and Markdown), in order."""
    return [file for root in roots for file in _files_of(ROOT / root, patterns or ("*.py", "*.md"))]


def _files_of(path: Path, patterns: Sequence[str]) -> list[Path]:
    return [path] if path.is_file() else sorted(file for pattern in patterns for file in path.rglob(pattern))


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
