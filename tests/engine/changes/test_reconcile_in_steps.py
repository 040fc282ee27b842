"""A change of a job that takes long to settle, or cannot be settled: it is gone on with, and keeps nobody waiting."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.engine.play import NOW, PLAIN_RETRY, Play, spec
from tests.engine.service import KEY
from timeball.domain.changes.change import paused
from timeball.domain.model.ids import JobKey, Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, SECOND_MS
from timeball.domain.time.schedule import At, Every
from timeball.engine.changes.change import cancel, pause
from timeball.engine.changes.reconcile import UnfinishedError, reconcile
from timeball.engine.runs.manual import retry_runs
from timeball.ports.collections.rows import Swap, Swapped
from timeball.ports.collections.runs import LedgerPage, LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONG_AGO = NOW - 89 * DAY_MS
_EXAMINED = 1_000
"""How many rows a page is looked for in."""


class DeepRuns(MemoryRuns):
    """Runs of which one job has a row for each second of its past: a look at its live runs takes its time."""

    clock: VirtualClock
    killed_at: int | None = None
    looked_at: list[tuple[int, int]]

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        if query.job != KEY or query.from_at is None:
            return super().ledger(query)
        through_at = query.before.fire_at if query.before else LATEST
        from_at = max(min(through_at, self.clock.now()) - _EXAMINED * SECOND_MS, query.from_at)
        self.looked_at.append((from_at, through_at))
        self.clock.advance(_EXAMINED * 30 // 1_700)  # a megabyte takes 30 ms, a row has 600 bytes
        if self.killed_at is not None and self.clock.now() > self.killed_at:
            raise KeyboardInterrupt
        page = super().ledger(replace(query, from_at=from_at))
        return page if from_at == query.from_at else replace(page, next_before=RunId(KEY, from_at, Origin.BACKFILL))


def _play_with_a_run_of_long_ago(answer: int = 503) -> tuple[Play, DeepRuns, Run]:
    """A job that has run each second, of which a dead letter of long ago was tried by hand; a 503, and it is live."""
    play = Play(MemoryStore(runs=DeepRuns))
    runs = play.store.runs
    assert isinstance(runs, DeepRuns)
    runs.clock, runs.looked_at = play.clock, []
    play.store_jobs([spec("job", Every(1, NOW + DAY_MS), replace(PLAIN_RETRY, base_seconds=3600))])
    dead_id = RunId(KEY, LONG_AGO, Origin.SCHEDULE)
    dead = Run(dead_id, RunState.FAILED, 1, "normal", 0, LONG_AGO, LONG_AGO, attempt=4, finished_at=LONG_AGO)
    runs.insert([dead], NOW)
    retry_runs(play.context(), [dead_id])
    play.caller.statuses = [answer]
    play.drain()
    assert _run(play, dead_id).is_terminal == (answer == 200)
    return play, runs, dead


def _run(play: Play, run_id: RunId) -> Run:
    (run,) = play.store.runs.read([run_id])
    assert run is not None
    return run


def test_a_look_that_one_call_cannot_finish_is_gone_on_with_by_scan_after_scan_each_within_its_time() -> None:
    play, runs, dead = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        cancel(play.context(), [(KEY, None)])
    scans, backlog = 0, True
    while backlog:
        begun_at = play.clock.now()
        backlog = play.scan().backlog
        scans += 1
        assert play.clock.now() - begun_at <= play.rules.lookahead_ms
    assert scans < 90
    assert _run(play, dead.id).state is RunState.CANCELLED
    assert play.job(KEY).intent is None
    pages = sorted(runs.looked_at)
    assert pages[0][0] == LONG_AGO
    assert pages[-1][1] == LATEST
    assert all(through_at == from_at for (_, through_at), (from_at, _) in pairwise(pages))


def test_a_look_goes_on_where_it_was_when_its_scans_are_killed() -> None:
    play, runs, dead = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        cancel(play.context(), [(KEY, None)])
    for number in range(200):
        runs.killed_at = play.clock.now() + 1_000 if number % 2 else None
        try:
            backlog = play.scan().backlog
        except KeyboardInterrupt:
            continue
        if not backlog:
            break
    assert play.job(KEY).intent is None
    assert _run(play, dead.id).state is RunState.CANCELLED


def _kept_by_another(play: Play, place: RunId) -> Job:
    """Let another process keep its place on a job's intent; return the job as it was before."""
    job = play.job(KEY)
    assert job.intent is not None
    kept = replace(job, intent=replace(job.intent, searched_to=place))
    assert play.store.jobs.swap([Swap(job, kept)], play.clock.now())[0].done
    return job


