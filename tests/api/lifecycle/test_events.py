"""Lifecycle events: CloudEvents about runs and jobs as the API shows them, without payloads, targets and secrets."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.api.client import NOW, Api
from tests.engine.play import Play, spec
from tests.streams import Tape, tape_of
from timeball.api.lifecycle import event_of
from timeball.aws.dynamodb.stream import read_move
from timeball.domain.lifecycle import TYPES, LifecycleEvent
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Outcome
from timeball.domain.model.terms.policies import Jitter, RetryPolicy
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.domain.time.schedule import At
from timeball.testing.memory_store import MemoryStore

CONSOLE = "https://timeball.example/console"
LAST = Attempt(1, Outcome.FAILED, NOW, NOW, NOW + 200, 503, "The target answered with status 503.", body="hidden")
FAILED = Run(
    RunId(JobKey("acme", "j"), NOW, Origin.SCHEDULE),
    RunState.FAILED,
    1,
    "normal",
    0,
    NOW,
    NOW,
    attempt=1,
    finished_at=NOW + 200,
    last=LAST,
)


def events_about(tape: Tape, wanted: frozenset[str] = frozenset(TYPES)) -> list[LifecycleEvent]:
    """Return the events about all records."""
    writes = [write for record in tape.records if (write := read_move(record)) is not None]
    canary = {JobKey("acme", "timeball-canary")}
    return [one for write in writes if (one := event_of(write, wanted, canary, CONSOLE)) is not None]


def details(tape: Tape) -> list[dict[str, Any]]:
    return [json.loads(event.detail) for event in events_about(tape)]


def of_type(tape: Tape, kind: str) -> list[dict[str, Any]]:
    return [one for one in details(tape) if one["type"] == f"timeball.{kind}"]


@pytest.fixture
def tape(api: Api) -> Tape:
    return tape_of(api.store, api.clock)


def test_an_event_has_the_attributes_that_cloudevents_requires(api: Api, tape: Tape) -> None:
    tape.run(None, FAILED, NOW)
    (event,) = events_about(tape)
    detail = json.loads(event.detail)
    data = detail.pop("data")
    assert detail == {
        "specversion": "1.0",
        "id": tape.records[0]["eventID"],
        "source": "/tenants/acme",
        "type": "timeball.run.failed",
        "subject": str(FAILED.id),
        "time": format_instant(NOW // SECOND_MS * SECOND_MS),
        "datacontenttype": "application/json",
        "tenant": "acme",
        "sequence": f"2026-11-21T09:00:00.000/{10**23:040d}",
    }
    assert event.type == detail["type"]
    assert all(re.fullmatch("[a-z0-9]{1,20}", name) for name in detail)  # as CloudEvents names attributes
    shown = ("jobId", "status", "error", "httpStatus", "generation")
    assert [data[name] for name in shown] == ["j", "failed", "The target answered with status 503.", 503, 1]
    assert data["consoleUrl"] == f"{CONSOLE}/#/runs/{FAILED.id}"
    assert "hidden" not in event.detail
    assert api.store.runs.read([FAILED.id]) == [None]  # nothing is read or written for it


def test_a_record_that_comes_again_has_the_same_event(tape: Tape) -> None:
    tape.run(None, FAILED, NOW)
    tape.run(FAILED, replace(FAILED, state=RunState.SUCCEEDED), NOW)
    first, second = events_about(tape), events_about(tape)
    assert first == second
    assert len({json.loads(one.detail)["id"] for one in first}) == 2
    assert [json.loads(one.detail)["sequence"] for one in first] == sorted(
        json.loads(one.detail)["sequence"] for one in first
    )


def test_a_run_is_told_at_each_status_as_the_api_shows_it_then() -> None:
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
    told = [(one["type"], one["data"].get("attempt")) for one in details(tape)]
    assert told == [
        ("timeball.job.created", None),
        ("timeball.run.queued", 0),
        ("timeball.run.running", 1),
        ("timeball.run.retrying", 1),
        ("timeball.run.queued", 1),
        ("timeball.run.running", 2),
        ("timeball.run.failed", 2),
        ("timeball.job.failed", None),
    ]
    (failed,) = of_type(tape, "run.failed")
    answer = api.call("GET", f"/v1/runs/{failed['subject']}").body
    common = failed["data"].keys() & answer.keys() - {"consoleUrl"}  # this API has no console
    assert {name: failed["data"][name] for name in common} == {name: answer[name] for name in common}
    assert failed["data"].keys() - answer.keys() == {"generation", "error", "httpStatus"}
    assert answer.keys() - failed["data"].keys() == {"attempts", "maxRetries", "result", "retryPolicy", "waitingFor"}


def test_a_job_is_told_at_each_change_as_lists_show_it(api: Api, tape: Tape) -> None:
    api.call("PUT", "/v1/jobs/j", _job("hourly"))
    api.call("PATCH", "/v1/jobs/j", {"name": "each hour"})
    for action in ("pause", "resume"):
        api.call("POST", f"/v1/jobs/j/{action}", None)
    shown = api.call("GET", "/v1/jobs", query={"fields": "summary"}).body["items"][0]
    api.call("DELETE", "/v1/jobs/j", None)
    told = [one for one in details(tape) if one["type"].startswith("timeball.job.")]
    assert [(one["type"], one["data"]["action"], one["data"]["version"]) for one in told] == [
        ("timeball.job.created", "create", 1),
        ("timeball.job.changed", "patch", 2),
        ("timeball.job.paused", "pause", 3),
        ("timeball.job.pending", "resume", 4),
        ("timeball.job.cancelled", "cancel", 5),
    ]
    data = told[3]["data"]
    common = data.keys() & shown.keys() - {"consoleUrl"}
    assert {name: data[name] for name in common} == {name: shown[name] for name in common}
    assert common == {"jobId", "name", "status", "owner", "priority", "scheduleType", "scheduleText", "tags"}
    assert (told[0]["subject"], data["consoleUrl"]) == ("j", f"{CONSOLE}/#/jobs/j")


def _job(name: str) -> dict[str, Any]:
    secret = {"type": "http", "url": "https://hooks.example.com/s3cret", "headers": {"Authorization": "Bearer s3cret"}}
    return {
        "name": name,
        "target": secret,
        "payload": {"card": "s3cret"},
        "everySeconds": 3600,
        "tags": {"team": "web"},
        "notify": {"onFailure": secret},
    }


def test_no_event_has_a_payload_a_target_or_an_address(api: Api, tape: Tape) -> None:
    api.call("PUT", "/v1/jobs/j", _job("hourly"))
    api.call("POST", "/v1/jobs/j/trigger", {"payload": {"card": "s3cret"}})
    text = json.dumps(details(tape))
    assert "timeball.run.queued" in text
    assert "timeball.job.created" in text
    assert "s3cret" not in text
    assert "s3cret" in json.dumps(tape.records)
    assert "address" not in text


def test_notices_and_the_canary_have_no_events(tape: Tape) -> None:
    for job_id in (f"notice-{'a1' * 16}", "timeball-canary"):
        tape.run(None, replace(FAILED, id=replace(FAILED.id, job=JobKey("acme", job_id))), NOW)
    assert details(tape) == []
    tape.run(None, replace(FAILED, id=replace(FAILED.id, job=JobKey("globex", "timeball-canary"))), NOW)
    assert [one["tenant"] for one in details(tape)] == ["globex"]  # a job of another tenant with the same id


def test_only_wanted_types_become_events(tape: Tape) -> None:
    tape.run(None, FAILED, NOW)
    assert [one.type for one in events_about(tape, frozenset({"run.failed"}))] == ["timeball.run.failed"]
    assert events_about(tape, frozenset({"run.succeeded", "job.failed"})) == []


def test_an_event_is_far_below_what_the_bus_accepts(api: Api, tape: Tape) -> None:
    tags = {f"{number:02}{'k' * 40}": "v" * 200 for number in range(10)}
    answer = api.call("PUT", f"/v1/jobs/{'j' * 64}", {**_job("\U0001f600" * 200), "owner": "o" * 200, "tags": tags})
    assert answer.status == 201
    long = replace(FAILED, last=replace(LAST, error="\x00" * 200), marked_succeeded="\x00" * 1_000)
    tape.run(None, long, NOW)
    assert len(details(tape)) >= 2
    assert max(len(one.detail.encode()) for one in events_about(tape)) < 64 * 1024  # EventBridge's unit of billing


def test_rows_that_are_no_runs_and_no_jobs_have_no_event(tape: Tape) -> None:
    tape.attempt(FAILED.id, LAST, NOW)
    tape.write(None, {"pk": "SIGNING", "sk": "SECRET", "newest": "hidden"}, NOW)
    tape.write({"pk": "acme#j", "sk": "JOB", "version": 1}, None, NOW)  # it expires
    assert details(tape) == []
