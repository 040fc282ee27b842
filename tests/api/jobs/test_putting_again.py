"""PUT of a job that has ended begins its next generation, unless the job has completed and the PUT is the same."""

from typing import Any

import pytest

from tests.api.client import NOW, Answer, Api
from tests.api.jobs.test_replacing import HOURLY, put
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.jobs.job_states import concluded
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import HOUR_MS
from timeball.ports.rows import Swap
from timeball.testing.virtual_clock import VirtualClock

KEY = JobKey("acme", "nightly")
ONCE = {"handler": "https://example.com/hook", "delaySeconds": 60}


def end(api: Api, status: JobStatus = JobStatus.COMPLETED) -> None:
    """Let the job end by itself."""
    job, now = api.store.jobs[KEY], api.clock.now()
    assert api.context.store.jobs.swap([Swap(job, concluded(job, status, now))], now)[0].done


def shown(answer: Answer) -> tuple[Any, ...]:
    return answer.status, answer.body["status"], answer.body["generation"], answer.body["version"]


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.SKIPPED])
def test_the_same_put_of_a_job_that_ended_by_itself_changes_nothing(api: Api, status: JobStatus) -> None:
    put(api, ONCE)
    end(api, status)
    before = dict(api.store.jobs)
    api.clock.advance(HOUR_MS)
    assert shown(put(api, ONCE)) == (200, status.value, 1, 1)
    assert api.store.jobs == before


def test_another_put_of_a_completed_job_begins_the_next_generation(api: Api) -> None:
    put(api, ONCE)
    end(api)
    api.clock.advance(HOUR_MS)
    answer = put(api, {**ONCE, "name": "another"})
    assert shown(answer) == (201, "pending", 2, 2)
    assert (answer.headers["Location"], answer.headers["ETag"]) == ("/v1/jobs/nightly", '"2"')
    assert answer.body["nextRunAt"] == "2026-11-21T10:31:00.250Z"  # its delay counts from now
    assert shown(put(api, {**ONCE, "name": "another"})) == (200, "pending", 2, 2)
    assert api.call("GET", "/v1/jobs").body["items"][0]["generation"] == 2


class MovingClock(VirtualClock):
    """A clock that moves with each reading, as real time does within one request."""

    def now(self) -> int:
        self.advance(1)
        return super().now()


@pytest.mark.parametrize("document", [ONCE, {"handler": "https://example.com/hook"}, HOURLY])
def test_a_repeated_put_is_known_again_in_every_generation_although_time_passes(document: dict[str, Any]) -> None:
    api = Api(clock=MovingClock(NOW))
    assert shown(put(api, document))[2] == 1
    assert shown(put(api, document))[::2] == (200, 1)
    api.call("DELETE", "/v1/jobs/nightly")
    assert shown(put(api, document))[::2] == (201, 2)
    assert shown(put(api, document))[::2] == (200, 2)


def test_any_put_of_a_cancelled_job_begins_the_next_generation(api: Api) -> None:
    put(api, HOURLY)
    for generation in (2, 3):
        api.call("DELETE", "/v1/jobs/nightly")
        assert shown(put(api, HOURLY))[:3] == (201, "pending", generation)
    actions = [one["action"] for one in api.call("GET", "/v1/jobs/nightly/revisions").body["items"]]
    assert actions == ["put", "cancel", "put", "cancel", "create"]


def test_the_answer_shows_the_fires_from_now_on(api: Api) -> None:
    often = {"handler": "https://example.com/hook", "everySeconds": 1}
    put(api, often)
    api.call("DELETE", "/v1/jobs/nightly")
    api.clock.advance(HOUR_MS)
    answer = put(api, often)
    assert (answer.status, answer.body["nextRunAt"] >= "2026-11-21T10:30:00.250Z") == (201, True)


@pytest.mark.parametrize("status", [JobStatus.COMPLETED, JobStatus.CANCELLED])
def test_a_put_that_expects_no_job_is_refused(api: Api, status: JobStatus) -> None:
    put(api, HOURLY)
    if status is JobStatus.CANCELLED:
        api.call("DELETE", "/v1/jobs/nightly")
    else:
        end(api)
    for body in (HOURLY, {**HOURLY, "name": "another"}):
        assert put(api, body, If_None_Match="*").status == 412
    assert api.store.jobs[KEY].generation == 1


def test_a_stale_version_is_refused_and_the_present_one_begins_the_next_generation(api: Api) -> None:
    put(api, HOURLY)
    version = api.call("DELETE", "/v1/jobs/nightly").headers["ETag"]
    assert put(api, HOURLY, If_Match='"1"').status == 412
    assert put(api, HOURLY, If_Match=version).status == 201


