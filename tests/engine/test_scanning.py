"""Scans: outages, cursors and hours, rows that cannot be planned, and what becomes of dead letters."""

from dataclasses import replace
from itertools import pairwise

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.attempt import Attempt, Outcome
from timeball.domain.ids import JobKey, Origin, RunId
from timeball.domain.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.job import JobStatus
from timeball.domain.reason import Reason
from timeball.domain.run import Run, RunState, claimed, ended, retrying
from timeball.domain.schedule import At, Cron, Every, Schedule
from timeball.engine.cursor import PAGE, Sweeps, look, looked
from timeball.engine.judge import MAX_CARRIER_FAILURES, judge
from timeball.engine.scan import Scan, scan
from timeball.ports.due_index import DuePage
from timeball.ports.partitions import Owner
from timeball.testing.memory_kept import MemoryPartitions
from timeball.testing.memory_store import MemoryStore

EMPTY = DuePage((), full=False)
HOUR = NOW - NOW % HOUR_MS


def test_an_outage_of_two_days_ends_in_skipped_ranges_and_the_latest_missed_fire() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(60, NOW))])
    play.clock.advance(2 * DAY_MS)
    sweeps = Sweeps()
    while scan(play.world(), 0, Owner("2026", "a"), sweeps).backlog:
        pass
    play.drain()
    rows = play.runs(job.key)
    skipped = [row for row in rows if row.state is RunState.SKIPPED]
    ran = [row.id.fire_at - NOW - 2 * DAY_MS for row in rows if row.state is RunState.SUCCEEDED]
    assert sum(row.count for row in skipped) == 2 * 24 * 60 - 2
    assert ran == [-2 * MINUTE_MS, -MINUTE_MS, 0]  # the latest missed, one that is not missed yet, the present one
    assert {row.reason for row in skipped} == {Reason.MISFIRED}
    for earlier, later in pairwise(rows):
        assert later.id.fire_at == (earlier.last_fire_at or earlier.id.fire_at) + MINUTE_MS


def test_a_job_that_was_due_during_a_pause_of_a_week_is_found_by_its_cursor() -> None:
    play = Play()
    play.scan()
    store = play.store
    store.due.move_cursor(0, HOUR)
    (job,) = play.store_jobs([spec("job", At(NOW + HOUR_MS))])
    play.clock.advance(7 * DAY_MS)
    found = Scan()
    sweeps = Sweeps()
    for _ in range(5):
        found = scan(play.world(), 0, Owner("2026", "a"), sweeps)
        if found.sent:
            break
    assert found.sent == 1
    play.drain()
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED


def test_one_row_that_cannot_be_planned_stops_no_other_and_is_pushed_back_farther_each_time() -> None:
    play = Play()
    play.store_jobs([spec("broken", Every(60, NOW)), spec("sound", Every(60, NOW))])
    assert isinstance(play.store, MemoryStore)
    broken = JobKey("acme", "broken")
    play.store.jobs[broken] = replace(play.store.jobs[broken], schedule=Schedule(Cron("not a cron", "UTC")))
    assert play.scan().sent == 1
    waits = []
    for _ in range(4):
        due_at = play.job(broken).due_at
        assert due_at is not None
        waits.append(due_at - play.clock.now())
        play.clock.advance(waits[-1])
        assert not play.scan().backlog
    assert waits == [1_000, 2_000, 4_000, 8_000]
    assert play.job(broken).plan_failures == 5


def test_a_scan_of_a_lesser_owner_does_nothing() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.store.partitions.take(0, Owner("2026-11-21T09:31", "b"))
    assert scan(play.world(), 0, Owner("2026-11-21T09:30", "c"), Sweeps()) == Scan(superseded=True)
    assert play.queue.sent == []


class AskedPartitions(MemoryPartitions):
    """Partitions that count how often one is asked for."""

    asked: int = 0

    def take(self, partition: int, owner: Owner) -> bool:
        self.asked += 1
        return super().take(partition, owner)


def test_a_loop_that_is_superseded_ends_within_two_seconds_and_asks_no_more_often_than_that() -> None:
    play = Play(store := MemoryStore(partitions=AskedPartitions))
    asked = store.partitions
    assert isinstance(asked, AskedPartitions)
    older, newer = Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")
    old, new = Sweeps(), Sweeps()
    for second in range(4):
        assert not scan(play.world(), 0, older, old).superseded
        assert asked.asked == second // 2 + 1
        play.clock.advance(SECOND_MS)
    assert not scan(play.world(), 0, newer, new).superseded
    assert scan(play.world(), 0, older, new).superseded  # this process knows it without asking
    play.clock.advance(SECOND_MS)
    assert scan(play.world(), 0, older, old).superseded
    assert asked.asked == 4


