"""Job: why a fire ran or did not, what changed before it broke, and what an action touches."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer


def test_why_did_this_fire_run_or_not(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/report", {"handler": "https://shop.example/report", "everySeconds": 60})
    console.send("POST", "/v1/jobs/report/skip-next")
    console.advance(130)
    page = pages.page_of(console, at="#/jobs/report")
    expect(_row(page, "Skipped")).to_contain_text("A user skipped it.")
    expect(_row(page, "Succeeded")).to_contain_text("Schedule")


def test_a_fire_to_come_says_why_it_will_not_run(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs/send-invoices/upcoming")
    expect(_row(page, "13:00:00 CET")).to_contain_text("Will run")
    expect(_row(page, "13:30:00 CET")).to_contain_text("A freeze holds it")


def test_what_changed_and_who_did_it_without_a_click(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs/nightly-report")
    key = shop.send("GET", "/v1/jobs/nightly-report")["createdBy"]
    summary = page.get_by_label("Summary")
    for text in ("Put 2 h ago", f"by {key}, admin", ": cronExpression"):
        expect(summary).to_contain_text(text)


def test_a_button_says_without_a_click_what_it_touches_and_how_to_take_it_back(
    pages: Pages, shop: ConsoleServer
) -> None:
    page = pages.page_of(shop, "operator", at="#/jobs/nightly-report")
    for name, said in (("Pause", "The job fires no more,"), ("Run now", "One run beside the schedule,")):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_have_accessible_description(re.compile(f"^{said}.* To take it back: "))
    page.goto(f"{shop.url}#/")
    cancel = page.get_by_role("button", name="Cancel the run of warehouse-count").first
    expect(cancel).to_have_accessible_description(re.compile("^This run alone.* To take it back: Retry the run"))


def test_every_change_has_its_author_and_both_values(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs/nightly-report/changes")
    changed = _row(page, "Put")
    for text in ("admin", "cronExpression", "0 2 * * *", "15 2 * * *"):
        expect(changed).to_contain_text(text)


def test_a_former_revision_is_restored(pages: Pages, console: ConsoleServer) -> None:
    fields = {"handler": "https://shop.example/report", "cronExpression": "0 2 * * *", "timezone": "Europe/Berlin"}
    console.send("PUT", "/v1/jobs/report", fields)
    console.send("PATCH", "/v1/jobs/report", {"cronExpression": "0 3 * * *"})
    page = pages.page_of(console, "operator", at="#/jobs/report/changes", may_change=True)
    page.get_by_role("button", name="Restore revision 1").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Restore the present revision.")
    dialog.get_by_role("button", name="Restore").click()
    expect(page.get_by_label("Summary")).to_contain_text("02:00")
    assert console.send("GET", "/v1/jobs/report")["cronExpression"] == "0 2 * * *"


def test_an_action_says_what_it_touches_and_how_to_take_it_back(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/report", {"handler": "https://shop.example/report", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs/report", may_change=True)
    page.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog")
    for text in ("What it touches", "The job fires no more", "How to take it back", "Resume it."):
        expect(dialog).to_contain_text(text)
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Paused")
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Pending")


def test_an_open_dialog_does_what_it_said_when_it_was_opened(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/report", {"handler": "https://shop.example/report", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs/report", may_change=True)
    page.get_by_role("button", name="Pause").click()
    console.send("POST", "/v1/jobs/report/pause")
    expect(page.locator("h1")).to_contain_text("Paused")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("heading")).to_have_text("Pause report?")
    dialog.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The job is paused.")).to_be_visible()
    assert console.send("GET", "/v1/jobs/report")["status"] == "paused"


def test_all_failed_runs_of_a_ledger_are_retried_with_their_count_before_and_the_progress_after(
    pages: Pages, console: ConsoleServer
) -> None:
    pages.allowed.append("409")
    fields = {"handler": "https://shop.example/fail/422", "everySeconds": 1, "maxRetries": 0, "maxRuns": 7}
    console.send("PUT", "/v1/jobs/order", fields)
    console.advance(40)
    page = pages.page_of(console, "operator", at="#/jobs/order")
    retry = page.get_by_role("button", name="Retry all that match…")
    expect(retry).to_have_count(0)
    page.get_by_role("button", name="Failed", exact=True).click()
    retry.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("7 runs get one more series of attempts each")
    # Another person deals with one of these meanwhile.
    newest = console.send("GET", "/v1/jobs/order/runs")["items"][0]["runId"]
    console.send("POST", f"/v1/runs/{newest}/succeed", {"reason": "sent by hand"})
    dialog.get_by_role("button", name="Allow changes and retry all").click()
    expect(dialog.get_by_role("status")).to_have_text("6 retried, 1 not possible.")
    dialog.get_by_role("button", name="Close").click()
    expect(page.get_by_text("No run has this status.")).to_be_visible()


def test_the_next_fire_is_skipped_once(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/report", {"handler": "https://shop.example/report", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs/report", may_change=True)
    page.get_by_role("button", name="Skip next").click()
    with page.expect_request("**/skip-next") as sent:
        page.get_by_role("dialog").get_by_role("button", name="Skip next").click()
    assert {"if-match", "idempotency-key"} <= sent.value.headers.keys()
    expect(page.get_by_text("The next fire is skipped.")).to_be_visible()


def test_an_unknown_job_and_an_unknown_part_are_told(pages: Pages, shop: ConsoleServer) -> None:
    pages.allowed.append("404")
    page = pages.page_of(shop)
    page.goto(f"{shop.url}#/jobs/none-such")
    expect(page.get_by_role("alert")).to_be_visible()
    page.goto(f"{shop.url}#/jobs/cleanup/none-such")
    expect(page.get_by_text("A job has no such part.")).to_be_visible()


def _row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text).first
