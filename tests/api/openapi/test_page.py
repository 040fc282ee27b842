"""The page for people has the whole document, loads nothing from elsewhere, and runs nothing."""

import re
from html.parser import HTMLParser

import pytest

from tests.api.client import Api
from timeball.api.openapi.document import document
from timeball.api.routes import ROUTES


class Page(HTMLParser):
    """The tags of a page, their ids and links, and its text; it fails on a tag that is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in {"href", "src"}:
                self.links.add(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def text() -> str:
    answer = Api().call("GET", "/docs", tenant=None)
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    return answer.text


def test_every_route_and_every_model_is_on_the_page(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert page.ids >= set(document()["components"]["schemas"])
    for route in ROUTES:
        assert f"<code>{route.method} {route.path}</code>" in text


def test_the_page_loads_nothing_and_runs_nothing_and_its_links_resolve(text: str) -> None:
    page = Page(text)
    assert not page.tags & {"script", "link", "img", "iframe", "form", "object"}
    assert page.links == {f"#{name}" for name in page.ids if f"#{name}" in page.links} | {"openapi.json"}
    assert re.findall(r"url\(|@import|javascript:|\son\w+=", text) == []
