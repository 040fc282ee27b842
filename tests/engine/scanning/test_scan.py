"""Scans: outages, rows that cannot be planned, and the handling of dead letters."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import JobStatus, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import claimed, ended, retrying
from timeball.domain.model.runs.values import Attempt, Guarantor, Outcome
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import At, Cron, Every, Schedule
from timeball.engine.batches import one_after_the_other
from timeball.engine.runs.watch import MAX_DELIVERY_FAILURES, reconcile_messages
from timeball.engine.scanning.buckets import PAGE, Sweeps, day_of
from timeball.engine.scanning.scan import ScanResult, scan
from timeball.ports.due_index import Owner
from timeball.testing.faults import Points
from timeball.testing.memory_kept import MemoryPartitions
from timeball.testing.memory_store import MemoryStore

_T = TypeVar("_T")


def test_an_outage_of_two_days_ends_in_skipped_ranges_and_the_latest_missed_fire() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(60, NOW))])
    play.store.due.move_oldest_day(0, day_of(NOW))  # earlier scans have left it so
    play.clock.advance(2 * DAY_MS)
    sweeps = Sweeps()
    while scan(play.context(), 0, Owner("2026", "a"), sweeps).backlog:
        pass
    play.drain()
    rows = play.runs(job.key)
    skipped = [row for row in rows if row.state is RunState.SKIPPED]
    ran = [row.id.fire_at - NOW - 2 * DAY_MS for row in rows if row.state is RunState.SUCCEEDED]
    assert sum(row.count for row in skipped) == 2 * 24 * 60 - 2
    assert ran == [-2 * MINUTE_MS, -MINUTE_MS, 0]  # the latest missed fire, one that is not missed yet, the present one
    assert {row.reason for row in skipped} == {Reason.MISFIRED}
    for earlier, later in pairwise(rows):
        assert later.id.fire_at == (earlier.last_fire_at or earlier.id.fire_at) + MINUTE_MS


def test_a_row_that_cannot_be_planned_stops_no_other_and_is_pushed_back_farther_each_time() -> None:
    play = Play()
    play.store_jobs([spec("broken", Every(60, NOW)), spec("sound", Every(60, NOW))])
    assert isinstance(play.store, MemoryStore)
    broken = JobKey("acme", "broken")
    play.store.jobs[broken] = with_spec(play.store.jobs[broken], schedule=Schedule(Cron("not a cron", "UTC")))
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


def test_a_scan_of_a_superseded_owner_does_nothing() -> None:
    play = Play()
    play.store_jobs([spec("job", At(NOW))])
    play.store.partitions.take(0, Owner("2026-11-21T09:31", "b"), NOW)
    assert scan(play.context(), 0, Owner("2026-11-21T09:30", "c"), Sweeps()) == ScanResult(superseded=True)
    assert play.queue.sent == []


class AskedPartitions(MemoryPartitions):
    """Partitions that count the requests for ownership."""

    asked: int = 0

    def take(self, partition: int, owner: Owner, now: int) -> bool:
        self.asked += 1
        return super().take(partition, owner, now)


def test_a_superseded_loop_ends_within_two_seconds_and_asks_no_more_often_than_that() -> None:
    play = Play(store := MemoryStore(partitions=AskedPartitions))
    asked = store.partitions
    assert isinstance(asked, AskedPartitions)
    older, newer = Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")
    old, new = Sweeps(), Sweeps()
    for second in range(4):
        assert not scan(play.context(), 0, older, old).superseded
        assert asked.asked == second // 2 + 1
        play.clock.advance(SECOND_MS)
    assert not scan(play.context(), 0, newer, new).superseded
    assert scan(play.context(), 0, older, new).superseded  # this process knows it without asking
    play.clock.advance(SECOND_MS)
    assert scan(play.context(), 0, older, old).superseded
    assert asked.asked == 4


@pytest.mark.parametrize("died_after_ms", range(0, 5 * SECOND_MS, 500))
def test_a_standby_execution_ticks_within_15_seconds_after_the_newer_one_has_died(died_after_ms: int) -> None:
    """As in the ticker, a superseded loop asks every fifth second. The newer loop begins at any time in between."""
    play = Play()
    older, newer = Owner("2026-11-21T09:30", "a"), Owner("2026-11-21T09:31", "a")
    sweeps, now_and_then = Sweeps(), 7 * SECOND_MS + died_after_ms
    for _ in range(now_and_then // 500):
        assert not scan(play.context(), 0, newer, Sweeps()).superseded
        play.clock.advance(500)
    died_at = play.clock.now()
    while scan(play.context(), 0, older, sweeps).superseded:
        play.clock.advance(5 * SECOND_MS)
    assert play.clock.now() - died_at <= 15 * SECOND_MS
    for _ in range(5):
        play.clock.advance(SECOND_MS)
        assert not scan(play.context(), 0, older, sweeps).superseded
    assert not scan(play.context(), 0, newer, Sweeps()).superseded
    play.clock.advance(3 * SECOND_MS)
    assert scan(play.context(), 0, older, sweeps).superseded


def test_a_long_scan_notes_that_it_is_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a standby execution would repeat its work, just when there is most of it."""
    play = Play(store := MemoryStore(partitions=AskedPartitions))
    asked = store.partitions
    assert isinstance(asked, AskedPartitions)
    play.store_jobs([spec("job", Every(1, NOW))])
    send = play.queue.send

    def send_slowly(runs: Sequence[Run], now: int) -> list[bool]:
        play.clock.advance(3 * SECOND_MS)
        return send(runs, now)

    monkeypatch.setattr(play.queue, "send", send_slowly)
    play.scan()
    assert asked.asked > 1


