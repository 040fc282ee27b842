"""Journeys over several screens: what a person does from a question to its answer, or from a slip to its sentence."""

import re

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer
from timeball.domain.time.instants import parse_instant

_FIELDS = {"handler": "https://shop.example/report", "cronExpression": "0 2 * * *", "timezone": "Europe/Berlin"}


def test_why_02_00_did_not_run(pages: Pages) -> None:
    with ConsoleServer(at=parse_instant("2026-11-24T00:30:00Z")) as server:
        server.send("PUT", "/v1/jobs/report", {**_FIELDS, "tags": {"team": "finance"}})
        server.send("PUT", "/v1/calendars/closing", {"timezone": "Europe/Berlin", "dates": ["2026-11-24"]})
        server.send("PATCH", "/v1/jobs/report", {"calendar": {"name": "closing"}})
        server.advance(2 * 3600)
        page = pages.page_of(server, at="#/jobs")
        page.get_by_role("link", name="report", exact=True).click()
        row = page.get_by_role("row").filter(has_text="02:00:00 CET")
        expect(row).to_contain_text("Skipped")
        expect(row).to_contain_text("calendar")
        row.get_by_role("link").first.click()
        expect(page.get_by_role("region", name="Why")).to_contain_text("calendar")
        expect(page.get_by_role("region", name="What to do next")).to_contain_text("run the job now")


def test_a_freeze_tells_before_what_it_would_hold_and_now_shows_it(pages: Pages, console: ConsoleServer) -> None:
    for name, team in (("web-1", "web"), ("web-2", "web"), ("other", "data")):
        fields = {"handler": "https://shop.example/a", "everySeconds": 1800, "tags": {"team": team}}
        console.send("PUT", f"/v1/jobs/{name}", fields)
    console.advance(10)
    page = pages.page_of(console, "operator", at="#/settings/freezes")
    page.get_by_role("button", name="New freeze").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Jobs with the tag").fill("team:web")
    dialog.get_by_role("button", name="What would it hold?").click()
    expect(dialog.get_by_role("status")).to_contain_text("4 fires, first:")
    expect(dialog.get_by_role("status")).not_to_contain_text("other")
    dialog.get_by_role("button", name="Allow changes and new freeze").click()
    expect(page.get_by_role("row").filter(has_text="Jobs with team:web")).to_contain_text("In force")
    page.get_by_role("link", name="Now", exact=True).click()
    expect(page.get_by_role("region", name="Freezes")).to_contain_text("Jobs with team:web")
    expect(page.get_by_role("region", name="Will not run in the next hour")).to_contain_text("A freeze holds it")


def test_an_action_on_a_job_that_has_ended_meanwhile_gets_its_sentence(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("status of 409")
    console.send("PUT", "/v1/jobs/report", _FIELDS)
    page = pages.page_of(console, "operator", at="#/jobs/report", may_change=True)
    page.get_by_role("button", name="Hold still").click()
    console.send("DELETE", "/v1/jobs/report")
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog.get_by_role("alert")).to_contain_text("cancelled")
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Go on")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Cancelled")
    expect(page.get_by_role("button", name="Pause")).to_have_accessible_description("The job has ended.")


def test_a_session_that_ends_mid_way_asks_again_and_comes_back_to_the_same_place(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("status of 401")
    console.send("PUT", "/v1/jobs/report", {**_FIELDS, "tags": {"team": "web"}})
    page = pages.page_of(console, "operator", at="#/jobs?tag=team:web", may_change=True)
    console.advance(9 * 3600)
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_text("Your session has ended. Log in again.")).to_be_visible()
    page.get_by_label("API key").fill(console.keys["operator"])
    page.get_by_label("API key").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("report")
    page.go_back()
    expect(page.get_by_role("button", name="Remove the filter tag team:web")).to_be_visible()


def test_a_lost_update_of_a_row_is_refused_and_then_done(pages: Pages, console: ConsoleServer) -> None:
    pages.allowed.append("status of 412")
    console.send("PUT", "/v1/jobs/report", _FIELDS)
    page = pages.page_of(console, "operator", at="#/jobs", may_change=True)
    page.get_by_role("button", name="Hold still").click()
    console.send("PATCH", "/v1/jobs/report", {"priority": "high"})
    page.get_by_role("button", name="Pause report").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog.get_by_role("alert")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name=re.compile("^Go on")).click()
    expect(page.get_by_role("button", name="Hold still")).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert console.send("GET", "/v1/jobs/report")["status"] == "pending"
