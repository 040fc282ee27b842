"""The keyboard alone reaches and works everything, focus is seen, and no state is told by colour or motion alone."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages, shown
from tests.console.server import ConsoleServer

_FOCUSED = """
() => {
  const {outlineStyle, outlineWidth} = getComputedStyle(document.activeElement);
  const name = document.activeElement.getAttribute("aria-label") ?? document.activeElement.innerText ?? "";
  return [name.trim(), outlineStyle !== "none" && outlineWidth !== "0px"];
}
"""
_MOST_TABS = 60


def test_login_needs_no_mouse(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, None)
    _tab_to(page, "")
    expect(page.get_by_label("API key")).to_be_focused()
    page.keyboard.type(shop.keys["viewer"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Alive")


def test_navigation_filters_links_and_tabs_need_no_mouse(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    _tab_to(page, "Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.goto(shop.url)
    shown(page)
    _tab_to(page, "Jobs")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Jobs")
    _tab_to(page, "Paused")
    page.keyboard.press("Space")
    expect(page.locator("tbody tr")).to_have_count(1)
    _tab_to(page, "old-export")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("old-export")
    _tab_to(page, "Upcoming")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Fires to come")).to_be_visible()


def test_a_dialog_keeps_the_focus_and_escape_gives_it_back(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/web", {"handler": "https://a.example", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs/web", may_change=True)
    _tab_to(page, "Pause")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(8):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement === document.body || !!document.activeElement.closest('dialog')")
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)  # the element, too: the next press would otherwise be its last
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog).to_be_visible()
    _tab_to(page, "Pause")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Paused")


def test_a_barred_button_is_reached_and_says_why(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, "viewer", at="#/jobs/cleanup")
    _tab_to(page, "Pause")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause")).to_have_accessible_description(
        "This needs a submitter's key; you use a viewer's."
    )


@pytest.mark.parametrize("emulated", [{"forced_colors": "active"}, {"reduced_motion": "reduce"}])
def test_a_state_is_a_shape_and_a_word_without_colours_and_motion(
    pages: Pages, shop: ConsoleServer, emulated: dict[str, Any]
) -> None:
    page = pages.page_of(shop, at="#/jobs", **emulated)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(17)
    for row in rows.all():
        state = row.locator(".state").first
        assert state.inner_text().strip()
        shape = state.locator("svg").first
        expect(shape).to_be_visible()
        drawn = "(one) => [one, ...one.querySelectorAll('*')].some((part) => {"
        drawn += (
            "const {stroke, fill} = getComputedStyle(part); return [stroke, fill].some((paint) => paint !== 'none')})"
        )
        assert shape.evaluate(drawn)
    page.goto(f"{shop.url}#/")
    shown(page)
    running = "document.getAnimations().filter(({playState}) => playState === 'running').length"
    assert "reduced_motion" not in emulated or page.evaluate(running) == 0
    _tab_to(page, "Jobs")


def _tab_to(page: Page, name: str) -> None:
    """Press Tab until the element of that name has the focus; each on the way shows that it has it."""
    passed: list[str] = []
    for _ in range(_MOST_TABS):
        page.keyboard.press("Tab")
        focused, is_seen = page.evaluate(_FOCUSED)
        passed.append(focused)
        if focused == name:
            assert is_seen, f"{name} does not show that it has the focus"
            return
    raise AssertionError(f"{name} is not reached by Tab, but {passed}")
