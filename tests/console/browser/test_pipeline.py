"""Pipeline: how far each job of a cycle is, and why; the cycles before; three ways to run it again."""

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer

CYCLE = "#/cycles/extract/2026-11-23T11%3A00%3A00.000Z"


def test_each_job_of_a_cycle_has_its_state_and_its_reason(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at=CYCLE)
    expect(page.get_by_role("heading", level=1)).to_contain_text("2 failed or blocked")
    publish = page.get_by_role("table", name="Jobs of the cycle").get_by_role("row").filter(has_text="publish")
    for text in ("Blocked", "the failed run", "check"):
        expect(publish).to_contain_text(text)


def test_the_drawing_says_each_state_in_words_and_leads_to_the_run(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at=CYCLE)
    page.get_by_role("link", name="check: Failed").click()
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("The target answered with status 422.")


def test_the_newest_cycles_stand_beside_each_other(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at=CYCLE)
    grid = page.get_by_role("table", name="Newest cycles")
    expect(grid.get_by_role("columnheader")).to_have_count(5)
    check = grid.get_by_role("row").filter(has_text="check")
    expect(check.get_by_text("Failed")).to_have_count(4)


def test_the_failed_runs_of_a_cycle_run_again(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/first", {"handler": "https://shop.example/fail/422", "everySeconds": 3600})
    console.send("PUT", "/v1/jobs/second", {"handler": "https://shop.example/second", "dependsOn": ["first"]})
    console.advance(30)
    cycle = console.send("GET", "/v1/jobs/first")["latestRun"]["cycleId"]
    console.send("PATCH", "/v1/jobs/first", {"handler": "https://shop.example/first"})
    page = pages.page_of(console, "operator", at=f"#/cycles/first/{cycle.replace(':', '%3A')}", may_change=True)
    page.get_by_role("button", name="Rerun failed", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("2 jobs in all")
    dialog.get_by_role("button", name="Rerun failed").click()
    expect(dialog).to_have_count(0)
    console.advance(30)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Over")
    expect(page.get_by_text("2 of 2 jobs succeeded.")).to_be_visible()
