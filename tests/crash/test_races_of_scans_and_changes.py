"""Interleavings that a review of the design found dangerous: of plans, users and their clients.

test_races_of_executors.py has those of executors and messages. Three are tested elsewhere:

* a PATCH of tags inside the look-ahead: test_a_change_of_tags_within_the_look_ahead_supersedes_nothing
  (tests/engine/changes/test_reschedule.py);
* a pause inside the look-ahead:
  test_a_pause_withdraws_runs_dispatched_ahead_and_a_prompt_resume_lets_them_run_on_time
  (tests/engine/changes/test_pause_and_resume.py);
* two claims of one overlap lock: test_two_claims_of_one_lock_in_one_batch_leave_one_running and
  test_a_claim_between_any_two_writes_of_another_leaves_one_running_and_nothing_stuck
  (tests/engine/execution/test_overlap.py).
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.promises import assert_all_is_well, assert_each_instant_has_one_row, at_rest
from tests.crash.stage import stop_when
from tests.engine.play import NOW, WORK, Play, spec
from tests.engine.service import KEY, Service, at, reschedule
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.terms.dependency import Parent
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Cron, Every, Schedule, Timing
from timeball.engine.changes.change import cancel, revise
from timeball.engine.changes.reconcile import reconcile
from timeball.engine.dependencies.parents import adopt
from timeball.engine.runs.manual import cancel_runs
from timeball.engine.scanning.buckets import PAGE, day_of
from timeball.engine.scheduling.dispatch import dispatch
from timeball.engine.scheduling.submit import submit
from timeball.ports.target import Call
from timeball.testing.faults import Points
from timeball.testing.memory_store import MemoryStore

YEAR_MS = 365 * DAY_MS


def _stored(play: Play) -> bool:
    return play.store.jobs.read([KEY]) != [None]


def _inserted(play: Play) -> bool:
    return play.runs(KEY) != []


def _sent(play: Play) -> bool:
    return play.queue.sent != []


@pytest.mark.parametrize("cut_off_when", [_inserted, _sent])
def test_a_plan_repeated_after_an_outage_skips_missed_fires_and_so_does_the_claim_of_its_earlier_run(
    cut_off_when: Callable[[Play], bool],
) -> None:
    """The plan now skips a fire that it had started then; the claim decides about the run that stands."""
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(60, NOW))])
    stop_when(play, Play.scan, cut_off_when)
    play.clock.advance(20 * MINUTE_MS)
    play.scan_all()
    scanned_through = play.clock.now() + play.rules.lookahead_ms
    play.drain()
    rest = at_rest(play, job)
    assert_each_instant_has_one_row(rest, scanned_through)
    assert_all_is_well(rest)
    assert (rest.runs[0].state, rest.runs[0].reason, rest.runs[0].count) == (RunState.SKIPPED, Reason.MISFIRED, 1)
    assert [(call.run.fire_at - NOW) // MINUTE_MS for _, call in rest.calls] == [18, 19, 20]


def _fifteen_days_without_anyone(play: Play) -> None:
    """By then no queue keeps a message. The shard's oldest day is the one that the earlier scans had left."""
    play.store.due.move_oldest_day(0, day_of(play.clock.now()))
    play.queue._messages.clear()
    play.clock.advance(15 * DAY_MS)


# For each schedule: the end of a run whose plan was cut off after its message.
EXPIRED: dict[str, tuple[Timing, tuple[RunState, Reason | None]]] = {
    "a one-off is never missed": (At(NOW), (RunState.SUCCEEDED, None)),
    "the plan skips it, and the claim too": (Every(3600, NOW), (RunState.SKIPPED, Reason.MISFIRED)),
}


@pytest.mark.parametrize("case", EXPIRED)
def test_a_queued_run_whose_message_expired_is_sent_again_when_its_plan_is_repeated(
    service: Service, case: str
) -> None:
    timing, ends = EXPIRED[case]
    play = service.play
    play.store_jobs([spec("job", timing)])
    stop_when(play, Play.scan, _sent)
    _fifteen_days_without_anyone(play)
    service.until(play.clock.now() + 10 * SECOND_MS)
    (run, *_) = play.runs(KEY)
    assert (run.state, run.reason) == ends
    assert [row for row in play.runs(KEY) if not row.is_terminal] == []


