"""A run that a request makes continues the request's trace; a malformed context is ignored, and none leaves no byte."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from timeball.aws.dynamodb.table.mapper import Mapper, to_job, to_run
from timeball.domain.attempts.trace_context import ids_in
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, format_instant
from timeball.engine.execution.in_flight import call_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
GIVEN = f"00-{TRACE}-00f067aa0ba902b7-01"
OTHER = f"00-{TRACE[::-1]}-00f067aa0ba902b7-00"
ONCE = {"handler": "https://example.com/hook"}
LATER = {**ONCE, "scheduleAt": format_instant(NOW + DAY_MS)}
HOURLY = {**ONCE, "everySeconds": 3600}


def send(api: Api, method: str, path: str, body: Any = None, trace: str | None = GIVEN) -> Answer:
    answer = api.call(method, path, body, headers={} if trace is None else {"traceparent": trace})
    assert answer.status in (200, 201), answer.text
    return answer


def job(api: Api, job_id: str) -> Job:
    return api.store.jobs[JobKey("acme", job_id)]


def handed_on(api: Api, run: Run) -> str | None:
    """Return the context that the call of a run hands on."""
    (standing,) = api.context.store.jobs.read([run.id.job], with_work=True)
    assert standing is not None
    return call_of(run, standing).traceparent


def test_the_run_of_a_submit_continues_its_trace(api: Api) -> None:
    send(api, "POST", "/v1/jobs", ONCE)
    run = api.only_run()
    assert run.traceparent == GIVEN
    handed = handed_on(api, run)
    assert handed is not None
    assert ids_in(handed)[0] == TRACE
    assert handed != GIVEN


def test_a_run_far_ahead_continues_the_trace_of_its_submit_when_it_is_planned(api: Api) -> None:
    send(api, "POST", "/v1/jobs", LATER)
    assert not api.store.runs
    api.clock.advance(DAY_MS)
    api.dispatch()
    assert api.only_run().traceparent == GIVEN


def test_a_put_and_the_items_of_a_batch_carry_the_trace_of_the_request(api: Api) -> None:
    send(api, "PUT", "/v1/jobs/put", ONCE)
    send(api, "POST", "/v1/jobs:batch", {"jobs": [ONCE, {**ONCE, "jobId": "named"}]})
    assert len(api.store.runs) == 3
    assert {run.traceparent for run in api.store.runs.values()} == {GIVEN}


def test_a_put_that_changes_a_job_carries_its_own_trace_and_one_that_does_not_changes_nothing(api: Api) -> None:
    send(api, "PUT", "/v1/jobs/put", LATER)
    assert send(api, "PUT", "/v1/jobs/put", LATER, OTHER).body["version"] == 1
    assert job(api, "put").spec.traceparent == GIVEN
    assert send(api, "PUT", "/v1/jobs/put", {**LATER, "name": "new"}, OTHER).body["version"] == 2
    assert job(api, "put").spec.traceparent == OTHER
    send(api, "PATCH", "/v1/jobs/put", {"name": "newer"}, None)
    assert job(api, "put").spec.traceparent == OTHER


def test_the_next_generation_carries_the_trace_of_its_put(api: Api) -> None:
    send(api, "PUT", "/v1/jobs/put", ONCE)
    assert api.call("DELETE", "/v1/jobs/put").status == 200
    api.clock.advance(MINUTE_MS)
    assert send(api, "PUT", "/v1/jobs/put", LATER, OTHER).body["generation"] == 2
    assert job(api, "put").spec.traceparent == OTHER


def test_a_trigger_carries_its_own_trace_and_the_runs_of_a_recurring_job_carry_none(api: Api) -> None:
    made = send(api, "POST", "/v1/jobs", HOURLY).body["jobId"]
    assert job(api, made).spec.traceparent is None
    api.clock.advance(2 * DAY_MS)
    api.dispatch()
    assert {run.traceparent for run in api.store.runs.values()} == {None}
    api.store.runs.clear()
    send(api, "POST", f"/v1/jobs/{made}/trigger", None, OTHER)
    assert api.only_run().traceparent == OTHER


def test_a_trigger_of_a_one_off_does_not_carry_the_trace_of_its_submit(api: Api) -> None:
    made = send(api, "POST", "/v1/jobs", LATER).body["jobId"]
    send(api, "POST", f"/v1/jobs/{made}/trigger", None, None)
    assert api.only_run().traceparent is None


def test_the_run_of_collected_triggers_carries_the_trace_of_the_first(api: Api) -> None:
    made = send(api, "POST", "/v1/jobs", {**HOURLY, "debounceSeconds": 60}).body["jobId"]
    api.store.runs.clear()
    for trace in (GIVEN, OTHER):
        send(api, "POST", f"/v1/jobs/{made}/trigger", None, trace)
    assert api.only_run().traceparent == GIVEN


@pytest.mark.parametrize("malformed", ["", "00-ab-cd-01", GIVEN.upper(), f"{GIVEN}, {GIVEN}", "x" * 5_000])
def test_a_malformed_context_is_ignored(api: Api, malformed: str) -> None:
    made = send(api, "POST", "/v1/jobs", ONCE, malformed).body["jobId"]
    send(api, "POST", f"/v1/jobs/{made}/trigger", None, malformed)
    assert {run.traceparent for run in api.store.runs.values()} == {None}


def test_a_request_without_a_context_leaves_no_byte_on_the_rows_and_the_call(api: Api) -> None:
    made = send(api, "POST", "/v1/jobs", ONCE, None).body["jobId"]
    run, mapper = api.only_run(), Mapper()
    for row in (mapper.of_job(job(api, made), NOW), mapper.of_run(run, NOW)):
        assert "traceparent" not in row
    assert handed_on(api, run) is None
    assert mapper.of_run(evolve(run, traceparent=GIVEN), NOW)["traceparent"] == GIVEN


@pytest.mark.parametrize("trace", [GIVEN, None])
def test_a_context_is_read_back_as_it_was_written(api: Api, trace: str | None) -> None:
    made = send(api, "POST", "/v1/jobs", ONCE, trace).body["jobId"]
    mapper = Mapper()
    assert to_job(dict(mapper.of_job(job(api, made), NOW))).spec.traceparent == trace
    assert to_run(dict(mapper.of_run(api.only_run(), NOW))).traceparent == trace
