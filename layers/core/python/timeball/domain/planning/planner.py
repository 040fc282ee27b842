"""The idea of Timeball: from a job's row and an instant, the one row that must be written to the ledger now.

The row belongs to the job's next fire, and is a run or a skipped range. The first row that is stored there decides for
all processes: a later process continues after it. So any process may plan, at any time, and repeatedly.

A fire starts up to its job's jitter later, the same on every replay; the fire time never moves. A fire that needs an
event starts two seconds later still, and its claim decides whether one came. A fire is missed once
it is `misfire_ms` late, where jitter does not count as lateness. A fire whose start lay in a pause or a freeze of its
job is also missed, however recent, once that time is over. The newest missed fires are caught up, as many and as old as
the job's policy allows, one a second; all others are skipped. Scan, claim and resume share that decision. One-offs
never misfire.
"""

from dataclasses import dataclass
from itertools import islice, takewhile

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, fraction_of
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run
from timeball.domain.model.terms.policies import PACE_MS, CatchUp
from timeball.domain.planning.blackouts import NOTHING, Blackouts
from timeball.domain.time.instants import EARLIEST, HOUR_MS, SECOND_MS
from timeball.domain.time.schedule import Schedule, fires, next_fire, previous_fire

PLANNER_VERSION = 1
"""Raised when the same job, instant, settings and blackouts may have another plan than before."""

MAX_STEPS = 1_000
"""The most fires that one range skips: a job that is far behind continues with the next plan."""

DELIVERY_MS = 2 * SECOND_MS
"""How much later a fire that needs an event starts: mostly the bus has delivered by then what came before the fire."""


@dataclass(frozen=True)
class Start:
    """A fire that runs."""

    fire_at: int
    """The fire time (ms)."""
    not_before: int
    """The instant before which no call may leave (ms)."""
    moved_to: int | None = None
    """Where its calendar, or the wait for its events, moves it (ms); None: neither does."""


@dataclass(frozen=True)
class SkippedRange:
    """Fires that will not run."""

    fire_at: int
    """The first fire (ms)."""
    last_at: int
    """The last fire (ms), included."""
    reason: Reason
    """Why they are skipped."""


@dataclass(frozen=True)
class Wait:
    """Nothing must be written before the next fire."""

    until: int | None
    """The next fire (ms); None: the schedule has no fire left."""


@dataclass(frozen=True)
class Hold:
    """A freeze defers the next fire, so nothing is written."""

    until: int
    """When to recheck the job (ms)."""


Plan = Start | SkippedRange | Wait | Hold


def plan(job: Job, now: int, horizon_at: int, misfire_ms: int, excluded: Blackouts = NOTHING) -> Plan:
    """Plan a pending job's next fire, if it comes up to `horizon_at` (ms), which is `now` plus the look-ahead.

    No range of several fires reaches beyond now: a change of the job closes no further fires against older plans.
    """
    fire_at = None if job.next_fire_at is None else next_fire(job.spec.schedule, job.next_fire_at - 1)
    if job.skips is not None and fire_at is not None:  # its parents skip the fire, however far ahead it is
        return SkippedRange(fire_at, fire_at, job.skips)
    if fire_at is None or fire_at > horizon_at:
        return Wait(fire_at)
    deferred_until = excluded.deferred_until(fire_at, now)
    if deferred_until is not None:
        return Hold(deferred_until)
    starts_at = excluded.starts_at(job.spec.schedule, fire_at)
    if starts_at is None:
        return _calendar_range(job, fire_at, now, excluded)
    begins_at = starts_at + delivery_ms(job.spec)
    not_before = begins_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds)
    start = Start(fire_at, not_before, None if begins_at == fire_at else begins_at)
    is_late = is_missed(job, fire_at, starts_at, now, misfire_ms, excluded)
    return _plan_missed(job, start, now, misfire_ms, excluded) if is_late else start


def may_start_at(job: Job, run: Run, now: int, misfire_ms: int, excluded: Blackouts = NOTHING) -> int | None:
    """Return from when an unstarted run of a job's schedule may start; None if the catch-up policy skips it.

    A fire that is skipped stays skipped, and a claim never runs a fire that an earlier plan skipped. A run that was put
    off to be caught up is judged by its new start.
    """
    fire_at, not_before = run.id.fire_at, run.not_before
    is_late = not_before < now - misfire_ms or excluded.suspended_at(not_before, now) is not None
    if not is_late or not is_missed(job, fire_at, run.regular_at, now, misfire_ms, excluded):
        return not_before
    regular_start_at = run.regular_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds)
    since_at, _ = excluded.suspended_at(regular_start_at, now) or (EARLIEST, EARLIEST)
    kept = caught_up(job, now, misfire_ms, excluded, since_at)
    return max(not_before, now + kept.index(fire_at) * PACE_MS) if fire_at in kept else None


def is_missed(job: Job, fire_at: int, starts_at: int, now: int, misfire_ms: int, excluded: Blackouts) -> bool:
    """Say whether a fire whose start, apart from jitter, is `starts_at` counts as missed at `now`."""
    if job.spec.schedule.is_one_off:
        return False
    if starts_at < _late_before(job, now, misfire_ms):
        return True
    start_at = starts_at + jitter_ms(job.key, fire_at, job.spec.jitter_seconds)
    return excluded.suspended_at(start_at, now) is not None


