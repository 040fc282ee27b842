"""Unreadable rows: they are logged, and stop no other row."""

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.jobs.job import with_spec
from timeball.domain.model.runs.run import RunState
from timeball.domain.time.instants import MINUTE_MS
from timeball.domain.time.schedule import At, Cron, Schedule
from timeball.testing.memory_store import MemoryStore


def test_a_run_that_cannot_be_decided_stops_no_other_of_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    play = Play(store := MemoryStore())
    due_at = NOW - NOW % MINUTE_MS + MINUTE_MS
    good = play.store_jobs(spec(f"good-{number}", At(due_at)) for number in range(9))
    (bad,) = play.store_jobs([spec("bad", Cron("* * * * *", "UTC"))])
    play.clock.advance(due_at - NOW)
    play.scan_all()
    store.jobs[bad.key] = with_spec(store.jobs[bad.key], schedule=Schedule(Cron("* * * * *", "Mars/Base")))

    deliveries = play.queue.receive("normal")
    assert len(deliveries) == 10
    (returned,) = play.execute(deliveries)
    assert returned.run.job == bad.key
    assert {play.runs(job.key)[0].state for job in good} == {RunState.SUCCEEDED}
    assert play.runs(bad.key)[0].state is RunState.QUEUED
    assert "run cannot be decided about" in caplog.text


def test_a_run_that_cannot_be_decided_comes_again_later_and_runs_when_it_can_be() -> None:
    play = Play(store := MemoryStore())
    (bad,) = play.store_jobs([spec("bad", Cron("* * * * *", "UTC"))])
    play.clock.advance(MINUTE_MS)
    play.scan_all()
    readable = store.jobs[bad.key]
    store.jobs[bad.key] = with_spec(readable, schedule=Schedule(Cron("* * * * *", "Mars/Base")))
    play.execute(play.queue.receive("normal"))
    ((_, comes_at),) = play.queue.waiting("normal")
    assert comes_at - play.clock.now() == play.rules.misfire_ms
    store.jobs[bad.key] = readable
    play.clock.advance(play.rules.misfire_ms - 1)
    assert play.queue.receive("normal") == []
    play.clock.advance(1)
    assert play.execute(play.queue.receive("normal")) == []
    assert play.runs(bad.key)[0].is_terminal
