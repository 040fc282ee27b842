"""Each action, as each role: its button is barred, with the reason, exactly where the server refuses its request."""

import re
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser.harness import Pages, Role, shown
from tests.console.server import ConsoleServer

RUNS = {"failed": "#/runs/send-invoices.1795431600000.s", "blocked": "#/runs/publish.1795431600000.s"}
CYCLE = "#/cycles/extract/2026-11-23T11%3A00%3A00.000Z"
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True)
class Row:
    """A place, the name of a button there, and the request that it leads to."""

    place: str
    button: str
    method: str
    path: str
    body: Any = None


def _job(verb: str) -> str:
    return f"/v1/jobs/none/{verb}"


# The requests name what is not there: a role that may send them gets another refusal, and nothing changes.
TABLE = [
    Row("#/", "Cancel the run of warehouse-count", "POST", "/v1/runs/none.1.s/cancel"),
    Row("#/", "Lift the freeze of Jobs with team:finance", "DELETE", "/v1/freezes/none"),
    Row("#/jobs", "Run cleanup now", "POST", _job("trigger")),
    Row("#/jobs", "Pause cleanup", "POST", _job("pause")),
    Row("#/jobs", "Resume old-export", "POST", _job("resume")),
    Row("#/jobs", "Select all that match", "POST", "/v1/operations", {}),
    Row("#/jobs/cleanup", "Run now", "POST", _job("trigger")),
    Row("#/jobs/cleanup", "Pause", "POST", _job("pause")),
    Row("#/jobs/cleanup", "Skip next", "POST", _job("skip-next")),
    Row("#/jobs/cleanup", "Backfill", "POST", _job("backfills"), {}),
    Row("#/jobs/cleanup", "Cancel job", "DELETE", "/v1/jobs/none"),
    Row("#/jobs/old-export", "Resume", "POST", _job("resume")),
    Row("#/jobs/send-invoices?status=failed", "Retry all that match…", "POST", "/v1/runs/none.1.s/retry"),
    Row("#/jobs/send-invoices?status=running", "Cancel all that match…", "POST", "/v1/runs/none.1.s/cancel"),
    Row("#/jobs/nightly-report/changes", "Restore revision 1", "POST", "/v1/jobs/none/revisions/1:restore"),
    Row(RUNS["failed"], "Retry", "POST", "/v1/runs/none.1.s/retry"),
    Row(RUNS["failed"], "Edit and retry", "POST", "/v1/runs/none.1.s/retry", {"payload": 1}),
    Row(RUNS["failed"], "Mark as succeeded", "POST", "/v1/runs/none.1.s/succeed", {}),
    Row(RUNS["failed"], "Run the job now", "POST", _job("trigger")),
    Row(RUNS["blocked"], "Cancel", "POST", "/v1/runs/none.1.s/cancel"),
    Row(CYCLE, "Rerun failed", "POST", "/v1/cycles/none/2026-11-23T11:00:00.000Z:rerun", {"mode": "failed"}),
    Row(CYCLE, "Rerun failed and after", "POST", "/v1/cycles/none/2026-11-23T11:00:00.000Z:rerun", {}),
    Row(CYCLE, "Rerun all", "POST", "/v1/cycles/none/2026-11-23T11:00:00.000Z:rerun", {"mode": "all"}),
    Row(CYCLE, "Run a new cycle", "POST", _job("trigger"), {"downstream": True}),
    Row(CYCLE, "Backfill", "POST", _job("backfills"), {"graph": True}),
    Row("#/failures", "Replay the 4 failures of send-invoices", "POST", "/v1/dead-letters:replay", {}),
    Row("#/failures", "Discard the 4 failures of send-invoices", "POST", "/v1/dead-letters:discard", {}),
    Row("#/new", "Make the job", "POST", "/v1/jobs", {}),
    Row("#/new", "Call it", "POST", "/v1/targets:test", {}),
    Row("#/jobs/cleanup/edit", "Change the job", "PATCH", "/v1/jobs/none", {}),
    Row("#/settings/calendars", "Delete holidays-de", "DELETE", "/v1/calendars/none"),
    Row("#/settings/calendars", "Change holidays-de", "PUT", "/v1/calendars/none", {}),
    Row("#/settings/calendars", "New calendar", "PUT", "/v1/calendars/none", {}),
    Row("#/settings/tasks", "Change send-mail", "PUT", "/v1/tasks/none", {}),
    Row("#/settings/tasks", "Delete send-mail", "DELETE", "/v1/tasks/none"),
    Row("#/settings/tasks", "New task", "PUT", "/v1/tasks/none", {}),
    Row("#/settings/tenants", "Change acme", "PATCH", "/v1/admin/tenants/none", {"weight": 0}),
    Row("#/settings/tenants", "New tenant", "POST", "/v1/admin/tenants", {}),
    Row("#/settings/freezes", "New freeze", "POST", "/v1/freezes", {}),
    Row("#/settings/freezes", "Lift the freeze", "DELETE", "/v1/freezes/none"),
    Row("#/settings/keys", "New key", "POST", "/v1/admin/keys", {}),
    Row("#/settings/keys", "Revoke", "DELETE", "/v1/admin/keys/none"),
]


@pytest.mark.parametrize("role", ROLES)
def test_a_button_is_barred_exactly_where_the_server_refuses(pages: Pages, shop: ConsoleServer, role: Role) -> None:
    page = pages.page_of(shop, role, may_change=role != "viewer")
    wrong: list[str] = []
    for row in TABLE:
        if not page.url.endswith(row.place):
            page.goto(shop.url + row.place)
            shown(page)
        if row.place.endswith("/edit") and role != "viewer":
            page.get_by_label("Name").fill("Another name")
        if row.place == "#/new":
            page.get_by_label("URL, or the id of a task").fill("https://shop.example/new")
        may = _may(shop, role, row)
        reason = _reason(page, row)
        if may is (reason is not None) or (reason and not re.match(r"This needs an? \w+'s key", reason)):
            wrong.append(f"{row.place} {row.button}: the server {'takes' if may else 'refuses'} it; {reason!r}")
    assert not wrong, "\n".join(wrong)


def _may(server: ConsoleServer, role: Role, row: Row) -> bool:
    """Whether the server takes such a request from the role's key; whatever else it answers."""
    return server.call(row.method, row.path, row.body, key=server.keys[role]).status != 403


def _reason(page: Page, row: Row) -> str | None:
    """Return why the button is barred, or None if it is not; a part of the settings may be barred as a whole."""
    closed = page.locator("main").get_by_text(re.compile(r"^This needs an? \w+'s key\.$"))
    button = _button(page, row)
    expect(button.or_(closed).first).to_be_visible()
    if closed.count():
        return closed.inner_text()
    described = button.get_attribute("aria-describedby")
    return page.locator(f"#{described}").inner_text() if described else None


def _button(page: Page, row: Row) -> Locator:
    exact = page.get_by_role("button", name=row.button, exact=True)
    return exact.or_(page.get_by_role("button", name=re.compile(f"^{row.button} [a-z0-9_.-]+$"))).first
