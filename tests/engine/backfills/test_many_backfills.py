"""Many backfills of one tenant: as many run as are allowed, a scan advances them in few requests, and delays no job."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.engine.latency import REQUEST_MS, Slow
from tests.engine.play import NOW, Play, open_days_only, spec
from tests.engine.service import Service, at
from timeball.domain.backfill import Backfill, BackfillStatus, cancelled_backfill, instants, new_backfill
from timeball.domain.backfill_slots import MAX_LINE, BackfillSlots
from timeball.domain.model.ids import BackfillKey, JobKey
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.engine.backfills import cancel_backfill, create_backfills
from timeball.engine.changes.change import cancel
from timeball.engine.context import Rules
from timeball.engine.scanning.scan import ScanResult, scan
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.faults import with_outages
from timeball.testing.memory_store import MemoryStore

OTHER = JobKey("other", "job")
SHARDS = 4
RUNNING = BackfillStatus.RUNNING


def _hourly(play: Play) -> Job:
    (job,) = play.store_jobs([spec("job", Every(60, NOW + DAY_MS))])
    return job


def _backfills(job: Job, number: int, fires: int, pace: int = 1) -> list[Backfill]:
    fire_times = list(instants(job.spec.schedule, NOW - 30 * DAY_MS, NOW - 30 * DAY_MS + fires * MINUTE_MS))
    return [
        new_backfill(BackfillKey(job.key, f"bf{n:04}"), job, fire_times, pace, OverlapPolicy.ALLOW, NOW)
        for n in range(number)
    ]


def _running(play: Play, number: int) -> list[Backfill]:
    """Store backfills that run already, in all shards."""
    made = _backfills(_hourly(play), number, 1_000)
    running = [replace(one, status=RUNNING, shard=n % SHARDS) for n, one in enumerate(made)]
    play.store.backfills.insert(running, NOW)
    return running


def _scan(slow: Slow) -> ScanResult:
    return scan(slow.context(), 0, Owner("2026", "a"), open_days_only(*range(SHARDS)))


def _of(play: Play, status: BackfillStatus) -> list[Backfill]:
    assert isinstance(play.store, MemoryStore)
    return [one for one in play.store.backfills.values() if one.status is status]


def test_a_scan_advances_a_thousand_backfills_in_two_rounds_of_parallel_requests() -> None:
    play = Play(rules=Rules(shards=SHARDS))
    slow = Slow(play)
    _running(play, 1_000)
    assert _scan(slow).backfilled == 1_000
    asked_anyway = ("partitions.take", "due.query")
    assert {name: number for name, number in slow.requests.items() if name not in asked_anyway} == {
        "backfills.read": 1,
        "jobs.read": 2,
        "freezes.read": 1,
        "runs.insert": 2,
        "watch": 2,
        "send": 6,
        "backfills.swap": 2,
    }
    assert play.clock.now() - NOW <= 24 * REQUEST_MS


def test_another_tenants_job_is_sent_before_its_second_while_a_thousand_backfills_run() -> None:
    play = Play(rules=Rules(shards=SHARDS))
    slow = Slow(play)
    _running(play, 1_000)
    play.store_jobs([replace(spec("job", Every(3, NOW + 20_000)), key=OTHER)])
    for second in range(60):
        play.clock.advance(max(0, at(second) - play.clock.now()))
        _scan(slow)
    late = {run.fire_at - NOW: sent - run.fire_at for run, sent in slow.sent_at.items() if run.job == OTHER}
    assert len(late) >= 14
    assert max(late.values()) <= 0
    moved = [one.started for one in _of(play, RUNNING)]
    assert min(moved) >= 30


def test_a_backfill_that_cannot_be_advanced_stops_no_other() -> None:
    play = Play(rules=Rules(shards=SHARDS))
    _running(play, 250)
    store, play.store = play.store, with_outages(play.store, lambda _, item: "bf0007" in repr(item))
    assert play.scan().backfilled > 0
    play.store = store
    assert [one.key.name for one in _of(play, RUNNING) if not one.started] == ["bf0007"]
    play.scan()
    assert {one.started for one in _of(play, RUNNING)} == {1, 2}


def test_a_thousand_cancelled_backfills_take_only_a_second_of_each_scan_and_all_end() -> None:
    play = Play(rules=Rules(shards=SHARDS))
    slow = Slow(play)
    running = _running(play, 1_000)
    assert isinstance(play.store, MemoryStore)
    for one in running:
        play.store.backfills[one.key] = cancelled_backfill(one, NOW)
    first = _scan(slow)
    assert first.backlog
    assert play.clock.now() - NOW <= SECOND_MS
    while _scan(slow).backlog:
        pass
    assert [one for one in play.store.backfills.values() if one.due_at is not None] == []


def test_cancelling_a_job_asks_once_about_each_completed_backfill() -> None:
    play = Play(rules=Rules(shards=SHARDS))
    slow = Slow(play)
    made = _backfills(job := _hourly(play), 80, 1)
    over = [replace(one, status=BackfillStatus.COMPLETED, next_fire_at=None, due_at=None) for one in made]
    play.store.backfills.insert(over, NOW)
    cancel(slow.context(), [(job.key, None)])
    assert sum(slow.requests.values()) <= len(over) + 10
    assert len(_of(play, BackfillStatus.COMPLETED)) == len(over)


def test_no_more_backfills_run_at_once_than_allowed_and_the_next_starts_as_soon_as_one_ends() -> None:
    with Service(Play(rules=Rules(shards=1, running_backfills=3))) as service:
        play = service.play
        job = _hourly(play)
        create_backfills(play.context(), made := _backfills(job, 3 + MAX_LINE, 8))
        running: list[int] = []
        for second in range(60):
            service.until(at(second))
            running.append(len(_of(play, RUNNING)))
        assert max(running) == 3
        assert len(_of(play, BackfillStatus.COMPLETED)) == len(made)
        assert len(service.target.visits) == len(made) * 8
        assert running.index(0) <= 50
        assert [row and row.named for row in play.store.slots.read(["acme"])] == [()]


def test_the_next_backfill_runs_within_a_second_of_a_cancel() -> None:
    with Service(Play(rules=Rules(shards=1, running_backfills=1))) as service:
        play = service.play
        first, second = _backfills(_hourly(play), 2, 100)
        create_backfills(play.context(), [first])
        create_backfills(play.context(), [second])
        service.until(at(60))
        assert [one.key for one in _of(play, BackfillStatus.WAITING)] == [second.key]
        cancel_backfill(play.context(), first)
        service.until(at(61))
        assert [one.key for one in _of(play, RUNNING)] == [second.key]


def test_waiting_backfills_cost_few_writes_and_none_to_the_row_of_slots() -> None:
    play = Play(rules=Rules(shards=1, running_backfills=1))
    create_backfills(play.context(), _backfills(_hourly(play), 200, 1_000, pace=3600))
    slow = Slow(play)
    moved = 0
    for second in range(120):
        play.clock.advance(max(0, at(second) - play.clock.now()))
        moved += _scan(slow).backfilled
    assert 2 * 199 <= moved <= 6 * 199
    assert slow.requests["slots.swap"] == 0


@pytest.mark.parametrize("status", [BackfillStatus.COMPLETED, BackfillStatus.CANCELLED])
def test_a_slot_that_was_never_released_is_found(status: BackfillStatus) -> None:
    play = Play(rules=Rules(shards=1, running_backfills=1))
    first, second = _backfills(_hourly(play), 2, 100)
    create_backfills(play.context(), [first])
    assert isinstance(play.store, MemoryStore)
    play.store.backfills[first.key] = replace(first, status=status, due_at=None)
    create_backfills(play.context(), [second])
    assert [one.key for one in _of(play, RUNNING)] == [second.key]


def test_the_loser_of_a_race_for_the_row_takes_the_slots_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(rules=Rules(shards=1, running_backfills=2))
    first, second, third = _backfills(_hourly(play), 3, 100)
    create_backfills(play.context(), [first])
    swap = play.store.slots.swap

    def too_late(swaps: Sequence[Swap[BackfillSlots]], now: int) -> list[Swapped[BackfillSlots]]:
        patch.undo()
        create_backfills(play.context(), [second])
        return swap(swaps, now)

    with monkeypatch.context() as patch:
        patch.setattr(play.store.slots, "swap", too_late)
        create_backfills(play.context(), [third])
    assert [one.key for one in _of(play, RUNNING)] == [first.key, second.key]
    named = (first.key, second.key, third.key)
    assert [row and row.named for row in play.store.slots.read(["acme"])] == [named]


def test_backfills_are_stored_although_the_slots_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play()
    (one,) = _backfills(_hourly(play), 1, 3)

    def unavailable(*_: object) -> None:
        raise UnavailableError("not now")

    with monkeypatch.context() as patch:
        patch.setattr(play.store.slots, "read", unavailable)
        assert create_backfills(play.context(), [one]) == [one]
    assert play.scan().backfilled == 1


def test_cancelling_a_job_with_many_backfills_is_reconciled_in_steps_and_delays_no_job() -> None:
    play = Play(rules=Rules(shards=1))
    job, slow = _hourly(play), Slow(play)
    over = [
        replace(one, status=BackfillStatus.COMPLETED, next_fire_at=None, due_at=None)
        for one in _backfills(job, 1_000, 1)
    ]
    play.store.backfills.insert(over, NOW)
    play.store_jobs([replace(spec("job", Every(1, NOW)), key=OTHER)])
    with pytest.raises(UnavailableError):
        cancel(slow.context(), [(job.key, None)])
    assert play.clock.now() < at(5)
    took_ms: list[int] = []
    while play.job(job.key).intent is not None:
        began_at = play.clock.now()
        _scan(slow)
        took_ms.append(play.clock.now() - began_at)
        play.clock.advance(max(0, at((play.clock.now() - NOW) // SECOND_MS + 1) - play.clock.now()))
    assert 3 < len(took_ms) < 20
    assert max(took_ms) < 5 * SECOND_MS
    late_ms = [
        sent_at - run.fire_at for run, sent_at in slow.sent_at.items() if run.job == OTHER and run.fire_at > at(5)
    ]
    assert late_ms
    assert max(late_ms) <= 0


def test_stopping_a_backfill_reads_only_its_own_runs_of_its_range() -> None:
    play = Play(store := MemoryStore(), rules=Rules(shards=1))
    job, slow = _hourly(play), Slow(play)
    own, sibling = _backfills(job, 2, 300, pace=0)
    create_backfills(play.context(), [own])
    copies = {
        replace(run.id, series=sibling.key.name): replace(run, id=replace(run.id, series=sibling.key.name))
        for run in store.runs.values()
    }
    store.runs.update(copies)
    cancel_backfill(slow.context(), own)
    assert slow.requests["runs.ledger"] == 0
    assert slow.requests["runs.read"] <= 5
    live = {run.id.series for run in store.runs.values() if not run.is_terminal}
    assert live == {sibling.key.name}


def test_a_hundred_waiting_backfills_ask_for_a_slot_together_even_if_each_would_start_many_runs() -> None:
    play = Play(rules=Rules(shards=SHARDS, running_backfills=1))
    slow = Slow(play)
    waiting = [replace(one, shard=n % SHARDS) for n, one in enumerate(_backfills(_hourly(play), 300, 1_000, pace=0))]
    play.store.backfills.insert(waiting, NOW)
    began_at = play.clock.now()
    _scan(slow)
    assert play.clock.now() - began_at < SECOND_MS
    assert sum(slow.requests.values()) < 40
    assert len([one for one in _of(play, BackfillStatus.WAITING) if one.revision > 1]) == 299


def test_backfills_that_start_many_runs_leave_time_for_the_rest_of_the_scan() -> None:
    play = Play(rules=Rules(shards=SHARDS, running_backfills=200))
    slow = Slow(play)
    unpaced = [replace(one, shard=n % SHARDS) for n, one in enumerate(_backfills(_hourly(play), 200, 1_000, pace=0))]
    play.store.backfills.insert(unpaced, NOW)
    for _ in range(30):
        began_at = play.clock.now()
        _scan(slow)
        assert play.clock.now() - began_at < 3 * SECOND_MS
    assert min(one.started for one in _of(play, RUNNING)) >= 100
