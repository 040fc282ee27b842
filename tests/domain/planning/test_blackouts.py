"""The pure part of calendars and freezes, against an oracle that goes through a job's fires one by one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.domain.calendars import NOW, a_job, local_date
from tests.domain.cron.oracle import zone
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarUse, DateRange
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import Job, advanced, with_spec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.planning.blackouts import RECHECK_MS, Blackouts, allowed_fires, blackouts_of
from timeball.domain.planning.ledger import planned_row, queued_run
from timeball.domain.planning.planner import Hold, SkippedRange, Start, jitter_ms, may_start_at, plan
from timeball.domain.time.instants import DAY_MS, HOUR_MS, LATEST, MINUTE_MS, SECOND_MS
from timeball.domain.time.schedule import Cron, Every, Schedule, fires
from timeball.domain.time.spans import spans_of

LOOKAHEAD_MS, MISFIRE_MS = 5 * SECOND_MS, MINUTE_MS
SCHEDULES = st.one_of(
    st.builds(
        Schedule,
        st.builds(Cron, st.sampled_from(["0 9 * * *", "30 */6 * * *", "0 0 * * 1", "0 7 * * 3,5", "15 * * * *"])),
    ),
    st.builds(Schedule, st.builds(Every, st.sampled_from([3600, 7200, 86400, 90000]), st.just(NOW))),
)

DATES = st.lists(st.integers(0, 14).map(lambda days: str(date(2026, 11, 10) + timedelta(days))), max_size=8)
FREEZES = st.lists(
    st.tuples(st.integers(0, 13 * 24), st.integers(1, 72)).map(
        lambda part: (NOW - 12 * DAY_MS + part[0] * HOUR_MS, NOW - 12 * DAY_MS + (part[0] + part[1]) * HOUR_MS)
    ),
    max_size=3,
)

MOVES_IN = st.sampled_from([None, "UTC", "Asia/Tokyo", "America/Los_Angeles"])
"""The zone by whose clocks fires are moved, if they are; its clocks do not change in that time."""

CATCH_UPS = st.builds(
    CatchUp, st.sampled_from(CatchUpPolicy), st.integers(1, 5), st.sampled_from([3600, 86400, 20 * 86400])
)


@settings(max_examples=400, deadline=None)
@given(
    schedule=SCHEDULES,
    dates=DATES,
    frozen=FREEZES,
    catch_up=CATCH_UPS,
    timezone=st.sampled_from(["UTC", "Asia/Tokyo", "Pacific/Honolulu"]),
    behind=st.integers(0, 11 * 24),
    moves_in=MOVES_IN,
)
def test_each_missed_fire_has_one_row_with_the_right_reason(
    schedule: Schedule,
    dates: list[str],
    frozen: list[tuple[int, int]],
    catch_up: CatchUp,
    timezone: str,
    behind: int,
    moves_in: str | None,
) -> None:
    """The oracle goes day by day and fire by fire, and counts from the newest."""
    spans = spans_of(frozen)
    excluded = Blackouts(_calendar(timezone, dates).spans, spans, suspended=spans, moves_in=moves_in)
    job = a_job(schedule, catch_up, next(fires(schedule, NOW - behind * HOUR_MS, LATEST)))
    rows = list(_written(job, excluded))
    if any(start <= NOW < end for start, end in frozen):
        assert rows == []
        return
    standing = {at: row for row in rows for at in fires(schedule, row.id.fire_at, row.last_fire_at or row.id.fire_at)}
    due = list(fires(schedule, NOW - behind * HOUR_MS, NOW + LOOKAHEAD_MS))
    assert sorted(standing) == [at for at in due if not _waits(at, frozen)]
    assert sum(row.count for row in rows) == len(standing)
    oracle = _Oracle(schedule, catch_up, timezone, frozenset(dates), frozen, moves_in)
    for at, row in standing.items():
        assert row.reason == oracle.reason_of(at), at
        if row.reason is None:
            assert row.regular_at == oracle.start_of(at)
            assert row.not_before >= row.regular_at


def _waits(at: int, frozen: Sequence[tuple[int, int]]) -> bool:
    return at >= NOW and any(start <= at < end for start, end in frozen)


@dataclass(frozen=True)
class _Oracle:
    schedule: Schedule
    catch_up: CatchUp
    timezone: str
    dates: frozenset[str]
    frozen: Sequence[tuple[int, int]]
    moves_in: str | None

    def reason_of(self, at: int) -> Reason | None:
        """Return why a fire is skipped; None: it runs."""
        starts_at = self.start_of(at)
        if starts_at is None:
            return Reason.CALENDAR
        if not self._is_missed(starts_at):
            return None
        later = [self.start_of(one) for one in fires(self.schedule, at, NOW)]
        missed = [one for one in later if one is not None and self._is_missed(one)]
        age_seconds = self.catch_up.max_age_seconds or 3600  # by default, for fires that are less than two hours apart
        if len(missed) <= self.catch_up.limit and starts_at >= NOW - age_seconds * SECOND_MS:
            return None
        was_frozen = any(start <= one < end for start, end in self.frozen for one in (at, starts_at))
        return Reason.FROZEN if was_frozen else Reason.MISFIRED

    def _is_missed(self, starts_at: int) -> bool:
        """Say whether a fire is late, or was deferred by a freeze that has ended.

        No two of these meet within a minute of now.
        """
        return starts_at < NOW - MISFIRE_MS or any(start <= starts_at < end <= NOW for start, end in self.frozen)

    def start_of(self, at: int) -> int | None:
        """Go through the days after a fire on a closed date, by the clock; None: its calendar skips it."""
        if not self._is_excluded(at):
            return at
        if self.moves_in is None:
            return None
        following = next(fires(self.schedule, at + 1, LATEST), LATEST)
        local = datetime.fromtimestamp(at / 1000, zone(self.moves_in))
        for days in range(1, 32):
            wanted = datetime.combine(local.date() + timedelta(days), local.time(), zone(self.moves_in))
            shown = int(wanted.timestamp()) * 1000
            if not self._is_excluded(shown):
                return shown if shown < following else None
        return None

    def _is_excluded(self, at: int) -> bool:
        return str(local_date(at, self.timezone)) in self.dates


def _written(job: Job, excluded: Blackouts) -> Iterator[Run]:
    while isinstance(found := plan(job, NOW, NOW + LOOKAHEAD_MS, MISFIRE_MS, excluded), Start | SkippedRange):
        row = planned_row(job, found, NOW, NOW + LOOKAHEAD_MS)
        yield row
        job = advanced(job, row, NOW)


@pytest.mark.parametrize("policy", CatchUpPolicy)
@pytest.mark.parametrize("jitter_seconds", [0, 20])
@pytest.mark.parametrize("period", [1, 7, 60])
def test_the_claim_decides_about_each_fire_of_a_pause_as_a_plan_of_the_same_moment_would(
    period: int, jitter_seconds: int, policy: CatchUpPolicy
) -> None:
    """The job was paused from 50 s ago to 3.5 s ago.

    Its fires from 30 s before the pause on are planned and claimed now.
    """
    schedule, paused_at, resumed_at = Schedule(Every(period, 0)), NOW - 50 * SECOND_MS, NOW - 3_500
    first_at = next(fires(schedule, NOW - 80 * SECOND_MS, NOW))
    job = with_spec(a_job(schedule, CatchUp(policy, 3), first_at), jitter_seconds=jitter_seconds)
    job = replace(job, last_paused_at=paused_at, resumed_at=resumed_at)
    excluded = blackouts_of(job, None, ())
    runs = {row.id.fire_at: row.not_before for row in _written(job, excluded) if row.last_fire_at is None}
    caught_up = [at for at in runs if paused_at <= _start(job, at) < resumed_at - 500]
    for at in fires(schedule, first_at, NOW):
        row = replace(queued_run(job, Origin.SCHEDULE, at, NOW), not_before=_start(job, at))
        start_at = may_start_at(job, row, NOW, MISFIRE_MS, excluded)
        assert (start_at is None) == (at not in runs), at
        if start_at is not None and at not in caught_up:
            assert start_at == runs[at]
    assert len(caught_up) <= CatchUp(policy, 3).limit
    assert all(_start(job, at) in runs.values() for at in fires(schedule, resumed_at, NOW))


def test_clocks_that_differ_by_less_than_a_second_agree_that_a_pause_is_over() -> None:
    job = a_job(Schedule(Every(1, 0)), CatchUp(CatchUpPolicy.SKIP), NOW - 5_000)
    job = replace(job, last_paused_at=NOW - 60_000, resumed_at=NOW + 600)
    found = plan(job, NOW - 300, NOW + LOOKAHEAD_MS, MISFIRE_MS, blackouts_of(job, None, ()))
    assert found == SkippedRange(NOW - 5_000, NOW - 1_000, Reason.MISFIRED)


def _start(job: Job, at: int) -> int:
    return at + jitter_ms(job.key, at, job.spec.jitter_seconds)


def _calendar(timezone: str, dates: Sequence[str] = (), *ranges: DateRange) -> Calendar:
    return Calendar(CalendarKey("acme", "closed"), timezone, 0, 0, tuple(dates), ranges)


# Each case, in seconds from now: a freeze, the next fire, and when the job is due again; None: it is planned now.
HELD = {
    "in force, for long": (-10, 3600, 2, 2 + 15),
    "in force, the fire is late": (-10, 3600, -5, 15),
    "in force, over soon": (-10, 12, 2, 12),
    "over before the fire": (-10, 2, 3, None),
    "over at the fire": (-10, 3, 3, None),
    "begins at the fire": (3, 3600, 3, 18),
    "begins after the fire": (4, 3600, 3, None),
    "over now": (-10, 0, -5, None),
}


@pytest.mark.parametrize("case", HELD)
def test_a_frozen_job_is_not_planned_but_due_again_soon(case: str) -> None:
    start, end, fire, until = HELD[case]
    excluded = Blackouts(frozen=spans_of([(NOW + start * SECOND_MS, NOW + end * SECOND_MS)]))
    at = NOW + fire * SECOND_MS
    found = plan(a_job(Schedule(Every(3600, at)), CatchUp(), at), NOW, NOW + LOOKAHEAD_MS, MISFIRE_MS, excluded)
    if until is None:
        assert found == Start(at, at)
    else:
        assert found == Hold(NOW + until * SECOND_MS)
        assert found.until <= max(NOW, at) + RECHECK_MS


@pytest.mark.parametrize(("from_at", "through_at"), [(NOW - 9_000, NOW), (NOW + 1_000, NOW + 1_000)])
def test_a_range_on_closed_dates_includes_a_future_fire_only_by_itself(from_at: int, through_at: int) -> None:
    """A new schedule may have that fire too, and must find a row there."""
    excluded = Blackouts(_calendar("UTC", ["2026-11-21"]).spans)
    job = a_job(Schedule(Every(1, from_at)), CatchUp(), from_at)
    found = plan(job, NOW, NOW + LOOKAHEAD_MS, MISFIRE_MS, excluded)
    assert found == SkippedRange(from_at, through_at, Reason.CALENDAR)


@given(schedule=SCHEDULES, dates=DATES, timezone=st.sampled_from(["UTC", "Pacific/Apia"]), moves_in=MOVES_IN)
def test_the_next_fires_are_the_ones_that_will_start(
    schedule: Schedule, dates: list[str], timezone: str, moves_in: str | None
) -> None:
    excluded = Blackouts(_calendar(timezone, dates).spans, moves_in=moves_in)
    found = allowed_fires(schedule, NOW - 12 * DAY_MS, excluded)
    shown = [next(found) for _ in range(10)]
    oracle = _Oracle(schedule, CatchUp(), timezone, frozenset(dates), (), moves_in)
    starts = {at: oracle.start_of(at) for at in fires(schedule, NOW - 12 * DAY_MS, shown[-1])}
    assert shown == [at for at, starts_at in starts.items() if starts_at is not None]
    assert sorted(starts[at] or 0 for at in shown) == [excluded.starts_at(schedule, at) for at in shown]


def test_a_jobs_own_calendar_and_the_freezes_that_match_it_are_its_blackouts() -> None:
    job = a_job(Schedule(Every(60, NOW)), CatchUp(), NOW)
    calendar = _calendar("UTC", ["2026-11-21"], DateRange("2026-12-24", "2026-12-26"))
    everybody, blue = (
        Freeze("a", 1, 2, FreezeMatch(everything=True), 0),
        Freeze("b", 5, None, FreezeMatch(tags={"team": "blue"}), 0),
    )
    assert blackouts_of(job, None, ()) == Blackouts()
    assert blackouts_of(job, calendar, ()) == Blackouts()  # the job does not name it
    assert blackouts_of(with_spec(job, calendar=CalendarUse("closed")), calendar, ()).dates == calendar.spans
    assert blackouts_of(job, None, (everybody, blue)).frozen == spans_of([(1, 2)])
    assert blackouts_of(with_spec(job, tags={"team": "blue"}), None, (everybody, blue)).frozen == spans_of(
        [(1, 2), (5, LATEST)]
    )