def missed_before(job: Job, now: int, misfire_ms: int, excluded: Blackouts = NOTHING) -> int:
    """Return the instant before which a job's fires may count as missed at `now`; later fires never do."""
    return max(_late_before(job, now, misfire_ms), excluded.suspended_before(now))


def caught_up(
    job: Job, now: int, misfire_ms: int, excluded: Blackouts = NOTHING, since_at: int = EARLIEST
) -> list[int]:
    """Return the missed fires from an instant on that are caught up, earliest first.

    A fire that the job's calendar skips is not caught up and does not count against the policy's limit. A fire that the
    calendar moves is only as old as its start. The number of steps is bounded, however much was missed: by the policy's
    limit, and by the fires within a pause, the jitter before it, and the time after which a fire is late.
    """
    policy = job.spec.catch_up
    oldest_at = max(oldest_caught_up(job.spec.schedule, policy, now), since_at - _most_jitter_ms(job))
    before_at = missed_before(job, now, misfire_ms, excluded)
    latest_first: list[int] = []
    while len(latest_first) < policy.limit:
        fire_at = excluded.previous_fire(job.spec.schedule, before_at, oldest_at)
        if fire_at is None:
            break
        starts_at = excluded.starts_at(job.spec.schedule, fire_at)
        if starts_at is not None and is_missed(job, fire_at, starts_at, now, misfire_ms, excluded):
            latest_first.append(fire_at)
        before_at = fire_at
    return latest_first[::-1]


def oldest_caught_up(schedule: Schedule, policy: CatchUp, now: int) -> int:
    """Return the instant (ms) before which no missed fire is caught up at `now`, by its age.

    By default a fire may be as old as half the distance to the next fire, and at least an hour. Only the last fire
    before `now` can be older than an hour: any earlier one is older than its whole distance to the next.
    """
    if policy.max_age_seconds is not None:
        return now - policy.max_age_seconds * SECOND_MS
    hour_ago = now - HOUR_MS
    next_at = next_fire(evolve(schedule, end_at=None), now)  # the last fire of a window has a distance, too
    if next_at is None or next_at - now <= HOUR_MS:
        return hour_ago
    last_at = previous_fire(schedule, now + 1, now - (next_at - now))
    return hour_ago if last_at is None else min(hour_ago, last_at)


def jitter_ms(key: JobKey, fire_at: int, jitter_seconds: int) -> int:
    """Return how much later (ms) a fire of a job starts: a hash of both picks a delay in [0, jitter)."""
    if not jitter_seconds:
        return 0
    return int(fraction_of("jitter", key.tenant, key.job_id, fire_at) * jitter_seconds * SECOND_MS)


def delivery_ms(spec: JobSpec) -> int:
    """Return how much later (ms) the fires of a job start, so that the bus can deliver their events."""
    return DELIVERY_MS if spec.needs_events else 0


def _plan_missed(job: Job, start: Start, now: int, misfire_ms: int, excluded: Blackouts) -> Start | SkippedRange:
    """Plan a fire that is missed: start it late, or skip it together with the missed fires that follow it."""
    fire_at, starts_at = start.fire_at, start.fire_at if start.moved_to is None else start.moved_to
    since_at, until = excluded.suspended_at(start.not_before, now) or (EARLIEST, EARLIEST)
    kept = caught_up(job, now, misfire_ms, excluded, since_at)
    if fire_at in kept:
        # Runs that were sent before a pause are paced from the end of the pause by themselves, and count here.
        paced_at = until + kept.index(fire_at) * PACE_MS
        return Start(fire_at, max(start.not_before, now, job.paced_until, paced_at), start.moved_to)
    kept_from = next((at for at in kept if at > fire_at), missed_before(job, now, misfire_ms, excluded))
    other_from = min(kept_from, excluded.dates.next_edge(fire_at), excluded.frozen.next_edge(fire_at))
    missed = takewhile(
        lambda at: at == fire_at or is_missed(job, at, at, now, misfire_ms, excluded),
        fires(job.spec.schedule, fire_at, other_from - 1),
    )
    *_, last_at = islice(missed, MAX_STEPS)
    return SkippedRange(fire_at, last_at, excluded.reason_of(fire_at, starts_at))


def _calendar_range(job: Job, fire_at: int, now: int, excluded: Blackouts) -> SkippedRange:
    """Return the fires from one that its calendar skips up to the next one that its calendar does not skip.

    A future fire has a range of its own: a new schedule may have the same fire, but would find no row there if an
    earlier range covered it.
    """
    schedule, end_at = job.spec.schedule, excluded.dates.end_of(fire_at) or fire_at + 1
    through = fires(schedule, fire_at, max(fire_at, min(end_at - 1, now)))
    *_, last_at = islice(takewhile(lambda at: excluded.starts_at(schedule, at) is None, through), MAX_STEPS)
    return SkippedRange(fire_at, last_at, Reason.CALENDAR)


def _late_before(job: Job, now: int, misfire_ms: int) -> int:
    """Return the instant before which fires are missed by their age alone."""
    return EARLIEST if job.spec.schedule.is_one_off else now - misfire_ms - _most_jitter_ms(job)


def _most_jitter_ms(job: Job) -> int:
    return job.spec.jitter_seconds * SECOND_MS
