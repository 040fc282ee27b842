"""The rows of the fire ledger: of a plan, of an event, of a skipped fire; and a plan's effect on a row that exists.

Invariant: an instant has one row. Only a run has no `last_fire_at`, so the row itself says whether it counts as a run.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import ended, passed_over, planned_anew, put_off, revived
from timeball.domain.model.runs.values import NO_WAITS, GateWaits, Guarantor
from timeball.domain.model.terms.event import Event, SubscriptionKey, subscription_key
from timeball.domain.model.terms.flow import Collected
from timeball.domain.planning.collecting import collects_submits
from timeball.domain.planning.planner import SkippedRange, Start, delivery_ms
from timeball.domain.run_ends.effects import guarantor_of, joins_cycles
from timeball.domain.time.schedule import fires


def planned_row(job: Job, plan: Start | SkippedRange, now: int, horizon_at: int) -> Run:
    """Return the row of a plan: a range, or a run, which is in the due index if it starts after the horizon.

    A range is in the due index too, until the runs that wait for it are notified.
    """
    if isinstance(plan, SkippedRange):
        row = _range_row(job, list(fires(job.spec.schedule, plan.fire_at, plan.last_at)), plan.reason, now)
        return evolve(row, due_at=now) if joins_cycles(row, job) else row
    run = evolve(queued_run(job, Origin.SCHEDULE, plan.fire_at, now), not_before=plan.not_before)
    run = evolve(run, moved_to=plan.moved_to)
    if job.spec.runs_wait:
        ahead_ms = horizon_at - now if job.spec.judges_latest else 0  # it is evaluated at its start, not before
        return evolve(run, waits=True, due_at=plan.not_before + ahead_ms, reason=Reason.WAITING_FOR_PARENTS)
    is_later = plan.not_before - delivery_ms(job.spec) > horizon_at
    return evolve(run, due_at=plan.not_before if is_later else None)


def queued_run(job: Job, origin: Origin, fire_at: int, now: int) -> Run:
    """Return a run of a job that may start at its fire time."""
    is_own = origin is Origin.SCHEDULE
    is_joined = is_own and bool(job.spec.depends_on)
    return Run(
        id=RunId(job.key, fire_at, origin, generation=job.generation),
        state=RunState.QUEUED,
        decided_at_version=job.schedule_version,
        priority=job.spec.priority,
        shard=job.shard,
        not_before=fire_at,
        created_at=now,
        task_id=job.task_id,
        depth=job.depth,
        joined=is_joined,
        let_go_at=now if is_joined and job.spec.job_waits else None,
        collected=Collected(1, job.begun_at) if is_own and collects_submits(job.spec) else None,
        traceparent=job.spec.traceparent if is_own and job.spec.schedule.is_one_off else None,
    )


def met(standing: Run, planned: Run, now: int, rerun_at_version: int = 0) -> Run:
    """Return the row that refused a plan's own, after the plan: unchanged, unless the plan decides about it.

    A plan that is not older than the row decides about two kinds of rows: a run that a slow pause withdrew, and a run
    that is superseded although the job's schedule has its fire (again). A plan that skips the fire turns the row into a
    range, which does not count as a run. A waiting run gets the plan's schedule version: a process that acts for an
    older version can then no longer withdraw or supersede it. After a rerun of the job, a row with a version before
    `rerun_at_version` is outdated: it is planned anew, or counts as the new row if it is being retried already.
    """
    is_outdated = standing.decided_at_version < rerun_at_version
    if _is_open(standing, planned) or (is_outdated and standing.is_terminal):
        return _decided(standing, planned, now, is_outdated=is_outdated)
    is_older = standing.decided_at_version < planned.decided_at_version
    if standing.state is RunState.QUEUED and standing.is_unstarted and is_older:
        return put_off(standing, standing.not_before, standing.due_at, planned.decided_at_version)
    return evolve(standing, decided_at_version=planned.decided_at_version) if is_outdated else standing


def _is_open(standing: Run, planned: Run) -> bool:
    """Say whether a row waits for a plan to decide about it, and this plan is not older than the row."""
    is_undecided = standing.state is RunState.WITHDRAWN or standing.is_superseded
    return is_undecided and standing.decided_at_version <= planned.decided_at_version


def _decided(standing: Run, planned: Run, now: int, *, is_outdated: bool) -> Run:
    """Return a row as its plan decides: a run, which keeps its history after a rerun, or a range of its fire."""
    if planned.state is RunState.QUEUED:
        return planned_anew(standing, planned, now) if is_outdated else revived(standing, planned)
    passed = passed_over(standing, planned.reason or Reason.MISFIRED, planned.decided_at_version, now)
    return evolve(passed, due_at=planned.due_at or passed.due_at)


def closing_row(job: Job, fire_at: int, reason: Reason, now: int) -> Run:
    """Return a row that refuses every plan of an older version of the job at this fire."""
    run = queued_run(job, Origin.SCHEDULE, fire_at, now)
    return evolve(run, state=RunState.SKIPPED, finished_at=now, reason=reason)


def hand_skipped_row(job: Job, fire_at: int, reason: Reason, now: int) -> Run:
    """Return the row of a future fire that a user skips, or that the job's calendar skips anyway."""
    return _range_row(job, [fire_at], reason, now)


