"""What is on the screen is as old as the page says, whatever the server does."""

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer


def test_a_picture_that_is_held_still_is_not_judged_by_a_later_clock(pages: Pages, console: ConsoleServer) -> None:
    console.advance(30)
    page = pages.page_of(console)
    expect(page.locator("h1")).to_contain_text("Alive")
    page.get_by_role("button", name="Hold still").click()
    console.advance(120)
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.get_by_role("button", name="Go on:")).to_be_visible()
    page.get_by_role("combobox", name="Zone of all times").select_option("utc")
    expect(page.locator("h1")).to_contain_text("Alive")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("h1")).to_contain_text("Alive")


def test_a_request_that_hangs_is_given_up_and_asked_again(pages: Pages, console: ConsoleServer) -> None:
    console.advance(30)
    page = pages.page_of(console)
    page.evaluate("const after = AbortSignal.timeout.bind(AbortSignal); AbortSignal.timeout = (ms) => after(ms / 30)")
    page.route("**/v1/now", lambda _: None)
    expect(page.get_by_text("Not current")).to_be_visible()
    page.unroute("**/v1/now")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_what_is_gone_is_shown_no_more(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("404")
    console.send("PUT", "/v1/jobs/web", {"handler": "https://shop.example/web", "everySeconds": 600})
    page = pages.page_of(console, at="#/jobs/web")
    gone = {"detail": "You have no job with this id."}
    page.route("**/v1/jobs/web", lambda route: route.fulfill(status=404, json=gone))
    expect(page.get_by_role("alert")).to_contain_text("You have no job with this id.")
    expect(page.get_by_label("Summary")).to_have_count(0)
