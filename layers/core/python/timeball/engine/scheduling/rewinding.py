"""Plan a job again from an earlier fire: after lost rows, or because other time zone data has an earlier next fire."""

from collections.abc import Sequence

from timeball.domain.attempts.recovery import restart_behind, restart_of, rewound
from timeball.domain.model.ids import Origin
from timeball.domain.model.jobs.job import Job
from timeball.engine.context import Context
from timeball.ports.collections import LedgerQuery

_RUNS = 200


def by_present_rules(context: Context, jobs: Sequence[Job]) -> list[Job]:
    """Return jobs, with an earlier next fire where a former era computed it and the present rules have another one.

    The scan reads such a job only when its former next fire is due, so the plan of the earlier fire comes late. No fire
    from before the present era is planned again. Costs two queries for such a job, and nothing for any other. Raises
    UnavailableError.
    """
    era, now = context.known.era, context.clock.now()
    if era is None:
        return list(jobs)
    return [job if job.rules == era.rules else _rewound(context, job, era.begins_at, now) for job in jobs]


def _rewound(context: Context, job: Job, since: int, now: int) -> Job:
    restart_at = restart(context, job, since)
    return job if restart_at is None else rewound(job, restart_at, runs_before(context, job, restart_at), now)


def restart(context: Context, job: Job, since: int) -> int | None:
    """Return the fire from which a job is planned again (ms); None: from its next fire. A range may cover a fire."""
    fire_at = restart_of(job, since)
    if fire_at is None:
        return None
    before = None
    while True:
        page = context.store.runs.ledger(LedgerQuery(job.key, _RUNS, to_at=fire_at - 1, before=before))
        standing = next((row for row in page.runs if row.id.origin is Origin.SCHEDULE and job.owns(row.id)), None)
        before = page.next_before
        if standing is not None or before is None:
            return restart_behind(job, fire_at, standing)


def runs_before(context: Context, job: Job, restart_at: int) -> int:
    """Return how many runs count against the schedule's `max_runs` before a fire: their rows are counted."""
    first_at = job.change.next_fire_at
    if job.spec.schedule.max_runs is None or first_at is None or restart_at <= first_at:
        return job.change.runs_planned
    rows = context.store.runs.between(job.key, first_at, restart_at - 1)
    return job.change.runs_planned + sum(row.last_fire_at is None and job.owns(row.id) for row in rows)