def test_who_has_finished_a_look_drops_the_intent_though_another_kept_its_place_meanwhile() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(3600, NOW + HOUR_MS))])
    play.store.jobs.swap([Swap(job, paused(job, NOW))], NOW)
    reconcile(play.context(), [_kept_by_another(play, RunId(KEY, NOW - HOUR_MS, Origin.SCHEDULE))])
    assert play.job(KEY).intent is None


def test_who_is_cut_off_does_not_overwrite_the_place_of_another() -> None:
    play, _, _ = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        pause(play.context(), [(KEY, None)])
    stale = _kept_by_another(play, place := RunId(KEY, NOW - 80 * DAY_MS, Origin.SCHEDULE))
    with pytest.raises(UnavailableError, match="changed meanwhile"):
        reconcile(play.context(), [stale])
    intent = play.job(KEY).intent
    assert intent is not None
    assert intent.searched_to == place


def test_what_is_due_is_dispatched_before_a_long_settling_and_whatever_becomes_of_that() -> None:
    play, runs, _ = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        pause(play.context(), [(KEY, None)])
    (good,) = play.store_jobs([spec("good", At(play.clock.now() + SECOND_MS))])
    runs.killed_at = play.clock.now()
    with pytest.raises(KeyboardInterrupt):
        play.scan()
    assert [run.state for run in play.runs(good.key)] == [RunState.QUEUED]


class Refusal(Memory):
    """The memory of a store that takes its time to refuse one tenant's jobs: looks at runs, and writes of rows."""

    clock: VirtualClock
    to_look: Exception | None = None
    to_write: Exception | None = None


class RefusingRuns(MemoryRuns):
    _memory: Refusal

    def ledger(self, query: LedgerQuery) -> LedgerPage:
        if query.job.tenant == "hot" and self._memory.to_look is not None:
            self._memory.clock.advance(3_150)
            raise self._memory.to_look
        return super().ledger(query)


class RefusingJobs(MemoryJobs):
    _memory: Refusal

    def swap(self, swaps: Sequence[Swap[Job]], now: int) -> list[Swapped[Job]]:
        if self._memory.to_write is not None and any(swap.before.key.tenant == "hot" for swap in swaps):
            raise self._memory.to_write
        return super().swap(swaps, now)


def _play_with_changed_jobs(count: int) -> tuple[Play, Refusal, list[Job], Job]:
    """Jobs of the hot tenant, and behind them a good one, that somebody has paused and nobody settled."""
    play = Play(MemoryStore(refusal := Refusal(), jobs=RefusingJobs, runs=RefusingRuns))
    refusal.clock = play.clock
    hourly = Every(3600, NOW + HOUR_MS)
    hot = [replace(spec(f"hot-{number}", hourly), key=JobKey("hot", f"hot-{number}")) for number in range(count)]
    *stored, good = play.store_jobs([*hot, spec("good", hourly)])
    for at, job in enumerate([*stored, good], NOW):
        play.store.jobs.swap([Swap(job, paused(job, at))], at)
    return play, refusal, stored, good


def _scan_until_settled(play: Play, job: Job, scans: int) -> None:
    for _ in range(scans):
        try:
            play.scan()
        except (ValueError, UnavailableError):
            continue  # a scan that does nothing says so
        finally:
            play.clock.advance(SECOND_MS)
        if play.job(job.key).intent is None:
            return
    raise AssertionError("the job is not settled")


def test_a_job_that_can_be_neither_settled_nor_written_keeps_no_other_from_being_settled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    play, refusal, _, good = _play_with_changed_jobs(1)
    refusal.to_write = ValueError("the row cannot be written")
    with caplog.at_level(logging.WARNING):
        assert play.scan().reconciled == 1
    assert play.job(good.key).intent is None
    assert "job cannot be reconciled" in caplog.text
    assert "1 of 1 left for later: the row cannot be written" in caplog.text


def test_jobs_that_cannot_be_settled_just_now_are_put_off_and_use_up_the_time_of_no_other() -> None:
    play, refusal, hot, good = _play_with_changed_jobs(5)
    refusal.to_look = UnavailableError("throttled")
    (due,) = play.store_jobs([spec("due", At(NOW + SECOND_MS))])
    play.scan()
    assert [run.state for run in play.runs(due.key)] == [RunState.QUEUED]
    assert play.clock.now() - NOW <= play.rules.lookahead_ms
    _scan_until_settled(play, good, scans=8)
    refusal.to_look = None
    for job in hot:
        assert play.job(job.key).plan_failures == 0
        _scan_until_settled(play, job, scans=11)
