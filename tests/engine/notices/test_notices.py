"""Who wants to be told of a job is called once for each piece of news, by a job of Timeball's own."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service, Target, at
from timeball.domain.model.actor import Action
from timeball.domain.model.dependency import Parent
from timeball.domain.model.job import Job, JobSpec, JobStatus
from timeball.domain.model.notify import Notify
from timeball.domain.model.policies import RetryPolicy
from timeball.domain.model.work import HttpTarget
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel, resume
from timeball.engine.runs.manual import retry_runs
from timeball.engine.scheduling.submit import submit
from timeball.ports.target import Answer, Call
from timeball.testing.memory_store import MemoryStore

FAILED, RECOVERED, LATE, SUCCEEDED = (
    HttpTarget(f"https://told.example/{news}") for news in ("failed", "recovered", "late", "succeeded")
)
OF_STREAKS = Notify(on_failure=FAILED, on_recovery=RECOVERED)


@dataclass
class Targets(Target):
    """The target of jobs, and that of notices, each with answers of its own."""

    of_jobs: list[int] = field(default_factory=list)
    of_notices: list[int] = field(default_factory=list)

    async def call(self, call: Call) -> Answer:
        statuses = self.of_notices if "told.example" in call.work.target.url else self.of_jobs
        self.statuses = [statuses.pop(0)] if statuses else []
        return await super().call(call)


@pytest.fixture
def targets() -> Targets:
    return Targets(Play().clock)


@pytest.fixture
def service(targets: Targets) -> Iterator[Service]:
    play = Play()
    targets.clock = play.clock
    with Service(play) as service:
        service.target = targets
        yield service


def begin(service: Service, notify: Notify | None = OF_STREAKS, **wanted: Any) -> None:
    """Store a job that fires each minute, first in a minute."""
    service.play.store_jobs([replace(a_spec(), notify=notify, **wanted)])


def a_spec() -> JobSpec:
    return spec("job", Every(60, at(60)), retry=RetryPolicy(max_retries=0))


def told(service: Service) -> list[tuple[str, dict[str, Any]]]:
    """Return what was told, in order: at which path, and what."""
    urls = [(call.work.target.url, call.work.payload) for _, call in service.target.calls]
    return [(url.rpartition("/")[2], json.loads(payload or "")) for url, payload in urls if "told.example" in url]


def names(service: Service) -> list[str]:
    return [name for name, _ in told(service)]


def notices(service: Service) -> list[Job]:
    assert isinstance(service.play.store, MemoryStore)
    return [job for job in service.play.store.jobs.values() if job.spec.notice is not None]


def test_a_failure_is_told_once_for_a_streak_and_its_end_once(service: Service, targets: Targets) -> None:
    targets.of_jobs = [200, 500, 500, 500, 200, 200, 500]
    begin(service)
    service.until(at(8 * 60))
    assert names(service) == ["failed", "recovered", "failed"]
    first = told(service)[0][1]
    assert first == {
        "type": "failure",
        "jobId": "job",
        "runId": f"job.{at(120)}.s",
        "fireTime": "2026-11-21T09:32:00.250Z",
        "reason": "retries_exhausted",
        "attempts": 1,
        "at": "2026-11-21T09:32:00.250Z",
    }


def test_a_streak_is_news_when_it_is_as_long_as_wanted(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 500, 200, 500, 500, 500, 500, 200]
    begin(service, replace(OF_STREAKS, after_failures=3))
    service.until(at(9 * 60))
    assert [(name, what["runId"]) for name, what in told(service)] == [
        ("failed", f"job.{at(6 * 60)}.s"),
        ("recovered", f"job.{at(8 * 60)}.s"),
    ]


def test_each_success_is_told(service: Service, targets: Targets) -> None:
    targets.of_jobs = [200, 500, 200]
    begin(service, Notify(on_success=SUCCEEDED))
    service.until(at(3 * 60 + 30))
    assert [(name, what["runId"]) for name, what in told(service)] == [
        ("succeeded", f"job.{at(60)}.s"),
        ("succeeded", f"job.{at(180)}.s"),
    ]


def test_a_manual_retry_that_succeeds_is_a_recovery(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500]
    begin(service)
    service.until(at(70))
    (run,) = service.play.runs(KEY)
    retry_runs(service.play.context(), [run.id])
    service.until(at(110))
    assert names(service) == ["failed", "recovered"]


def test_a_notice_that_fails_is_tried_again_and_is_told_of_to_nobody(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500]
    begin(service)
    targets.of_notices = [500]
    service.until(at(110))
    assert names(service) == ["failed", "failed"]


def test_a_job_without_wishes_has_no_notices(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200, 500]
    begin(service, None)
    service.until(at(4 * 60))
    assert names(service) == []


def test_a_run_is_late_that_has_not_started_in_time_also_where_nothing_starts(service: Service) -> None:
    begin(service, Notify(on_late=LATE, late_after_seconds=20))
    service.until(at(50))
    service.is_executing = False
    service.until(at(85))
    service.is_executing = True
    service.until(at(88))
    assert [(name, what["reason"], what["runId"]) for name, what in told(service)] == [
        ("late", "not_started", f"job.{at(60)}.s")
    ]


def test_a_run_is_late_that_has_not_succeeded_by_its_deadline(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200]
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    service.until(at(60 + 29))
    assert names(service) == []
    service.until(at(60 + 32))
    assert [(what["reason"], what["at"]) for _, what in told(service)] == [
        ("not_succeeded", "2026-11-21T09:31:30.250Z")
    ]
    service.until(at(175))
    assert names(service) == ["late"]  # the second one has succeeded


def test_a_notice_that_is_needless_ends_without_a_run(service: Service, targets: Targets) -> None:
    targets.of_jobs = [200]
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    service.until(at(100))
    (notice,) = notices(service)
    assert (notice.status, service.play.runs(notice.key), notice.due_at) == (JobStatus.SKIPPED, [], None)


def test_fires_that_were_missed_for_want_of_scans_are_late(service: Service) -> None:
    begin(service, Notify(on_late=LATE, late_after_seconds=20))
    service.until(at(50))
    service.is_scanning = False
    service.until(at(20 * 60 + 30))
    service.is_scanning = True
    service.until(at(20 * 60 + 50))
    ranges = [run.id for run in service.play.runs(KEY) if run.last_fire_at is not None]
    assert len(ranges) == 1
    late = {what["runId"] for _, what in told(service)}
    assert late == {str(ranges[0]), f"job.{at(19 * 60)}.s", f"job.{at(20 * 60)}.s"}


def test_a_cancelled_run_is_not_late(service: Service, targets: Targets) -> None:
    begin(service, Notify(on_late=LATE, deadline_seconds=30))
    targets.takes = lambda _: 600 * SECOND_MS
    service.until(at(70))
    cancel(service.play.context(), [(KEY, None)])
    service.until(at(120))
    assert names(service) == []


def test_failures_in_a_row_pause_a_job_and_a_resume_begins_anew(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200, 500, 500, 500, 200]
    begin(service, OF_STREAKS, pause_after_failures=2)
    service.until(at(4 * 60 + 10))
    paused = service.play.job(KEY)
    assert (paused.status, paused.paused_by_failures, paused.change.action) == (JobStatus.PAUSED, True, Action.PAUSE)
    service.until(at(6 * 60 + 30))
    resume(service.play.context(), [(KEY, None)])
    service.until(at(7 * 60 + 30))
    resumed = service.play.job(KEY)
    assert (resumed.status, resumed.paused_by_failures) == (JobStatus.PENDING, False)


def test_a_blocked_job_is_told_once(service: Service, targets: Targets) -> None:
    play = service.play
    targets.of_jobs = [500]
    parent = spec("job", At(at(10)), retry=RetryPolicy(max_retries=0))
    child = replace(
        spec("child", At(at(10))), depends_on=(Parent("job"),), inherits=True, notify=Notify(on_failure=FAILED)
    )
    submit(play.context(), [parent], play.clock.now())
    submit(play.context(), [child], play.clock.now())
    service.until(at(40))
    assert [(name, what["type"], what["jobId"], what["blockedBy"]) for name, what in told(service)] == [
        ("failed", "blocked", "child", f"job.{at(10)}.s")
    ]
