"""The screenshots of the documents show what the screens show."""

from tests.console.browser.harness import Pages
from tests.console.browser.screenshots import MOST_BYTES, SHOTS, TEXTS, image_of, taken
from tests.console.server import ConsoleServer


def test_the_screenshots_show_what_the_screens_show(pages: Pages, shop: ConsoleServer) -> None:
    assert taken(pages, shop) == TEXTS.read_text(), "Run `make screenshots`, and look at the pictures."


def test_each_picture_is_there_and_small() -> None:
    assert [name for name in SHOTS if not 0 < image_of(name).stat().st_size <= MOST_BYTES] == []
