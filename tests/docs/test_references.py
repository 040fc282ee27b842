"""Everything that the documents name exists: pages, headings, commands, files, tests."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.writes import orders
from tests.docs.readme import PAGES, ROOT, code, prose, read
from timeball import __version__

LAYER = ROOT / "layers/core/python"
RULES = ROOT / "tests/README.md"
INDEX = ROOT / "docs/index.md"
LIFE = ROOT / "docs/concepts/life-of-a-run.md"
FOLDERS = ("bench", "docs", "functions", "infra", "layers", "local", "tests")
PARTS = ("aws", "domain", "engine", "testing")
"""Folders of the package, which documents name without its path."""


def _named(page: Path) -> str:
    return str(page.relative_to(ROOT))


every_page = pytest.mark.parametrize("page", PAGES, ids=_named)


@every_page
def test_every_relative_link_leads_to_an_existing_file_and_heading(page: Path) -> None:
    broken = [link for link in _links(page) if not _leads_somewhere(page, link)]
    assert not broken


def _links(page: Path) -> Iterator[str]:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(read(page))):
        if not re.match(r"[a-z]+:", link):
            yield link


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in _headings(target))


def _headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the sites that show it form them."""
    titles = re.findall(r"^#+ (.+)$", prose(read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_index_links_every_page_of_the_documents() -> None:
    linked = {(INDEX.parent / link.partition("#")[0]).resolve() for link in _links(INDEX)}
    pages = {page for page in PAGES if page.is_relative_to(INDEX.parent)} - {INDEX}
    assert sorted(map(_named, pages - linked)) == []


def test_every_function_in_the_life_of_a_run_is_in_a_file_that_is_linked_there() -> None:
    files = [LIFE.parent / link for link in _links(LIFE) if link.endswith(".py")]
    defined = {f"{file.stem}.{name}" for file in files for name in _defined_in(file)}
    named = {span for span in code(read(LIFE)) if re.fullmatch(r"\w+\.[A-Za-z_]+", span)}
    assert named
    assert named <= defined


def _defined_in(file: Path) -> set[str]:
    return set(re.findall(r"^(?:async )?(?:def|class) (\w+)", read(file), re.MULTILINE))


@every_page
def test_every_command_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    shown = {target for text in code(read(page)) for target in re.findall(r"\bmake ([a-z-]+)", text)}
    assert shown <= targets


def test_contributing_shows_every_everyday_command() -> None:
    commands = set(re.findall(r"^([a-z-]+):.*## ", read(ROOT / "Makefile"), re.MULTILINE)) - {"help"}
    shown = set(re.findall(r"`make ([a-z-]+)", read(ROOT / "CONTRIBUTING.md") + read(ROOT / "README.md")))
    assert commands - shown <= {"clean"}


@every_page
def test_every_file_and_folder_that_is_named_exists(page: Path) -> None:
    missing = [name for name in _paths(page) if not _candidates(name)]
    assert not missing


def _paths(page: Path) -> Iterator[str]:
    for span in code(prose(read(page))):
        if re.fullmatch(r"[\w./-]+/[\w.*-]*", span) and span.split("/")[0] in (*FOLDERS, *PARTS, "timeball"):
            yield span


def _candidates(name: str) -> list[Path]:
    first = name.split("/", maxsplit=1)[0]
    root = LAYER if first == "timeball" else LAYER / "timeball" if first in PARTS else ROOT
    pattern = name.rstrip("/")
    return [*root.glob(pattern), *([] if pattern.endswith(".py") else root.glob(f"{pattern}.py"))]


@every_page
def test_every_test_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"(tests/[\w/]+\.py)::(\w+)", read(page))
    missing = [f"{path}::{name}" for path, name in named if not _has_test(ROOT / path, name)]
    assert not missing


def _has_test(path: Path, name: str) -> bool:
    return path.exists() and re.search(rf"^\s*(async )?def {name}\(", read(path), re.MULTILINE) is not None


def test_every_promise_names_a_test() -> None:
    promises = re.findall(r"^\| \d \| (.+?) \| (.+?) \|$", read(ROOT / "docs/concepts/promises.md"), re.MULTILINE)
    told = re.findall(r"^\d\. (\*\*.+?\*\*)", read(ROOT / "README.md"), re.MULTILINE)
    assert told == [re.match(r"\*\*.+?\*\*", promise)[0] for promise, _ in promises]  # type: ignore[index]
    assert len(promises) == 7
    for promise, tests in promises:
        assert "::test_" in tests, promise


def test_the_newest_version_of_the_changelog_is_the_version_of_the_package() -> None:
    versions = re.findall(r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == __version__


def test_every_folder_of_tests_is_a_tier_that_contributing_names() -> None:
    tiers = {f"tests/{folder.name}" for folder in (ROOT / "tests").iterdir() if any(folder.rglob("test_*.py"))}
    assert tiers <= set(re.findall(r"`(tests/\w+)`", read(ROOT / "CONTRIBUTING.md")))


def test_every_verb_of_the_order_of_writes_has_its_tests_in_the_same_order() -> None:
    assert _verbs(read(RULES)) == [re.sub(r" \([^)]*\)", "", order.verb) for order in orders()] != []


def _verbs(table: str) -> list[str]:
    """Return the first cells of a table's rows, without its head and without text in brackets."""
    head, *rows = re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE)
    assert head == "verb"
    return [re.sub(r" \([^)]*\)", "", row) for row in rows]


@pytest.mark.parametrize("tier", ["tests/crash", "tests/end_to_end"])
def test_every_file_of_a_tier_that_attacks_the_rules_is_listed_with_a_rule(tier: str) -> None:
    files = {_named(file) for file in (ROOT / tier).glob("test_*.py")}
    assert files <= set(re.findall(r"`(tests/[\w/]+\.py)`", read(RULES)))