def test_a_queued_run_whose_message_expired_after_its_plan_can_still_be_cancelled_manually(service: Service) -> None:
    """Such a run is in no index and no plan; it takes executors that were down for as long as queues keep messages."""
    play = service.play
    play.store_jobs([spec("job", Every(3600, NOW))])
    play.scan_all()
    _fifteen_days_without_anyone(play)
    service.until(play.clock.now() + 10 * SECOND_MS)
    (run, *_) = play.runs(KEY)
    cancel_runs(play.context(), [run.id])
    service.until(play.clock.now() + 10 * SECOND_MS)
    assert play.runs(KEY)[0].state is RunState.CANCELLED
    assert [row for row in play.runs(KEY) if not row.is_terminal] == []


@pytest.mark.parametrize("died_when", [_stored, _inserted])
def test_a_one_off_a_year_in_the_past_runs_once_although_its_submission_died_before_its_message(
    service: Service, died_when: Callable[[Play], bool]
) -> None:
    play = service.play
    stop_when(play, lambda play: submit(play.context(), [spec("job", At(NOW - YEAR_MS))], NOW), died_when)
    assert play.queue.sent == []
    service.until(at(5))
    (run,) = play.runs(KEY)
    assert (run.state, run.id.fire_at, run.lateness_ms) == (RunState.SUCCEEDED, NOW - YEAR_MS, YEAR_MS)
    assert play.job(KEY).status is JobStatus.COMPLETED
    assert len(service.target.calls) == 1


def test_an_unplannable_row_at_the_head_of_its_bucket_does_not_delay_the_rows_after_it(
    service: Service,
) -> None:
    """Even a full page of such rows is pushed back, and the next scan sees the rows after them."""
    broken, sound = [f"broken-{number}" for number in range(PAGE + 10)], ["a", "b", "c"]
    play = service.play
    play.store_jobs(spec(name, At(at(4))) for name in broken)
    play.store_jobs(spec(name, At(at(6))) for name in sound)
    assert isinstance(play.store, MemoryStore)
    for name in broken:
        key = JobKey("acme", name)
        play.store.jobs[key] = with_spec(play.store.jobs[key], schedule=Schedule(Cron("not a cron", "UTC")))
    service.until(at(30))
    assert [(call.run.job.job_id, called_at) for called_at, call in service.target.calls] == [
        (name, at(6)) for name in sound
    ]
    assert min(play.job(JobKey("acme", name)).plan_failures for name in broken) >= 4


# Each case: the change that makes the fire at 4.7 s the final one of a job that fired each minute.
LAST_OF: dict[str, Timing | Schedule] = {
    "a one-off": At(at(4.7)),
    "a window": Schedule(Every(60, at(4.7)), end_at=at(4.7)),
    "a number of runs": Schedule(Every(60, at(4.7)), max_runs=1),
}


@pytest.mark.parametrize("case", LAST_OF)
@pytest.mark.parametrize("call_seconds", [1, 250])
def test_a_run_that_was_claimed_before_a_reschedule_made_it_the_final_one_ends_its_job(
    service: Service, case: str, call_seconds: int
) -> None:
    """Its executor carries out the effects with the job as it had read it, in which the fire was not the final one."""
    play = service.play
    service.target.takes = lambda _: call_seconds * SECOND_MS
    play.store_jobs([spec("job", Every(60, at(4.7)))])
    service.until(at(4.3))
    assert play.runs(KEY)[0].state is RunState.RUNNING
    reschedule(play, LAST_OF[case])
    service.until(at(600))
    assert [run.state for run in play.runs(KEY)] == [RunState.SUCCEEDED]
    assert (play.job(KEY).status, play.job(KEY).due_at) == (JobStatus.COMPLETED, None)


