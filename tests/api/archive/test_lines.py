"""The lines of the archive: each run as the API shows it once it has ended, and each change as the log shows it."""

import json
from dataclasses import replace
from typing import Any

import pytest

from infra.archive import ATTEMPTS, PATTERNS
from tests.api.client import NOW, Api
from tests.api.history.test_what_was_asked import CASES, filled, things
from tests.api.history.test_who_changed_what import CHANGES, change, changes
from tests.engine.play import Play, spec
from tests.streams import Tape, newest, passes, tape_of
from timeball.domain.archive import LineKind
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.model.terms.notify import News, Notice
from timeball.domain.model.terms.policies import Jitter, RetryPolicy
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At
from timeball.testing.memory_store import MemoryStore

HEAD = {"schemaVersion", "tenantId", "lineKey", "linePosition"}
QUEUED = Run(RunId(JobKey("acme", "j"), NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
RUNNING = claimed(QUEUED, "executor", NOW, 30_000)
LAST = Attempt(1, Outcome.SUCCEEDED, NOW, NOW, NOW + 200, 200, body="done")
SUCCEEDED = replace(ended(RUNNING, RunState.SUCCEEDED, NOW + 200, Guarantor.MESSAGE, last=LAST), revision=3)
FAILED = replace(ended(RUNNING, RunState.FAILED, NOW + 200, Guarantor.SCAN, last=LAST), revision=3)
TRIGGERED = replace(QUEUED, id=RunId(JobKey("acme", "j"), NOW, Origin.MANUAL), triggered_by=Actor("key_1", "admin"))


@pytest.fixture
def tape(api: Api) -> Tape:
    return tape_of(api.store, api.clock)


def shown(tape: Tape, kind: LineKind) -> list[dict[str, Any]]:
    """Return the newest lines of a kind, in the order of their positions."""
    lines = newest(line.text for line in tape.lines() if line.kind is kind).values()
    return sorted(lines, key=lambda line: str(line["linePosition"]))


def bare(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line without the fields that answers do not have."""
    return {name: value for name, value in line.items() if name not in HEAD}


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (None, QUEUED, []),  # a plan: nothing is over
        (QUEUED, RUNNING, []),
        (RUNNING, SUCCEEDED, ["runs"]),
        (SUCCEEDED, replace(SUCCEEDED, revision=4), []),  # its effects are done: nothing that is shown has changed
        (FAILED, replace(FAILED, revision=4, due_at=None), []),
        (FAILED, replace(FAILED, discarded_at=NOW), ["runs"]),  # discarded: that is shown
        (FAILED, replace(FAILED, state=RunState.SUCCEEDED, marked_succeeded="by hand"), ["runs"]),
        (FAILED, replace(FAILED, state=RunState.QUEUED, finished_at=None), []),  # retried: its next end will be told
        (None, replace(QUEUED, state=RunState.SKIPPED, last_fire_at=NOW + 9, count=3), ["runs"]),  # a skipped range
        (None, TRIGGERED, ["changes"]),
        (TRIGGERED, replace(TRIGGERED, revision=2), []),
        (None, replace(TRIGGERED, root="other"), []),  # a run of the cycle that a trigger began elsewhere
        (None, replace(TRIGGERED, state=RunState.SKIPPED, finished_at=NOW), ["changes", "runs"]),
    ],
)
def test_a_write_of_a_run_has_the_lines_of_what_it_changed(before: Run | None, after: Run, kinds: list[str]) -> None:
    tape = Tape()
    tape.run(before, after, NOW)
    assert [line.kind for line in tape.lines()] == kinds
    assert passes(tape.records[0], PATTERNS) or not kinds


def test_a_row_that_expires_leaves_no_line() -> None:
    tape = Tape()
    tape.run(None, SUCCEEDED, NOW)
    (record,) = tape.records
    gone = {**record, "eventName": "REMOVE", "dynamodb": {**record["dynamodb"], "OldImage": {}}}
    del gone["dynamodb"]["NewImage"]
    tape.records[:] = [gone]
    assert not passes(gone, PATTERNS)
    assert not tape.lines()


def test_a_run_is_archived_as_the_api_shows_it() -> None:
    play = Play(MemoryStore())
    api = Api(play.store, play.clock)  # type: ignore[arg-type]
    tape = tape_of(api.store, play.clock)
    play.store_jobs(
        [spec("j", At(NOW + 5 * SECOND_MS), RetryPolicy(max_retries=1, base_seconds=1, jitter=Jitter.NONE))]
    )
    play.caller.statuses = [503, 503]
    for _ in range(60):
        play.clock.advance(SECOND_MS)
        play.scan()
        while play.execute_next():
            pass
    (line,) = shown(tape, LineKind.RUNS)
    answer = api.call("GET", f"/v1/runs/{line['lineKey']}").body
    common = bare(line).keys() & answer.keys()
    assert {name: line[name] for name in common} == {name: answer[name] for name in common}
    assert bare(line).keys() - common == {"generation", "lastAttempt"}
    assert answer.keys() - common == {"attempts", "consoleUrl", "maxRetries", "result", "retryPolicy", "waitingFor"}
    assert (line["tenantId"], line["jobId"], line["runId"]) == ("acme", "j", line["lineKey"])
    assert line["lastAttempt"] == answer["attempts"][-1]
    attempts = [bare(one) for one in shown(tape, LineKind.ATTEMPTS)]
    assert attempts == [{**one, "jobId": "j", "runId": line["runId"]} for one in answer["attempts"]]
    assert all(passes(record, [*PATTERNS, ATTEMPTS]) for record in tape.records if "RESULT" in str(record["dynamodb"]))


@pytest.mark.parametrize("route", CASES)
def test_each_request_that_the_log_of_changes_shows_is_archived_as_it_is(api: Api, tape: Tape, route: str) -> None:
    case, ids = CASES[route], things(api)
    api.clock.advance(SECOND_MS)
    assert api.call(route.split(maxsplit=1)[0], filled(case.path, ids), filled(case.body, ids)).status in (200, 201)
    assert sorted(map(json.dumps, map(bare, shown(tape, LineKind.CHANGES)))) == sorted(map(json.dumps, changes(api)))
    assert all(passes(record, PATTERNS) for record in tape.records if "CHANGE#" in str(record["dynamodb"]["Keys"]))


@pytest.mark.parametrize("payload", [{"n": 1}, {"n": "x" * 500}, {"n": "x" * 2_000}])
def test_each_change_of_a_job_is_archived_as_the_log_shows_it(api: Api, tape: Tape, payload: dict[str, Any]) -> None:
    job = api.create(everySeconds=60, payload=payload)
    for action in CHANGES:
        assert change(api, job["jobId"], action).status in (200, 409)
        api.dispatch()
    assert [bare(line) for line in shown(tape, LineKind.CHANGES)] == changes(api)[::-1]


def test_a_secret_header_and_a_large_payload_are_not_archived(api: Api, tape: Tape) -> None:
    target = {"type": "http", "url": "https://example.com/hook", "headers": {"Authorization": "Bearer hunter2"}}
    answer = api.call("POST", "/v1/jobs", {"target": target, "everySeconds": 60, "payload": "large" * 1_000})
    assert answer.status == 201
    (line,) = shown(tape, LineKind.CHANGES)
    assert line["after"]["target"]["headers"] == {"Authorization": None}
    assert "payload" not in line["after"]
    assert "hunter2" not in json.dumps(line)
    assert "hunter2" in str(tape.works)  # the stored job has it


def test_a_change_whose_payload_is_no_longer_kept_is_archived_without_the_job(api: Api, tape: Tape) -> None:
    api.create(everySeconds=60, payload="x" * 500)
    tape.works = dict.fromkeys(tape.works)
    (line,) = shown(tape, LineKind.CHANGES)
    assert (line["action"], line["revision"], line["after"], line["scheduleText"]) == ("create", 1, None, None)


def test_a_notice_is_no_change_of_a_user(api: Api, tape: Tape) -> None:
    api.create(notify={"onFailure": {"type": "http", "url": "https://example.com/notice"}})
    (job,) = api.store.jobs.values()
    made = replace(job, spec=replace(job.spec, notice=Notice(News.FAILURE, "j")))
    tape.records.clear()
    tape.job(None, made, NOW)
    assert tape.lines() == []


def test_a_line_says_its_tenant_its_key_and_its_position(tape: Tape) -> None:
    tape.run(RUNNING, SUCCEEDED, NOW)
    (line,) = shown(tape, LineKind.RUNS)
    assert line["schemaVersion"] == 1
    assert (line["tenantId"], line["lineKey"]) == ("acme", str(SUCCEEDED.id))
    assert line["linePosition"] == f"2026-11-21T09:00:00.000/{10**23:040d}"
    assert line["finishedAt"] == format_instant(NOW + 200)


def test_lines_of_a_restored_table_are_newer_than_those_of_the_table_before() -> None:
    first, second = Tape(), Tape("2026-12-01T00:00:00.000")
    for number in range(3):
        first.run(RUNNING, replace(SUCCEEDED, finished_at=NOW + number), NOW)
    second.run(RUNNING, FAILED, NOW)
    (line,) = newest(line.text for line in [*second.lines(), *first.lines()]).values()
    assert line["status"] == "failed"
