"""A real browser for the console's pages: one for all tests of this folder, in one process, with a context a page.

Playwright keeps an event loop running in the thread of the tests, so it is closed after the last test of the folder.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.console.browser.harness import Pages, chromium, launched
from tests.console.server import ConsoleServer


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of this folder in one process."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        # .ci/run sets CI: there the tests must not be left out.
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("No Chromium here, so no page is tested: install Debian's package `chromium`.")
    expect.set_options(timeout=20_000)  # a busy machine
    with sync_playwright() as playwright:
        opened = launched(playwright)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def shop() -> Iterator[ConsoleServer]:
    """A shop at work, for tests that only look."""
    with ConsoleServer() as server:
        server.seed("demo")
        yield server


@pytest.fixture(scope="package")
def empty_server() -> Iterator[ConsoleServer]:
    with ConsoleServer() as server:
        yield server


@pytest.fixture
def console(empty_server: ConsoleServer) -> ConsoleServer:
    """The console and the API over an empty world, at one address for all tests, so that browsers keep its files."""
    empty_server.reset()
    return empty_server


@pytest.fixture(scope="package")
def contexts(browser: Browser) -> dict[str, BrowserContext]:
    """The contexts that tests share, by their zone; they are closed with the browser."""
    del browser
    return {}


@pytest.fixture
def pages(browser: Browser, contexts: dict[str, BrowserContext]) -> Iterator[Pages]:
    """Open pages by `page_of`; at the end of the test none may have an error or a report."""
    opened = Pages(browser, shared=contexts)
    yield opened
    opened.close()
    assert not opened.complaints
