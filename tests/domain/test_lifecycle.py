"""The types of lifecycle events: which write of a row has which, and which writes have none."""

from dataclasses import replace

import pytest

from timeball.domain.lifecycle import JOB_TYPES, RUN_TYPES, TYPES, is_of_notice, parse_types, type_of_job, type_of_run
from timeball.domain.model.ids import JobKey, Origin, RunId, Shards
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed
from timeball.domain.model.terms.dependency import Blocked
from timeball.domain.model.terms.policies import Work
from timeball.domain.model.terms.target import HttpTarget
from timeball.domain.time.instants import parse_instant
from timeball.domain.time.schedule import Every, Schedule

NOW = parse_instant("2026-11-24T05:30:00Z")
KEY = JobKey("acme", "j")
QUEUED = Run(RunId(KEY, NOW, Origin.SCHEDULE), RunState.QUEUED, 1, "normal", 0, NOW, NOW)
BY = RunId(JobKey("acme", "parent"), NOW, Origin.SCHEDULE)
STOPPED = replace(QUEUED, blocked=Blocked(BY, ()))
RUNNING = claimed(QUEUED, "executor", NOW, 30_000)
FAILED = replace(RUNNING, state=RunState.FAILED, finished_at=NOW)
JOB = new_job(JobSpec(KEY, Schedule(Every(60, NOW)), Work(HttpTarget("https://example.com"), None)), NOW, Shards(1))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (None, QUEUED, "run.queued"),
        (None, replace(QUEUED, state=RunState.SKIPPED), "run.skipped"),  # a fire that never ran
        (QUEUED, STOPPED, "run.blocked"),
        (STOPPED, replace(STOPPED, revision=2), None),  # evaluated again: it is still blocked
        (STOPPED, QUEUED, "run.queued"),  # the parent was mended
        (QUEUED, replace(QUEUED, not_before=NOW + 9), None),  # it waits for something
        (QUEUED, RUNNING, "run.running"),
        (RUNNING, replace(RUNNING, lease_until=NOW + 60_000), None),  # a heartbeat
        (RUNNING, replace(RUNNING, attempt=2), "run.running"),  # taken over after its lease
        (RUNNING, replace(RUNNING, state=RunState.RETRYING), "run.retrying"),
        (RUNNING, FAILED, "run.failed"),
        (FAILED, replace(FAILED, revision=9, due_at=None), None),  # its effects are done
        (FAILED, replace(FAILED, discarded_at=NOW), None),  # it stays failed
        (FAILED, replace(FAILED, state=RunState.SUCCEEDED), "run.succeeded"),  # marked by a person
        (QUEUED, replace(QUEUED, state=RunState.WITHDRAWN), "run.withdrawn"),  # its job is paused
        (QUEUED, replace(QUEUED, state=RunState.CANCELLED), "run.cancelled"),
    ],
)
def test_a_write_of_a_run_has_an_event_if_its_status_or_its_attempt_is_another(
    before: Run | None, after: Run, kind: str | None
) -> None:
    assert type_of_run(before, after) == kind
    assert kind is None or kind in RUN_TYPES


@pytest.mark.parametrize(
    ("before", "changes", "kind"),
    [
        (None, {}, "job.created"),
        (JOB, {"next_fire_at": NOW + 60_000, "revision": 2}, None),  # a plan
        (JOB, {"version": 2}, "job.changed"),
        (JOB, {"version": 2, "status": JobStatus.PAUSED}, "job.paused"),  # one write, one event
        (replace(JOB, status=JobStatus.PAUSED), {"version": 3}, "job.pending"),  # resumed
        (JOB, {"blocked": Blocked(BY, ())}, "job.blocked"),
        (replace(JOB, blocked=Blocked(BY, ())), {}, "job.pending"),
        (JOB, {"status": JobStatus.COMPLETED}, "job.completed"),
        (JOB, {"status": JobStatus.FAILED}, "job.failed"),
        (JOB, {"status": JobStatus.SKIPPED}, "job.skipped"),
        (JOB, {"status": JobStatus.CANCELLED, "version": 2}, "job.cancelled"),
        (replace(JOB, status=JobStatus.COMPLETED), {"generation": 2, "version": 2}, "job.created"),  # put anew
    ],
)
def test_a_write_of_a_job_has_an_event_if_its_status_or_its_version_is_another(
    before: Job | None, changes: dict[str, object], kind: str | None
) -> None:
    assert type_of_job(before, replace(JOB, **changes)) == kind  # type: ignore[arg-type]
    assert kind is None or kind in JOB_TYPES


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("", set()),
        ("*", {*TYPES}),
        ("run.*", {*RUN_TYPES}),
        ("job.*, run.failed", {*JOB_TYPES, "run.failed"}),
        ("run.failed,run.failed", {"run.failed"}),
    ],
)
def test_a_setting_names_types_or_all_of_a_kind(text: str, types: set[str]) -> None:
    assert parse_types(text) == types


@pytest.mark.parametrize("text", ["run.exploded", "run", "Run.failed", "job.running", "**", "run.failed;job.*"])
def test_an_unknown_type_is_refused_with_the_known_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be types of events, separated by commas: \*, run\.\*, job\.\*, run\."):
        parse_types(text)


@pytest.mark.parametrize(
    ("job_id", "is_notice"),
    [(f"notice-{'0a' * 16}", True), ("notice-of-closing", False), (f"notice-{'0a' * 15}", False), ("report", False)],
)
def test_a_notice_is_known_by_its_id(job_id: str, *, is_notice: bool) -> None:
    assert is_of_notice(job_id) is is_notice
