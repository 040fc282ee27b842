"""Pipeline: how far each job of a cycle is, and why; the cycles before; three ways to run it again."""

from playwright.sync_api import expect

from tests.console.browser.harness import Pages
from tests.console.server import ConsoleServer

_CROSSED = """
() => {
  const isBetween = (one, from, to) => one > from + 2 && one < to - 2;
  const isInside = ({x, y}, {left, right, top, bottom}) => isBetween(x, left, right) && isBetween(y, top, bottom);
  const boxes = [...document.querySelectorAll(".node rect")].map((one) => one.getBoundingClientRect());
  return [...document.querySelectorAll(".edge")].filter((edge) => {
    const matrix = edge.getScreenCTM();
    const steps = Array.from({length: 200}, (_, step) => edge.getPointAtLength(step / 199 * edge.getTotalLength()));
    return steps.some((point) => boxes.some((box) => isInside(point.matrixTransform(matrix), box)));
  }).map((edge) => edge.getAttribute("d"));
}
"""
"""The edges that cross a job."""

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


def test_a_backfill_of_a_graph_is_counted_before_and_followed_after(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/first", {"handler": "https://shop.example/first", "everySeconds": 3600})
    console.send("PUT", "/v1/jobs/second", {"handler": "https://shop.example/second", "dependsOn": ["first"]})
    console.advance(30)
    cycle = console.send("GET", "/v1/jobs/first")["latestRun"]["cycleId"]
    page = pages.page_of(console, "operator", at=f"#/cycles/first/{cycle.replace(':', '%3A')}")
    page.get_by_role("button", name="Backfill").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("From, with its offset").fill("2026-11-23T06:00:00Z")
    dialog.get_by_label("Until, not included").fill("2026-11-23T09:00:00Z")
    expect(dialog.get_by_role("button", name="Allow changes and backfill")).to_be_disabled()
    dialog.get_by_role("button", name="Allow changes and count").click()
    expect(dialog.get_by_role("status")).to_contain_text("3 cycles: from 07:30:00 CET to 09:30:00 CET")
    dialog.get_by_label("Until, not included").fill("2026-11-23T08:00:00Z")
    expect(dialog.get_by_role("button", name="Backfill")).to_be_disabled()
    dialog.get_by_role("button", name="Count the fires").click()
    expect(dialog.get_by_role("status")).to_contain_text("2 cycles")
    dialog.get_by_role("button", name="Backfill").click()
    expect(page.get_by_role("region", name="Operation")).to_contain_text("of 2 begun")
    console.advance(30)
    expect(page.get_by_role("region", name="Operation")).to_contain_text("2 fires of 2 begun")
    expect(page.get_by_role("region", name="Operation")).to_contain_text("Completed")
    origins = [run["origin"] for run in console.send("GET", "/v1/jobs/second/runs")["items"]]
    assert origins.count("backfill") == 2


def test_a_job_stands_right_of_all_that_it_depends_on_and_no_edge_crosses_a_job(
    pages: Pages, console: ConsoleServer
) -> None:
    graph = {"b": ["a"], "c": ["b"], "d": ["c"], "e": ["a", "d"], "f": ["a"], "g": ["e", "f"]}
    console.send("PUT", "/v1/jobs/a", {"handler": "https://shop.example/a", "everySeconds": 3600})
    for name, parents in graph.items():
        console.send("PUT", f"/v1/jobs/{name}", {"handler": "https://shop.example/x", "dependsOn": parents})
    console.advance(30)
    cycle = console.send("GET", "/v1/jobs/a")["latestRun"]["cycleId"]
    page = pages.page_of(console, at=f"#/cycles/a/{cycle.replace(':', '%3A')}")
    nodes = page.get_by_role("group", name="Drawing of the graph").get_by_role("link")
    expect(nodes).to_have_count(7)
    boxes = {(one.get_attribute("aria-label") or "")[0]: one.locator("rect").bounding_box() for one in nodes.all()}
    for name, parents in graph.items():
        for parent in parents:
            left, right = boxes[parent], boxes[name]
            assert left
            assert right
            assert left["x"] + left["width"] < right["x"], f"{parent} before {name}"
    assert len({(box["x"], box["y"]) for box in boxes.values() if box}) == 7
    assert page.evaluate(_CROSSED) == []
