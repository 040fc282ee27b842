"""Random weeks of a job whose calendar moves its fires: users, outages and freezes, and then a calm.

The calls of the calm must match the next runs that the API shows, and no earlier run may be stuck or have been early.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from random import Random

import pytest

from tests.engine.blackouts.days import patch
from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service
from timeball.api.jobs.answers import upcoming
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.calendar import Calendar, CalendarKey, CalendarPolicy, CalendarUse
from timeball.domain.model.jobs.freeze import Freeze, FreezeMatch
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy
from timeball.domain.planning import blackouts
from timeball.domain.time.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, format_instant, parse_instant
from timeball.domain.time.schedule import Cron, Every, Schedule
from timeball.engine.blackouts import read as outlooking
from timeball.engine.blackouts.calendars import replace_calendar
from timeball.engine.blackouts.freezes import create_freeze, lift_freeze
from timeball.engine.blackouts.read import NO_CALENDAR, outlooks
from timeball.engine.changes.change import pause, resume, skip_next
from timeball.engine.changes.skip import Skipping

BEGINS = ("2026-10-17T09:30:00Z", "2027-03-20T09:30:00Z")
"""The week before the clocks change in Berlin. In New York they change in another week."""

CRONS = ("0 9 * * 1", "30 2 * * 0", "0 9 1,10,20 * *", "0 9 * * 1,4", "0 */8 * * 2", "15 23 L * *")
ZONES = ("Europe/Berlin", "America/New_York", "Pacific/Apia")
NEXT, SKIP = (CalendarUse("closed", policy) for policy in (CalendarPolicy.NEXT, CalendarPolicy.SKIP))
KNOWN_MS = 3 * SECOND_MS


@dataclass
class Weeks:
    """A story that is drawn from a number, while it is played."""

    seed: int
    service: Service
    calendars: list[tuple[int, Calendar]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.draw = Random(self.seed)  # noqa: S311 - a number must always give the same story
        self.zone = self.draw.choice(ZONES)

    @property
    def now(self) -> int:
        return self.service.play.clock.now()

    def schedule(self) -> Schedule:
        every = Every(
            self.draw.choice((2, 3, 7, 11)) * DAY_MS // SECOND_MS, self.now + self.draw.randrange(10) * HOUR_MS
        )
        cron = Cron(self.draw.choice(CRONS), self.draw.choice(ZONES))
        return Schedule(self.draw.choice((cron, cron, every)))

    def close(self) -> None:
        first = date.fromisoformat(format_instant(self.now)[:10])
        share = self.draw.choice((0.1, 0.4, 0.8))
        days = tuple(str(first + timedelta(number)) for number in range(70) if self.draw.random() < share)
        wanted = Calendar(CalendarKey("acme", "closed"), self.zone, 0, 0, days)
        self.calendars.append((self.now, wanted))
        replace_calendar(self.service.play.context(), wanted, None, self.now)

    def act(self) -> None:
        """Perform one action, and wait: mostly until something is about to happen."""
        service, context = self.service, self.service.play.context()
        match self.draw.randrange(11):
            case 0 | 1:
                pause(context, [(KEY, None)])
            case 2 | 3:
                resume(context, [(KEY, None)])
            case 4 | 5:
                self.close()
            case 6:
                patch(service, calendar=self.draw.choice((NEXT, NEXT, SKIP, None)))
            case 7:
                patch(service, schedule=self.schedule())
            case 8:
                skip_next(context, [Skipping(KEY)])
            case 9:
                part = self.draw.choice(("is_scanning", "is_executing"))
                setattr(service.engine, part, False)
                service.until(self.now + self.draw.choice((MINUTE_MS // 2, HOUR_MS // 2, 30 * HOUR_MS)))
                setattr(service.engine, part, True)
            case 10:
                create_freeze(context, "acme", Freeze("f", self.now, None, FreezeMatch(everything=True), self.now))
                service.until(self.now + self.draw.choice((MINUTE_MS, 30 * HOUR_MS)))
                lift_freeze(context, "acme", "f")
        service.until(self._some_moment())

    def _some_moment(self) -> int:
        waiting = [at - self.draw.choice((-2_000, 0, 2_000, 4_500)) for _, _, at in self._due() if at > self.now]
        some = self.now + self.draw.choice((3_500, HOUR_MS, DAY_MS, 3 * DAY_MS))
        return max(self.now, self.draw.choice([*waiting, some]))

    def _due(self) -> list[tuple[object, object, int]]:
        return list(self.service.play.store.waiting().values())  # type: ignore[attr-defined]

    def complaints(self) -> Iterator[str]:
        """Play, and yield the faults: early calls, calls on closed days, stuck runs, and calls not shown before."""
        service, play = self.service, self.service.play
        self.close()
        catch_up = CatchUp(self.draw.choice(tuple(CatchUpPolicy)), 3, self.draw.choice((3600, 20 * 86_400)))
        wanted = replace(spec("job", self.schedule()), catch_up=catch_up, jitter_seconds=self.draw.choice((0, 0, 900)))
        play.store_jobs([replace(wanted, calendar=NEXT)])
        for _ in range(self.draw.randrange(1, 14)):
            self.act()
        resume(play.context(), [(KEY, None)])
        if self.draw.random() < 0.8:
            patch(service, calendar=NEXT)
        service.until(self.now + 3 * DAY_MS + 1_211 * SECOND_MS)
        calm_at, job = self.now, play.job(KEY)
        outlook = outlooks(play.context(), [job], calm_at).get(KEY, NO_CALENDAR)
        by_hand = {run.id.fire_at for run in play.runs(KEY) if run.reason is Reason.SKIPPED_MANUALLY}
        not_shown = {
            outlook.excluded.starts_at(job.spec.schedule, at) for at in by_hand
        }  # a later PATCH of the job forgets some of them
        shown = [at for at in upcoming(job, calm_at, 50, outlook) if at <= calm_at + 60 * DAY_MS]
        expected = [at for at in shown if at not in not_shown]
        service.until(calm_at + 61 * DAY_MS)
        runs = {run.id: run for run in play.runs(KEY) if run.id.origin is Origin.SCHEDULE}
        first = {call.run: called for called, call in reversed(service.target.calls)}
        found = sorted(runs[name].regular_at for name in first if runs[name].regular_at > calm_at)
        if job.status is JobStatus.PENDING and [at for at in found if at <= calm_at + 60 * DAY_MS] != expected:
            yield f"shown: {[*map(format_instant, expected)]}, called: {[*map(format_instant, found)]}"
        for name, called in first.items():
            run = runs[name]
            if called < run.regular_at or called < run.id.fire_at:
                yield f"{run} was called early, at {format_instant(called)}"
            if play.job(KEY).spec.calendar == NEXT and called > calm_at and self._is_closed(run, called):
                yield f"{run} was called for a closed day, at {format_instant(called)}"
        for run in runs.values():
            is_sent = abs(run.not_before - self.now) < 10 * SECOND_MS
            is_waiting = run.due_at is not None and run.due_at == run.not_before > self.now
            if not run.is_terminal and not (is_sent or is_waiting):
                yield f"{run} is stuck"
        late = [at for _, at in play.messages() if at > self.now + DAY_MS // 2]
        if late:
            yield f"messages wait until {late}"

    def _is_closed(self, run: Run, called: int) -> bool:
        """Return whether a start was on a date that every recent version of the calendar closed."""
        standing = [one for at, one in self.calendars if at <= called - KNOWN_MS][-1:]
        lately = [*standing, *(one for at, one in self.calendars if called - KNOWN_MS < at <= called)]
        return all(one.spans.end_of(run.regular_at) is not None for one in lately)


def complaints(seed: int) -> list[str]:
    with Service(Play(at=parse_instant(BEGINS[seed % 2]))) as service:
        return list(Weeks(seed, service).complaints())


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.more) for first in (10, 20))])
def test_nothing_is_lost_or_early_and_the_calls_match_those_shown(first: int) -> None:
    for seed in range(first, first + 10):
        assert complaints(seed) == [], seed


# Deliberate faults. Each is found by one of thirty numbers.
FAULTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "an answer does not know what waits": lambda patch: patch.setattr(outlooking, "MOST_MOVED_MS", 0),
    "a fire that is moved is as old as its date": lambda patch: patch.setattr(
        Run, "regular_at", property(lambda run: run.id.fire_at)
    ),
    "a fire is moved onto the next one": lambda patch: patch.setattr(blackouts, "next_fire", lambda *_: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    FAULTS[fault](monkeypatch)
    assert any(complaints(seed) for seed in range(30))