@pytest.mark.parametrize("dies", [False, True], ids=["the change settles itself", "it dies, and a scan settles"])
def test_a_plan_read_while_a_cancel_took_long_to_be_written_inserts_nothing_after_it(*, dies: bool) -> None:
    play = Play()
    play.store_jobs([spec("job", Every(1, NOW))])
    plans: list[tuple[Job, int]] = []

    def take_long() -> None:
        play.clock.advance(20 * SECOND_MS)
        plans.append((play.job(KEY), play.clock.now()))

    def is_written(play: Play) -> bool:
        if not plans:
            take_long()
        return play.job(KEY).status is JobStatus.CANCELLED

    if dies:
        stop_when(play, lambda play: cancel(play.context(), [(KEY, None)]), is_written)
    else:
        cancel(play.context(Points(0, take_long)), [(KEY, None)])
    play.scan_all()
    assert (play.job(KEY).status, play.job(KEY).intent) == (JobStatus.CANCELLED, None)
    told = play.runs(KEY)
    for job, read_at in plans:
        dispatch(play.context(), [job], read_at)
    assert plans
    assert play.runs(KEY) == told


# Jobs whose lives include every conditional write of submit, dispatch, claim, finish, retry and lock; answers;
# duration.
LIVES: dict[str, tuple[JobSpec, list[int], int]] = {
    "a one-off that is tried twice": (spec("job", At(NOW + 700)), [500], 0),
    "three fires, of which one is parked": (
        replace(spec("job", Schedule(Every(2, NOW), end_at=NOW + 4_000)), overlap=OverlapPolicy.QUEUE_ONE),
        [],
        3_000,
    ),
}


def _live(name: str, losing_at: int | None = None) -> tuple[MemoryStore, list[tuple[int, Call]], int]:
    """Return the rows and calls of a life, and its number of points; at `losing_at` an answer is lost."""
    wanted, statuses, takes_ms = LIVES[name]
    store = MemoryStore()
    play = Play(store)
    play.caller.statuses, play.caller.takes_ms = [*statuses], takes_ms
    play.points = points = Points(losing_at, lambda: store.lose_answers(1))
    submit(play.context(), [wanted], NOW)
    play.run_on(KEY, to_its_end=True)
    return store, play.caller.calls, points.reached


@pytest.mark.parametrize("name", LIVES)
def test_a_successful_write_whose_answer_was_lost_is_recognized_by_its_writer(name: str) -> None:
    """This holds for each write of a life: the store's client repeats the write, and finds the row of the first try."""
    store, calls, reached = _live(name)
    assert {run.state for run in store.runs.values()} == {RunState.SUCCEEDED}
    for point in range(0, reached, 2):  # before each write
        same_store, same_calls, _ = _live(name, point)
        assert (same_store.jobs, same_store.runs, same_store.attempts) == (store.jobs, store.runs, store.attempts)
        assert same_calls == calls


def test_a_slow_repeat_of_a_change_spares_the_run_that_was_planned_under_that_change_since() -> None:
    """The repeat has read its job while the job waited for parents, and supersedes the runs of an older plan."""
    play = Play()
    parent, child = spec("parent", At(NOW)), spec("job", Every(60, NOW + MINUTE_MS))
    play.store_jobs([parent, child])
    play.run_on(parent.key)
    depending = replace(child, schedule=Schedule(At(NOW + MINUTE_MS)), depends_on=(Parent("parent"),), inherits=True)
    job = with_spec(play.job(KEY), work=WORK)
    adopted = adopt(play.context(), job, depending)

    def changed(on: Play, points: Points | None = None) -> None:
        revise(on.context(points), [(job, adopted.spec)])

    stop_when(play, changed, lambda on: on.job(KEY).intent is not None)
    read = play.job(KEY)
    while play.messages() == []:
        play.scan_all()
        play.clock.advance(SECOND_MS)
    reconcile(play.context(), read)
    play.run_on(KEY)
    assert play.job(KEY).status is JobStatus.COMPLETED
    assert [(run.id.fire_at, run.state) for run in play.runs(KEY) if run.count] == [(NOW, RunState.SUCCEEDED)]
