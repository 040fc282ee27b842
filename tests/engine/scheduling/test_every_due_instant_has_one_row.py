"""Over hours of outages, pauses, overlaps and reschedules each due instant is in the ledger once. This always holds.

The events are drawn from the seed in the test's name. The expected fire times are enumerated apart from the engine:
those of each schedule, from the instant at which it was set until it was replaced.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count, pairwise
from random import Random

import pytest

from tests.engine.play import Play, spec
from tests.engine.service import KEY, Service, Visit, reschedule
from timeball.domain.changes.change import LONGEST_REQUEST_SECONDS
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.terms.policies import CatchUp, CatchUpPolicy, OverlapPolicy
from timeball.domain.time.instants import HOUR_MS, MINUTE_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import Cron, Every, Schedule, fires, is_occurrence
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.engine.changes.change import ChangeOutcome, pause, resume
from timeball.engine.metrics import Metric
from timeball.engine.runs.trigger import Trigger, trigger

ALWAYS, SEEDS = 28, 40
"""`make test` plays each overlap policy at each place once; the other stories play some of them again."""

WINDOW_MS = 2 * HOUR_MS
CALM_MS = 30 * MINUTE_MS
"""The time after the last failure: enough for every retry, lease and paced catch-up to end."""

# Columns: when the window begins, and a zone. Its clocks change within the window, except in the last row.
PLACES = (
    ("2026-11-01T05:10:30.400Z", "America/New_York"),
    ("2026-03-08T06:20:00Z", "America/New_York"),
    ("2026-10-25T00:15:10Z", "Europe/Berlin"),
    ("2026-03-29T00:30:00.001Z", "Europe/Berlin"),
    ("2026-04-04T14:05:00Z", "Australia/Lord_Howe"),
    ("2026-10-03T14:45:00Z", "Australia/Lord_Howe"),
    ("2026-11-21T09:30:00.250Z", "UTC"),
)


@dataclass
class Reign:
    """A schedule, from when it was set until it was replaced (ms, not included)."""

    schedule: Schedule
    from_at: int
    until_at: int

    def due(self) -> list[int]:
        return list(fires(self.schedule, self.from_at, self.until_at - 1))


class Story:
    """One seed's two hours, and the calm after them."""

    def __init__(self, seed: int, service: Service) -> None:
        self.draw = Random(seed)  # noqa: S311 - a story must be replayable
        self.service, self.play = service, service.play
        self.overlap = tuple(OverlapPolicy)[seed % 4]
        self.zone = PLACES[seed % len(PLACES)][1]
        schedule, draw = self._any_schedule(), self.draw.choice
        wanted = replace(
            spec("job", schedule),
            overlap=self.overlap,
            catch_up=CatchUp(draw(tuple(CatchUpPolicy)), draw((2, 10)), draw((300, 3600))),
            jitter_seconds=draw((0, 0, 20)),
        )
        self.play.store_jobs([wanted])
        self.reigns = [Reign(schedule, self.play.clock.now(), 0)]
        pace = self.draw.choice((1, 10, 60))
        service.target.takes = lambda _: pace * self.draw.choice((0, 50, 500, 1_500, 4_000))
        service.target.statuses = [self.draw.choice((200, 200, 200, 500, 404)) for _ in range(300)]
        self._timeline: list[tuple[int, int, Callable[[], object]]] = []
        self._order = count()

    def tell(self) -> None:
        """Play the events, then let the job come to rest."""
        begun_at = self.play.clock.now()
        while (at := self.play.clock.now()) < begun_at + WINDOW_MS:
            self._plan_something(at)
            next_at = at + self.draw.randrange(SECOND_MS, 12 * MINUTE_MS)
            for moment, _, act in sorted(one for one in self._timeline if one[0] <= next_at):
                self.service.until(moment)
                act()
            self._timeline = [one for one in self._timeline if one[0] > next_at]
            self.service.until(next_at)
        for _, _, act in sorted(self._timeline):  # what has begun must end
            act()
        self.service.target.takes = lambda _: 0
        self.service.target.statuses = []
        self.service.until(self.play.clock.now() + CALM_MS)
        self.reigns[-1].until_at = self.play.clock.now()

    def _plan_something(self, now: int) -> None:
        at = now + self.draw.randrange(0, 20 * SECOND_MS)
        for_ms = self.draw.choice((SECOND_MS, 10 * SECOND_MS, 2 * MINUTE_MS, 25 * MINUTE_MS))
        match self.draw.randrange(8):
            case 0:
                self._then(at, self._turn("is_scanning", on=False))
                self._then(at + for_ms, self._turn("is_scanning", on=True))
            case 1:
                self._then(at, self._turn("is_executing", on=False))
                self._then(at + for_ms, self._turn("is_executing", on=True))
            case 2:
                self._then(at, self.service.kill_executors)
            case 3 | 4:
                self._then(at, lambda: pause(self.play.context(), [(KEY, None)]))
                self._then(at + for_ms, lambda: resume(self.play.context(), [(KEY, None)]))
            case 5 | 6:
                for _ in range(self.draw.choice((1, 1, 2, 3))):
                    self._then(at + self.draw.randrange(15 * SECOND_MS), self._reschedule)
            case _:
                self._then(at, lambda: trigger(self.play.context(), [Trigger(KEY)]))

    def _then(self, at: int, act: Callable[[], object]) -> None:
        self._timeline.append((at, next(self._order), act))

    def _turn(self, what: str, *, on: bool) -> Callable[[], object]:
        return lambda: setattr(self.service, what, on)

    def _reschedule(self) -> None:
        """Set another schedule, or now and then one that the job had before."""
        schedule = self.draw.choice((self._any_schedule(), self._any_schedule(), self.reigns[-1].schedule))
        if len(self.reigns) > 1 and self.draw.random() < 0.3:
            schedule = self.reigns[-2].schedule
        now = self.play.clock.now()
        assert reschedule(self.play, schedule).outcome is ChangeOutcome.DONE
        if schedule != self.reigns[-1].schedule:
            self.reigns[-1].until_at = now
            self.reigns.append(Reign(schedule, now, 0))

    def _any_schedule(self) -> Schedule:
        gap, overlap = self.draw.choice((None, *Gap)), self.draw.choice((None, *DstOverlap))
        expression = self.draw.choice(("*/2 * * * *", "*/5 * * * *", "10,40 * * * *", "*/3 1-2 * * *", "30 2 * * *"))
        period = self.draw.choice((15, 40, 60, 90, 600))
        anchor_at = self.play.clock.now() - self.draw.randrange(HOUR_MS)
        return Schedule(self.draw.choice((Cron(expression, self.zone, gap, overlap), Every(period, anchor_at))))


