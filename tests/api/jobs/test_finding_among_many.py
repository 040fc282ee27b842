"""Lists that are searched or sorted among more jobs than a request reads: a digest nominates, and the rows decide."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS, format_instant
from timeball.engine.kept_digests import FRESH_MS
from timeball.engine.scheduling import list_jobs, roster, upcoming

MANY = 60
AT_ONCE = 20
"""How many jobs a request reads in these tests, instead of 1,000."""


@pytest.fixture
def jobs(api: Api, monkeypatch: pytest.MonkeyPatch) -> dict[str, Job]:
    """Jobs by name; each second one has a tag, and each third one has ended."""
    monkeypatch.setattr(list_jobs, "MAX_SORTED", AT_ONCE)
    monkeypatch.setattr(list_jobs, "MAX_EXAMINED", AT_ONCE)
    monkeypatch.setattr(roster, "MOST_JOBS", AT_ONCE)
    for number in range(MANY):
        api.clock.advance(1)
        tags = {"tags": {"team": "blue"}} if number % 2 else {}
        at = format_instant(NOW + (number * 7 % MANY + 1) * MINUTE_MS)
        made = api.create(name=f"Job {number * 11 % MANY:02d}", scheduleAt=at, **tags)
        if number % 3 == 0:
            api.call("DELETE", f"/v1/jobs/{made['jobId']}")
    return {job.spec.name or "": job for job in api.store.jobs.values()}


def listed(api: Api, query: dict[str, str], **others: Any) -> Answer:
    answer = api.call("GET", "/v1/jobs", query=query, **others)
    assert answer.status == 200, answer.text
    return answer


def pages(
    api: Api, query: dict[str, str], between: Callable[[], None] = lambda: None, **others: Any
) -> tuple[list[Any], list[Any]]:
    """Return the names of all pages, and when the pages' digests were read; `between` is called after each page."""
    names, digests = list[Any](), list[Any]()
    cursor = ""
    while not digests or cursor:
        body = listed(api, {**query, **({"cursor": cursor} if cursor else {})}, **others).body
        names += [item["name"] for item in body["items"]]
        digests.append(body.get("digestAt", "live"))
        cursor = body["nextCursor"]
        between()
    return names, digests


def by_name(jobs: dict[str, Job]) -> list[str]:
    return sorted(jobs)


def by_next(jobs: dict[str, Job]) -> list[str]:
    """Return the names in the order of the next starts; ended jobs have none."""
    with_next = sorted((job for job in jobs.values() if job.is_open), key=lambda job: job.next_fire_at or 0)
    without = sorted((job for job in jobs.values() if not job.is_open), key=lambda job: job.key.job_id)
    return [job.spec.name or "" for job in (*with_next, *without)]


@pytest.mark.parametrize("limit", ["7", "50"])
@pytest.mark.parametrize(("sort", "order"), [("name", by_name), ("nextRunAt", by_next)])
def test_a_list_is_sorted_once_all_jobs_are_read(
    api: Api, jobs: dict[str, Job], sort: str, order: Callable[[dict[str, Job]], list[str]], limit: str
) -> None:
    names, digests = pages(api, {"sort": sort, "limit": limit})
    assert names == order(jobs)
    assert digests[:3] == [None] * 3
    assert set(digests[3:]) == {format_instant(NOW + MANY)}


def test_a_list_goes_on_from_the_digest_of_another_process(api: Api, jobs: dict[str, Job]) -> None:
    def other_process() -> None:
        if len(api.context.known.rosters) and not _is_made(api):
            api.context.known.rosters.clear()
            api.clock.advance(FRESH_MS)

    names, digests = pages(api, {"sort": "-name", "limit": "25"}, other_process)
    assert names == by_name(jobs)[::-1]
    assert len(set(digests)) == 4  # none, and three processes


def _is_made(api: Api) -> bool:
    """Return whether a digest is being made."""
    return any(kept.made is not None for kept in api.context.known.rosters.values())


def test_jobs_are_sorted_by_their_last_ends(api: Api, jobs: dict[str, Job]) -> None:
    for number, name in enumerate(["Job 04", "Job 17", "Job 33"]):
        at = NOW - (number + 1) * MINUTE_MS
        run_id = RunId(jobs[name].key, at, Origin.MANUAL)
        api.put(Run(run_id, RunState.SUCCEEDED, 1, "normal", 0, at, at, finished_at=at + SECOND_MS))
    names, _ = pages(api, {"sort": "lastFinishedAt", "limit": "9"})
    assert names[:3] == ["Job 33", "Job 17", "Job 04"]
    assert sorted(names) == by_name(jobs)


def test_the_rows_decide_what_a_digest_nominates(api: Api, jobs: dict[str, Job]) -> None:
    query = {"sort": "name", "status": "pending", "limit": "50"}
    names, _ = pages(api, query)
    assert names == [name for name in by_name(jobs) if jobs[name].is_open]
    gone, paused = names[0], names[1]
    del api.store.jobs[jobs[gone].key]
    api.call("POST", f"/v1/jobs/{jobs[paused].key.job_id}/pause")
    again, digests = pages(api, query)
    assert again == names[2:]
    assert digests == [format_instant(NOW + MANY)]


