"""A page whose clock a test moves: how the poll asks while so many seconds pass."""

from playwright.sync_api import Page

from tests.console.browser.harness import Pages, shown
from tests.console.server import ConsoleServer

SCRIPT = """
Math.random = () => 0.5;
const asking = new Set();
const ask = window.fetch;
window.fetch = (...about) => {
  const answer = ask(...about);
  const read = answer.then((one) => one.clone().text()).catch(() => null).finally(() => asking.delete(read));
  asking.add(read);
  return answer;
};
window.settled = async () => {
  const turn = () => new Promise((next) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => next();
    channel.port2.postMessage(null);
  });
  for (let calm = 0; calm < 3; calm = asking.size ? 0 : calm + 1) {
    await Promise.all(asking);
    await turn();
  }
};
"""
"""No chance in the waits; `settled` ends when all that was asked is answered."""


def opened(pages: Pages, console: ConsoleServer, place: str) -> Page:
    """Open a place, logged in, with a clock that stands until a test moves it."""
    page = pages.page_of(console, None, script=SCRIPT)
    page.clock.install(time=console.world.clock.now())
    page.goto(console.link("operator"))
    shown(page)
    page.goto(console.url + place)
    shown(page)
    settle(page)
    return page


def move(page: Page, seconds: int) -> None:
    """Let so many seconds pass, with the answers of each."""
    for _ in range(seconds):
        page.clock.run_for(1000)
        settle(page)


def settle(page: Page) -> None:
    """Wait until what the page has asked for is answered."""
    page.evaluate("settled()")


def asked(console: ConsoleServer, page: Page, seconds: int) -> list[str]:
    """Return what the page asks for in so many seconds."""
    before = len(console.asked)
    move(page, seconds)
    return [one.path for one in console.asked[before:] if one.path.startswith("/v1/")]
