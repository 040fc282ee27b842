"""One adaptive poll keeps the screen current: how often it asks, when it does not, and what it says when it cannot.

The browser's clock is moved by the test, a second at a time, so that answers arrive in between.
"""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser.harness import Pages, shown
from tests.console.browser.polling import asked, move, opened, settle
from tests.console.server import ConsoleServer

_SHOW = """state => {
  Object.defineProperty(document, "hidden", {get: () => state === "hidden", configurable: true});
  document.dispatchEvent(new Event("visibilitychange", {bubbles: true}));
}"""
_LOST = ".lost"


@pytest.fixture
def calm(pages: Pages, console: ConsoleServer) -> Page:
    """Now, of a tenant with one job."""
    console.send("PUT", "/v1/jobs/hourly", {"handler": "https://shop.example/report", "cronExpression": "0 * * * *"})
    console.advance(60)
    return opened(pages, console, "#/")


def _of_a_minute(console: ConsoleServer, page: Page) -> int:
    return len(asked(console, page, 60))


def test_a_screen_on_which_nothing_runs_asks_every_five_seconds(console: ConsoleServer, calm: Page) -> None:
    paths = asked(console, calm, 60)
    assert set(paths) == {"/v1/now"}
    assert len(paths) == pytest.approx(12, abs=1)


def test_an_answer_that_is_the_same_is_not_sent_again(console: ConsoleServer, calm: Page) -> None:
    move(calm, 60)
    statuses = [one.status for one in console.asked if one.path == "/v1/now"]
    assert statuses.count(304) >= 5, "each second or third is whole, for the last tick is not part of the ETag"


