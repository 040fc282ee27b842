"""A next fire that other time zone data computed: the present data decides, and no fire is lost without a row."""

import pytest

from tests.engine.play import NOW, Play, open_days_only, spec
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, RuleSet
from timeball.domain.model.reason import Reason
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, parse_instant
from timeball.domain.time.schedule import Cron, Schedule
from timeball.engine.context import Context
from timeball.engine.scanning.eras import note_era
from timeball.engine.scanning.scan import scan
from timeball.ports.due_index import Owner
from timeball.ports.rows import Swap

KEY = JobKey("acme", "caracas")
FORMER = RuleSet(tzdata="2019a")
NINE = parse_instant("2026-11-21T13:00:00Z")
"""Nine o'clock in Caracas, by the present data."""


def left_by_the_former_era(play: Play, schedule: Schedule, next_fire_at: int) -> Job:
    """Store a job whose next fire was computed by other data; nothing of it has fired."""
    (job,) = play.store_jobs([spec(KEY.job_id, schedule)])
    moved = evolve(job, next_fire_at=next_fire_at, due_at=next_fire_at, rules=FORMER)
    assert play.store.jobs.swap([Swap(job, moved)], NOW)[0].done
    return moved


def new_process(play: Play) -> Context:
    """Return a process of the present era, which begins with it."""
    process = play.context()
    note_era(process)
    return process


def scan_all(process: Context) -> None:
    while scan(process, 0, Owner("2026", "a"), open_days_only(0)).backlog:
        pass


def ledger(play: Play) -> list[tuple[int, Reason | None]]:
    return [(run.id.fire_at, run.reason) for run in play.runs(KEY)]


@pytest.mark.parametrize(
    ("former_at", "row"),
    [
        (NINE - 30 * MINUTE_MS, (NINE, None)),  # later by the present data: it waits until then
        (NINE, (NINE, None)),  # the same
        (NINE + 30 * MINUTE_MS, (NINE, None)),  # earlier: it comes late, and catch-up allows an hour
        (NINE + 14 * HOUR_MS, (NINE, Reason.MISFIRED)),  # too old to be caught up, and in the ledger all the same
    ],
)
def test_a_fire_of_the_present_data_has_a_row_wherever_the_former_data_had_it(
    former_at: int, row: tuple[int, Reason | None]
) -> None:
    play = Play()
    left_by_the_former_era(play, Schedule(Cron("0 9 * * *", "America/Caracas")), former_at)
    process = new_process(play)
    play.clock.advance(former_at - NOW)
    scan_all(process)
    play.clock.advance(max(0, NINE - former_at))
    scan_all(process)
    assert ledger(play) == [row]
    assert play.job(KEY).rules == RuleSet()


def test_no_fire_from_before_the_present_era_is_planned_again() -> None:
    play = Play(at=NINE - MINUTE_MS)
    left_by_the_former_era(play, Schedule(Cron("0 9 * * *", "America/Caracas")), NINE + 30 * MINUTE_MS)
    play.clock.advance(2 * MINUTE_MS)
    process = new_process(play)
    play.clock.advance(29 * MINUTE_MS)
    scan_all(process)
    assert ledger(play) == []
    assert play.job(KEY).next_fire_at == NINE + DAY_MS


def test_a_fire_that_the_present_data_brings_forward_counts_once_against_the_most_runs() -> None:
    play = Play()
    schedule = Schedule(Cron("0 9 * * *", "America/Caracas"), max_runs=2)
    left_by_the_former_era(play, schedule, NINE + 30 * MINUTE_MS)
    process = new_process(play)
    play.clock.advance(NINE + 30 * MINUTE_MS - NOW)
    for _ in range(4):
        scan_all(process)
        play.drain()
        play.clock.advance(DAY_MS - 30 * MINUTE_MS)
    assert [at for at, _ in ledger(play)] == [NINE, NINE + DAY_MS]