def test_more_jobs_than_a_page_are_a_backlog_that_the_next_scans_work_off() -> None:
    play = Play()
    play.store_jobs(spec(f"job-{number}", At(NOW)) for number in range(PAGE + 10))
    assert play.scan().backlog
    play.scan_all()
    assert len({dispatch.run for dispatch in play.queue.sent}) == PAGE + 10


def test_a_schedule_of_three_runs_has_three_and_then_its_job_is_completed() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Schedule(Every(60, NOW), max_runs=3))])
    for _ in range(5):
        play.scan_all()
        play.drain()
        play.clock.advance(MINUTE_MS)
    assert [row.state for row in play.runs(job.key)] == [RunState.SUCCEEDED] * 3
    assert play.job(job.key).status is JobStatus.COMPLETED


# Of each: minutes past the hour, and the hours that are open (from that of two minutes ago to that of the horizon).
OPEN_HOURS = {
    "in the middle of an hour": (30 * MINUTE_MS, [0]),
    "a minute into an hour": (MINUTE_MS, [-1, 0]),
    "two minutes into an hour": (2 * MINUTE_MS, [0]),
    "the horizon is in the next hour": (HOUR_MS - 4 * SECOND_MS, [0, 1]),
}


@pytest.mark.parametrize("case", OPEN_HOURS)
def test_the_open_hours_are_asked_each_time(case: str) -> None:
    past_ms, hours = OPEN_HOURS[case]
    now = HOUR + past_ms
    sweeps = Sweeps(closed_at={0: now})
    one = look(0, HOUR, sweeps, now, now + 5_000)
    assert [(query.hour_at - HOUR) // HOUR_MS for query in one.open] == hours
    assert one.closed == ()
    assert {query.through_at for query in one.open} == {now + 5_000}


# Of each: the cursor in hours from this one (None: there is none), since when this process has not looked two days back
# (None: for more than an hour), and the first closed hour that is asked.
CLOSED_HOURS = {
    "no cursor: two days back": (None, None, -48),
    "a cursor at this hour, lately looked back": (0, MINUTE_MS, None),
    "a cursor three hours back, lately looked back": (-3, MINUTE_MS, -3),
    "a cursor three hours back, and two days before it once an hour": (-3, None, -51),
    "a cursor of a week ago": (-168, MINUTE_MS, -168),
}


@pytest.mark.parametrize("case", CLOSED_HOURS)
def test_the_closed_hours_are_asked_back_to_the_cursor(case: str) -> None:
    cursor, looked_back_ms, first = CLOSED_HOURS[case]
    back_at = {} if looked_back_ms is None else {0: NOW - looked_back_ms}
    one = look(0, None if cursor is None else HOUR + cursor * HOUR_MS, Sweeps(back_at=back_at), NOW, NOW + 5_000)
    hours = [(query.hour_at - HOUR) // HOUR_MS for query in one.closed]
    assert hours == ([] if first is None else list(range(first, 0))[:96])
    assert one.cut == (first is not None and -first > 96)


def test_the_closed_hours_are_asked_once_a_minute() -> None:
    sweeps = Sweeps()
    one = look(0, HOUR - HOUR_MS, sweeps, NOW, NOW + 5_000)
    assert looked(one, [EMPTY] * len(one.closed), HOUR - HOUR_MS, sweeps, NOW) == HOUR
    assert look(0, HOUR, sweeps, NOW + MINUTE_MS - 1, NOW).closed == ()
    sweeps.back_at.clear()
    assert look(0, HOUR - HOUR_MS, sweeps, NOW + MINUTE_MS, NOW).closed != ()


def test_an_hour_that_is_closed_and_has_more_than_a_page_is_asked_until_it_has_not() -> None:
    sweeps = Sweeps()
    one = look(0, HOUR - HOUR_MS, sweeps, NOW, NOW + 5_000)
    pages = [replace(EMPTY, full=query.hour_at == HOUR - HOUR_MS) for query in one.closed]
    looked(one, pages, HOUR - HOUR_MS, sweeps, NOW)
    again = look(0, HOUR - HOUR_MS, sweeps, NOW, NOW + 5_000)
    assert [query.hour_at for query in again.closed] == [HOUR - HOUR_MS]
    looked(again, [EMPTY], HOUR - HOUR_MS, sweeps, NOW)
    assert look(0, HOUR, sweeps, NOW, NOW).closed == ()


def test_what_waited_through_an_outage_is_worked_off_by_scans_that_follow_each_other() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{number}", At(NOW + MINUTE_MS)) for number in range(2_000))
    play.clock.advance(3 * HOUR_MS)
    sweeps = Sweeps()
    while scan(play.world(), 0, Owner("2026", "a"), sweeps).backlog:
        pass
    assert all(play.runs(job.key) for job in jobs)


# Of each: minutes past the hour, pages of the hours from the cursor (three hours back) on, and where the cursor goes.
FULL_PAGE = DuePage((RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE),), full=False)
CURSOR_MOVES = {
    "all empty": (30, [EMPTY, EMPTY, EMPTY], 0),
    "the last hour is over for less than ten minutes": (9, [EMPTY, EMPTY, EMPTY], -1),
    "something stands in the first": (30, [FULL_PAGE, EMPTY, EMPTY], None),
    "something stands in the second": (30, [EMPTY, FULL_PAGE, EMPTY], -2),
}


@pytest.mark.parametrize("case", CURSOR_MOVES)
def test_a_cursor_moves_over_empty_hours_that_are_long_over_and_over_nothing_else(case: str) -> None:
    minutes, pages, moved = CURSOR_MOVES[case]
    now, cursor = HOUR + minutes * MINUTE_MS, HOUR - 3 * HOUR_MS
    sweeps = Sweeps(back_at={0: now})
    one = look(0, cursor, sweeps, now, now + 5_000)
    to = looked(one, pages, cursor, sweeps, now)
    assert to == (None if moved is None else HOUR + moved * HOUR_MS)


def _run(state: str) -> Run:
    queued = Run(
        id=RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE),
        state=RunState.QUEUED,
        stamp=1,
        priority="normal",
        shard=0,
        not_before=NOW,
        created_at=NOW,
    )
    running = claimed(queued, "owner", NOW, 30_000)
    failed = Attempt(1, Outcome.FAILED, NOW)
    return {
        "queued": queued,
        "queued, due far ahead": replace(queued, not_before=NOW + HOUR_MS),
        "queued, in the due index": replace(queued, due_at=NOW + 1),
        "queued, given up on once too often": replace(queued, carrier_failures=MAX_CARRIER_FAILURES - 1),
        "running": running,
        "running, in the due index": replace(running, due_at=NOW + 1),
        "retrying": retrying(running, NOW + 9_000, failed),
        "withdrawn": replace(queued, state=RunState.WITHDRAWN),
        "succeeded": ended(running, RunState.SUCCEEDED, NOW),
    }[state]


