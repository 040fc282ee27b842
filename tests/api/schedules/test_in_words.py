"""`scheduleText`, wherever a schedule is shown."""

from typing import Any

from tests.api.client import Api

HOOK: dict[str, Any] = {"handler": "https://example.com/hook"}
WEEKDAYS: dict[str, Any] = {**HOOK, "cronExpression": "0 9 * * MON-FRI", "timezone": "Europe/Berlin"}
TEXT = "weekdays at 09:00, Europe/Berlin"


def test_a_job_shows_its_schedule_in_words_when_it_is_made_read_listed_and_changed(api: Api) -> None:
    made = api.call("PUT", "/v1/jobs/report", WEEKDAYS).body
    (listed,) = api.call("GET", "/v1/jobs").body["items"]
    read = api.call("GET", "/v1/jobs/report").body
    assert {one["scheduleText"] for one in (made, listed, read)} == {TEXT}
    changed = api.call("PATCH", "/v1/jobs/report", {"cronExpression": "@daily"}).body
    assert changed["scheduleText"] == "every day at 00:00, Europe/Berlin"


def test_revisions_and_changes_show_the_schedule_after_each_change_in_words(api: Api) -> None:
    api.call("PUT", "/v1/jobs/report", WEEKDAYS)
    api.call("PATCH", "/v1/jobs/report", {"everySeconds": 3600, "anchorAt": "2026-12-01T00:00:00Z"})
    texts = ["every hour, counted from 2026-12-01 00:00 UTC", TEXT]
    for path in ("/v1/jobs/report/revisions", "/v1/changes"):
        assert [one["scheduleText"] for one in api.call("GET", path).body["items"]] == texts


def test_a_preview_shows_its_schedule_in_words(api: Api) -> None:
    asked = {name: WEEKDAYS[name] for name in ("cronExpression", "timezone")}
    assert api.call("POST", "/v1/schedules:preview", asked).body["scheduleText"] == TEXT


def test_jobs_on_events_and_behind_parents_say_so(api: Api) -> None:
    api.call("PUT", "/v1/jobs/first", WEEKDAYS)
    api.call("PUT", "/v1/jobs/once", HOOK)
    texts: dict[str, dict[str, Any]] = {
        "on events": {"event": {"source": ["shop"]}},
        f"{TEXT}, after its parents": {"dependsOn": ["first"]},
        "after its parents": {"dependsOn": ["once"]},
        "once at 2026-11-21 09:30:00.250 UTC": {},
    }
    for text, more in texts.items():
        assert api.call("POST", "/v1/jobs", {**HOOK, **more}).body["scheduleText"] == text