def test_a_job_that_was_just_created_joins_a_digest(api: Api, jobs: dict[str, Job]) -> None:
    pages(api, {"sort": "name"})
    api.clock.advance(10 * SECOND_MS)
    api.create(name="Job 30 and more", delaySeconds=600)
    names, digests = pages(api, {"sort": "name"})
    assert names == by_name({**jobs, "Job 30 and more": jobs["Job 30"]})
    assert set(digests) == {format_instant(NOW + MANY)}


def test_a_digest_is_made_anew_after_thirty_seconds_and_not_used_for_ever(api: Api, jobs: dict[str, Job]) -> None:
    query = {"sort": "name", "limit": "50"}
    pages(api, query)
    api.clock.advance(FRESH_MS)
    tag = api.call("GET", "/v1/jobs", query=query).headers["ETag"]
    assert [listed(api, query).body["digestAt"] for _ in range(3)] == [
        *[format_instant(NOW + MANY)] * 2,
        format_instant(NOW + MANY + FRESH_MS),
    ]
    assert api.call("GET", "/v1/jobs", query=query, headers={"If-None-Match": tag}).status == 304
    api.clock.advance(10 * MINUTE_MS)
    assert listed(api, query).body == {
        "items": [],
        "nextCursor": listed(api, query).body["nextCursor"],
        "digestAt": None,
    }
    assert jobs


def test_a_search_by_creation_uses_a_digest_once_there_is_one(api: Api, jobs: dict[str, Job]) -> None:
    query = {"q": "job 1", "limit": "15"}
    found = [name for name in jobs if name.startswith("Job 1")][::-1]
    first, digests = pages(api, query)
    assert (first, set(digests)) == (found, {"live"})
    assert pages(api, query)[0] == found
    again, digests = pages(api, query)
    assert (again, digests) == (found, [format_instant(NOW + MANY)])
    soon = {"nextRunBefore": format_instant(NOW + 5 * MINUTE_MS + 1), "limit": "50"}
    names, digests = pages(api, soon)
    assert (
        names
        == [name for name, job in jobs.items() if job.is_open and (job.next_fire_at or 0) <= NOW + 5 * MINUTE_MS][::-1]
    )
    assert digests == [format_instant(NOW + MANY)]


def test_a_bounded_key_sees_only_its_jobs(api: Api, jobs: dict[str, Job]) -> None:
    bounds: dict[str, Any] = {"bounds": {"team": "blue"}}
    names, _ = pages(api, {"sort": "name"}, **bounds)
    assert names == [name for name in by_name(jobs) if jobs[name].spec.tags]
    key = jobs[names[0]].key
    api.store.jobs[key] = replace(jobs[names[0]], spec=replace(jobs[names[0]].spec, tags={}))
    assert pages(api, {"sort": "name"}, **bounds)[0] == names[1:]
    assert pages(api, {"sort": "name"}, tenant="globex", key="key_2") == ([], ["live"])


def test_open_jobs_have_a_digest_of_their_own(api: Api, jobs: dict[str, Job]) -> None:
    names, digests = pages(api, {"sort": "-nextRunAt", "status": "pending,paused,blocked", "tag": "team:blue"})
    assert names == [name for name in by_next(jobs) if jobs[name].is_open and jobs[name].spec.tags][::-1]
    assert digests == [None, None, format_instant(NOW + MANY)]


def test_a_narrow_list_is_read_as_it_stands(api: Api, jobs: dict[str, Job]) -> None:
    since = format_instant(NOW + MANY - AT_ONCE + 1)
    names, digests = pages(api, {"sort": "name", "from": since})
    assert names == sorted(name for name, job in jobs.items() if job.created_at > NOW + MANY - AT_ONCE)
    assert digests == ["live"]
    assert upcoming.MOST_JOBS > AT_ONCE


def test_more_jobs_than_a_digest_has_are_refused(
    api: Api, jobs: dict[str, Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster, "MOST_LISTED", len(jobs) - 1)
    refused = api.call("GET", "/v1/jobs", query={"sort": "name"})
    assert (refused.status, refused.bad_fields()) == (400, ["sort"])
    assert "status=pending,paused,blocked" in refused.text
    assert set(pages(api, {"q": "job 0", "limit": "15"})[1]) == {"live"}
    assert listed(api, {"sort": "name", "status": "pending"}).body["digestAt"] is None


def test_a_cursor_of_a_digest_is_of_its_query(api: Api, jobs: dict[str, Job]) -> None:
    cursor = listed(api, {"sort": "name"}).body["nextCursor"]
    assert jobs
    for query in ({"sort": "-name"}, {"sort": "name", "q": "x"}):
        assert api.call("GET", "/v1/jobs", query={**query, "cursor": cursor}).bad_fields() == ["cursor"]
