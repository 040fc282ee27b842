"""Executions: each attempt of each run is listed once, newest first, and a page may end within a run."""

from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.time.instants import SECOND_MS

# Each run, the newest last: its number of attempts and its state.
RUNS = [
    (1, RunState.SUCCEEDED),
    (0, RunState.SKIPPED),
    (3, RunState.FAILED),
    (0, RunState.QUEUED),
    (2, RunState.RUNNING),
]
ALL = [(4, 2), (4, 1), (2, 3), (2, 2), (2, 1), (0, 1)]
"""The index of each attempt's run, and the attempt's number."""


def _attempt(number: int, at: int) -> Attempt:
    return Attempt(number, Outcome.FAILED, at, at + 10, at + 250, 503, "Down.", worker=f"worker-{number}")


@pytest.fixture
def path(api: Api) -> str:
    """Return the path of the executions of a job with these runs."""
    job = api.create(everySeconds=1)
    key = JobKey("acme", job["jobId"])
    for place, (tried, state) in enumerate(RUNS):
        at = NOW + place * SECOND_MS
        run = Run(RunId(key, at, Origin.SCHEDULE), state, 1, "normal", at, at, at)
        ended = [_attempt(number, at) for number in range(1, tried + 1)]
        if state is RunState.RUNNING:
            run, ended = replace(run, owner="worker-now", claimed_at=at), ended[:-1]
        if state is RunState.SUCCEEDED:
            ended[-1] = replace(ended[-1], outcome=Outcome.SUCCEEDED, status=200, error=None)
        api.store.attempts.insert([(run.id, one) for one in ended], NOW)
        api.put(replace(run, attempt=tried, last=ended[-1] if ended else None))
    return f"/v1/jobs/{job['jobId']}/executions"


def shown(answer: Answer) -> list[tuple[int, int]]:
    assert answer.status == 200, answer.text
    runs = [RunId.parse("acme", item["runId"]) for item in answer.body["items"]]
    slots = [(run.fire_at - NOW) // SECOND_MS for run in runs if run]
    return list(zip(slots, (item["attempt"] for item in answer.body["items"]), strict=True))


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 50])
def test_each_attempt_has_one_row_whatever_the_page_size(api: Api, path: str, limit: int) -> None:
    found: list[tuple[int, int]] = []
    query: dict[str, str] = {"limit": str(limit)}
    while True:
        answer = api.call("GET", path, query=query)
        assert len(shown(answer)) <= limit
        found += shown(answer)
        if answer.body["nextCursor"] is None:
            break
        query["cursor"] = answer.body["nextCursor"]
    assert found == ALL


def test_a_row_shows_the_worker_the_times_and_the_outcome(api: Api, path: str) -> None:
    items = api.call("GET", path).body["items"]
    failed = next(item for item in items if item["attempt"] == 3)
    told: dict[str, Any] = {
        "workerId": "worker-3",
        "startedAt": "2026-11-21T09:30:02.260Z",
        "finishedAt": "2026-11-21T09:30:02.500Z",
        "durationMs": 240,
        "outcome": "failed",
        "httpStatus": 503,
        "error": "Down.",
    }
    assert {name: failed[name] for name in told} == told
    live = items[0]
    assert (live["workerId"], live["outcome"], live["finishedAt"], live["durationMs"]) == (
        "worker-now",
        None,
        None,
        None,
    )


def test_filters_apply_to_runs_and_a_cursor_is_valid_only_for_its_query(api: Api, path: str) -> None:
    assert shown(api.call("GET", path, query={"status": "failed,succeeded"})) == ALL[2:]
    cursor = api.call("GET", path, query={"limit": "1"}).body["nextCursor"]
    for other in ({"status": "failed"}, {"from": "2026-11-21T00:00:00Z"}):
        assert api.call("GET", path, query={"cursor": cursor, **other}).bad_fields() == ["cursor"]
    assert api.call("GET", path.replace("executions", "runs"), query={"cursor": cursor}).status == 400
