"""For everyone: the keyboard alone, forced colours, reduced motion, names for a screen reader, clocks and zones."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.harness import Pages, look_at
from tests.console.server import ConsoleServer


def test_a_job_is_paused_by_the_keyboard_alone(pages: Pages, console: ConsoleServer) -> None:
    console.send("PUT", "/v1/jobs/web", {"handler": "https://a.example", "everySeconds": 60})
    page = pages.page_of(console, "operator", at="#/jobs", may_change=True)
    keys = page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keys.press("Enter")
    expect(page.locator("main")).to_be_focused()
    _tab_to(page, "Pause web")
    keys.press("Enter")
    dialog = page.get_by_role("dialog", name="Pause web?")
    expect(dialog).to_be_visible()
    keys.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.get_by_role("button", name="Pause web")).to_be_focused()
    keys.press("Enter")
    _tab_to(page, "Pause")
    keys.press("Enter")
    expect(page.get_by_role("button", name="Resume web")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="web is paused.")).to_be_visible()


def test_filters_and_menus_are_in_reach_of_the_keyboard(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs")
    _tab_to(page, "Paused")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Paused")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("tbody tr")).to_have_count(1)
    page.locator("details.menu summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    expect(page.locator("details.menu summary")).to_be_focused()


def test_a_new_screen_takes_the_focus_and_names_the_tab(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop)
    page.get_by_role("navigation").get_by_role("link", name="Jobs").click()
    expect(page.locator("main")).to_be_focused()
    expect(page).to_have_title("Jobs · Timeball")
    expect(page.get_by_role("navigation").get_by_role("link", name="Jobs")).to_have_attribute("aria-current", "page")


def test_forced_colours_keep_every_shape(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs", forced_colors="active")
    assert not look_at(page, 1280, "light")
    stroke = "one => getComputedStyle(one).stroke"
    assert page.locator("svg.shape").first.evaluate(stroke) != "none"
    assert page.locator("svg.outcome path").first.evaluate(stroke) != "none"


def test_with_reduced_motion_nothing_moves(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs", reduced_motion="reduce")
    expect(page.locator(".outcome-running").first).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_state_is_never_a_colour_alone(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, at="#/jobs")
    states = page.locator(".state")
    assert all(re.search(r"\w", text) for text in states.all_text_contents())
    assert states.locator("svg").count() == states.count()
    assert {*page.locator("svg.outcome text").all_text_contents()} <= set("SFKCB")


def test_a_theme_that_was_chosen_wins_over_the_system(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, theme="light")
    page.locator("details.menu summary").click()
    page.get_by_text("Dark", exact=True).click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_countdowns_follow_the_server_when_the_machine_is_90_seconds_off(pages: Pages, shop: ConsoleServer) -> None:
    page = pages.page_of(shop, None)
    page.clock.install(time=shop.world.clock.now() + 90_000)
    page.goto(shop.link("viewer"))
    fire = page.locator("li.fire").filter(has_text="import-orders")
    expect(fire).to_contain_text("in 4 min")


@pytest.mark.parametrize(
    ("zone", "before", "after"),
    [
        ("Europe/Berlin", "01:30:00 CET", "03:30:00 CEST"),
        ("Australia/Lord_Howe", "11:30:00 GMT+11", "12:30:00 GMT+11"),
        ("Asia/Kathmandu", "06:15:00 GMT+5:45", "07:15:00 GMT+5:45"),
    ],
)
def test_times_on_both_sides_of_a_clock_change_have_their_own_zone(
    pages: Pages, shop: ConsoleServer, zone: str, before: str, after: str
) -> None:
    page = pages.page_of(shop, zone=zone)
    text = """async ([url, at, zone]) => (await import(url)).timeText(Date.parse(at), zone, Date.parse(at))"""
    module = page.evaluate("new URL('lib/time.js', document.querySelector('script').src).href")
    assert page.evaluate(text, [module, "2027-03-28T00:30:00Z", zone]) == before
    assert page.evaluate(text, [module, "2027-03-28T01:30:00Z", zone]) == after


def _tab_to(page: Page, name: str) -> None:
    """Press the tabulator until a button of that name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.ariaLabel || document.activeElement.innerText")
        if focused == name:
            return
    pytest.fail(f"{name} is out of reach")
