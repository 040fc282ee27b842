"""A job's costs come from its ledger, and its tenant's from the tallies: both agree."""

from dataclasses import replace

import pytest

from tests.engine.play import NOW, Play, spec
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Spent
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Every
from timeball.domain.usage.bill import Counted
from timeball.engine.stats import MOST_ROWS, Costs, job_costs, tenant_costs
from timeball.engine.tally import FLUSH_MS

DAY, MONTH = 0, 1


@pytest.fixture
def play() -> Play:
    return Play()


def ran(play: Play, seconds: int = 120) -> Job:
    """Let a job run at each fire, with one failed attempt and one skipped fire."""
    wanted = replace(spec("job", Every(60, NOW)), overlap=OverlapPolicy.SKIP)
    (job,) = play.store_jobs([wanted])
    play.caller.statuses, play.caller.takes_ms = [500], 200
    for _ in range(seconds):
        play.scan_all()
        while play.execute_next():
            pass
        play.clock.advance(SECOND_MS)
    return play.job(job.key)


def flushed(play: Play) -> None:
    play.clock.advance(FLUSH_MS)
    play.tally.flush(play.store.usage)


def test_the_costs_of_a_job_and_of_its_tenant_agree(play: Play) -> None:
    job = ran(play)
    flushed(play)
    now = play.clock.now()
    of_job, of_tenant = job_costs(play.context(), job, now), tenant_costs(play.context(), "acme", now)
    assert [(one.window, one.is_exact) for one in of_job] == [("day", True), ("month", True)]
    assert [one.counts for one in of_job] == [one.counts for one in of_tenant]
    units = 3 * 8 + 6 + 6  # three runs under an overlap policy, a retry, and the retried run's entries as notable
    assert sum(run.spent.write_units for run in play.runs(job.key)) == units
    assert of_job[DAY].counts[Counted.WRITE_UNITS] == units
    assert of_job[DAY].counts[Counted.EXECUTOR_MS] >= 600


def test_another_tenant_is_charged_nothing(play: Play) -> None:
    ran(play)
    flushed(play)
    assert all(not one.counts for one in tenant_costs(play.context(), "other", play.clock.now()))


def test_counting_costs_adds_no_update(play: Play) -> None:
    ran(play)
    play.clock.advance(FLUSH_MS)
    before = play.tally
    assert len(before._hours) == 1
    assert before._hours.popitem()[1].keys() >= {Counted.WRITE_UNITS, "RunsStarted"}


def test_costs_are_not_sent_as_metrics(play: Play) -> None:
    ran(play)
    assert not set(Counted) & {*play.telemetry.totals, *play.telemetry.timings}


def test_a_skipped_fire_costs_its_row(play: Play) -> None:
    (job,) = play.store_jobs([spec("job", Every(60, NOW - HOUR_MS))], NOW - HOUR_MS)
    play.scan_all()
    rows = play.runs(job.key)
    assert {row.state for row in rows} == {RunState.SKIPPED, RunState.QUEUED}
    (day, _) = job_costs(play.context(), job, play.clock.now())
    assert day.counts[Counted.WRITE_UNITS] == 4 + 1  # the skipped row is notable
    assert day.counts[Counted.EXECUTOR_MS] == 0


def long_ledger(play: Play, every_ms: int, rows: int) -> Job:
    """Return a job of two months, with this many runs up to now."""
    (job,) = play.store_jobs([spec("job", Every(60, NOW - 60 * DAY_MS))], NOW - 60 * DAY_MS)
    ids = [RunId(job.key, NOW - number * every_ms, Origin.SCHEDULE) for number in range(rows)]
    ended = [Run(one, RunState.SUCCEEDED, 1, "normal", 0, one.fire_at, one.fire_at, spent=SPENT) for one in ids]
    play.store.runs.insert(ended, NOW)
    return job


SPENT = Spent(6, 4, 1_000, 250)


def test_the_costs_of_a_long_ledger_are_estimated_from_its_newest_rows(play: Play) -> None:
    job = long_ledger(play, MINUTE_MS, MOST_ROWS + 5)
    day, month = job_costs(play.context(), job, NOW)
    assert (day.is_exact, month.is_exact) == (False, False)
    minutes = (NOW - day.from_at) / MINUTE_MS
    assert day.counts[Counted.WRITE_UNITS] == pytest.approx(6 * minutes, rel=0.01)
    assert month.counts[Counted.EXECUTOR_MS] == pytest.approx(250 * 30 * 24 * 60, rel=0.01)


def test_a_day_that_was_read_whole_is_exact_although_its_month_is_not(play: Play) -> None:
    job = long_ledger(play, 2 * MINUTE_MS, MOST_ROWS + 5)
    day, month = job_costs(play.context(), job, NOW)
    assert (day.is_exact, month.is_exact) == (True, False)
    within = [at for number in range(MOST_ROWS) if (at := NOW - number * 2 * MINUTE_MS) >= day.from_at]
    assert day == Costs("day", day.from_at, day.counts)
    assert day.counts[Counted.WRITE_UNITS] == 6 * len(within)
