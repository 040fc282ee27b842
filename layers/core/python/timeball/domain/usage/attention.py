"""The findings that need a person's attention: late, stuck and blocked runs, and jobs that fail or are silent.

Pure functions of rows as they were read, and of an instant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final

from timeball.domain.model.ids import JobKey, RunId
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.notable import SLOW_MS
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.planning.blackouts import Blackouts
from timeball.domain.run_ends.notices import counts
from timeball.domain.run_ends.recent import is_under_way
from timeball.domain.time.instants import MINUTE_MS, InvalidSchedule
from timeball.domain.time.schedule import Schedule, fires

STUCK_TIMES: Final = 5
"""A run is stuck if it runs for so many times its job's p95."""
FEWEST_RUNS: Final = 5
"""How many earlier runs a p95 needs."""
SILENT_FIRES: Final = 3
"""A job is silent if no run has succeeded for so many fires."""
SILENT_MS: Final = MINUTE_MS
"""How long (ms) a job without a success is not silent yet."""
_MOST_FIRES: Final = 100
"""How many fires are examined: a calendar or a freeze may exclude some."""
_RESOURCE: Final = frozenset({Reason.CIRCUIT_OPEN, Reason.HOST_PACED})


class Concern(StrEnum):
    """Why something needs attention."""

    LATE = "late"
    STUCK = "stuck"
    BLOCKED = "blocked"
    FAILING = "failing"
    SILENT = "silent"


class Obstacle(StrEnum):
    """The kind of thing that a run waits for."""

    LIMIT = "limit"
    QUOTA = "quota"
    PARENT = "parent"
    OVERLAP = "overlap"
    RESOURCE = "resource"
    FREEZE = "freeze"


@dataclass(frozen=True)
class WaitsFor:
    """What a run waits for."""

    kind: Obstacle
    """Its kind."""
    ref: str | None = None
    """The name or the id of it; None: the kind says all that is known."""


@dataclass(frozen=True)
class Attention:
    """A run or a job that needs attention."""

    kind: Concern
    """Why."""
    since: int
    """Since when (ms)."""
    job: JobKey
    """The job."""
    run: RunId | None = None
    """The run; None: the job as a whole."""
    waits_for: WaitsFor | None = None
    """Its obstacle; None: nothing, or it is not known."""


def of_run(run: Run, now: int, p95_ms: int | None, margin_ms: int) -> Attention | None:
    """Return why a live run needs attention; None if it does not. `p95_ms` is of its job's earlier runs."""
    if run.blocked is not None:
        return Attention(Concern.BLOCKED, run.aging_since, run.id.job, run.id, waits_for(run))
    if run.state is RunState.RUNNING:
        since = _stuck_since(run, p95_ms, margin_ms)
        return None if since is None or since > now else Attention(Concern.STUCK, since, run.id.job, run.id)
    obstacle = waits_for(run)
    start_at = run.not_before if obstacle is None else run.aging_since
    if run.state is not RunState.QUEUED or is_under_way(run) or start_at + SLOW_MS >= now:
        return None
    return Attention(Concern.LATE, start_at, run.id.job, run.id, obstacle)


def waits_for(run: Run) -> WaitsFor | None:
    """Return what the row of a run says that it waits for."""
    if run.blocked is not None:
        return WaitsFor(Obstacle.PARENT, str(run.blocked.by))
    if run.waiting is not None and run.stands_in_line:
        return WaitsFor(Obstacle.LIMIT, run.waiting.name) if run.waiting.name else WaitsFor(Obstacle.QUOTA)
    if run.waits:
        return WaitsFor(Obstacle.PARENT)
    return WaitsFor(Obstacle.RESOURCE) if run.reason in _RESOURCE else None


@dataclass(frozen=True)
class LateRuns:
    """How many runs are late, and how many of these wait for something."""

    late: int
    """All of them."""
    held: int
    """Those that wait for something of their tenant's own: a limit, a parent, a lock, a resource, or a freeze."""
    throttled: int
    """Those that wait for a quota of their tenant."""


def counted_late(found: Sequence[Attention]) -> LateRuns:
    """Count the late runs among findings."""
    late = [one for one in found if one.kind is Concern.LATE]
    obstacles = [one.waits_for.kind for one in late if one.waits_for is not None]
    throttled = obstacles.count(Obstacle.QUOTA)
    return LateRuns(len(late), len(obstacles) - throttled, throttled)


def held_by(run: RunId, job: Job, excluded: Blackouts, now: int) -> WaitsFor | None:
    """Return what a run that has not begun waits for, as its job says, and the freezes that match the job."""
    if excluded.frozen.end_of(now) is not None:
        return WaitsFor(Obstacle.FREEZE)
    return None if job.holder in (None, run) else WaitsFor(Obstacle.OVERLAP, str(job.holder))


