"""Each piece of news about a job is sent once to those who subscribed to it, by a job of Timeball's own."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.engine.notices.desk import (
    FAILED,
    OF_STREAKS,
    SUCCEEDED,
    Targets,
    a_spec,
    begin,
    change,
    names,
    notices,
    told,
)
from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service, at
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.tenants.actor import Action
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.notify import News, Notify
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.planning.ledger import queued_run
from timeball.domain.run_ends.notices import failing
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At, Every, OnEvents, Schedule
from timeball.engine.changes.change import cancel, resume
from timeball.engine.notices import notify_of_ends
from timeball.engine.runs.manual import retry_runs
from timeball.engine.runs.trigger import Trigger, trigger
from timeball.engine.scheduling.submit import submit
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.rows import Swap
from timeball.testing.memory_collections import MemoryRuns
from timeball.testing.memory_store import MemoryStore


def test_a_streak_of_failures_sends_one_notice_and_its_end_another(service: Service, targets: Targets) -> None:
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


def test_a_streak_is_news_when_it_reaches_the_set_length(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 500, 200, 500, 500, 500, 500, 200]
    begin(service, replace(OF_STREAKS, after_failures=3))
    service.until(at(9 * 60))
    assert [(name, what["runId"]) for name, what in told(service)] == [
        ("failed", f"job.{at(6 * 60)}.s"),
        ("recovered", f"job.{at(8 * 60)}.s"),
    ]


def test_each_success_sends_a_notice(service: Service, targets: Targets) -> None:
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


def test_a_notice_that_fails_is_retried_and_causes_no_notice_itself(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500]
    begin(service)
    targets.of_notices = [500]
    service.until(at(110))
    assert names(service) == ["failed", "failed"]


def test_a_job_that_asks_for_no_notices_has_none(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200, 500]
    begin(service, None)
    service.until(at(4 * 60))
    assert names(service) == []


def test_failures_in_a_row_pause_a_job_and_a_resume_starts_a_new_count(service: Service, targets: Targets) -> None:
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


def test_a_blocked_job_sends_one_notice(service: Service, targets: Targets) -> None:
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


def test_a_run_that_the_same_parent_blocks_again_sends_another_notice(service: Service, targets: Targets) -> None:
    play = service.play
    targets.of_jobs, targets.takes = [500, 500, 500], lambda _: 5 * SECOND_MS
    hourly = Every(3_600, at(10))
    parent = spec("job", hourly, retry=RetryPolicy(max_retries=0))
    child = replace(spec("child", hourly), depends_on=(Parent("job"),), inherits=True, notify=Notify(on_failure=FAILED))
    submit(play.context(), [parent], play.clock.now())
    submit(play.context(), [child], play.clock.now())
    for seconds in (40, 80, 120):
        service.until(at(seconds))
        retry_runs(play.context(), [RunId(KEY, at(10), Origin.SCHEDULE)])
    assert [what["type"] for _, what in told(service)] == ["blocked"] * 3


def test_a_notice_has_the_generation_of_its_run(service: Service) -> None:
    begin(service, Notify(on_success=SUCCEEDED))
    trigger(service.play.context(), [Trigger(KEY, fingerprint="x", depth=4)])
    service.until(at(30))
    assert [job.depth for job in notices(service)] == [4]


def test_a_job_without_notices_for_a_while_is_no_longer_failing(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200, 500]
    begin(service)
    service.until(at(90))
    change(service, notify=None)
    service.until(at(150))
    change(service, notify=OF_STREAKS)
    service.until(at(4 * 60 + 30))
    assert names(service) == ["failed", "failed", "recovered"]


def test_a_run_that_began_before_its_job_failed_ends_the_streak_too(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500, 200, 500]
    targets.takes = lambda call: 80 * SECOND_MS if call.run.fire_at == at(60) else 40 * SECOND_MS
    begin(service, Notify(on_failure=FAILED))
    service.until(at(4 * 60 + 30))
    assert [what["runId"] for _, what in told(service)] == [f"job.{at(60)}.s", f"job.{at(180)}.s"]


def test_a_cancelled_job_is_not_paused_by_failures(service: Service, targets: Targets) -> None:
    targets.of_jobs = [500]
    begin(service, None, pause_after_failures=1)
    service.until(at(90))
    assert service.play.job(KEY).paused_by_failures
    cancel(service.play.context(), [(KEY, None)])
    assert not service.play.job(KEY).paused_by_failures


def test_an_end_is_news_however_many_ledger_rows_are_no_ends(targets: Targets) -> None:
    play = Play(MemoryStore(runs=NoEnds))
    targets.clock, targets.of_jobs = play.clock, [500, 200]
    with Service(play) as service:
        service.target = targets
        begin(service)
        service.until(at(150))
        assert names(service) == ["failed", "recovered"]


RAN, BROKE = RunState.SUCCEEDED, RunState.FAILED


@pytest.mark.parametrize(("first", "then"), [(BROKE, RAN), (RAN, BROKE)])
def test_of_two_runs_that_end_at_the_same_time_the_later_one_decides(first: RunState, then: RunState) -> None:
    play = Play(MemoryStore(runs=Meanwhile))
    (job,) = play.store_jobs([replace(a_spec(), notify=OF_STREAKS)])
    rows = [over(job, at(place), state) for place, state in ((0, BROKE), (60, first), (120, then))]
    runs = play.store.runs
    assert isinstance(runs, Meanwhile)
    runs.insert(rows[:1], at(0))
    if first is RAN:
        notify_of_ends(play.context(), [(rows[0], job)])

    def another_ends() -> None:
        runs.insert(rows[2:], at(120))
        notify_of_ends(play.context(), [(rows[2], job)])

    runs.insert(rows[1:2], at(60))
    runs.meanwhile = another_ends
    notify_of_ends(play.context(), [(rows[1], job)])
    assert (play.job(KEY).failing is None) is (then is RAN)
    assert news(play) == [News.FAILURE, News.RECOVERY, *([News.FAILURE] if then is BROKE else [])]


def over(job: Job, fire_at: int, state: RunState) -> Run:
    return replace(queued_run(job, Origin.SCHEDULE, fire_at, fire_at), state=state, attempt=1, finished_at=fire_at)


def test_a_run_with_items_sends_one_notice_for_all_of_them() -> None:
    play = Play()
    wanted = replace(a_spec(), notify=replace(OF_STREAKS, after_failures=3, on_success=SUCCEEDED))
    (job,) = play.store_jobs([wanted])
    for place in range(3):
        head = over(job, at(place), BROKE)
        items = [
            replace(over(job, at(place), state), id=RunId(KEY, at(place), Origin.DEPENDENCY, str(number)))
            for number, state in enumerate((BROKE, RAN) * 20, 1)
        ]
        play.store.runs.insert([head, *items], at(place))
        notify_of_ends(play.context(), [(run, job) for run in (*items, head)])
        assert news(play) == ([News.FAILURE] if place == 2 else [])


def test_failures_pause_a_job_that_runs_on_events(service: Service) -> None:
    play = service.play
    (job,) = play.store_jobs([replace(a_spec(), schedule=Schedule(OnEvents()), event="{}", pause_after_failures=2)])
    ends = [
        replace(over(job, at(place), BROKE), id=RunId(KEY, at(place), Origin.EVENT, f"e{place}")) for place in (1, 2)
    ]
    for end in ends:
        play.store.runs.insert([end], at(3))
        notify_of_ends(play.context(), [(end, job)])
    service.until(at(10))
    paused = play.job(KEY)
    assert (paused.status, paused.paused_by_failures, paused.intent) == (JobStatus.PAUSED, True, None)


def test_a_failure_that_its_executor_did_not_report_is_reported_before_the_recovery() -> None:
    play = Play()
    (job,) = play.store_jobs([replace(a_spec(), notify=OF_STREAKS)])
    failed, succeeded = over(job, at(0), BROKE), over(job, at(60), RAN)
    play.store.runs.insert([failed, succeeded], at(60))
    play.store.jobs.swap([Swap(job, failing(job, [failed]))], at(60))
    notify_of_ends(play.context(), [(succeeded, job)])
    notify_of_ends(play.context(), [(failed, job)])
    assert news(play) == [News.FAILURE, News.RECOVERY]


def test_a_rerun_is_news_again() -> None:
    play = Play()
    (job,) = play.store_jobs([replace(a_spec(), notify=replace(OF_STREAKS, on_success=SUCCEEDED))])
    ends = [
        replace(over(job, at(0), state), attempt=number) for number, state in enumerate((BROKE, RAN, BROKE, RAN), 1)
    ]
    play.store.runs.insert(ends[:1], at(60))
    for end in ends:
        (standing,) = play.store.runs.read([end.id])
        assert standing is not None
        play.store.runs.swap([Swap(standing, replace(end, revision=standing.revision))], at(60))
        notify_of_ends(play.context(), [(end, job)])
        notify_of_ends(play.context(), [(end, job)])
    assert news(play) == [News.FAILURE, News.SUCCESS, News.RECOVERY] * 2


def news(play: Play) -> list[News]:
    assert isinstance(play.store, MemoryStore)
    return [job.spec.notice.news for job in play.store.jobs.values() if job.spec.notice is not None]


class NoEnds(MemoryRuns):
    """Runs of a job with more skipped rows than a search reads."""

    def ledger(self, _: LedgerQuery) -> LedgerPage:
        return LedgerPage((), None)


class Meanwhile(MemoryRuns):
    """Runs of which another one ends right after the first search."""

    meanwhile: Callable[[], object] | None = None

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        page = super().ledger(query)
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return page
