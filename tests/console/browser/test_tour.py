"""An empty tenant: examples make real jobs by one click, and take them away again."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages, look_at
from tests.console.server import ConsoleServer

_EXAMPLES = ("Call a URL now", "Call it every minute", "One after the other")


def test_from_the_printed_link_to_the_first_row_of_the_ledger_in_three_clicks(
    pages: Pages, console: ConsoleServer
) -> None:
    page = pages.page_of(console, None)
    page.goto(console.link("operator"))
    page.get_by_role("button", name="Create the example: Call a URL now").click()
    page.get_by_role("button", name="Allow changes and create it").click()
    expect(page).to_have_url(re.compile("#/jobs/example-now$"))
    console.advance(10)
    expect(page.locator("tbody tr").first).to_contain_text("Succeeded")


@pytest.mark.parametrize("title", _EXAMPLES[1:])
def test_an_example_is_taken_away_again(pages: Pages, console: ConsoleServer, title: str) -> None:
    page = pages.page_of(console, "operator", may_change=True)
    _do(page, f"Create the example: {title}", "Create it")
    console.advance(5)
    page.get_by_role("link", name="Now").click()
    expect(page.get_by_role("heading", name="Your examples")).to_be_visible()
    _do(page, f"Take away: {title}", "Take it away")
    console.advance(5)
    expect(page.get_by_role("button", name=f"Create the example: {title}")).to_be_visible()
    jobs = console.call("GET", "/v1/jobs").body["items"]
    assert {job["status"] for job in jobs} == {"cancelled"}


def test_a_tenant_with_jobs_of_its_own_has_no_tour(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/nightly", {"handler": "https://a.example", "cronExpression": "0 2 * * *"})
    page = pages.page_of(console)
    expect(page.get_by_text("Nothing fires in the next hour.")).to_be_visible()
    expect(page.get_by_role("button", name="Create the example")).to_have_count(0)


def test_the_tour_is_for_everyone(pages: Pages, console: ConsoleServer) -> None:
    page = pages.page_of(console)
    button = page.get_by_role("button", name="Create the example: Call a URL now")
    expect(button).to_be_disabled()
    assert not look_at(page, 1280, "light") + look_at(page, 360, "dark")


def _do(page: Page, label: str, name: str) -> None:
    page.get_by_role("button", name=label).click()
    page.get_by_role("dialog").get_by_role("button", name=name).click()
