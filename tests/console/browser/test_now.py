"""Five of the eight questions are answered on Now, without a click."""

from playwright.sync_api import Locator, Page, expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer


def test_is_timeball_alive_and_on_time(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive and on time")
    strip = page.get_by_label("Health")
    for text in ("Ticking", "last tick", "p99", "Nothing is overdue"):
        expect(strip).to_contain_text(text)


def test_what_is_late_or_stuck_and_what_does_it_wait_for(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    expect(_entry(page, "Needs you", "transform")).to_contain_text("Late")
    expect(_entry(page, "Needs you", "transform")).to_contain_text("Waits for the runs of the jobs that it depends on.")
    expect(_entry(page, "Needs you", "publish")).to_contain_text("Blocked")
    expect(_entry(page, "Needs you", "publish")).to_contain_text("Waits for check.")


def test_what_failed_grouped_by_cause(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    failed = _entry(page, "Failed for good", "send-invoices")
    for text in ("4 times", "The target answered with status 503.", "first", "newest"):
        expect(failed).to_contain_text(text)


def test_what_runs_and_is_it_longer_than_usual(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/import", {"handler": "https://shop.example/slow/20", "everySeconds": 60})
    console.advance(330)
    console.send("PATCH", "/v1/jobs/import", {"handler": "https://shop.example/slow/200", "everySeconds": 86400})
    console.advance(5)
    console.send("POST", "/v1/jobs/import/trigger")
    console.advance(10)
    page = pages.page_of(console)
    run = _entry(page, "Running", "import")
    expect(run).to_contain_text("Running")
    expect(run).to_contain_text("95 % take at most 20 s")
    console.advance(20)
    expect(run).to_contain_text("longer than usual")


def test_what_fires_in_the_next_hour_and_what_will_not_and_why(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    fire = _section(page, "Next hour").get_by_role("listitem").filter(has_text="import-orders")
    expect(fire).to_contain_text("CET")
    expect(fire).to_contain_text("in 4 min")
    expect(fire).to_contain_text("11 more until")
    expect(_entry(page, "Will not run in the next hour", "old-export")).to_contain_text("The job is paused.")
    expect(_entry(page, "Will not run in the next hour", "send-invoices")).to_contain_text("A freeze holds it")
    expect(_section(page, "Freezes")).to_contain_text("Closing of the books")


def test_the_zone_of_all_times_is_one_switch(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, zone="Asia/Kathmandu")
    strip = page.get_by_label("Health")
    expect(strip).to_contain_text("GMT+5:45")
    page.get_by_label("Zone of all times").select_option("utc")
    expect(strip).to_contain_text("UTC")
    expect(strip).not_to_contain_text("GMT+5:45")


def _section(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title)


def _entry(page: Page, title: str, job_id: str) -> Locator:
    return _section(page, title).locator("li.item").filter(has=page.get_by_text(job_id, exact=True))
