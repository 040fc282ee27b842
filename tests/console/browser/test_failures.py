"""Failures: grouped by cause; a group is replayed or discarded as a whole, with its count and its progress."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer


def test_failures_are_grouped_by_their_cause(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/failures")
    expect(page.get_by_role("listitem").filter(has_text="send-invoices")).to_contain_text("4 times")
    page.get_by_role("button", name="Show the runs of send-invoices").click()
    expect(page.get_by_text("All 4 shown")).to_be_visible()
    page.get_by_label("Search errors").fill("401")
    expect(page.get_by_text("send-invoices")).to_have_count(0)
    expect(page.get_by_text("bank-statement")).to_be_visible()


@pytest.mark.parametrize(("verb", "did"), [("Replay", "replayed"), ("Discard", "discarded")])
def test_a_group_is_dealt_with_as_a_whole(verb: str, did: str, pages: Pages, console: ConsoleServer) -> None:
    page = _failed(pages, console, 130)
    page.get_by_role("button", name=f"{verb} the 130 failures of order").click()
    dialog = page.get_by_role("dialog")
    for text in ("130 runs", "How to take it back"):
        expect(dialog).to_contain_text(text)
    dialog.get_by_role("button", name=verb, exact=True).click()
    expect(dialog.get_by_role("status")).to_have_text(f"130 {did}.")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_text("Nothing has failed for good.")).to_be_visible()


def test_a_group_is_dealt_with_as_far_as_the_filter_shows_it(pages: Pages, console: ConsoleServer) -> None:
    page = _failed(pages, console, 3)
    page.get_by_label("Search errors").fill("status 422")
    expect(page).to_have_url(re.compile("error="))
    page.get_by_role("button", name="Discard the 3 failures of order").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("3 runs that the filter shows")
    with page.expect_request("**/v1/dead-letters:discard") as sent:
        dialog.get_by_role("button", name="Discard", exact=True).click()
    asked = (sent.value.post_data_json or {})["filter"]
    assert asked["error"] == "status 422"
    assert asked["fingerprint"]
    expect(dialog.get_by_role("status")).to_have_text("3 discarded.")


@pytest.mark.parametrize("way", ["Stop", "Escape"])
def test_what_was_done_before_a_stop_is_told(way: str, pages: Pages, console: ConsoleServer) -> None:
    page = _failed(pages, console, 130)
    left: list[Route] = []
    page.route("**/v1/dead-letters:discard", lambda route: left.append(route))  # noqa: PLW0108 - it wants a function
    page.get_by_role("button", name="Discard the 130 failures of order").click()
    dialog = page.get_by_role("dialog")
    with page.expect_request("**/v1/dead-letters:discard"):
        dialog.get_by_role("button", name="Discard", exact=True).click()
    if way == "Stop":
        dialog.get_by_role("button", name="Stop").click()
        expect(dialog.get_by_role("status")).to_contain_text("Stopping…")
    else:
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    left[0].continue_()
    if way == "Stop":
        expect(dialog.get_by_role("status")).to_have_text("100 discarded.")
    else:
        expect(page.get_by_text("100 discarded; the rest stays.")).to_be_visible()
    assert len(left) == 1


def test_a_viewer_sees_why_a_group_cannot_be_replayed(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "viewer", at="#/failures")
    replay = page.get_by_role("button", name="Replay the 4 failures of send-invoices")
    expect(replay).to_be_disabled()
    expect(replay).to_have_accessible_description("This needs an operator's key; you use a viewer's.")


def _failed(pages: Pages, console: ConsoleServer, count: int) -> Page:
    """Return the page with the failures of a job that failed so often."""
    fields = {"handler": "https://shop.example/fail/422", "everySeconds": 1, "maxRetries": 0, "maxRuns": count}
    console.send("PUT", "/v1/jobs/order", fields)
    console.advance(count + 30)
    return pages.page_of(console, "operator", at="#/failures", may_change=True)