def hand_skipped(job: Job, run: Run, reason: Reason, now: int) -> Run | None:
    """Return the row at a fire after a user skips that fire; None: it stays as it is, because it has started.

    A run that the job has already advanced past counts as a run, as before.
    """
    is_undecided = run.state in (RunState.QUEUED, RunState.WITHDRAWN) and run.is_unstarted
    if run.is_superseded or (is_undecided and job.next_fire_at is not None and job.next_fire_at <= run.id.fire_at):
        return passed_over(run, reason, job.schedule_version, now)
    guarantor = guarantor_of(run, job, Guarantor.OWNER)
    return ended(run, RunState.SKIPPED, now, guarantor, reason) if is_undecided else None


def skipped_around(job: Job, fire_times: Iterable[int], reason: Reason, standing: Sequence[Run], now: int) -> list[Run]:
    """Return ranges for the fires that no standing row covers.

    No range spans a row, whichever schedule the row comes from.
    """
    own = [row for row in standing if job.owns(row.id)]

    def group_of(at: int) -> tuple[bool, int]:
        return any(row.covers(at) for row in own), sum(row.id.fire_at <= at for row in own)

    groups = groupby(fire_times, group_of)
    return [_range_row(job, list(group), reason, now) for (is_covered, _), group in groups if not is_covered]


def _range_row(job: Job, fire_times: Sequence[int], reason: Reason, now: int) -> Run:
    row = closing_row(job, fire_times[0], reason, now)
    return evolve(row, last_fire_at=fire_times[-1], count=len(fire_times))


def subscription_of(spec: JobSpec) -> SubscriptionKey | None:
    """Return the subscription of a job that runs on events."""
    return None if spec.event is None else subscription_key(spec.key.tenant, spec.event)


def event_row(job: Job, event: Event, digest: str | None, now: int, *, put_off: bool = False) -> Run:
    """Return the row of an event that matches the pattern of an open job. If the job is paused, it is skipped.

    `digest` names the payload of the run. The instant is the one at which the event was first accepted, so the row is
    the same however often the event comes. If it was `put_off`, the tenant's quota of created runs held it.
    """
    run = evolve(
        queued_run(job, Origin.EVENT, event.accepted_at, now),
        id=event.run_of(job.key, job.generation),
        depth=max(job.depth, event.depth),
        gate_waits=GateWaits(event.accepted_at).by("quota", now) if put_off else NO_WAITS,
    )
    if job.status is JobStatus.PAUSED:
        return evolve(run, state=RunState.SKIPPED, finished_at=now, reason=Reason.JOB_PAUSED)
    return evolve(run, due_at=max(event.accepted_at, now), work_digest=digest)