def p95_of(rows: Sequence[Run]) -> int | None:
    """Return how long (ms) 95 % of the runs that succeeded took at most; None if there are too few of them."""
    took = sorted(
        row.finished_at - row.first_started_at
        for row in rows
        if row.state is RunState.SUCCEEDED and row.finished_at is not None and row.first_started_at is not None
    )
    return took[-(-len(took) * 95 // 100) - 1] if len(took) >= FEWEST_RUNS else None


def of_job(job: Job, newest: Sequence[Run], excluded: Blackouts, now: int, *, has_more: bool) -> list[Attention]:
    """Return why an open job needs attention.

    `newest` are its newest rows, the newest first; `has_more` says that older ones were not read.
    """
    since = _success_at(newest, has_more=has_more)
    found = [_blocked(job), _failing(job, newest), _silent(job, since, excluded, now)]
    return [one for one in found if one is not None]


def sound_since(newest: Sequence[Run], *, has_more: bool) -> int | None:
    """Return when (ms) a run of a job last succeeded, or 0; None if the newest runs failed."""
    return None if _streak(newest) else _success_at(newest, has_more=has_more)


def of_sound_job(job: Job, since: int, excluded: Blackouts, now: int) -> list[Attention] | None:
    """Return why an open job needs attention that was sound, and of which no run has failed since.

    `since` is when it last succeeded, as far as that is known (`sound_since`). None: its newest runs must be read.
    """
    if _silent(job, since, excluded, now) is not None:
        return None
    return [one for one in (_blocked(job), _failing(job, ())) if one is not None]


def _stuck_since(run: Run, p95_ms: int | None, margin_ms: int) -> int | None:
    """Return from when on a running run is stuck (ms): past its lease, or running for far longer than usual."""
    begun_at = run.first_started_at or run.claimed_at
    ends = [run.lease_until + margin_ms] if run.lease_until is not None else []
    if p95_ms is not None and begun_at is not None:
        ends.append(begun_at + STUCK_TIMES * p95_ms)
    return min(ends, default=None)


def _blocked(job: Job) -> Attention | None:
    if job.blocked is None or job.status is not JobStatus.PENDING:
        return None
    by = job.blocked.by
    return Attention(Concern.BLOCKED, by.fire_at, job.key, None, WaitsFor(Obstacle.PARENT, str(by)))


def _failing(job: Job, newest: Sequence[Run]) -> Attention | None:
    """Return that a job is failing, as its `notify` counts; without one, after one failure."""
    notify = job.spec.notify
    if notify is not None and notify.watches_streaks:
        end = job.failing
        return None if end is None else Attention(Concern.FAILING, end.at or end.run.fire_at, job.key, end.run)
    streak = _streak(newest)
    if not streak:
        return None
    return Attention(Concern.FAILING, streak[-1].finished_at or streak[-1].id.fire_at, job.key, streak[0].id)


def _streak(newest: Sequence[Run]) -> list[Run]:
    """Return the newest runs that failed in a row, the newest first."""
    return list(takewhile(lambda row: row.state is RunState.FAILED, filter(counts, newest)))


def _success_at(newest: Sequence[Run], *, has_more: bool) -> int:
    """Return when a run last succeeded, or 0. If older rows were not read, a run may have succeeded until these."""
    ends = [row.finished_at for row in newest if row.state is RunState.SUCCEEDED and row.finished_at is not None]
    return max(ends, default=newest[-1].id.fire_at if has_more else 0)


def _silent(job: Job, success_at: int, excluded: Blackouts, now: int) -> Attention | None:
    """Return that no run has succeeded for some fires of the job's own; None while it is paused or frozen."""
    schedule = job.spec.schedule
    is_awaited = schedule.is_recurring and not job.spec.needs_events  # without events such a job is silent
    if job.status is not JobStatus.PENDING or not is_awaited or excluded.frozen.end_of(now) is not None:
        return None
    since = max(job.created_at, job.change.at, success_at)
    if now - since < SILENT_MS or _fires_between(schedule, excluded, since, now) < SILENT_FIRES:
        return None
    return Attention(Concern.SILENT, since, job.key)


def _fires_between(schedule: Schedule, excluded: Blackouts, after_at: int, to_at: int) -> int:
    """Count fires that neither a calendar nor a freeze excludes, up to SILENT_FIRES."""
    passed = islice(fires(schedule, after_at + 1, to_at), _MOST_FIRES)
    left = (at for at in passed if excluded.frozen.end_of(at) is None and excluded.starts_at(schedule, at) is not None)
    try:
        return sum(1 for _ in islice(left, SILENT_FIRES))
    except InvalidSchedule:  # such as a time zone that no longer exists: nothing fires
        return 0
