"""Every screen, as every role, in both themes and widths: nothing is out of reach, and nothing complains."""

import re

import pytest
from playwright.sync_api import Page

from tests.console.browser.harness import SCREENS, THEMES, WIDTHS, Pages, Role, is_too_wide, look_at, shown
from tests.console.server import ConsoleServer

_PARTS = """() => {
  const main = document.querySelector("main");
  return [main.outerHTML, document.body.outerHTML.replace(main.outerHTML, "")];
}"""
_MADE_UP = re.compile(r"\d+")


@pytest.fixture(scope="module")
def examined() -> set[str]:
    """What axe has examined at all widths and themes, for any role: screens and headers, without ids and numbers."""
    return set()


@pytest.mark.parametrize("role", ["admin", "operator", "viewer"])
def test_a_screen_has_no_violation_no_complaint_and_no_sideways_scroll(
    pages: Pages, shop: ConsoleServer, examined: set[str], role: Role
) -> None:
    page = pages.page_of(shop, role, may_change=role != "viewer")
    found: list[str] = []
    for name, place in SCREENS.items():
        page.goto(shop.url + place)
        shown(page)
        if (parts := _parts(page)) <= examined:
            # The same elements, which another role has seen: axe has judged them already.
            found += [f"{name} scrolls sideways"] if is_too_wide(page) else []
            continue
        found += [f"{name} {one}" for width in WIDTHS for theme in THEMES for one in look_at(page, width, theme)]
        examined |= parts
    assert not found, "\n".join(found)


def _parts(page: Page) -> set[str]:
    return {_MADE_UP.sub("0", part) for part in page.evaluate(_PARTS)}
