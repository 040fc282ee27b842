"""The fires that are foretold are those that the planner and the executors then carry out.

Random jobs with jitter, a calendar, freezes, a pause, skipped fires and an end are foretold at one moment; then
Timeball works for some days, and each foretold fire is compared with the ledger and with its call.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date, timedelta
from random import Random

import pytest

from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.planning import fires_ahead as module
from timeball.domain.planning.fires_ahead import FireAhead, fires_ahead
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_instant, parse_instant
from timeball.domain.time.schedule import Cron, Every, Schedule, first_fire
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze, freezes_of
from timeball.engine.blackouts.read import read_blackouts
from timeball.engine.changes.change import pause, skip_next
from timeball.engine.changes.skip import Skipping

BEGINS = parse_instant("2026-10-23T09:30:00Z")
"""Two days before the clocks change in Berlin."""
DAYS = 4
CRONS = ("0 9 * * *", "30 2 * * *", "*/20 1-3 * * *", "0 */6 * * *", "15 23 * * 0,1", "5 12 * * *")


class Days:
    """A story that is drawn from a number."""

    def __init__(self, seed: int, service: Service) -> None:
        self.draw = Random(seed)  # noqa: S311 - a number must always give the same story
        self.service = service

    @property
    def now(self) -> int:
        return self.service.play.clock.now()

    def schedule(self) -> Schedule:
        draw = self.draw
        cron = Cron(draw.choice(CRONS), draw.choice(("Europe/Berlin", "America/New_York", "UTC")))
        every = Every(draw.choice((900, 3600, 7 * 3600)), self.now + draw.randrange(90) * MINUTE_MS)
        end_at = draw.choice((None, None, self.now + 50 * HOUR_MS))
        return Schedule(draw.choice((cron, cron, every)), end_at=end_at, max_runs=draw.choice((None, None, 3, 8)))

    def begin(self) -> bool:
        """Store a calendar, freezes and the job, and let a user act on it; False if the schedule never fires."""
        draw, context = self.draw, self.service.play.context()
        first = date.fromisoformat(format_instant(self.now)[:10])
        days = tuple(str(first + timedelta(number)) for number in range(40) if draw.random() < 0.4)
        replace_calendar(context, Calendar(CalendarKey("acme", "closed"), "Europe/Berlin", 0, 0, days), None, self.now)
        for number in range(draw.randrange(3)):
            from_at = self.now + draw.randrange(DAYS * 24) * HOUR_MS
            to_at = draw.choice((from_at + draw.randrange(1, 40) * HOUR_MS // 2,) * 4 + (None,))
            everything = FreezeMatch(everything=True)
            create_freeze(context, "acme", Freeze(f"f{number}", from_at, to_at, everything, self.now))
        wanted = replace(
            spec("job", self.schedule()),
            catch_up=CatchUp(draw.choice(tuple(CatchUpPolicy)), 3, draw.choice((3600, 20 * 86_400))),
            jitter_seconds=draw.choice((0, 0, 900, 7200)),
            calendar=draw.choice((None, *(CalendarUse("closed", policy) for policy in CalendarPolicy))),
        )
        if first_fire(wanted.schedule, self.now) is None:
            return False
        self.service.play.store_jobs([wanted])
        self.service.until(self.now + draw.choice((4, 3_700, 30_000)) * SECOND_MS)
        for _ in range(draw.choice((0, 0, 1, 2))):
            skip_next(self.service.play.context(), [Skipping(KEY)])
        if draw.random() < 0.1:
            pause(self.service.play.context(), [(KEY, None)])
        self.service.until(self.now + 10 * SECOND_MS)
        return True

    def foretold(self) -> list[FireAhead]:
        context, job = self.service.play.context(), self.service.play.job(KEY)
        (excluded,) = read_blackouts(context, [job])
        to_at = self.now + DAYS * DAY_MS
        return list(fires_ahead(job, self.now + 6 * SECOND_MS, to_at, context.rules.misfire_ms, excluded))

    def _expected(self, one: FireAhead, row: Run | None) -> object:
        """Return what the ledger must say of a fire. A pause, or a freeze without end, leaves it undecided."""
        if one.starts_at is not None:
            return "called", one.starts_at
        is_frozen_for_good = any(
            freeze.to_at is None for freeze in freezes_of(self.service.play.context(), "acme").items
        )
        is_open = one.reason is Reason.JOB_PAUSED or (is_frozen_for_good and (row is None or not row.is_terminal))
        return None if is_open else str(one.reason)

    def complaints(self) -> Iterator[str]:
        """Play, and yield where the ledger differs from what was foretold."""
        if not self.begin():
            return
        foretold, begun_at = self.foretold(), self.now
        self.service.until(begun_at + (DAYS + 3) * DAY_MS)
        over_at = self.now - 10 * SECOND_MS
        rows = [row for row in self.service.play.runs(KEY) if row.id.origin is Origin.SCHEDULE]
        called = {call.run: at for at, call in reversed(self.service.target.calls)}
        for one in foretold:
            row = next((row for row in rows if row.covers(one.fire_at)), None)
            if one.starts_at is not None and one.starts_at > over_at:
                continue
            if (found := _outcome(row, called)) != (wanted := self._expected(one, row)):
                yield f"{format_instant(one.fire_at)}: foretold {wanted}, found {found}"
        last_at = begun_at + DAYS * DAY_MS
        known = {one.fire_at for one in foretold}
        for run in called:
            if begun_at + 6 * SECOND_MS <= run.fire_at <= last_at and run.fire_at not in known:
                yield f"{run} was not foretold"


def _outcome(row: Run | None, called: Mapping[RunId, int]) -> object:
    if row is None:
        return None
    at = called.get(row.id)
    return ("called", at) if at is not None else None if not row.is_terminal else str(row.reason)


def complaints(seed: int) -> list[str]:
    with Service(Play(at=BEGINS)) as service:
        return list(Days(seed, service).complaints())


@pytest.mark.parametrize("first", range(0, 30, 10))
def test_the_ledger_says_what_was_foretold(first: int) -> None:
    for seed in range(first, first + 10):
        assert complaints(seed) == [], seed


FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "jitter is forgotten": lambda patch: patch.setattr(module, "jitter_ms", lambda *_: 0),
    "no fire is caught up": lambda patch: patch.setattr(module, "caught_up", lambda *_: []),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    assert any(complaints(seed) for seed in range(30))
