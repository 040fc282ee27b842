"""Every screen, as every role, in both themes and widths: nothing is out of reach, and nothing complains."""

import pytest

from tests.console.browser.harness import SCREENS, THEMES, WIDTHS, Pages, Role, look_at, shown
from tests.console.server import ConsoleServer


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
def test_a_screen_has_no_violation_no_complaint_and_no_sideways_scroll(
    pages: Pages, shop: ConsoleServer, role: Role
) -> None:
    page = pages.page_of(shop, role, may_change=role != "viewer")
    found: list[str] = []
    for name, place in SCREENS.items():
        page.goto(shop.url + place)
        shown(page)
        found += [f"{name} {one}" for width in WIDTHS for theme in THEMES for one in look_at(page, width, theme)]
    assert not found, "\n".join(found)
