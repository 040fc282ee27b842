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
    "settings, freezes": "#/settings/freezes",
    "settings, tenants": "#/settings/tenants",
    "settings, changes": "#/settings/changes",
    "pipeline": "#/cycles/extract/2026-11-23T11%3A00%3A00.000Z",
}
"""Each screen, with a place of the shop at work. A test opens each, in both themes and widths, as each role."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_HEIGHT = 900
_AXE = Axe()
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

    def __post_init__(self) -> None:
        self._contexts: list[BrowserContext] = []
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
        """Open a place of the console in a context of its own; without a role nobody is logged in.

        `script` runs before the page's own. The page's clock goes on, or stands at `fixed_at` (ms).
        """
        made = self.browser.new_context(
            viewport={"width": width, "height": _HEIGHT},
            color_scheme=theme,
            timezone_id=zone,
            locale="en-GB",
            **context,
        )
        self._contexts.append(made)
        made.add_init_script(_REPORTS + script)
        if role is not None:
            session = json.dumps(json.dumps(session_of(server, role, may_change=may_change)))
            made.add_init_script(f'sessionStorage["timeball.session"] ??= {session}')
        page = made.new_page()
        if fixed_at is not None:
            page.clock.set_fixed_time(fixed_at)
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._said.append(f"{error.name}: {error.message}\n{error.stack}"))
        page.goto(server.url + at)
        if role is not None:
            shown(page)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._said.append(f"{message.type}: {message.text} ({message.location.get('url')})")

    def close(self) -> None:
        """Close the contexts with their pages."""
        for context in self._contexts:
            context.close()


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
    return found + [f"{where}: {one}" for one in violations(page, *(["color-contrast"] if theme == "dark" else []))]


def violations(page: Page, *rules: str) -> list[str]:
    """Return what axe finds by all rules, or by some: each rule, with the elements that break it."""
    options = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    answer = _AXE.run(page, options={"resultTypes": ["violations"]} | options).response["violations"]
    return [f"{one['id']}: {[node['html'][:200] for node in one['nodes']][:4]}" for one in answer]


def is_too_wide(page: Page) -> bool:
    """Return whether the page scrolls sideways."""
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
    return bool(wide)
