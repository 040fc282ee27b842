"""Job: why a fire ran or did not, what changed before it broke, and what an action touches."""

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


def test_what_changed_and_who_did_it(pages: Pages, shop: ConsoleServer) -> None:
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
