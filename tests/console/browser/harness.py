"""Pages of the console in a browser, logged in as a role; what they complain about; what axe finds in them."""

import json
import re
import shutil
from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright, expect

from tests.console.server import ConsoleServer

Role = Literal["viewer", "submitter", "operator", "admin"]
Theme = Literal["light", "dark"]

WIDTHS = (1280, 360)
THEMES: tuple[Theme, ...] = ("light", "dark")
SCREENS = {
    "now": "#/",
    "jobs": "#/jobs",
    "job": "#/jobs/send-invoices",
    "job, upcoming": "#/jobs/send-invoices/upcoming",
    "job, settings": "#/jobs/nightly-report/settings",
    "job, changes": "#/jobs/nightly-report/changes",
    "job, cost": "#/jobs/import-orders/cost",
    "run that failed": "#/runs/send-invoices.1795431600000.s",
    "run that is blocked": "#/runs/publish.1795431600000.s",
    "failures": "#/failures",
    "a group of failures": "#/failures?fingerprint=85eff27fb8749b98",
    "new job": "#/new",
    "edit": "#/jobs/nightly-report/edit",
    "settings, me": "#/settings",
    "settings, keys": "#/settings/keys",
    "settings, limits": "#/settings/limits?name=warehouse",
    "settings, calendars": "#/settings/calendars",
    "settings, tasks": "#/settings/tasks",
    "settings, freezes": "#/settings/freezes",
    "settings, tenants": "#/settings/tenants",
    "settings, changes": "#/settings/changes",
    "pipeline": "#/cycles/extract/2026-11-23T11%3A00%3A00.000Z",
}
"""Each screen, with a place of the shop at work. A test opens each, in both themes and widths, as each role."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_HEIGHT = 900
_AXE = Axe()
_TEXTS = """
() => {
  const found = new Map();
  for (const one of document.body.querySelectorAll("*")) {
    const hasText = [...one.childNodes].some(({nodeType, data}) => nodeType === Node.TEXT_NODE && data.trim());
    if (!hasText && !one.matches("input, textarea, select")) continue;
    const {color, fontSize, fontWeight, fontFamily} = getComputedStyle(one);
    const about = [color, fontSize, fontWeight, fontFamily, one.matches(":disabled, [aria-disabled]"), one.localName];
    for (let above = one; above; above = above.parentElement) {
      const {backgroundColor, backgroundImage, opacity} = getComputedStyle(above);
      about.push(backgroundColor, backgroundImage, opacity);
    }
    const name = about.filter((value) => value !== "rgba(0, 0, 0, 0)" && value !== "none" && value !== "1").join(" ");
    if (!found.has(name) && one.checkVisibility()) found.set(name, one);
  }
  return [...found.values()];
}
"""
_RUN = f"""
async (options) => {{
  const of = options.runOnly ? ({_TEXTS})() : document;
  return (await axe.run(of, {{...options, resultTypes: ["violations"], preload: false}})).violations;
}}
"""
_REPORTS = """
addEventListener("securitypolicyviolation", ({violatedDirective, blockedURI, sample}) =>
  console.error(`CSP: ${violatedDirective} ${blockedURI} ${sample}`));
"""


def chromium() -> str | None:
    """Return the path of this machine's Chromium."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


def launched(playwright: Playwright) -> Browser:
    """Start the browser."""
    return playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])


def session_of(server: ConsoleServer, role: Role, *, may_change: bool = False) -> dict[str, Any]:
    """Begin a session, as the page keeps it; with `may_change` it has its second key."""
    first = server.call("POST", "/v1/sessions", key=server.keys[role]).body
    second = None
    if may_change:
        asked = {"allowChangesForSeconds": 1800}
        second = server.call("POST", "/v1/sessions", asked, key=first["key"]).body
    return {"first": first, "second": second}


