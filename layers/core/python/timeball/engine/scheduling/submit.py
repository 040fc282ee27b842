"""Submit jobs: store them before the answer, and dispatch at once those that are due within the look-ahead.

A job with a unique key is found by `meant_by` first. The key's row names the job before it is stored, and any request
may store that job: ① Insert the key's row: it names the request's job. If a row exists and still stands for its job,
that job is the answer; otherwise swap the row, so that it names the request's job. ② Submit under the named id. If a
process dies after ①, the key names a job that does not exist: the next request stores its own job under that id, with
its own window. If the row might expire too soon for that, it is swapped first.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.flow import UniqueKeyRow, unique_key
from timeball.domain.planning.collecting import collects_submits, lasting, own_run, stands_for
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.compare_and_swap import TRIES
from timeball.engine.context import Context
from timeball.engine.dependencies.parents import bind
from timeball.engine.quotas import note_limits
from timeball.engine.scheduling.dispatch import dispatch
from timeball.ports.errors import ContendedError, UnavailableError
from timeball.ports.rows import Swap

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
    owner: str | None = None,
) -> list[Submitted]:
    """Store each job as submitted at `now`, with its depth, and dispatch jobs that are due within the look-ahead.

    `owner` owns the jobs whose specs state no owner. `ancestors` holds a lower bound of the number of jobs that each
    job depends on. The scan finds what the dispatch leaves undone, so a failed dispatch does not fail the submit.
    Raises InvalidSchedule before anything is stored, UnavailableError if it is unknown what was stored.

    Order of writes of submit:

    1. Insert the job with its work, in the due index.
    2. Dispatch it if it is due within the look-ahead.

    Safe: the job is stored before the 2xx; the scan does what step 2 leaves undone.
    """
    new = [new_job(spec, now, context.shards, by, depth, owner) for spec in specs]
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


@dataclass(frozen=True)
class Meant:
    """The result for a spec with a unique key: the spec to submit, or the job that already stands for the key."""

    spec: JobSpec
    job: Job | None = None


def meant_by(context: Context, specs: Sequence[JobSpec], now: int) -> list[Meant]:
    """Return the job for each spec; no two specs have the same unique key. Specs without a key cost no request.

    Raises UnavailableError, and ContendedError if a key keeps changing.

    Order of writes of name (the job of a unique key):

    1. Insert the key's row, which names the job; a row that stands decides while it stands for its job; otherwise swap
       it; also swap a row that names no job yet and would expire too soon.
    2. Submit, under the id that is named.

    Safe: a request that finds a name without a job stores its own job under that id, so a crash after step 1 leaves
    nothing to repair; the window is that of the stored job.
    """
    meant = {spec.key: Meant(spec) for spec in specs}
    asking = {spec.key: named for spec in specs if (named := _named(spec, now)) is not None}
    for _ in range(TRIES):
        if not asking:
            break
        found, asking = _ask(context, asking, meant, now)
        meant |= found
    if asking:
        raise ContendedError("a unique key keeps changing")
    return list(meant.values())


def _ask(
    context: Context, asking: Mapping[JobKey, UniqueKeyRow], meant: Mapping[JobKey, Meant], now: int
) -> tuple[dict[JobKey, Meant], dict[JobKey, UniqueKeyRow]]:
    """Return the jobs that stand for keys, and the rows that must be asked for again because they have changed."""
    stood = context.store.uniques.insert(list(asking.values()), now)
    standing = {key: row for key, row in zip(asking, stood, strict=True) if row is not None}
    jobs = _jobs(context, standing)
    found: dict[JobKey, Meant] = {}
    swaps: dict[JobKey, Swap[UniqueKeyRow]] = {}
    for key, row in standing.items():
        job, run = jobs[key]
        if stands_for(row, job, run, now):
            found[key] = Meant(evolve(meant[key].spec, key=JobKey(key.tenant, row.job_id)), job)
            after = row if job is not None else lasting(row, asking[key])
        else:
            after = evolve(asking[key], revision=row.revision)
        if after != row:
            swaps[key] = Swap(row, after)
    swapped = zip(swaps, context.store.uniques.swap(list(swaps.values()), now), strict=True)
    left = {key: asking[key] for key, done in swapped if not done.done}
    return {key: one for key, one in found.items() if key not in left}, left


def _named(spec: JobSpec, now: int) -> UniqueKeyRow | None:
    unique = spec.flow.unique
    if unique is None:
        return None
    until = None if unique.seconds is None else now + unique.seconds * SECOND_MS
    return UniqueKeyRow(unique_key(spec.key.tenant, unique.key), spec.key.job_id, now, until)


def _jobs(context: Context, standing: dict[JobKey, UniqueKeyRow]) -> dict[JobKey, tuple[Job | None, Run | None]]:
    """Return the job that each row names, with its work, and its planned run if the job collects submits."""
    keys = [JobKey(key.tenant, row.job_id) for key, row in standing.items()]
    jobs = context.store.jobs.read(keys, with_work=True) if keys else []
    names = [own_run(job) if job is not None and collects_submits(job.spec) else None for job in jobs]
    asked = [name for name in names if name is not None]
    runs = dict(zip(asked, context.store.runs.read(asked), strict=True)) if asked else {}
    return {
        key: (job, None if name is None else runs[name]) for key, job, name in zip(standing, jobs, names, strict=True)
    }