# Of each: what the run becomes: its state and its due key, in ms from NOW.
JUDGED = {
    "queued": (RunState.QUEUED, 30_000),
    "queued, due far ahead": (RunState.QUEUED, HOUR_MS),
    "queued, in the due index": (RunState.QUEUED, 1),
    "queued, given up on once too often": (RunState.FAILED, 0),
    "running": (RunState.RUNNING, 35_000),
    "running, in the due index": (RunState.RUNNING, 1),
    "retrying": (RunState.RETRYING, 9_000),
    "withdrawn": (RunState.WITHDRAWN, None),
    "succeeded": (RunState.SUCCEEDED, None),
}


@pytest.mark.parametrize("case", JUDGED)
def test_a_dead_letter_is_judged_by_the_row_of_its_run(case: str) -> None:
    state, due_ms = JUDGED[case]
    play = Play()
    before = _run(case)
    play.store.runs.insert([before], NOW)
    assert judge(play.world(), [before.id]) == [True]
    (after,) = play.store.runs.read([before.id])
    assert after is not None
    assert (after.state, after.due_at) == (state, None if due_ms is None else NOW + due_ms)
    counts = after.state is RunState.QUEUED and before.due_at is None
    assert after.carrier_failures == before.carrier_failures + counts
    assert (after.reason is Reason.UNDELIVERABLE) == (after.state is RunState.FAILED)


def test_a_dead_letter_of_no_run_may_go() -> None:
    assert judge(Play().world(), [RunId(JobKey("acme", "none"), NOW, Origin.MANUAL)]) == [True]


def test_a_run_that_the_queue_gave_up_on_is_sent_again_and_runs() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (delivery,) = play.queue.receive("normal")
    play.queue.inbox("normal").delete([delivery])
    assert judge(play.world(), [delivery.run]) == [True]
    play.run_on(job.key)
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED
    assert play.job(job.key).status is JobStatus.COMPLETED
