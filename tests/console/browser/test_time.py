"""Times: three zones, a browser whose clock is wrong, and the nights on which the clock changes."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer
from timeball.domain.time.instants import SECOND_MS, parse_instant

_SHIFTED = """
(() => {
  const Real = Date, ahead = %d;
  globalThis.Date = class extends Real {
    constructor(...given) { if (given.length) super(...given); else super(Real.now() + ahead); }
    static now() { return Real.now() + ahead; }
  };
})()
"""
_ROLES = """
globalThis.roles = [];
new MutationObserver(() => {
  const role = document.querySelector("details.menu .role")?.textContent;
  if (role && roles.at(-1) !== role) roles.push(role);
}).observe(document, {subtree: true, childList: true, characterData: true});
"""
"""Note each role that the page shows."""

_REPORT = {"handler": "https://shop.example/report", "cronExpression": "30 2 * * *", "timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("Europe/Berlin", "Tue 24 Nov 02:15:00 CET"),
        ("Asia/Kathmandu", "Tue 24 Nov 07:00:00 GMT+5:45"),
        ("Australia/Lord_Howe", "Tue 24 Nov 12:15:00 GMT+11"),
    ],
)
def test_one_switch_shows_a_fire_in_the_jobs_zone_mine_and_utc(
    pages: Pages, shop: ConsoleServer, zone: str, text: str
) -> None:
    page = pages.page_of(shop, at="#/jobs/nightly-report", zone=zone)
    summary = page.get_by_label("Summary")
    switch = page.get_by_label("Zone of all times")
    for choice, expected in (("job", "Tue 24 Nov 02:15:00 CET"), ("mine", text), ("utc", "Tue 24 Nov 01:15:00 UTC")):
        switch.select_option(choice)
        expect(summary).to_contain_text(expected)


@pytest.mark.parametrize("seconds", [90, -90])
def test_countdowns_follow_the_servers_clock(pages: Pages, console: ConsoleServer, seconds: int) -> None:
    console.send("PUT", "/v1/jobs/soon", {"handler": "https://shop.example/soon", "delaySeconds": 600})
    page = pages.page_of(console, None)
    console_clock, now = console.world.clock.now(), page.evaluate("Date.now()")
    page.add_init_script(_SHIFTED % (console_clock - now + seconds * SECOND_MS))
    page.goto(console.link("viewer"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive and on time")
    page.goto(f"{console.url}#/jobs/soon")
    # The server's clock stands here, the browser's goes on.
    expect(page.get_by_label("Summary")).to_contain_text(re.compile(r"in (9|10) min"))


@pytest.mark.parametrize("seconds", [1900, -1900])
def test_changes_stay_allowed_over_a_reload_on_a_clock_that_is_half_an_hour_off(
    pages: Pages, console: ConsoleServer, seconds: int
) -> None:
    pages.allowed.append("401")  # at the end the clock jumps, so that the server refuses before the page knows
    page = pages.page_of(console, None)
    ahead = console.world.clock.now() - page.evaluate("Date.now()") + seconds * SECOND_MS
    page.add_init_script(_SHIFTED % ahead)
    page.goto(console.link("operator"))
    role = page.locator("details.menu .role")
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Allow changes for 30 minutes").click()
    expect(role).to_have_text("operator")
    page.add_init_script(_ROLES)
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive")
    expect(role).to_have_text("operator")
    assert page.evaluate("roles") == ["operator"]
    console.advance(1810)
    expect(role).to_have_text("viewer")


@pytest.mark.parametrize(
    ("at", "texts"),
    [
        ("2027-03-27T12:00:00Z", ["Sun 28 Mar 03:00:00 CEST", "Mon 29 Mar 02:30:00 CEST"]),
        ("2027-10-30T12:00:00Z", ["Sun 31 Oct 02:30:00 CEST", "Mon 1 Nov 02:30:00 CET"]),
    ],
)
def test_upcoming_and_the_preview_tell_what_a_clock_change_does(pages: Pages, at: str, texts: list[str]) -> None:
    with ConsoleServer(at=parse_instant(at)) as server:
        server.send("PUT", "/v1/jobs/report", _REPORT)
        page = pages.page_of(server, "submitter", at="#/jobs/report/upcoming", zone="Europe/Berlin", may_change=True)
        for text in texts:
            expect(_rows(page).filter(has_text=text)).to_have_count(1)
        page.goto(f"{server.url}#/jobs/report/edit")
        fires = page.get_by_role("region", name="Next fires")
        expect(fires).to_contain_text(_local(texts[0]))
        expect(fires.get_by_role("listitem").first).to_contain_text("clock")


def _rows(page: Page) -> Locator:
    return page.locator("tbody tr")


def _local(text: str) -> str:
    return text.split()[3]
