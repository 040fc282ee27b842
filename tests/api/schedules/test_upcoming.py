"""The fires to come of all jobs: in order, in pages, and with the reasons of those that will not run."""

from typing import Any

import pytest

from tests.api.client import NOW, Api
from timeball.domain.time.instants import DAY_MS, SECOND_MS, format_instant
from timeball.engine.scheduling import upcoming as module

HOOK: dict[str, Any] = {"handler": "https://example.com/hook"}
ANCHOR = "2026-11-21T10:00:00Z"


def hourly(api: Api, name: str, **fields: Any) -> None:
    asked = {**HOOK, "everySeconds": 3600, "anchorAt": ANCHOR, **fields}
    assert api.call("PUT", f"/v1/jobs/{name}", asked).status == 201


def upcoming(api: Api, **query: Any) -> list[dict[str, Any]]:
    """Return the items of all pages."""
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = api.call("GET", "/v1/upcoming", query={**query, **cursor})
        assert answer.status == 200, answer.text
        items += answer.body["items"]
        if answer.body["nextCursor"] is None:
            return items
        cursor = {"cursor": answer.body["nextCursor"]}


def test_fires_of_several_jobs_are_merged_by_time(api: Api) -> None:
    hourly(api, "b")
    hourly(api, "a", anchorAt="2026-11-21T10:30:00Z")
    api.call("PUT", "/v1/jobs/once", {**HOOK, "scheduleAt": ANCHOR})
    items = upcoming(api, to="2026-11-21T11:10:00Z")
    assert [(one["fireTime"][11:16], one["jobId"]) for one in items] == [
        ("10:00", "b"),
        ("10:00", "once"),
        ("10:30", "a"),
        ("11:00", "b"),
    ]
    assert items[0] == {
        "jobId": "b",
        "fireTime": "2026-11-21T10:00:00.000Z",
        "startsAt": "2026-11-21T10:00:00.000Z",
        "willRun": True,
        "needsEvent": False,
        "reason": None,
    }


@pytest.mark.parametrize("limit", [1, 7, 1000])
@pytest.mark.parametrize("most_jobs", [1, 2, 1000])
def test_pages_have_each_fire_once(api: Api, limit: int, most_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_JOBS", most_jobs)
    for number in range(5):
        hourly(api, f"job-{number}")
        api.clock.advance(SECOND_MS)
    items = upcoming(api, limit=str(limit), to="2026-11-22T00:30:00Z")
    assert len({(one["jobId"], one["fireTime"]) for one in items}) == len(items) == 5 * 15
    if most_jobs == 1000:
        assert items == sorted(items, key=lambda one: (one["fireTime"], one["jobId"]))


def test_the_fires_of_paused_frozen_and_skipped_jobs_will_not_run(api: Api) -> None:
    for name in ("paused", "frozen", "skipped", "free"):
        hourly(api, name, tags={"team": name})
    api.call("POST", "/v1/jobs/paused/pause")
    api.call("POST", "/v1/freezes", {"match": {"jobIds": ["frozen"]}})
    api.call("POST", "/v1/jobs/skipped/skip-next")
    to = "2026-11-21T10:30:00Z"
    reasons = {one["jobId"]: (one["willRun"], one["reason"]) for one in upcoming(api, to=to)}
    assert reasons == {
        "paused": (False, "job_paused"),
        "frozen": (False, "frozen"),
        "skipped": (False, "skipped_manually"),
        "free": (True, None),
    }
    assert [one["jobId"] for one in upcoming(api, to=to, tag="team:free")] == ["free"]
    assert [one["jobId"] for one in upcoming(api, to=to, jobId="paused")] == ["paused"]
    assert upcoming(api, to=to, jobId="unknown") == []


def test_a_job_ends_with_its_runs_and_its_window(api: Api) -> None:
    hourly(api, "counted", maxRuns=3)
    hourly(api, "ended", endAt="2026-11-21T11:30:00Z")
    fires = [(one["jobId"], one["fireTime"][11:13]) for one in upcoming(api)]
    assert fires == [("counted", "10"), ("ended", "10"), ("counted", "11"), ("ended", "11"), ("counted", "12")]


def test_keys_with_tags_and_other_tenants_see_only_their_jobs(api: Api) -> None:
    hourly(api, "ours", tags={"team": "blue"})
    hourly(api, "theirs")
    bounded = api.call("GET", "/v1/upcoming", bounds={"team": "blue"}).body["items"]
    assert {one["jobId"] for one in bounded} == {"ours"}
    assert api.call("GET", "/v1/upcoming", tenant="globex").body["items"] == []


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ({"to": format_instant(NOW + 401 * DAY_MS)}, ["to"]),
        ({"from": format_instant(NOW + 400 * DAY_MS)}, ["from"]),
        ({"limit": "1001", "tag": "x", "cursr": "y"}, ["cursr", "limit", "tag"]),
        ({"jobId": "no id"}, ["jobId"]),
    ],
)
def test_a_bad_query_is_refused_by_its_parameters(api: Api, query: dict[str, str], fields: list[str]) -> None:
    answer = api.call("GET", "/v1/upcoming", query=query)
    assert (answer.status, sorted(answer.bad_fields())) == (400, fields)


def test_a_preview_of_a_freeze_counts_the_fires_that_it_would_hold(api: Api) -> None:
    hourly(api, "plain")
    hourly(api, "paused")
    hourly(api, "other", tags={"team": "blue"})
    api.call("POST", "/v1/jobs/paused/pause")
    body = {"from": ANCHOR, "to": "2026-11-21T13:00:00Z", "match": {"all": True}}
    held = api.call("POST", "/v1/freezes:preview", body).body
    assert (held["count"], held["isExact"]) == (6, True)
    assert [one["jobId"] for one in held["items"]] == ["other", "plain"] * 3
    blue = api.call("POST", "/v1/freezes:preview", {**body, "match": {"tags": {"team": "blue"}}}).body
    assert blue["count"] == 3
    endless = api.call("POST", "/v1/freezes:preview", {"match": {"jobIds": ["plain"]}}).body
    assert (endless["count"], len(endless["items"]), endless["isExact"]) == (9_600, 100, True)
    assert api.call("GET", "/v1/freezes").body["items"] == []
    assert api.call("POST", "/v1/freezes:preview", {}).bad_fields() == ["match"]
