"""Submit jobs: store them before the answer, and dispatch at once those that are due within the look-ahead."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.new_job import new_job
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.engine.context import Context
from timeball.engine.dependencies.bind import bind
from timeball.engine.quotas.limits import note_limits
from timeball.engine.scheduling.dispatch import dispatch
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)

_NO_ANCESTORS: Mapping[JobKey, int] = MappingProxyType({})


class Submission(StrEnum):
    """The outcome of a submit: stored now, stored earlier by the same request, or the id belongs to another job."""

    CREATED = "created"
    REPEATED = "repeated"
    CONFLICT = "conflict"


@dataclass(frozen=True)
class Submitted:
    """The outcome, and the job as it was stored at its creation (CONFLICT: the other job)."""

    outcome: Submission
    job: Job


def submit(
    context: Context,
    specs: Sequence[JobSpec],
    now: int,
    by: Actor = NO_ACTOR,
    depth: int = 0,
    ancestors: Mapping[JobKey, int] = _NO_ANCESTORS,
) -> list[Submitted]:
    """Store each job as submitted at `now`, with its generation, and dispatch jobs that are due within the look-ahead.

    `ancestors` holds a lower bound of the number of jobs that each job depends on. The scan finds what the dispatch
    leaves undone, so a failed dispatch does not fail the submit. Raises InvalidSchedule before anything is stored,
    UnavailableError if it is unknown what was stored.
    """
    new = [new_job(spec, now, context.shards, by, depth) for spec in specs]
    jobs = bind(context, [evolve(job, ancestors=ancestors.get(job.key, 0)) for job in new], now)
    submitted = [
        _submitted(job, standing) for job, standing in zip(jobs, context.store.jobs.insert(jobs, now), strict=True)
    ]
    horizon_at = now + context.rules.lookahead_ms
    due = [s.job for s in submitted if s.outcome is Submission.CREATED and (s.job.due_at or 0) <= horizon_at]
    try:
        note_limits(context, specs, now)
        if due:
            dispatch(context, due, now)
    except UnavailableError as unavailable:
        log.warning("submitted, and left to the scan: %s", unavailable)
    return submitted


def _submitted(job: Job, standing: Job | None) -> Submitted:
    if standing is None:
        return Submitted(Submission.CREATED, job)
    same = standing.spec.fingerprint == job.spec.fingerprint
    return Submitted(Submission.REPEATED if same else Submission.CONFLICT, standing)