@dataclass
class Pages:
    """The pages of one test. `allowed` are patterns of what they may complain about."""

    browser: Browser
    allowed: list[str] = field(default_factory=list)
    shared: dict[str, BrowserContext] = field(default_factory=dict)
    """Contexts that outlive the test, by their zone: a page in one of these finds the files in the browser's cache."""

    def __post_init__(self) -> None:
        self._opened: list[BrowserContext | Page] = []
        self._said: list[str] = []

    @property
    def complaints(self) -> list[str]:
        """What pages wrote to their console as warnings or errors, CSP reports among them, and uncaught exceptions."""
        return [said for said in self._said if not any(re.search(pattern, said) for pattern in self.allowed)]

    def page_of(
        self,
        server: ConsoleServer,
        role: Role | None = "viewer",
        width: int = 1280,
        theme: Theme = "light",
        *,
        at: str = "#/",
        may_change: bool = False,
        zone: str = "Europe/Berlin",
        script: str = "",
        fixed_at: int | None = None,
        **context: Any,
    ) -> Page:
        """Open a place of the console; without a role nobody is logged in.

        `script` runs before the page's own. The page's clock goes on, or stands at `fixed_at` (ms). A page that is
        logged in, and has nothing of these, is in a context of other tests too. It begins without preferences.
        """
        is_own = role is None or script or fixed_at is not None or context
        made = self._context(zone, **context) if is_own else self._shared(zone)
        page = made.new_page()
        page.set_viewport_size({"width": width, "height": _HEIGHT})
        page.emulate_media(color_scheme=theme)
        self._opened.append(made if is_own else page)
        # In a context of its own also for further tabs, which a test opens.
        begin = made.add_init_script if is_own else page.add_init_script
        begin(_REPORTS + script)
        if role is not None:
            session = json.dumps(json.dumps(session_of(server, role, may_change=may_change)))
            kept = 'sessionStorage["timeball.session"]'
            begin(f"if (!{kept}) localStorage.clear(), {kept} = {session}")
        if fixed_at is not None:
            page.clock.set_fixed_time(fixed_at)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._said.append(f"{error.name}: {error.message}\n{error.stack}"))
        page.goto(server.url + at)
        if role is not None:
            shown(page)
        return page

    def _context(self, zone: str, **context: Any) -> BrowserContext:
        return self.browser.new_context(timezone_id=zone, locale="en-GB", **context)

    def _shared(self, zone: str) -> BrowserContext:
        if zone not in self.shared:
            self.shared[zone] = self._context(zone)
        return self.shared[zone]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._said.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def close(self) -> None:
        """Close what the test has opened."""
        for opened in self._opened:
            opened.close()


def shown(page: Page) -> None:
    """Wait until the screen and its lists show their first answers."""
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.get_by_text("Loading…", exact=True).or_(page.locator("[aria-busy=true]"))).to_have_count(0)


def look_at(page: Page, width: int, theme: Theme) -> list[str]:
    """Return what axe finds in a page, and whether it scrolls sideways, at a width and in a theme."""
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": _HEIGHT})
    where = f"{width} {theme}"
    found = [f"{where}: scrolls sideways"] if is_too_wide(page) else []
    # A theme changes colours alone.
    return found + [f"{where}: {one}" for one in violations(page, colours_alone=theme == "dark")]


def violations(page: Page, *, colours_alone: bool = False) -> list[str]:
    """Return what axe finds: each rule, with the elements that break it.

    The contrast of a text depends on its colour, its font and the backgrounds under it, and is dear to examine. So axe
    examines one of all texts that have these in common.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.axe_script)  # half a megabyte: once for a document
    found = page.evaluate(_RUN, {"runOnly": ["color-contrast"]})
    if not colours_alone:
        found += page.evaluate(_RUN, {"rules": {"color-contrast": {"enabled": False}}})
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes']][:4]}" for one in found]


def is_too_wide(page: Page) -> bool:
    """Return whether the page scrolls sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return bool(wide)
