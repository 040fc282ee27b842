"""The revisions of a calendar over the API: what each change made of it, by whom, also after its end."""

from typing import Any

from tests.api.calendars.test_calendars import HOLIDAYS, body, make
from tests.api.client import Api

PATH = "/v1/calendars/holidays/revisions"


def items(api: Api, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.call("GET", PATH, query=query).body["items"]
    return found


def test_each_change_of_a_calendar_is_a_revision(api: Api) -> None:
    make(api)
    api.clock.advance(1_000)
    api.call("PUT", "/v1/calendars/holidays", body(timezone="UTC", ranges=[{"from": "2026-12-28", "to": "2026-12-31"}]))
    api.call("PUT", "/v1/calendars/holidays", body(timezone="UTC", ranges=[{"from": "2026-12-28", "to": "2026-12-31"}]))
    newest, oldest = items(api)
    assert (newest["revision"], newest["action"], newest["at"]) == (2, "put", "2026-11-21T09:30:01.250Z")
    assert (oldest["revision"], oldest["action"], oldest["before"]) == (1, "create", None)
    assert oldest["after"] == {"timezone": "Europe/Berlin", "dates": HOLIDAYS["dates"], "ranges": []}
    assert newest["before"] == oldest["after"]
    assert newest["after"]["ranges"] == [{"from": "2026-12-28", "to": "2026-12-31"}]
    assert newest["actor"].keys() == {"keyId", "role", "address"}


def test_the_revisions_of_a_deleted_calendar_stay_readable_and_continue_if_it_is_made_again(api: Api) -> None:
    make(api)
    api.call("DELETE", "/v1/calendars/holidays")
    newest, _ = items(api)
    assert (newest["revision"], newest["action"], newest["after"]) == (2, "delete", None)
    make(api, timezone="UTC")
    assert [(one["revision"], one["action"]) for one in items(api)] == [(3, "create"), (2, "delete"), (1, "create")]
    assert items(api)[0]["before"] is None


def test_revisions_come_page_by_page_each_once_although_the_calendar_changes_meanwhile(api: Api) -> None:
    for day in range(1, 6):
        api.call("PUT", "/v1/calendars/holidays", body(dates=[f"2026-12-{day:02d}"]))
    found: list[tuple[int, list[str]]] = []
    cursor: str | None = ""
    while cursor is not None:
        page = api.call("GET", PATH, query={"limit": "2", "cursor": cursor}).body
        found += [(one["revision"], one["after"]["dates"]) for one in page["items"]]
        cursor = page["nextCursor"]
        api.call("PUT", "/v1/calendars/holidays", body(dates=[f"2027-01-{len(found):02d}"]))
    assert found == [(number, [f"2026-12-{number:02d}"]) for number in range(5, 0, -1)]


def test_a_calendar_that_never_was_has_no_revisions_and_another_tenants_neither(api: Api) -> None:
    make(api)
    assert api.call("GET", "/v1/calendars/other/revisions").status == 404
    assert api.call("GET", PATH, tenant="other").status == 404