def test_while_something_runs_it_asks_every_two_seconds(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/slow", {"handler": "https://shop.example/slow/600", "timeoutSeconds": 800})
    console.advance(20)
    page = opened(pages, console, "#/")
    expect(page.get_by_role("region", name="Running")).to_contain_text("slow")
    assert _of_a_minute(console, page) == pytest.approx(30, abs=3)


def test_after_five_minutes_without_a_change_it_asks_every_thirty_seconds(console: ConsoleServer, calm: Page) -> None:
    calm.clock.fast_forward(301_000)
    settle(calm)
    assert _of_a_minute(console, calm) == pytest.approx(2, abs=1)


def test_a_hidden_tab_asks_nothing_and_asks_at_once_when_it_is_shown(console: ConsoleServer, calm: Page) -> None:
    calm.evaluate(_SHOW, "hidden")
    assert _of_a_minute(console, calm) == 0
    before = len(console.asked)
    calm.evaluate(_SHOW, "visible")
    settle(calm)
    assert [one.path for one in console.asked[before:]] == ["/v1/now"]


def test_two_tabs_of_a_session_ask_as_often_as_one(pages: Pages, console: ConsoleServer, calm: Page) -> None:
    other = calm.context.new_page()
    other.goto(console.url)
    shown(other)
    # A step of the clock is a second: the tabs ask in different ones.
    calm.evaluate("Math.random = () => 1")
    other.evaluate("Math.random = () => 0")
    before = len(console.asked)
    for _ in range(60):
        calm.clock.run_for(1000)  # of both
        for page in (calm, other):
            settle(page)
    both = [one for one in console.asked[before:] if one.path == "/v1/now"]
    assert len(both) == pytest.approx(15, abs=2)
    assert not pages.complaints


def test_jobs_ask_for_the_page_in_sight_alone(pages: Pages, console: ConsoleServer) -> None:
    for number in range(120):
        console.send("PUT", f"/v1/jobs/job-{number}", {"handler": "https://a.example", "cronExpression": "0 2 * * *"})
    page = opened(pages, console, "#/jobs")
    page.mouse.wheel(0, 100_000)
    expect(page.locator("tbody tr")).to_have_count(100)
    page.mouse.wheel(0, 100_000)
    expect(page.get_by_text("All 120 shown")).to_be_visible()
    page.mouse.wheel(0, -100_000)
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    move(page, 6)
    assert _of_a_minute(console, page) == pytest.approx(12, abs=1)


def test_held_still_the_picture_stays_and_changes_are_counted(console: ConsoleServer, calm: Page) -> None:
    calm.get_by_role("button", name="Hold still").click()
    for name in ("first", "second"):
        console.send("PUT", f"/v1/jobs/{name}", {"handler": "https://shop.example/slow/600", "timeoutSeconds": 800})
    console.advance(40)
    move(calm, 12)
    expect(calm.get_by_text("Held still")).to_be_visible()
    expect(calm.get_by_role("region", name="Running")).not_to_contain_text("first")
    go_on = calm.get_by_role("button", name="Go on: 2 changes")
    expect(go_on).to_be_visible()
    go_on.click()
    expect(calm.get_by_role("region", name="Running")).to_contain_text("first")
    expect(calm.get_by_role("button", name="Hold still")).to_be_visible()


@pytest.mark.parametrize(
    ("status", "says"),
    [(429, "Too many requests"), (503, "Timeball cannot answer at present."), (0, "cannot be reached")],
)
def test_a_lost_connection_says_how_old_the_picture_is_and_asks_less_and_less(
    pages: Pages, calm: Page, status: int, says: str
) -> None:
    pages.allowed.append("Failed to load resource")
    tries: list[str] = []

    def refuse(route: Route) -> None:
        tries.append(route.request.url)
        if status:
            route.fulfill(status=status, body="", headers={})
        else:
            route.abort("connectionrefused")

    calm.route("**/v1/now", refuse)
    move(calm, 60)
    expect(calm.locator(_LOST)).to_contain_text(says)
    expect(calm.locator(_LOST)).to_contain_text(re.compile(r"You see the state as of \d\d:\d\d:\d\d CET"))
    expect(calm.get_by_text("Not current")).to_be_visible()
    assert 2 <= len(tries) <= 5, "after 5, 10, 20 and 40 s"
    expect(calm.get_by_label("Health")).to_contain_text("Ticking")
    calm.unroute("**/v1/now")
    move(calm, 90)
    expect(calm.locator(_LOST)).to_have_count(0)


def test_a_wait_that_the_server_asks_for_is_kept(pages: Pages, calm: Page) -> None:
    pages.allowed.append("Failed to load resource")
    tries: list[str] = []

    def refuse(route: Route) -> None:
        tries.append(route.request.url)
        route.fulfill(status=429, body="", headers={"Retry-After": "50"})

    calm.route("**/v1/now", refuse)
    move(calm, 45)
    assert len(tries) == 1


def test_offline_says_so_and_back_online_asks_at_once(pages: Pages, console: ConsoleServer, calm: Page) -> None:
    pages.allowed.append("Failed to load resource")
    calm.context.set_offline(True)
    move(calm, 8)
    expect(calm.locator(_LOST)).to_contain_text("You are offline.")
    before = len(console.asked)
    calm.context.set_offline(False)
    settle(calm)
    expect(calm.locator(_LOST)).to_have_count(0)
    assert len(console.asked) > before


def test_a_session_that_has_ended_leads_to_the_login_and_back_to_the_same_place(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("status of 40[13]")
    console.send("PUT", "/v1/jobs/web", {"handler": "https://a.example", "everySeconds": 60})
    page = opened(pages, console, "#/jobs?status=pending")
    console.call(
        "DELETE", "/v1/sessions/current", key=page.evaluate("JSON.parse(sessionStorage['timeball.session']).first.key")
    )
    console.world.clock.advance(61_000)
    move(page, 7)
    expect(page.get_by_text("Your session has ended. Log in again.")).to_be_visible()
    page.get_by_label("API key").fill(console.keys["viewer"])
    page.get_by_role("button", name="Log in").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    assert "status=pending" in page.url
