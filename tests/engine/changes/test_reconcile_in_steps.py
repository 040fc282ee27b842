"""Changes that take long to reconcile, or cannot be reconciled: later scans continue them, and no job is delayed."""

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
from timeball.ports.collections import LedgerPage, LedgerQuery
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap, Swapped
from timeball.testing.memory_collections import MemoryJobs, MemoryRuns
from timeball.testing.memory_rows import Memory
from timeball.testing.memory_store import MemoryStore
from timeball.testing.virtual_clock import VirtualClock

LONG_AGO = NOW - 89 * DAY_MS
_EXAMINED = 1_000
"""How many rows are examined for a page."""


class DeepRuns(MemoryRuns):
    """Runs of which one job has a row for each second of its past: a search for its live runs takes long."""

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
    """Return a job with a run each second, and an old dead letter that is retried manually. A 503 keeps it live."""
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


def test_scan_after_scan_continues_a_search_that_one_call_cannot_finish_each_within_its_time() -> None:
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


def test_a_search_continues_where_it_was_after_its_scans_are_killed() -> None:
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
    """Store another process's cursor in a job's intent, and return the job as it was before."""
    job = play.job(KEY)
    assert job.intent is not None
    kept = replace(job, intent=replace(job.intent, searched_to=place))
    assert play.store.jobs.swap([Swap(job, kept)], play.clock.now())[0].done
    return job


def test_a_finished_search_drops_the_intent_although_another_process_stored_its_cursor_meanwhile() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("job", Every(3600, NOW + HOUR_MS))])
    play.store.jobs.swap([Swap(job, paused(job, NOW))], NOW)
    reconcile(play.context(), _kept_by_another(play, RunId(KEY, NOW - HOUR_MS, Origin.SCHEDULE)))
    assert play.job(KEY).intent is None


def test_a_search_that_is_cut_off_does_not_overwrite_the_cursor_of_another() -> None:
    play, _, _ = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        pause(play.context(), [(KEY, None)])
    stale = _kept_by_another(play, place := RunId(KEY, NOW - 80 * DAY_MS, Origin.SCHEDULE))
    with pytest.raises(UnavailableError, match="changed meanwhile"):
        reconcile(play.context(), stale)
    intent = play.job(KEY).intent
    assert intent is not None
    assert intent.searched_to == place


def test_due_jobs_are_dispatched_before_a_long_reconciliation_even_if_that_fails() -> None:
    play, runs, _ = _play_with_a_run_of_long_ago()
    with pytest.raises(UnfinishedError):
        pause(play.context(), [(KEY, None)])
    (good,) = play.store_jobs([spec("good", At(play.clock.now() + SECOND_MS))])
    runs.killed_at = play.clock.now()
    with pytest.raises(KeyboardInterrupt):
        play.scan()
    assert [run.state for run in play.runs(good.key)] == [RunState.QUEUED]


class Refusal(Memory):
    """The state of a store that is slow to refuse one tenant's jobs: searches for runs, and writes of rows."""

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
    """Return jobs of the hot tenant, and a good one after them: all are paused, and not yet reconciled."""
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
            continue  # a scan that does nothing raises an error
        finally:
            play.clock.advance(SECOND_MS)
        if play.job(job.key).intent is None:
            return
    raise AssertionError("the job is not reconciled")


def test_a_job_that_can_be_neither_reconciled_nor_written_does_not_stop_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    play, refusal, _, good = _play_with_changed_jobs(1)
    refusal.to_write = ValueError("the row cannot be written")
    with caplog.at_level(logging.WARNING):
        assert play.scan().reconciled == 1
    assert play.job(good.key).intent is None
    assert "job cannot be reconciled" in caplog.text
    assert "1 of 1 left for later: the row cannot be written" in caplog.text


def test_jobs_that_cannot_be_reconciled_now_are_postponed_and_use_no_other_jobs_time() -> None:
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
