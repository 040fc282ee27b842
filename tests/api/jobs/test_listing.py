"""Jobs are listed by status, tag and time, in pages that stay stable whatever changes meanwhile."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.jobs.changes import put_status
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.time.instants import SECOND_MS

HOURLY = {"cronExpression": "0 * * * *"}


def listed(api: Api, **query: str | list[str]) -> Answer:
    return api.call("GET", "/v1/jobs", query={name.rstrip("_"): value for name, value in query.items()})


def names(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    return [item["name"] for item in answer.body["items"]]


def all_pages(api: Api, **query: str | list[str]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = listed(api, **query, **cursor)
        assert answer.status == 200, answer.text
        items += answer.body["items"]
        if answer.body["nextCursor"] is None:
            return items
        cursor = {"cursor": answer.body["nextCursor"]}


def create(api: Api, name: str, **fields: object) -> dict[str, Any]:
    api.clock.advance(1)
    job: dict[str, Any] = api.create(name=name, **fields)
    return job


def test_jobs_are_listed_newest_first_without_large_fields(api: Api) -> None:
    create(api, "first", **HOURLY)
    create(api, "second", **HOURLY)
    job = create(api, "third", **HOURLY, payload={"a": 1})
    answer = listed(api)
    assert names(answer) == ["third", "second", "first"]
    assert answer.body["nextCursor"] is None
    read = api.call("GET", f"/v1/jobs/{job['jobId']}").body
    left = {"target", "payload", "latestRun", "waitingFor"}
    assert answer.body["items"][0] == {name: value for name, value in read.items() if name not in left}


def test_a_page_continues_where_the_last_one_ended_and_shows_no_later_job(api: Api) -> None:
    for number in range(5):
        create(api, str(number), **HOURLY)
    first = listed(api, limit="2")
    create(api, "new", **HOURLY)
    second = listed(api, limit="2", cursor=first.body["nextCursor"])
    assert names(first) + names(second) == ["4", "3", "2", "1"]
    assert names(listed(api, limit="2", cursor=second.body["nextCursor"])) == ["0"]


def test_each_status_is_listed_as_the_api_shows_it(api: Api) -> None:
    for status in ("paused", "completed", "failed", "cancelled"):
        put_status(api, create(api, status, **HOURLY), JobStatus(status))
    create(api, "pending", **HOURLY)
    create(api, "running")
    api.dispatch()
    run = api.only_run()
    api.put(claimed(run, "executor", NOW + SECOND_MS, 30_000))
    for status in ("paused", "completed", "failed", "cancelled", "pending", "running"):
        items = listed(api, status=status).body["items"]
        assert [(item["name"], item["status"]) for item in items] == [(status, status)]
    assert names(listed(api, status="running,paused")) == ["running", "paused"]
    assert listed(api, status="blocked").body["items"] == []


def test_a_failed_job_whose_run_is_retried_stays_listed_as_failed_and_shows_its_live_status(api: Api) -> None:
    create(api, "again")
    api.dispatch()
    api.put(replace(api.only_run(), state=RunState.RETRYING, attempt=1))
    (key,) = api.store.jobs
    api.store.jobs[key] = replace(api.store.jobs[key], status=JobStatus.FAILED)
    for status in ("failed", "running"):
        assert [item["status"] for item in listed(api, status=status).body["items"]] == ["running"]


def test_a_tag_and_times_narrow_a_list(api: Api) -> None:
    create(api, "blue", **HOURLY, tags={"team": "blue"})
    middle = create(api, "green", **HOURLY, tags={"team": "green"})["createdAt"]
    create(api, "none", **HOURLY)
    assert names(listed(api, tag="team:blue")) == ["blue"]
    assert names(listed(api, tag="team:")) == []
    assert names(listed(api, from_=middle)) == ["none", "green"]
    assert names(listed(api, to=middle)) == ["green", "blue"]


def test_a_list_by_several_tags_has_jobs_with_all_of_them(api: Api) -> None:
    create(api, "both", **HOURLY, tags={"team": "blue", "env": "a,b"})
    create(api, "one", **HOURLY, tags={"team": "blue", "env": "prod"})
    assert names(listed(api, tag=["team:blue", "env:prod"])) == ["one"]
    assert names(listed(api, tag=["env:a,b", "team:blue"])) == ["both"]
    assert names(listed(api, tag=["team:blue", "team:green"])) == []
    assert listed(api, tag=["team:blue", "prod"]).bad_fields() == ["tag"]


def test_a_cursor_is_valid_only_for_the_same_tags(api: Api) -> None:
    for name in ("first", "second"):
        create(api, name, **HOURLY, tags={"team": "blue", "env": "prod"})
    cursor = listed(api, tag=["team:blue", "env:prod"], limit="1").body["nextCursor"]
    assert names(listed(api, tag=["team:blue", "env:prod"], limit="1", cursor=cursor)) == ["first"]
    assert listed(api, tag="team:blue", cursor=cursor).status == 400


def test_the_key_of_a_tag_has_no_colon(api: Api) -> None:
    body = {"handler": "https://example.com", "tags": {"a:b": "c"}}
    answer = api.call("POST", "/v1/jobs", body)
    assert (answer.status, answer.bad_fields()) == (400, ["tags.a:b"])
    assert create(api, "fine", **HOURLY, tags={"a": "b:c"})
    assert names(listed(api, tag="a:b:c")) == ["fine"]


def test_another_tenants_jobs_are_not_listed(api: Api) -> None:
    api.call("POST", "/v1/jobs", {"handler": "https://example.com/hook"}, tenant="other")
    assert listed(api).body == {"items": [], "nextCursor": None}


BAD: dict[str, tuple[dict[str, str], list[str]]] = {
    "an unknown status": ({"status": "asleep"}, ["status"]),
    "an empty status": ({"status": ""}, ["status"]),
    "a tag without a value": ({"tag": "team"}, ["tag"]),
    "a tag without a key": ({"tag": ":blue"}, ["tag"]),
    "zeros before a limit": ({"limit": "00000050"}, ["limit"]),
    "everything": ({"limit": "0", "from_": "now", "who": "me"}, ["from", "limit", "who"]),
    "the wrong way round": ({"from_": "2026-11-21T00:00:00Z", "to": "2026-11-20T00:00:00Z"}, ["to"]),
    "a cursor that is none": ({"cursor": "x"}, ["cursor"]),
}


@pytest.mark.parametrize(("query", "fields"), BAD.values(), ids=BAD)
def test_an_invalid_query_is_refused_by_its_parameter(api: Api, query: dict[str, str], fields: list[str]) -> None:
    answer = listed(api, **query)
    assert (answer.status, sorted(answer.bad_fields())) == (400, fields)


def test_a_cursor_is_valid_only_for_its_own_query_and_tenant(api: Api) -> None:
    for number in range(3):
        create(api, str(number), **HOURLY)
    cursor = listed(api, limit="1").body["nextCursor"]
    assert names(listed(api, limit="2", cursor=cursor)) == ["1", "0"]
    assert listed(api, cursor=cursor, status="pending").status == 400
    assert api.call("GET", "/v1/jobs", query={"cursor": cursor}, tenant="other").status == 400


def test_a_page_under_a_filter_that_no_job_matches_ends_after_a_thousand_rows(api: Api) -> None:
    template = api.store.jobs[JobKey("acme", create(api, "none", **HOURLY)["jobId"])]
    for number in range(1_500):
        row = replace(template, spec=replace(template.spec, key=JobKey("acme", f"job-{number}")))
        api.store.jobs[row.key] = row
    first = listed(api, tag="team:blue")
    assert first.body["items"] == []
    second = listed(api, tag="team:blue", cursor=first.body["nextCursor"])
    assert second.body == {"items": [], "nextCursor": None}


def test_two_thousand_jobs_are_listed_once_each_while_others_are_created_and_change_status(api: Api) -> None:
    chance = random.Random(12)  # noqa: S311 - a story must be replayable
    template = api.store.jobs[JobKey("acme", create(api, "job", **HOURLY)["jobId"])]
    statuses = [JobStatus.PENDING, JobStatus.PAUSED, JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED]

    def put(name: str, created_at: int, status: JobStatus) -> None:
        row = replace(template, spec=replace(template.spec, key=JobKey("acme", name)))
        api.store.jobs[row.key] = replace(row, created_at=created_at, status=status)

    del api.store.jobs[template.key]
    for number in range(2_000):
        put(f"job-{number}", NOW + number // 3, statuses[number % 5])
    before = set(api.store.jobs)
    seen: Counter[str] = Counter()
    cursor: dict[str, str] = {}
    for page in range(51):
        answer = listed(api, limit="40", **cursor)
        seen.update(item["jobId"] for item in answer.body["items"])
        for number in range(20):
            put(f"new-{page}-{number}", NOW + 10**6 + page, JobStatus.PENDING)
            key = JobKey("acme", f"job-{chance.randrange(2_000)}")
            put(key.job_id, api.store.jobs[key].created_at, chance.choice(statuses))
        if answer.body["nextCursor"] is None:
            break
        cursor = {"cursor": answer.body["nextCursor"]}
    assert len([name for name in api.store.jobs if name.job_id.startswith("new")]) >= 1_000
    assert {name for name in seen if not name.startswith("new")} == {key.job_id for key in before}
    assert set(seen.values()) == {1}
    assert len(all_pages(api, limit="200")) == len(api.store.jobs)