def test_runs_of_two_generations_at_one_fire_time_are_two_rows_and_old_ones_keep_their_ids(api: Api) -> None:
    at = {"handler": "https://example.com/hook", "scheduleAt": "2026-11-21T09:30:02Z"}
    put(api, at)
    first = api.only_run().id
    api.call("DELETE", "/v1/jobs/nightly")
    put(api, at)
    assert sorted(map(str, api.store.runs)) == [str(first), f"{first}.2"]
    assert RunId.parse("acme", f"{first}.2") == evolve(first, generation=2)
    states = {run.id.generation: run.state for run in api.store.runs.values()}
    assert states == {1: RunState.CANCELLED, 2: RunState.QUEUED}
    listed = [one["runId"] for one in api.call("GET", "/v1/jobs/nightly/runs").body["items"]]
    assert listed == [f"{first}.2", str(first)]
    assert [api.call("GET", f"/v1/runs/{one}").status for one in listed] == [200, 200]


def test_live_runs_of_the_last_generation_end_or_are_asked_to_stop(api: Api) -> None:
    put(api, HOURLY)
    waiting, working = (api.call("POST", "/v1/jobs/nightly/trigger").body["runId"] for _ in range(2))
    run = api.store.runs[RunId.parse("acme", working)]  # type: ignore[index]
    api.put(evolve(run, state=RunState.RUNNING, attempt=1, owner="e", lease_until=api.clock.now() + HOUR_MS))
    end(api)
    assert put(api, {**HOURLY, "name": "another"}).status == 201
    rows = {str(one.id): one for one in api.store.runs.values()}
    assert (rows[waiting].state, rows[waiting].reason) == (RunState.CANCELLED, Reason.EARLIER_GENERATION)
    assert (rows[working].cancel_requested, rows[working].reason) == (True, Reason.EARLIER_GENERATION)


def test_a_run_of_an_earlier_generation_is_not_retried(api: Api) -> None:
    put(api, HOURLY)
    run_id = api.call("POST", "/v1/jobs/nightly/trigger").body["runId"]
    run = api.store.runs[RunId.parse("acme", run_id)]  # type: ignore[index]
    api.put(evolve(run, state=RunState.FAILED, attempt=1, due_at=None, finished_at=api.clock.now()))
    end(api)
    put(api, {**HOURLY, "name": "another"})
    answer = api.call("POST", f"/v1/runs/{run_id}/retry")
    assert (answer.status, answer.body["type"]) == (409, "urn:timeball:problem:job-ended")


def test_a_trigger_of_the_next_generation_is_in_the_log_of_changes(api: Api) -> None:
    put(api, HOURLY)
    api.call("DELETE", "/v1/jobs/nightly")
    put(api, HOURLY)
    run_id = api.call("POST", "/v1/jobs/nightly/trigger").body["runId"]
    assert run_id.endswith(".m.2")
    api.clock.advance(60_000)
    items = api.call("GET", "/v1/changes", query={"jobId": "nightly"}).body["items"]
    assert [one["resource"]["id"] for one in items if one["action"] == "trigger"] == [run_id]


def test_a_bad_put_of_a_cancelled_job_leaves_it_as_it_is(api: Api) -> None:
    put(api, HOURLY)
    api.call("DELETE", "/v1/jobs/nightly")
    before = dict(api.store.jobs)
    bad = {**HOURLY, "dependsOn": ["nobody"]}
    assert put(api, bad).bad_fields() == ["dependsOn.0"]
    assert put(api, {**HOURLY, "calendar": {"name": "none"}}).status == 400
    assert api.store.jobs == before


def test_a_child_of_a_cancelled_job_waits_for_its_next_generation(api: Api) -> None:
    put(api, ONCE)
    put(api, {"handler": "https://example.com/hook", "dependsOn": ["nightly"]}, "child")
    put(api, {**ONCE, "delaySeconds": 120}, "other")
    api.call("DELETE", "/v1/jobs/child")
    api.call("DELETE", "/v1/jobs/nightly")
    put(api, ONCE)
    again = {"handler": "https://example.com/hook", "dependsOn": ["nightly", "other"]}
    answer = put(api, again, "child")
    assert (answer.status, answer.body["dependsOn"], answer.body["generation"]) == (201, ["nightly", "other"], 2)
    assert api.call("GET", "/v1/jobs/child").body["waitingFor"] == ["nightly", "other"]


def test_a_circle_through_an_ended_job_is_refused(api: Api) -> None:
    put(api, ONCE)
    put(api, {"handler": "https://example.com/hook", "dependsOn": ["nightly"]}, "child")
    end(api)
    answer = put(api, {"handler": "https://example.com/hook", "dependsOn": ["child"]})
    assert answer.bad_fields() == ["dependsOn"]
