"""Names, tags, payloads, answers, errors and addresses that try to be more than text stay text, on 360 pixels too."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages, is_too_wide, shown
from tests.console.seeds import HOSTILE
from tests.console.server import ConsoleServer

_LONG = "w" * 62
"""The longest id, without its number. An id has no character that markup needs."""

_CUT = """
() => [...document.querySelectorAll("main *, dialog *")].filter((one) => {
  const {overflowX, textOverflow} = getComputedStyle(one);
  const isField = one.matches("input, textarea, select");
  const isCut = textOverflow === "ellipsis" || ["hidden", "clip"].includes(overflowX);
  return isCut && !isField && !one.closest(".unseen") && one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))
"""
"""The elements that hide a part of their text."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[ConsoleServer]:
    with ConsoleServer() as server:
        server.seed("hostile")
        for number in (0, 3):
            fields = {"handler": "https://shop.example/a", "dependsOn": [f"hostile-{number}"]}
            server.send("PUT", f"/v1/jobs/{_LONG}-{number}", fields)
            task = {"name": HOSTILE[number], "handler": f"https://shop.example/{quote(HOSTILE[number], safe='')}"}
            server.send("PUT", f"/v1/tasks/hostile-{number}", task)
        server.advance(1200)
        yield server


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_texts_stay_text_and_are_shown_whole_on_every_screen(
    pages: Pages, hostile: ConsoleServer, width: int
) -> None:
    page = pages.page_of(hostile, "admin", width, may_change=True)
    for place, texts in _places(hostile).items():
        page.goto(hostile.url + place)
        shown(page)
        _check(page, place, texts)


def test_hostile_addresses_and_answers_stay_text(pages: Pages, hostile: ConsoleServer) -> None:
    pages.allowed += ["status of 40[04]"]
    page = pages.page_of(hostile, "viewer", 360)
    for number, text in enumerate(HOSTILE):
        part = quote(text, safe="")
        places = [
            f"#/jobs/{part}",
            f"#/runs/{part}",
            f"#/jobs?tag=kind:{part}&q={part}",
            f"#/settings/limits?name={part}",
        ]
        for place in [places[number % len(places)], f"#/failures?error={part}&jobId={part}"]:
            page.goto(hostile.url + place)
            expect(page.get_by_text("Loading…", exact=True)).to_have_count(0)
            _check(page, place, [])


def test_hostile_texts_stay_text_in_dialogs(pages: Pages, hostile: ConsoleServer) -> None:
    page = pages.page_of(hostile, "admin", 360, may_change=True)
    for place, button, text in (
        ("#/failures", "Discard the 1 failure of report-0", HOSTILE[0]),
        ("#/failures", "Discard the 1 failure of report-3", HOSTILE[3]),
        ("#/settings/freezes", "Lift the freeze", ""),
        ("#/jobs/hostile-0", "Pause", ""),
        ("#/jobs/hostile-0?status=failed", "Retry all that match", "Runs that are failed."),
        ("#/settings/tasks", "Change hostile-0", "All jobs that name it"),
    ):
        page.goto(hostile.url + place)
        page.get_by_role("button", name=button).first.click()
        expect(page.get_by_role("dialog")).to_contain_text(text)
        _check(page, button, [])
        page.keyboard.press("Escape")


def _places(server: ConsoleServer) -> dict[str, list[str]]:
    """Return each place, with the texts that it must show."""
    every, three = [*HOSTILE], [0, 2, 3]
    found = {"#/": [HOSTILE[0]], "#/jobs": every, "#/failures": every, "#/settings/freezes": [HOSTILE[0]]}
    found |= {"#/settings/changes": [], "#/settings/tasks": [HOSTILE[0], HOSTILE[3]]}
    for number in (0, 3):
        runs = server.send("GET", f"/v1/jobs/{_LONG}-{number}/runs")["items"]
        cycle = next(run["cycleId"] for run in runs if run["blockedBy"])
        found[f"#/cycles/hostile-{number}/{quote(cycle)}"] = [f"{_LONG}-{number}", "Blocked by"]
    for number in three:
        name = HOSTILE[number]
        job = f"#/jobs/hostile-{number}"
        found |= {job: [name], f"{job}/upcoming": [name], f"{job}/settings": [name], f"{job}/cost": [name]}
        found |= {f"{job}/changes": [name], f"{job}/edit": []}
        for kind in ("hostile", "report"):
            run = server.send("GET", f"/v1/jobs/{kind}-{number}/runs")["items"][-1]["runId"]
            found[f"#/runs/{run}"] = [name]
    return found


def _check(page: Page, place: str, texts: list[str]) -> None:
    main = page.locator("main")
    for text in texts:
        # JSON escapes quotation marks.
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        content = main.text_content() or ""
        assert text in content or escaped in content, f"{place}: {text} is not shown whole"
    assert "Timeball" in page.title(), place
    assert main.locator("img, script, iframe, [onerror]").count() == 0, place
    assert page.locator("a[href^='javascript']").count() == 0, place
    assert not is_too_wide(page), f"{place} scrolls sideways"
    assert page.evaluate(_CUT) == [], place