def test_more_jobs_than_a_page_are_a_backlog_that_the_next_scans_process() -> None:
    play = Play()
    play.store_jobs(spec(f"job-{number}", At(NOW)) for number in range(PAGE + 10))
    assert play.scan().backlog
    play.scan_all()
    assert len({run.id for run in play.queue.sent}) == PAGE + 10


def test_a_job_of_three_runs_has_three_and_is_then_completed() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Schedule(Every(60, NOW), max_runs=3))])
    for _ in range(5):
        play.scan_all()
        play.drain()
        play.clock.advance(MINUTE_MS)
    assert [row.state for row in play.runs(job.key)] == [RunState.SUCCEEDED] * 3
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_consecutive_scans_process_the_backlog_of_an_outage() -> None:
    play = Play()
    jobs = play.store_jobs(spec(f"job-{number}", At(NOW + MINUTE_MS)) for number in range(2_000))
    play.clock.advance(3 * HOUR_MS)
    sweeps = Sweeps()
    while scan(play.context(), 0, Owner("2026", "a"), sweeps).backlog:
        pass
    assert all(play.runs(job.key) for job in jobs)


def _run(state: str) -> Run:
    queued = Run(
        id=RunId(JobKey("acme", "job"), NOW, Origin.SCHEDULE),
        state=RunState.QUEUED,
        decided_at_version=1,
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
        "queued, given up on once too often": replace(queued, delivery_failures=MAX_DELIVERY_FAILURES - 1),
        "running": running,
        "running, in the due index": replace(running, due_at=NOW + 1),
        "retrying": retrying(running, NOW + 9_000, failed),
        "withdrawn": replace(queued, state=RunState.WITHDRAWN),
        "succeeded": ended(running, RunState.SUCCEEDED, NOW, Guarantor.MESSAGE),
    }[state]


# The run's state afterwards, and its due key in ms from NOW.
JUDGED = {
    "queued": (RunState.QUEUED, 30_000),
    "queued, due far ahead": (RunState.QUEUED, HOUR_MS),
    "queued, in the due index": (RunState.QUEUED, 1),
    "queued, given up on once too often": (RunState.FAILED, None),
    "running": (RunState.RUNNING, 35_000),
    "running, in the due index": (RunState.RUNNING, 1),
    "retrying": (RunState.RETRYING, 9_000),
    "withdrawn": (RunState.WITHDRAWN, None),
    "succeeded": (RunState.SUCCEEDED, None),
}


@pytest.mark.parametrize("case", JUDGED)
def test_the_runs_row_decides_about_a_message_that_its_queue_gave_up_on(case: str) -> None:
    state, due_ms = JUDGED[case]
    play = Play()
    before = _run(case)
    play.store.runs.insert([before], NOW)
    assert reconcile_messages(play.context(), [before.id]) == [True]
    (after,) = play.store.runs.read([before.id])
    assert after is not None
    assert (after.state, after.due_at) == (state, None if due_ms is None else NOW + due_ms)
    counts = after.state is RunState.QUEUED and before.due_at is None
    assert after.delivery_failures == before.delivery_failures + counts
    assert (after.reason is Reason.UNDELIVERABLE) == (after.state is RunState.FAILED)
    # A live run's row is written even if it stays the same: a scan that has read it and would drop its due key must
    # read it again.
    assert (after.revision == before.revision) == (case in ("withdrawn", "succeeded"))


def test_a_given_up_message_of_no_run_may_be_deleted() -> None:
    assert reconcile_messages(Play().context(), [RunId(JobKey("acme", "none"), NOW, Origin.MANUAL)]) == [True]


def test_a_run_whose_message_a_queue_gave_up_on_is_sent_again_and_runs() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", At(NOW))])
    play.scan_all()
    (delivery,) = play.queue.receive("normal")
    play.queue.inbox("normal").delete([delivery])
    assert reconcile_messages(play.context(), [delivery.run]) == [True]
    play.run_on(job.key)
    assert play.runs(job.key)[0].state is RunState.SUCCEEDED
    assert play.job(job.key).status is JobStatus.COMPLETED


def test_no_more_than_three_chunks_of_jobs_are_in_flight_at_once() -> None:
    play = Play()
    play.store_jobs([spec(f"job-{number}", At(NOW)) for number in range(5)])
    seen: list[int] = []

    def noting(calls: Sequence[Callable[[], _T]]) -> list[_T]:
        seen.append(len(calls))
        return one_after_the_other(calls)

    play.side_by_side = noting
    play.points = Points()
    assert play.scan(chunk=1).sent == 5
    assert [count for count in seen if count > 1] == [3]
