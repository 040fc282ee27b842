"""The screenshots of the documents: `make screenshots` draws them; a test compares their text and structure.

A picture differs from browser to browser, so the test reads `docs/images/console.txt`, which says what each shows.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.console.browser.harness import Pages, Theme, chromium, launched
from tests.console.browser.small_png import small
from tests.console.server import ConsoleServer

IMAGES = Path(__file__).parents[3] / "docs" / "images"
TEXTS = IMAGES / "console.txt"
MOST_BYTES = 80_000
SHOTS: Mapping[str, tuple[str, Theme]] = {
    "now": ("#/", "light"),
    "job": ("#/jobs/send-invoices", "light"),
    "run": ("#/runs/send-invoices.1795431600000.s", "dark"),
    "pipeline": ("#/cycles/extract/2026-11-23T11%3A00%3A00.000Z", "light"),
    "failures": ("#/failures", "dark"),
}
"""Each picture: the place of the shop at work, and the theme."""

_WIDTH = 1080
_HEIGHT = 640


def image_of(name: str) -> Path:
    """Return the file of a picture."""
    return IMAGES / f"console-{name}.png"


def taken(pages: Pages, server: ConsoleServer, *, draw: bool = False) -> str:
    """Open each screen, at the server's instant; return what they show, and draw the pictures if asked."""
    texts = []
    for name, (place, theme) in SHOTS.items():
        page = pages.page_of(server, "operator", _WIDTH, theme, fixed_at=server.world.clock.now(), at=place)
        page.set_viewport_size({"width": _WIDTH, "height": _HEIGHT})
        _settle(page)
        texts.append(f"# {name}\n{page.locator('main').aria_snapshot()}\n")
        if draw:
            image_of(name).write_bytes(small(page.screenshot()))
    return "\n".join(texts)


def _settle(page: Page) -> None:
    """Wait until no part of the screen waits for an answer."""
    page.wait_for_load_state("networkidle")
    page.wait_for_function("document.querySelectorAll('.loading, [aria-busy=true]').length === 0")


def _write(browser: Browser) -> None:
    pages = Pages(browser)
    with ConsoleServer() as server:
        server.seed("demo")
        TEXTS.write_text(taken(pages, server, draw=True))
        pages.close()


def main() -> None:
    """Draw the pictures, and write what they show."""
    if chromium() is None:
        sys.exit("No Chromium here: install Debian's package `chromium`.")
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        _write(launched(playwright))


if __name__ == "__main__":
    main()
