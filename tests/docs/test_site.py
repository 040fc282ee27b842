"""The site of the documents has every page in the order of the index, and no link into the source code."""

from pathlib import Path

import pytest

from docs.site import DOCS, build, navigation, without_source
from tests.docs.readme import read


def test_the_site_shows_every_page_of_the_index_below_its_heading() -> None:
    sections = navigation(read(DOCS / "index.md"))
    assert [*sections][-2:] == ["Runbooks", "Decisions"]
    shown = [path for section in sections.values() for path in section.values()]
    assert sorted(shown) == sorted({page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")} - {"index.md"})


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[`run.py`](../../layers/run.py)", "`run.py`"),
        ("[the writes](../../ARCHITECTURE.md#writes)", "the writes"),
        ("[Runs](../concepts/runs.md#lateness)", "[Runs](../concepts/runs.md#lateness)"),
        ("![a curve](../scale/one.svg)", "![a curve](../scale/one.svg)"),
        ("[a service](https://example.com)", "[a service](https://example.com)"),
    ],
)
def test_only_links_that_leave_the_documents_become_text(link: str, shown: str) -> None:
    assert without_source(f"See {link}.", "reference/api.md") == f"See {shown}."


@pytest.mark.more
def test_the_site_is_built_without_a_dead_link(tmp_path: Path) -> None:
    assert build(tmp_path) == 0
    page = read(tmp_path / "site/how-to/restore/index.html")
    assert "put-function-concurrency" in page
    assert "```" not in page
