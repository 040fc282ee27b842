"""Jobs are found by their names, owners, priorities, kinds and next starts, in several orders, and shown in short."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.api.jobs.listing import Value, sorted_after
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import SECOND_MS

HOURLY = {"cronExpression": "0 * * * *"}
MINUTE = 60 * SECOND_MS


@pytest.fixture
def jobs(api: Api) -> dict[str, str]:
    """Jobs of each kind, oldest first, by their names."""
    made: dict[str, str] = {}

    def create(name: str, **fields: object) -> None:
        api.clock.advance(1)
        made[name] = api.create(name=name, **fields)["jobId"]

    create("Import orders", **HOURLY, owner="Ada", priority="high")
    create("import", everySeconds=60, owner="Bob")
    create("Übung, täglich", delaySeconds=7200)
    create("on orders", event={"source": ["shop"]}, priority="low")
    create("report", dependsOn=[made["Import orders"]])
    create("archive", **HOURLY, dependsOn=[made["Import orders"]])
    return made


def listed(api: Api, **query: str) -> Answer:
    return api.call("GET", "/v1/jobs", query=query)


def names(api: Api, **query: str) -> list[str]:
    answer = listed(api, **query)
    assert answer.status == 200, answer.text
    return [item["name"] for item in answer.body["items"]]


# Each case: a query, and the names that it finds, newest first.
FOUND: dict[str, tuple[dict[str, str], list[str]]] = {
    "the beginning of a name, in any case": ({"q": "IMPORT"}, ["import", "Import orders"]),
    "a letter that is not of ASCII, in any case": ({"q": "übung, T"}, ["Übung, täglich"]),
    "no word within a name": ({"q": "orders"}, []),
    "the beginning of an id": ({"q": "JOB_", "kind": "cron,event"}, ["archive", "on orders", "Import orders"]),
    "a name, exactly": ({"name": "import"}, ["import"]),
    "no other case of a name": ({"name": "Import"}, []),
    "a name with a comma": ({"name": "Übung, täglich"}, ["Übung, täglich"]),
    "an owner": ({"owner": "Ada"}, ["Import orders"]),
    "a priority": ({"priority": "low"}, ["on orders"]),
    "several priorities": ({"priority": "high,low"}, ["on orders", "Import orders"]),
    "jobs that run once": ({"kind": "once"}, ["Übung, täglich"]),
    "crons, also one that waits for others": ({"kind": "cron"}, ["archive", "Import orders"]),
    "intervals and events": ({"kind": "interval,event"}, ["on orders", "import"]),
    "jobs without a schedule of their own": ({"kind": "dependent"}, ["report"]),
    "a start in the next minute": ({"nextRunBefore": "2026-11-21T09:31:10Z"}, ["import"]),
    "a start before an instant, which is not included": ({"nextRunBefore": "2026-11-21T10:00:00Z"}, ["import"]),
    "a start soon": ({"nextRunBefore": "2026-11-21T10:00:00.001Z"}, ["archive", "report", "import", "Import orders"]),
    "several at once": ({"q": "i", "owner": "Bob", "kind": "interval"}, ["import"]),
}  # fmt: skip


@pytest.mark.usefixtures("jobs")
@pytest.mark.parametrize("case", FOUND)
def test_a_filter_finds_the_jobs_that_match(api: Api, case: str) -> None:
    query, found = FOUND[case]
    assert names(api, **query) == found


@pytest.mark.usefixtures("jobs")
def test_every_bad_parameter_is_named_at_once(api: Api) -> None:
    bad = {"q": "", "name": "n" * 201, "owner": "", "priority": "urgent", "kind": "yearly", "nextRunBefore": "soon"}
    answer = listed(api, **bad, sort="age", fields="all")
    assert answer.status == 400
    assert set(answer.bad_fields()) == {*bad, "sort", "fields"}
    advice = {error["field"]: error["message"] for error in answer.body["errors"]}
    assert advice["fields"] == "Give summary, or leave this out."
    assert advice["sort"].startswith("Give one of name, -name, createdAt, -createdAt")


def _finish(api: Api, job_id: str, at: int) -> None:
    run_id = RunId(JobKey("acme", job_id), at, Origin.MANUAL)
    api.put(Run(run_id, RunState.SUCCEEDED, 1, "normal", 0, at, at, finished_at=at + SECOND_MS))


BY_NAME = ["archive", "import", "Import orders", "on orders", "report", "Übung, täglich"]
BY_NEXT = ["import", "Import orders", "report", "archive", "Übung, täglich"]
BY_END = ["report", "Import orders"]
WITHOUT = {"nextRunAt": ["on orders"], "lastFinishedAt": ["import", "Übung, täglich", "on orders", "archive"]}

# Each case: an order, and the names in it; jobs without the value are last in both directions.
SORTED = {
    "name": BY_NAME,
    "-name": BY_NAME[::-1],
    "createdAt": ["Import orders", "import", "Übung, täglich", "on orders", "report", "archive"],
    "-createdAt": ["archive", "report", "on orders", "Übung, täglich", "import", "Import orders"],
    "nextRunAt": [*BY_NEXT, *WITHOUT["nextRunAt"]],
    "-nextRunAt": [*BY_NEXT[::-1], *WITHOUT["nextRunAt"]],
    "lastFinishedAt": [*BY_END, *WITHOUT["lastFinishedAt"]],
    "-lastFinishedAt": [*BY_END[::-1], *WITHOUT["lastFinishedAt"]],
}


@pytest.mark.parametrize("order", SORTED)
@pytest.mark.parametrize("limit", ["1", "2", "50"])
def test_a_list_is_sorted_over_all_of_its_pages(api: Api, jobs: dict[str, str], order: str, limit: str) -> None:
    _finish(api, jobs["report"], NOW - MINUTE)
    _finish(api, jobs["Import orders"], NOW)
    _finish(api, jobs["Import orders"], NOW - 2 * MINUTE)
    api.clock.advance(SECOND_MS)
    found: list[str] = []
    query = {"sort": order, "limit": limit}
    while True:
        page = listed(api, **query).body
        found += [item["name"] for item in page["items"]]
        if page["nextCursor"] is None:
            break
        query = {**query, "cursor": page["nextCursor"]}
    assert found == SORTED[order]


def test_a_sorted_list_may_be_filtered_and_its_cursor_is_of_its_query(api: Api, jobs: dict[str, str]) -> None:
    assert names(api, sort="name", kind="cron,interval", nextRunBefore="2026-11-21T10:30:00Z") == BY_NAME[:3]
    cursor = listed(api, sort="name", limit="1").body["nextCursor"]
    assert listed(api, sort="-name", limit="1", cursor=cursor).bad_fields() == ["cursor"]
    del api.store.jobs[JobKey("acme", jobs["archive"])]
    assert names(api, sort="name", limit="2", cursor=cursor) == BY_NAME[1:3]


@pytest.mark.usefixtures("jobs")
def test_a_summary_has_the_first_fields_of_each_job(api: Api) -> None:
    whole, short = (listed(api, q="import", **more).body["items"] for more in ({}, {"fields": "summary"}))
    fields = ["jobId", "name", "status", "nextRunAt", "lastRun", "running", "recent", "owner", "priority"]
    assert [*short[0]] == [*fields, "effectivePriority", "scheduleType", "scheduleText", "tags", "consoleUrl"]
    assert short == [{name: one[name] for name in short[0]} for one in whole]


A_POSITION: list[tuple[tuple[Value, str] | None, bool, str]] = [
    (None, False, "bcade"),
    (None, True, "acbde"),
    ((1, "b"), False, "cade"),  # of equal values the later name
    ((1, "c"), True, "bde"),
    ((2, "0"), False, "ade"),  # the job of the position is gone
    ((None, "d"), False, "e"),
    ((None, "d"), True, "e"),
]


@pytest.mark.parametrize(("after", "is_descending", "left"), A_POSITION)
def test_a_page_begins_after_a_position_whether_or_not_its_job_is_left(
    after: tuple[Value, str] | None,
    is_descending: bool,  # noqa: FBT001 - pytest gives it
    left: str,
) -> None:
    values: dict[str, Value] = {"a": 2, "b": 1, "c": 1, "d": None, "e": None}
    found = "".join(name for _, name in sorted_after(values, after, is_descending=is_descending))
    assert found == left


class TestOwner:
    def test_a_job_belongs_to_the_name_of_the_key_that_made_it(self, api: Api) -> None:
        made = _with_key(api, "Deploy 🚀", "POST", "/v1/jobs", HOURLY)
        assert made["owner"] == "Deploy 🚀"
        assert names(api, owner="Deploy 🚀") == [None]
        assert api.create(**HOURLY)["owner"] is None

    def test_a_stated_owner_takes_precedence_and_null_gives_the_job_back_to_its_maker(self, api: Api) -> None:
        made = _with_key(api, "deploy", "POST", "/v1/jobs", {**HOURLY, "owner": "Ada"})
        path = f"/v1/jobs/{made['jobId']}"
        assert made["owner"] == "Ada"
        assert _with_key(api, "other", "PATCH", path, {"owner": "Bob"})["owner"] == "Bob"
        patched = _with_key(api, "other", "PATCH", path, {"owner": None})
        assert (patched["owner"], patched["version"]) == ("deploy", 3)
        assert api.call("GET", path).body["owner"] == "deploy"

    def test_a_put_by_another_key_changes_no_default_owner(self, api: Api) -> None:
        body = {"handler": "https://example.com/hook", **HOURLY}
        assert _with_key(api, "first", "PUT", "/v1/jobs/mine", body)["owner"] == "first"
        again = _with_key(api, "second", "PUT", "/v1/jobs/mine", body)
        assert (again["owner"], again["version"]) == ("first", 1)

    def test_a_repeated_request_gets_the_same_owner(self, api: Api) -> None:
        bodies = [
            _with_key(api, name, "POST", "/v1/jobs", HOURLY, headers={"Idempotency-Key": "k"}) for name in ("a", "b")
        ]
        assert [one["owner"] for one in bodies] == ["a", "a"]

    def test_revisions_show_and_restore_a_stated_owner(self, api: Api) -> None:
        job = api.create(**HOURLY, owner="Ada")
        path = f"/v1/jobs/{job['jobId']}"
        api.call("PATCH", path, {"owner": "Bob"})
        (newest, _) = api.call("GET", f"{path}/revisions").body["items"]
        assert (newest["before"]["owner"], newest["after"]["owner"]) == ("Ada", "Bob")
        assert api.call("POST", f"{path}/revisions/1:restore").body["owner"] == "Ada"

    def test_an_owner_is_a_short_text(self, api: Api) -> None:
        for owner in ("", "o" * 201, "a\nb", 7):
            answer = api.call("POST", "/v1/jobs", {"handler": "https://example.com/", "owner": owner})
            assert answer.bad_fields() == ["owner"]


def _with_key(
    api: Api, name: str, method: str, path: str, body: dict[str, Any], headers: dict[str, str] | None = None
) -> Any:
    if path == "/v1/jobs":
        body = {"handler": "https://example.com/hook", **body}
    answer = api.call(method, path, body, headers=headers, key_name=name)
    assert answer.status in (200, 201), answer.text
    return answer.body
