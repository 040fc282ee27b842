"""Run: why it exists, what each attempt was answered, and what to do next."""

from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer

FAILED = "#/runs/send-invoices.1795431600000.s"
BLOCKED = "#/runs/publish.1795431600000.s"


def test_a_failed_run_shows_its_attempts_their_answers_and_what_to_do(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at=FAILED)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Failed")
    for title, text in (
        ("Why", "Every attempt that the retry policy allows has failed."),
        ("Times", "on time"),
        ("Attempts", "The target answered with status 503."),
        ("What to do next", "Mend the cause and retry"),
    ):
        expect(page.get_by_role("region", name=title)).to_contain_text(text)
    page.get_by_text("Text of the answer").first.click()
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("The warehouse answered 503.")


def test_a_blocked_run_leads_to_the_failed_one(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at=BLOCKED)
    expect(page.get_by_role("region", name="Why")).to_contain_text("it continues once that run has succeeded")
    page.get_by_role("link", name="Open the failed run").click()
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("The target answered with status 422.")


def test_a_failed_run_is_retried_with_another_payload(pages: Pages, console: ConsoleServer) -> None:
    page = _dead(pages, console)
    page.get_by_role("button", name="Edit and retry").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Payload, as JSON").fill("{no json")
    expect(dialog).to_contain_text("This is no JSON")
    expect(dialog.get_by_role("button", name="Edit and retry")).to_be_disabled()
    dialog.get_by_label("Payload, as JSON").fill('{"order": 2}')
    dialog.get_by_role("button", name="Edit and retry").click()
    expect(page.get_by_role("region", name="Why")).to_contain_text("A person changed its payload")


def test_a_payload_that_is_not_known_is_not_made_up(pages: Pages, console: ConsoleServer) -> None:
    job = {"handler": "https://shop.example/fail/500", "everySeconds": 86400, "maxRetries": 0, "payload": {"order": 1}}
    console.send("PUT", "/v1/jobs/order", job)
    console.send("POST", "/v1/jobs/order/trigger", {"payload": {"order": 7}})
    console.advance(30)
    page = pages.page_of(console, "operator", at="#/jobs/order", may_change=True)
    page.get_by_role("row").filter(has_text="Manual").get_by_role("link").first.click()
    page.get_by_role("button", name="Edit and retry").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Payload, as JSON")).to_have_value("")
    expect(dialog.get_by_role("button", name="Edit and retry")).to_be_disabled()


def test_a_failed_run_is_marked_as_succeeded(pages: Pages, console: ConsoleServer) -> None:
    page = _dead(pages, console)
    page.get_by_role("button", name="Mark as succeeded").click()
    page.get_by_role("dialog").get_by_label("Why").fill("sent by hand")
    page.get_by_role("dialog").get_by_role("button", name="Mark as succeeded").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Succeeded")
    expect(page.get_by_role("region", name="Why")).to_contain_text("sent by hand")


def _dead(pages: Pages, console: ConsoleServer) -> Page:
    """Return the page of a run that has failed for good."""
    job = {"handler": "https://shop.example/fail/500", "delaySeconds": 1, "maxRetries": 0, "payload": {"order": 1}}
    console.send("PUT", "/v1/jobs/order", job)
    console.advance(30)
    page = pages.page_of(console, "operator", at="#/jobs/order", may_change=True)
    page.get_by_role("row").nth(1).get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Failed")
    return page
