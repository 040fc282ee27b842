"""Names, tags, owners and errors that try to be more than text stay text."""

import pytest
from playwright.sync_api import expect

from tests.console.browser.harness import WIDTHS, Pages, look_at, shown
from tests.console.seeds import HOSTILE
from tests.console.server import ConsoleServer

_LISTS = ("#/", "#/jobs", "#/failures", "#/settings")
_OF_A_JOB = tuple(f"#/jobs/hostile-0{part}" for part in ("", "/upcoming", "/settings", "/changes", "/cost", "/edit"))


@pytest.mark.parametrize("width", WIDTHS)
def test_hostile_texts_are_inert_on_every_screen(pages: Pages, console: ConsoleServer, width: int) -> None:
    console.seed("hostile")
    page = pages.page_of(console, "operator", width, may_change=True)
    run = console.send("GET", "/v1/jobs/hostile-0/runs")["items"][0]["runId"]
    for place in (*_LISTS, *_OF_A_JOB, f"#/runs/{run}"):
        page.goto(console.url + place)
        shown(page)
        assert "broken" not in page.title()
        assert page.locator("main img, main script, main iframe").count() == 0
        assert not look_at(page, width, "light"), place
    page.goto(f"{console.url}#/jobs")
    shown(page)
    expect(page.get_by_text(HOSTILE[0], exact=True).first).to_be_visible()


def test_a_hostile_address_is_inert(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console)
    page.goto(f"{console.url}#/jobs/%3Cimg%20src=x%20onerror=alert(1)%3E/%zz/nothing")
    expect(page.get_by_text("There is no such page.")).to_be_visible()
    page.goto(f"{console.url}#/jobs?q=%3Cscript%3E&tag=x:%22%3E%3Cimg%3E")
    expect(page.get_by_text("No job matches.")).to_be_visible()
    assert page.locator("main img, main script").count() == 0
