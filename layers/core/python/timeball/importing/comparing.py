"""Whether a job fires when its origin would: the fires of both over 400 days, and each instant in which they differ.

Invariant: the fires of the job are those of the scheduler, from timeball.domain.time, never from a second
implementation. The fires of the origin come from the origin's own rule.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from timeball.domain.time.instants import DAY_MS, SECOND_MS, parse_instant
from timeball.domain.time.schedule import At, Cron, Every, Schedule, fires
from timeball.domain.time.stepper import DstOverlap, Gap
from timeball.importing.definitions import ImportedJob

COMPARED_DAYS: Final = 400
"""How many days are compared: so many cross both changes of a year's clocks."""
_MOST_OF_INTERVAL: Final = 20_000
"""How many fires of an interval are compared: those of an interval of seconds would be millions."""


@dataclass(frozen=True)
class Difference:
    """An instant in which a job and its origin do not do the same."""

    at: int
    """The instant (ms)."""
    job: int
    """How many times the job fires then."""
    origin: int
    """How many times the origin runs it then."""


@dataclass(frozen=True)
class Comparison:
    """The fires of a job beside those of its origin."""

    count: int
    """How many fires the job has."""
    differences: tuple[Difference, ...]
    """Where they differ, in the order of time; empty: nowhere."""
    days: float
    """How many days were compared."""


class Comparer:
    """Compares jobs with their origins over the days from an instant on; equal schedules are compared once."""

    def __init__(self, from_at: int, days: int = COMPARED_DAYS) -> None:
        """Compare from an instant (ms) on."""
        self._from_at = from_at
        self._through_at = from_at + days * DAY_MS
        self._known: dict[object, Comparison] = {}

    def compare(self, job: ImportedJob) -> Comparison:
        """Compare a job with its origin."""
        schedule = schedule_of(job.body, self._from_at)
        key = (schedule, job.origin.name, job.origin.key)
        if key not in self._known:
            self._known[key] = self._compare(schedule, job)
        return self._known[key]

    def _compare(self, schedule: Schedule, job: ImportedJob) -> Comparison:
        through_at = self._through_at
        match schedule.timing:
            case At(at):
                through_at = max(through_at, at)
            case Every(seconds):  # it counts elapsed time, so clock changes do not matter
                through_at = min(through_at, self._from_at + seconds * SECOND_MS * _MOST_OF_INTERVAL)
        ours = [*fires(schedule, self._from_at, through_at)]
        theirs = job.origin.fires(self._from_at, through_at)
        differences = () if ours == theirs else tuple(_differences(ours, theirs))
        return Comparison(len(ours), differences, (through_at - self._from_at) / DAY_MS)


def _differences(ours: Iterable[int], theirs: Iterable[int]) -> Iterable[Difference]:
    of_job, of_origin = Counter(ours), Counter(theirs)
    for at in sorted(of_job.keys() | of_origin.keys()):
        if of_job[at] != of_origin[at]:
            yield Difference(at, of_job[at], of_origin[at])


def schedule_of(body: Mapping[str, Any], created_at: int) -> Schedule:
    """Return the schedule of the body of a job that is created at an instant (ms)."""
    return Schedule(
        _timing(body, created_at),
        start_at=_instant(body.get("startAt")),
        end_at=_instant(body.get("endAt")),
    )


def _timing(body: Mapping[str, Any], created_at: int) -> At | Every | Cron:
    if "cronExpression" in body:
        policy = body.get("dstPolicy", {})
        return Cron(
            body["cronExpression"],
            body["timezone"],
            gap=Gap(policy["gap"]) if "gap" in policy else None,
            overlap=DstOverlap(policy["overlap"]) if "overlap" in policy else None,
        )
    if "everySeconds" in body:
        anchor_at = _instant(body.get("anchorAt")) or _instant(body.get("startAt"))
        return Every(body["everySeconds"], -(-created_at // 1000) * 1000 if anchor_at is None else anchor_at)
    return At(parse_instant(body["scheduleAt"]))


def _instant(text: str | None) -> int | None:
    return None if text is None else parse_instant(text)
