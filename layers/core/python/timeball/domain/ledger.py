"""The rows that a plan writes to the fire ledger.

Invariant: an instant has one row. A skipped range leaves out what already stands there, so it may become several rows.
"""

from collections.abc import Iterable, Sequence

from timeball.domain.evolve import evolve
from timeball.domain.ids import Origin, RunId
from timeball.domain.job import Job
from timeball.domain.planner import Start
from timeball.domain.reason import Reason
from timeball.domain.run import Run, RunState
from timeball.domain.schedule import fires


def queued_run(job: Job, start: Start, now: int, horizon_at: int) -> Run:
    """Return the run of one fire of the job's schedule: ready to be sent, or in the due index if it starts later."""
    due_at = start.not_before if start.not_before > horizon_at else None
    return evolve(_row(job, start.fire_at, now, RunState.QUEUED), not_before=start.not_before, due_at=due_at)


def skipped_fires(job: Job, fire_times: Iterable[int], reason: Reason, now: int) -> list[Run]:
    """Return a row of its own for each fire time that will not run: it refuses a late insert of the same fire."""
    return [_row(job, fire_at, now, RunState.SKIPPED, reason) for fire_at in fire_times]


def skipped_range(
    job: Job, first_at: int, last_at: int, reason: Reason, standing: Sequence[Run], now: int
) -> list[Run]:
    """Return rows for every fire time from `first_at` to `last_at` that no standing row covers, neighbours in one."""
    rows: list[Run] = []
    group: list[int] = []
    for fire_at in fires(job.schedule, first_at, last_at):
        if not any(row.covers(fire_at) for row in standing):
            group.append(fire_at)
        elif group:
            rows.append(_range_row(job, group, reason, now))
            group = []
    if group:
        rows.append(_range_row(job, group, reason, now))
    return rows


def _range_row(job: Job, group: Sequence[int], reason: Reason, now: int) -> Run:
    last_at = group[-1] if len(group) > 1 else None
    return _row(job, group[0], now, RunState.SKIPPED, reason, last_at, len(group))


def _row(
    job: Job,
    fire_at: int,
    now: int,
    state: RunState,
    reason: Reason | None = None,
    last_fire_at: int | None = None,
    count: int = 1,
) -> Run:
    return Run(
        id=RunId(job.key, fire_at, Origin.SCHEDULE),
        state=state,
        stamp=job.schedule_version,
        priority=job.priority,
        shard=job.shard,
        not_before=fire_at,
        created_at=now,
        finished_at=now if state is RunState.SKIPPED else None,
        reason=reason,
        last_fire_at=last_fire_at,
        count=count,
    )