@pytest.fixture(
    params=[*range(ALWAYS), *(pytest.param(seed, marks=pytest.mark.more) for seed in range(ALWAYS, SEEDS))],
    ids=lambda seed: f"seed-{seed}",
)
def story(request: pytest.FixtureRequest) -> Story:
    seed: int = request.param
    with Service(Play(at=parse_instant(PLACES[seed % len(PLACES)][0]))) as service:
        one = Story(seed, service)
        one.tell()
        return one


def test_each_due_instant_is_in_the_ledger_exactly_once_whatever_happened(story: Story) -> None:
    rows = [run for run in story.play.runs(KEY) if run.id.origin is Origin.SCHEDULE]
    _assert_each_due_instant_has_one_row(story, rows)
    _assert_each_row_is_a_fire(story, rows)
    _assert_a_skipped_run_was_not_called(story, rows)
    _assert_calls_fit(story)
    _assert_nothing_is_stuck(story)
    _assert_every_skip_was_counted(story)


def _assert_each_due_instant_has_one_row(story: Story, rows: list[Run]) -> None:
    due = [fire_at for reign in story.reigns for fire_at in reign.due()]
    assert due == sorted(set(due))
    covered: Counter[int] = Counter()
    for row in rows:
        covered.update(fire_at for fire_at in due if row.covers(fire_at))
    assert {fire_at: covered[fire_at] for fire_at in due if covered[fire_at] != 1} == {}


def _assert_each_row_is_a_fire(story: Story, rows: list[Run]) -> None:
    """Assert that each row covers fires of the schedule of its time, or of a schedule replaced shortly before."""
    rules = story.play.rules
    ahead_ms = LONGEST_REQUEST_SECONDS * SECOND_MS + rules.lookahead_ms + rules.margin_ms
    for row in rows:
        last_at = row.last_fire_at or row.id.fire_at
        reigns = [one for one in story.reigns if one.from_at <= row.id.fire_at and last_at <= one.until_at + ahead_ms]
        assert any(
            is_occurrence(reign.schedule, row.id.fire_at)
            and row.count == len(list(fires(reign.schedule, row.id.fire_at, last_at)))
            for reign in reigns
        ), row


def _assert_a_skipped_run_was_not_called(story: Story, rows: list[Run]) -> None:
    called = {visit.run for visit in story.service.target.visits}
    for row in rows:
        if row.state is RunState.SKIPPED:
            assert not [run for run in called if row.covers(run.fire_at) and run.origin is Origin.SCHEDULE], row
        if row.state in (RunState.SUCCEEDED, RunState.FAILED):
            assert row.id in called, row


def _assert_calls_fit(story: Story) -> None:
    """Assert that no call is early, attempts of a run are in order, and with an overlap policy calls do not overlap."""
    visits = story.service.target.visits
    assert [visit for visit in visits if visit.from_at < visit.run.fire_at] == []
    last: dict[object, Visit] = {}
    for visit in visits:
        assert visit.run not in last or last[visit.run].attempt < visit.attempt
        last[visit.run] = visit
    if story.overlap is not OverlapPolicy.ALLOW:
        for earlier, later in pairwise(visits):
            assert earlier.to_at <= later.from_at, (earlier, later)


def _assert_nothing_is_stuck(story: Story) -> None:
    play = story.play
    job = play.job(KEY)
    assert (job.status, job.intent) == (JobStatus.PENDING, None)
    now = play.clock.now()
    live = [run for run in play.runs(KEY) if not run.is_terminal]
    assert [run for run in live if run.id.fire_at < now - MINUTE_MS] == []
    assert [message for message in play.messages() if message[0].fire_at < now - MINUTE_MS] == []
    for name in (job.holder, job.next_holder):
        assert name is None or name in {run.id for run in live}


def _assert_every_skip_was_counted(story: Story) -> None:
    """Assert that every skip was counted once, even if the run was superseded and then revived."""
    skipped: Counter[tuple[str, str]] = Counter()
    for run in story.play.runs(KEY):
        if run.state is RunState.SKIPPED and run.reason is not None:
            skipped[Metric.FIRES_SKIPPED, run.reason.value] += run.count
    counts = Counter(
        {one: count for one, count in story.play.telemetry.counts.items() if one[0] == Metric.FIRES_SKIPPED}
    )
    assert not skipped - counts
    assert (counts - skipped).keys() <= {(Metric.FIRES_SKIPPED, Reason.SUPERSEDED.value)}
