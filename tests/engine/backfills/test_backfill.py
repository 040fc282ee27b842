"""Backfills among scans and executors: each instant runs once, at their pace and policy, apart from the schedule."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from tests.crash.stage import stop_when
from tests.engine.play import NOW, Play, spec
from tests.engine.service import KEY, Service, at
from tests.engine.service import begin as begin_guarded
from timeball.domain.backfill import Backfill, BackfillStatus, instants, new_backfill
from timeball.domain.model.ids import BackfillKey, Origin
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.backfills import advance_backfills, cancel_backfill, create_backfills
from timeball.engine.changes.change import cancel, pause
from timeball.engine.metrics import Metric
from timeball.engine.runs.manual import retry_runs
from timeball.ports.rows import Swap, Swapped
from timeball.testing.faults import Points

ALLOW, SKIP = OverlapPolicy.ALLOW, OverlapPolicy.SKIP
QUEUE_ONE, CANCEL_OTHER = OverlapPolicy.QUEUE_ONE, OverlapPolicy.CANCEL_OTHER
FIRST = NOW - 30 * DAY_MS


def begin(service: Service, takes_seconds: float = 0) -> Job:
    """Store a job that fires each minute, beginning later."""
    return begin_guarded(service, ALLOW, Every(60, NOW + DAY_MS), takes_seconds)


def backfill_of(job: Job, name: str, count: int, pace: int, overlap: OverlapPolicy, now: int = NOW) -> Backfill:
    fire_times = list(instants(job.spec.schedule, FIRST, FIRST + count * MINUTE_MS))
    assert len(fire_times) == count
    return new_backfill(BackfillKey(KEY, name), job, fire_times, pace, overlap, now)


def start(service: Service, job: Job, count: int, pace: int = 0, overlap: OverlapPolicy = ALLOW) -> BackfillKey:
    one = backfill_of(job, "bf1", count, pace, overlap, service.play.clock.now())
    assert create_backfills(service.play.context(), [one]) == [one]
    return one.key


def row(play: Play) -> Backfill:
    (one,) = play.store.backfills.read([BackfillKey(KEY, "bf1")])
    assert one is not None
    return one


def runs(play: Play) -> list[Run]:
    return [run for run in play.runs(KEY) if run.id.origin is Origin.BACKFILL]


def states(play: Play) -> list[str]:
    return [run.state.value for run in runs(play)]


def starts(service: Service) -> list[float]:
    return [(visit.from_at - NOW) / SECOND_MS for visit in service.target.visits]


def test_each_instant_runs_once_and_the_jobs_schedule_is_unchanged(service: Service) -> None:
    job = begin(service)
    start(service, job, 250)
    service.until(at(60))
    assert [run.id.fire_at for run in runs(service.play)] == [FIRST + n * MINUTE_MS for n in range(250)]
    assert states(service.play) == ["succeeded"] * 250
    assert len(service.target.visits) == 250
    one = row(service.play)
    assert (one.status, one.due_at, one.started, one.skipped) == (BackfillStatus.COMPLETED, None, 250, 0)
    after = service.play.job(KEY)
    assert (after.next_fire_at, after.due_at, after.revision) == (job.next_fire_at, job.due_at, job.revision)


@pytest.mark.parametrize("pace", [1, 7, 90])
def test_a_backfill_keeps_its_pace_to_the_second(service: Service, pace: int) -> None:
    start(service, begin(service), 8, pace)
    service.until(at(8 * pace + 10))
    begun = starts(service)
    assert len(begun) == 8
    assert all(abs(later - earlier - pace) <= 1 for earlier, later in pairwise(begun))


def test_a_range_may_be_run_again_under_another_name(service: Service) -> None:
    job = begin(service)
    backfills = [backfill_of(job, name, 3, 0, ALLOW) for name in ("bf1", "bf2")]
    create_backfills(service.play.context(), backfills)
    service.until(at(20))
    assert len(service.target.visits) == len({visit.run for visit in service.target.visits}) == 6


def test_creating_a_backfill_again_returns_the_existing_one(service: Service) -> None:
    job = begin(service)
    start(service, job, 3)
    service.until(at(20))
    (standing,) = create_backfills(service.play.context(), [backfill_of(job, "bf1", 2, 0, ALLOW)])
    assert standing == row(service.play)
    service.until(at(40))
    assert len(service.target.visits) == 3


def test_queue_one_runs_one_after_the_other_in_order(service: Service) -> None:
    start(service, begin(service, 7), 5, overlap=QUEUE_ONE)
    service.until(at(200))
    visits = service.target.visits
    assert [visit.run.fire_at for visit in visits] == [FIRST + n * MINUTE_MS for n in range(5)]
    assert all(earlier.to_at <= later.from_at for earlier, later in pairwise(visits))
    assert all(later.from_at - earlier.to_at <= 6 * SECOND_MS for earlier, later in pairwise(visits))
    assert row(service.play).status is BackfillStatus.COMPLETED


def test_queue_one_waits_for_the_retries_of_a_run(service: Service) -> None:
    service.target.statuses = [500, 500]
    start(service, begin(service), 2, overlap=QUEUE_ONE)
    service.until(at(100))
    assert [(visit.run.fire_at - FIRST, visit.attempt) for visit in service.target.visits] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (MINUTE_MS, 1),
    ]


def test_skip_leaves_out_fires_whose_time_comes_while_the_last_run_is_under_way(service: Service) -> None:
    start(service, begin(service, 25), 7, 10, SKIP)
    service.until(at(200))
    assert states(service.play) == ["succeeded", "skipped", "skipped"] * 2 + ["succeeded"]
    assert {run.reason for run in runs(service.play)} == {None, Reason.OVERLAP}
    assert (row(service.play).started, row(service.play).skipped) == (3, 4)
    assert service.play.telemetry.counts == {(Metric.FIRES_SKIPPED, "overlap"): 4}


def test_a_fire_that_was_skipped_by_a_plan_that_died_before_it_moved_on_is_counted_as_skipped(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, store = begin(service, 30.5), service.play.store
    swap, deaths = store.backfills.swap, iter([True])

    def swap_or_die(swaps: Sequence[Swap[Backfill]], now: int) -> list[Swapped[Backfill]]:
        if swaps and swaps[0].after.skipped and next(deaths, False):
            return [Swapped(done=False, row=None)]
        return swap(swaps, now)

    monkeypatch.setattr(store.backfills, "swap", swap_or_die)
    start(service, job, 3, 30, SKIP)
    service.until(at(300))
    assert sorted(states(service.play)) == ["skipped", "succeeded", "succeeded"]
    one = row(service.play)
    assert (one.started, one.skipped, one.status) == (2, 1, BackfillStatus.COMPLETED)


def test_skip_leaves_out_nothing_if_each_run_is_over_before_the_next_fire(service: Service) -> None:
    start(service, begin(service, 8), 5, 10, SKIP)
    service.until(at(200))
    assert states(service.play) == ["succeeded"] * 5


def test_cancel_other_stops_the_running_run_for_the_next(service: Service) -> None:
    start(service, begin(service, 60), 3, 15, CANCEL_OTHER)
    service.until(at(300))
    assert [(run.state, run.reason) for run in runs(service.play)] == [
        (RunState.CANCELLED, Reason.REPLACED),
        (RunState.CANCELLED, Reason.REPLACED),
        (RunState.SUCCEEDED, None),
    ]
    visits = service.target.visits
    assert all(earlier.to_at <= later.from_at for earlier, later in pairwise(visits))


@pytest.mark.parametrize("overlap", OverlapPolicy)
def test_cancelling_a_backfill_leaves_no_unfinished_run(service: Service, overlap: OverlapPolicy) -> None:
    start(service, begin(service, 60), 20, 2, overlap)
    service.until(at(15))
    under_way = {run.id for run in runs(service.play) if run.state is RunState.RUNNING}
    backfill, stopped = cancel_backfill(service.play.context(), row(service.play))
    assert (backfill.status, backfill.due_at) == (BackfillStatus.CANCELLED, None)
    assert {*stopped} <= under_way
    called = len(service.target.visits)
    service.until(at(200))
    assert len(service.target.visits) == called
    assert [run for run in runs(service.play) if not run.is_terminal] == []
    assert cancel_backfill(service.play.context(), backfill) == (row(service.play), ())


def test_a_completed_backfill_that_is_cancelled_stays_completed_and_its_live_runs_stop(service: Service) -> None:
    start(service, begin(service, 60), 3)
    service.until(at(5))
    assert row(service.play).status is BackfillStatus.COMPLETED
    _, stopped = cancel_backfill(service.play.context(), row(service.play))
    assert len(stopped) == 3
    service.until(at(100))
    assert {run.reason for run in runs(service.play)} == {Reason.BACKFILL_CANCELLED}
    assert row(service.play).status is BackfillStatus.COMPLETED


def test_a_backfill_works_on_a_paused_job(service: Service) -> None:
    job = begin(service)
    pause(service.play.context(), [(KEY, None)])
    start(service, job, 5, 1)
    service.until(at(30))
    assert states(service.play) == ["succeeded"] * 5
    assert service.play.job(KEY).status is JobStatus.PAUSED


def test_a_backfill_does_not_take_the_overlap_lock_of_its_job(service: Service) -> None:
    begin_guarded(service, SKIP, Every(60, NOW), 300)
    service.until(at(5))
    start(service, service.play.job(KEY), 3)
    service.until(at(10))
    assert len(service.target.visits) == 1 + 3


def test_cancelling_a_job_cancels_its_backfills_and_their_live_runs_of_any_age(service: Service) -> None:
    key = start(service, begin(service, 60), 20, 2)
    service.until(at(10))
    under_way = {run.id for run in runs(service.play) if run.state is RunState.RUNNING}
    (changed,) = cancel(service.play.context(), [(KEY, None)])
    assert under_way
    assert {*changed.claimed} == under_way
    assert row(service.play).status is BackfillStatus.CANCELLED
    service.until(at(100))
    assert [run for run in service.play.runs(KEY) if not run.is_terminal] == []
    assert {run.id for run in runs(service.play) if run.state is RunState.RUNNING} == set()
    assert service.play.store.backfills.read([key])[0] == row(service.play)


@pytest.mark.parametrize("whole", [True, False])
def test_a_run_that_a_slow_scan_inserts_after_the_cancel_is_not_called_and_is_ended(*, whole: bool) -> None:
    """The scan pauses at each of its points while the backfill, or its whole job, is cancelled."""
    point, reached = 0, 1
    while point < reached:
        with Service(Play()) as service:
            play = service.play
            job = begin(service)
            one = backfill_of(job, "bf1", 3, 60, ALLOW)
            play.store.backfills.insert([one], NOW)

            def meanwhile(play: Play = play) -> None:
                cancel(play.context(), [(KEY, None)]) if whole else cancel_backfill(play.context(), row(play))

            points = Points(point, meanwhile)
            advance_backfills(play.context(points), [one])
            reached = points.reached
            service.until(at(200))
            assert service.target.visits == [], point
            assert [run for run in runs(play) if not run.is_terminal] == [], point
            assert play.store.backfills.read([one.key])[0] == row(play)
            assert (row(play).status, row(play).due_at) == (BackfillStatus.CANCELLED, None)
        point += 1
    assert reached >= 6


@pytest.mark.parametrize(
    ("overlap", "first"), [(SKIP, "succeeded"), (QUEUE_ONE, "succeeded"), (CANCEL_OTHER, "cancelled")]
)
def test_a_run_whose_plan_died_before_its_send_is_sent_although_the_one_before_it_is_tried_again(
    overlap: OverlapPolicy, first: str
) -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(60, NOW + DAY_MS))])
    create_backfills(play.context(), [backfill_of(job, "bf1", 2, 0, overlap)])
    play.caller.statuses = [404]
    play.execute_next()
    stop_when(play, Play.scan, lambda play: len(runs(play)) == 2)
    assert (states(play), play.messages()) == (["failed", "queued"], [])
    retry_runs(play.context(), [runs(play)[0].id])
    play.scan_all()
    play.run_on(KEY)
    assert states(play) == [first, "succeeded"]
    assert (row(play).status, row(play).started, row(play).skipped) == (BackfillStatus.COMPLETED, 2, 0)
