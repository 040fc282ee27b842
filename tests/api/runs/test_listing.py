"""Runs of all jobs over HTTP: filters, orders, pages, and what a request is told that asks for too much."""

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.runs.rows import dead
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import noted
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, format_instant


def get(api: Api, query: str = "", **others: Any) -> Answer:
    """Return a page of a list."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return api.call("GET", "/v1/runs", query=values, **others)


def listed(api: Api, query: str = "", **others: Any) -> list[str]:
    """Return the ids of all pages of a list."""
    answer = get(api, query, **others)
    assert answer.status == 200, answer.text
    found = [run["runId"] for run in answer.body["items"]]
    cursor = answer.body["nextCursor"]
    return found + (listed(api, f"{query.split('&cursor', maxsplit=1)[0]}&cursor={cursor}", **others) if cursor else [])


def plain(api: Api, job: dict[str, Any], seconds_ago: float, **fields: Any) -> Run:
    """Store a run that succeeded at once."""
    fire_at = NOW - int(seconds_ago * SECOND_MS)
    run_id = RunId(JobKey("acme", job["jobId"]), fire_at, Origin.SCHEDULE)
    run = Run(run_id, RunState.SUCCEEDED, 1, "normal", 0, fire_at, fire_at - 4_000, attempt=1, claimed_at=fire_at - 500)
    api.put(replace(run, first_started_at=fire_at, finished_at=fire_at + 100, **fields))
    return api.store.runs[run_id]


def running(api: Api, job: dict[str, Any], seconds_ago: float) -> Run:
    """Store a run whose call lasts."""
    run = plain(api, job, seconds_ago)
    api.put(noted(replace(run, state=RunState.RUNNING, finished_at=None)))
    return api.store.runs[run.id]


@pytest.fixture
def jobs(api: Api) -> list[dict[str, Any]]:
    """Two recurring jobs; the second has a tag."""
    found = [api.create(everySeconds=60), api.create(everySeconds=60, tags={"team": "blue"})]
    api.store.runs.clear()
    return found


def test_runs_of_all_jobs_are_listed_live_ones_first_then_by_their_ends(api: Api, jobs: list[dict[str, Any]]) -> None:
    failed, other = dead(api, jobs[0], -60), dead(api, jobs[1], -30)
    old = running(api, jobs[0], 900)
    new = running(api, jobs[1], 600)
    fine = plain(api, jobs[0], 40)
    newest_first = [str(run.id) for run in (new, old, other, fine, failed)]
    for limit in (1, 2, 50):
        assert listed(api, f"limit={limit}") == newest_first
        assert listed(api, f"sort=finishedAt&limit={limit}") == newest_first[::-1]
        assert listed(api, f"status=running,failed&limit={limit}") == [
            one for one in newest_first if one != str(fine.id)
        ]
        assert listed(api, f"status=succeeded&limit={limit}") == [str(fine.id)]
    by_fire = sorted((old, new, failed, other, fine), key=lambda run: run.id.fire_at)
    assert listed(api, "sort=fireTime&limit=2") == [str(run.id) for run in by_fire]
    assert listed(api, "sort=-fireTime&status=failed") == [str(run.id) for run in (other, failed)]


def test_several_states_may_be_given_one_by_one(api: Api, jobs: list[dict[str, Any]]) -> None:
    found = [running(api, jobs[0], 60), dead(api, jobs[1], -30)]
    assert listed(api, "status=running&status=failed") == [str(run.id) for run in found]


def test_each_filter_leaves_the_runs_that_match(api: Api, jobs: list[dict[str, Any]]) -> None:
    first = dead(api, jobs[0], -30, reason=Reason.TOO_OLD)
    second = dead(api, jobs[1], -20)
    api.put(replace(second, task_id="mail"))
    fine = plain(api, jobs[1], 10)
    assert listed(api, "reason=too_old") == [str(first.id)]
    assert listed(api, "status=failed&taskId=mail") == [str(second.id)]
    assert listed(api, f"jobId={jobs[0]['jobId']}") == [str(first.id)]
    assert listed(api, "tag=team:blue") == [str(fine.id), str(second.id)]
    assert listed(api, "status=failed&tag=team:blue") == [str(second.id)]
    assert listed(api, "tag=team:red") == []
    assert listed(api, "status=failed", tenant="globex", key="key_2") == []


def test_an_item_is_the_run_as_in_the_ledger_of_its_job(api: Api, jobs: list[dict[str, Any]]) -> None:
    dead(api, jobs[0], -30)
    (item,) = get(api, "status=failed").body["items"]
    assert [item] == api.call("GET", f"/v1/jobs/{jobs[0]['jobId']}/runs").body["items"]


@pytest.mark.parametrize("query", ["", "status=succeeded", "status=failed,succeeded", "sort=fireTime"])
def test_runs_that_succeeded_are_listed_for_an_hour_at_most(api: Api, jobs: list[dict[str, Any]], query: str) -> None:
    recent, older = plain(api, jobs[0], 59 * 60), plain(api, jobs[0], 61 * 60)
    at = {minutes: quote(format_instant(NOW - minutes * MINUTE_MS)) for minutes in (0, 60, 61, 90, 120)}
    assert listed(api, query) == [str(recent.id)]
    assert listed(api, f"{query}&from={at[60]}") == [str(recent.id)]
    assert listed(api, f"{query}&to={at[60]}") == [str(older.id)]
    assert listed(api, f"{query}&from={at[90]}&to={at[60]}") == [str(older.id)]
    assert len(listed(api, f"{query}&from={at[120]}&jobId={jobs[0]['jobId']}")) == 2
    for wide in (f"from={at[61]}", f"from={at[61]}&to={at[0]}"):
        refused = get(api, f"{query}&{wide}")
        assert (refused.status, refused.bad_fields()) == (400, ["from"])
        assert "at most an hour apart" in refused.text


def test_a_call_in_its_first_seconds_is_in_the_lists_that_read_ledgers(api: Api, jobs: list[dict[str, Any]]) -> None:
    run = plain(api, jobs[0], 1)
    api.put(replace(run, state=RunState.RUNNING, finished_at=None))
    assert listed(api, "status=running") == []
    for query in ("", "status=running,succeeded", f"status=running,succeeded&jobId={jobs[0]['jobId']}"):
        assert listed(api, query) == [str(run.id)]
    of_job = api.call("GET", f"/v1/jobs/{jobs[0]['jobId']}/runs", query={"status": "running"}).body["items"]
    with_one = api.call("GET", "/v1/jobs", query={"status": "running"}).body["items"]
    assert [one["runId"] for one in of_job] == [str(run.id)]
    assert [one["running"] for one in with_one] == [[str(run.id)]]


def test_other_runs_are_listed_for_any_time(api: Api, jobs: list[dict[str, Any]]) -> None:
    runs = [dead(api, jobs[0], -30), dead(api, jobs[0], -40 * HOUR_MS // SECOND_MS)]
    since = quote(format_instant(NOW - 50 * HOUR_MS))
    for query in ("status=failed", f"status=failed&from={since}", f"status=failed&sort=-fireTime&from={since}"):
        assert listed(api, query) == [str(run.id) for run in runs]


def test_the_window_of_the_first_page_holds_for_the_next_ones(api: Api, jobs: list[dict[str, Any]]) -> None:
    runs = [plain(api, jobs[0], 3_500 + n) for n in range(3)]
    first = get(api, "limit=1").body
    api.clock.advance(10 * MINUTE_MS)
    rest = get(api, f"limit=9&cursor={first['nextCursor']}").body
    assert [run["runId"] for run in (*first["items"], *rest["items"])] == [str(run.id) for run in runs]


def test_a_key_that_is_bounded_to_tags_sees_the_runs_of_its_jobs(api: Api, jobs: list[dict[str, Any]]) -> None:
    dead(api, jobs[0], -30)
    plain(api, jobs[0], 20)
    seen = [plain(api, jobs[1], 5), dead(api, jobs[1], -10)]
    bounds: dict[str, Any] = {"bounds": {"team": "blue"}}
    assert listed(api, **bounds) == [str(run.id) for run in seen]
    assert listed(api, "status=failed", **bounds) == [str(seen[1].id)]
    assert listed(api, f"jobId={jobs[0]['jobId']}", **bounds) == []


def test_all_bad_parameters_are_named_at_once(api: Api) -> None:
    answer = get(api, "status=done&reason=bad&jobId=a.b&tag=x&taskId=a.b&sort=name&from=x&limit=0&x=1")
    assert answer.status == 400
    assert sorted(answer.bad_fields()) == sorted(
        ["status", "reason", "jobId", "tag", "taskId", "sort", "from", "limit", "x"]
    )


def test_a_cursor_is_of_its_query_and_tenant(api: Api, jobs: list[dict[str, Any]]) -> None:
    for n in range(3):
        dead(api, jobs[0], -n)
    cursor = get(api, "status=failed&limit=1").body["nextCursor"]
    others: list[Answer] = [
        get(api, f"status=failed&sort=finishedAt&limit=1&cursor={cursor}"),
        get(api, f"status=failed&cursor={cursor}", tenant="globex", key="key_2"),
        get(api, f"status=failed&cursor={cursor[:-3]}abc"),
    ]
    assert [answer.bad_fields() for answer in others] == [["cursor"]] * 3


def test_too_many_runs_for_an_order_by_fire_time_are_refused(api: Api, jobs: list[dict[str, Any]]) -> None:
    for n in range(1_501):
        dead(api, jobs[0], -n / 10)
    refused = get(api, "status=failed&sort=fireTime")
    assert (refused.status, refused.bad_fields()) == (400, ["sort"])
