"""What scans did is recorded together every few seconds, and also while nothing is due."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Priority
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.time.schedule import At
from timeball.engine.metrics import Metric
from timeball.engine.scanning.buckets import is_owner, noting_ticks
from timeball.engine.scanning.pulse import EVERY_MS, SILENT_MS, Pulse
from timeball.engine.scanning.scan import ScanResult
from timeball.ports.due_index import Owner
from timeball.ports.errors import UnavailableError
from timeball.ports.rows import Swap


def _tick(play: Play, pulse: Pulse, seconds: int = 1) -> None:
    for _ in range(seconds):
        began_at = play.clock.now()
        pulse.note(play.context(), play.scan(), began_at)
        play.clock.advance(SECOND_MS)


def test_ticks_are_recorded_while_nothing_is_due() -> None:
    play, pulse = Play(), Pulse()
    _tick(play, pulse, 31)
    assert play.telemetry.totals[Metric.TICKS] == 31
    assert len(play.telemetry.timings[Metric.SCAN_MS]) == 31
    assert play.telemetry.totals[Metric.SCAN_BACKLOG] == 0
    assert Metric.OLDEST_DUE not in play.telemetry.timings


def test_a_new_process_records_its_first_scan_at_once_and_later_ones_together() -> None:
    play, pulse = Play(), Pulse()
    _tick(play, pulse)
    assert play.telemetry.totals[Metric.TICKS] == 1
    _tick(play, pulse, EVERY_MS // SECOND_MS - 1)
    assert play.telemetry.totals[Metric.TICKS] == 1
    _tick(play, pulse)
    assert play.telemetry.totals[Metric.TICKS] == 1 + EVERY_MS // SECOND_MS


def test_a_scan_on_behalf_of_an_older_owner_is_no_tick() -> None:
    play, pulse = Play(), Pulse()
    pulse.note(play.context(), ScanResult(superseded=True), play.clock.now())
    assert not play.telemetry.totals


def test_the_oldest_due_job_of_each_priority_is_recorded() -> None:
    play, pulse = Play(), Pulse()
    wanted = [("a", 3, "high"), ("b", 9, "high"), ("c", 5, "low")]
    play.store_jobs(
        [replace(spec(name, At(NOW - ago * SECOND_MS)), priority=Priority(priority)) for name, ago, priority in wanted]
    )
    pulse.note(play.context(), done := play.scan(), play.clock.now())
    assert done.overdue_ms == {"high": 9 * SECOND_MS, "low": 5 * SECOND_MS}
    assert sorted(play.telemetry.timings[Metric.OLDEST_DUE]) == [5 * SECOND_MS, 9 * SECOND_MS]


def test_what_is_due_within_the_look_ahead_is_not_overdue() -> None:
    play = Play()
    play.store_jobs([spec("soon", At(NOW + SECOND_MS))])
    assert play.scan().overdue_ms == {}


@pytest.mark.parametrize(
    ("partitions", "silent_ms", "expected"),
    [
        (2, SILENT_MS, 0),
        (2, SILENT_MS + 1, 1),
        (2, None, 1),  # it has never ticked
        (1, None, 0),  # there is no other partition
    ],
)
def test_a_scan_records_that_the_next_partition_is_silent(
    partitions: int, silent_ms: int | None, expected: int
) -> None:
    play = Play()
    if silent_ms is not None:
        play.store.partitions.take(0, Owner("2026", "a"), NOW - silent_ms)
    Pulse().note(play.context(), ScanResult(), NOW, partitions - 1, partitions)
    assert play.telemetry.totals[Metric.PARTITIONS_SILENT] == expected


def test_an_owner_notes_no_ticks_while_its_scans_fail_and_notes_them_again_with_the_first_that_is_done() -> None:
    play, sweeps, owner = Play(), open_days_only(0), Owner("2026", "a")
    assert is_owner(play.context(), 0, owner, sweeps)
    noted_at = play.clock.now()
    for _ in range(60):
        assert is_owner(play.context(), 0, owner, sweeps)
        with pytest.raises(UnavailableError), noting_ticks(sweeps, 0, owner):
            raise UnavailableError("the due index does not answer")
        play.clock.advance(SECOND_MS)
    assert play.store.partitions.last_tick(0) == noted_at
    with noting_ticks(sweeps, 0, owner):
        assert is_owner(play.context(), 0, owner, sweeps)
    assert is_owner(play.context(), 0, owner, sweeps)
    assert play.store.partitions.last_tick(0) == play.clock.now()


def test_a_job_that_waited_for_its_parents_is_not_overdue() -> None:
    play = Play()
    (job,) = play.store_jobs([spec("waits", At(NOW - 60 * SECOND_MS))])
    waiting = evolve(job, waits=True)
    play.store.jobs.swap([Swap(job, waiting)], NOW)
    assert play.scan().overdue_ms == {}
