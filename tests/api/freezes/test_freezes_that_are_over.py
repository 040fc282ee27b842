"""The freezes that are over, over the API: listed as long as the history is kept, and never without one of them."""

from typing import Any

from tests.api.client import Api
from tests.api.freezes.test_freezes import freeze
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS


def over(api: Api, **query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.call("GET", "/v1/freezes", query={"over": "true", **query}).body["items"]
    return found


def test_a_freeze_is_listed_among_those_that_are_over_once_it_has_ended(api: Api) -> None:
    ended = freeze(api, to="2026-11-21T10:00:00Z", reason="release").body["freezeId"]
    lifted = freeze(api).body["freezeId"]
    later = freeze(api, **{"from": "2026-12-24T00:00:00Z"}).body["freezeId"]
    assert over(api) == []
    api.clock.advance(31 * MINUTE_MS)
    api.call("DELETE", f"/v1/freezes/{lifted}")
    api.call("DELETE", f"/v1/freezes/{later}")
    assert [(one["freezeId"], one["status"], one["to"]) for one in over(api)] == [
        (lifted, "lifted", "2026-11-21T10:01:06.250Z"),
        (ended, "over", "2026-11-21T10:00:00.000Z"),
    ]
    assert over(api)[1]["reason"] == "release"
    assert api.call("GET", "/v1/freezes", query={"over": "false"}).body["items"] == []
    assert api.call("GET", "/v1/freezes", tenant="other", query={"over": "true"}).body["items"] == []


def test_freezes_stay_listed_after_they_have_left_their_tenants_row(api: Api) -> None:
    ids = []
    for _ in range(7):
        ids.append(freeze(api).body["freezeId"])
        api.clock.advance(SECOND_MS)
        api.call("DELETE", f"/v1/freezes/{ids[-1]}")
        api.clock.advance(3 * DAY_MS)
    row = api.store.freezes.read(["acme"])[0]
    assert row is not None
    assert len(row.items) < len(ids)
    assert [one["freezeId"] for one in over(api)] == ids[::-1]
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = api.call("GET", "/v1/freezes", query={"over": "true", "limit": "2", "cursor": cursor}).body
        found += [one["freezeId"] for one in page["items"]]
        cursor = page["nextCursor"]
    assert found == ids[::-1]


def test_the_stops_of_a_disabled_tenant_are_not_shown(api: Api) -> None:
    for disabled in (True, False):
        assert api.call("PATCH", "/v1/admin/tenants/globex", {"disabled": disabled}).status == 200
        api.clock.advance(10 * SECOND_MS)
    assert api.call("GET", "/v1/freezes", tenant="globex", query={"over": "true"}).body["items"] == []


def test_over_is_true_or_false(api: Api) -> None:
    assert api.call("GET", "/v1/freezes", query={"over": "maybe"}).bad_fields() == ["over"]
