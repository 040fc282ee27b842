"""Trigger jobs manually: each gets a run of its own, now, and its schedule does not change.

The run is announced, inserted with a due key, then sent, then removed from the index: a crash in between leaves it to
the scan. If the job says so, successive triggers share one run (collect.py).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, fraction_of
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.jobs.revision import trigger_announced
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Actor
from timeball.domain.model.terms.flow import Debounce
from timeball.domain.planning.collecting import Arrival, request_digest
from timeball.domain.planning.ledger import queued_run
from timeball.engine.context import Context
from timeball.engine.resolving import resolved
from timeball.engine.runs.collect import collect_trigger
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.ports.errors import ContendedError

_TRIES = 10
_FIRST_SPREAD_MS = 8


class Triggering(StrEnum):
    """The outcome of a trigger.

    A run was made; a waiting run collected it; the same request did so before; the same request asked for something
    else before; no such job; the job is cancelled.
    """

    STARTED = "started"
    COLLECTED = "collected"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    NOT_FOUND = "not_found"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Trigger:
    """A job to trigger. `payload` (JSON text) replaces the job's if `has_payload`.

    The same `request` makes one run; `fingerprint` is a digest of what it asks for, which identifies a repeat. Without
    a request the fingerprint must differ from that of any other trigger: it distinguishes two of the same millisecond.
    """

    job: JobKey
    payload: str | None = None
    has_payload: bool = False
    request: str | None = None
    fingerprint: str | None = None
    depth: int = 0


@dataclass(frozen=True)
class Triggered:
    """The outcome, and the run as it stands."""

    outcome: Triggering
    run: Run | None


def trigger(context: Context, triggers: Sequence[Trigger], by: Actor = NO_ACTOR) -> list[Triggered]:
    """Make and send a run for each trigger. A paused or finished job may be triggered, a cancelled job may not.

    Raises UnavailableError if it is unknown whether a run was made; the caller may then repeat the same `request`.
    """
    return [_trigger(context, one, by) for one in triggers]


def _trigger(context: Context, one: Trigger, by: Actor) -> Triggered:
    job = context.store.jobs.read([one.job], with_work=one.has_payload)[0]
    if job is None:
        return Triggered(Triggering.NOT_FOUND, None)
    if job.status is JobStatus.CANCELLED:
        return Triggered(Triggering.CANCELLED, None)
    now = context.clock.now()
    digest = _save_payload(context, job, one, now)
    if job.spec.flow.debounce is not None:
        return _collected(context, job, job.spec.flow.debounce, one, digest, by)
    (seen,) = resolved(context, [job])
    noted_at = now
    if one.request is not None:
        (noted_at,) = context.store.requests.note([((one.job, one.request), now)], now)
    for fire_at in _fire_times(noted_at, one.request or one.fingerprint):
        run = _manual_run(seen, one, fire_at, now, digest, by)
        context.store.changes.note([trigger_announced(run)], now)
        standing = context.store.runs.insert([run], now)[0]
        if standing is None:
            resend_if_possible(context, [run])
            return Triggered(Triggering.STARTED, evolve(run, due_at=None))
        if one.request is not None and standing.request == one.request:
            is_same = standing.fingerprint == one.fingerprint
            return Triggered(Triggering.REPEATED if is_same else Triggering.CONFLICT, standing)
    raise ContendedError(f"job {one.job.job_id} is triggered too often at once")


def _collected(
    context: Context, job: Job, debounce: Debounce, one: Trigger, digest: str | None, by: Actor
) -> Triggered:
    """Collect all triggers that come in a row in one run."""
    asked = None if one.request is None else request_digest(one.request, one.fingerprint)
    arrival = Arrival(digest, asked or one.fingerprint, asked, one.depth)
    joined = collect_trigger(context, job, debounce, one.request, arrival, by)
    if joined.known_request is not None:
        return Triggered(Triggering.REPEATED if joined.known_request == asked else Triggering.CONFLICT, joined.run)
    is_new = joined.run.collected is None or joined.run.collected.count == 1
    return Triggered(Triggering.STARTED if is_new else Triggering.COLLECTED, joined.run)


def _fire_times(noted_at: int, name: str | None) -> Iterator[int]:
    """Yield instants for the run, until one is free; a repeat gets the same instants.

    A job has one manual run at an instant. Each time an instant is taken, the next is drawn from a range twice as
    large, so that the triggers of a burst soon find free ones.
    """
    yield noted_at
    for tries in range(_TRIES):
        yield noted_at + 1 + int(fraction_of("trigger", name, tries) * (_FIRST_SPREAD_MS << tries))


def _save_payload(context: Context, job: Job, one: Trigger, now: int) -> str | None:
    if not one.has_payload or job.spec.work is None:
        return None
    return context.store.works.save([(job.key, evolve(job.spec.work, payload=one.payload))], now)[0]


def _manual_run(job: Job, one: Trigger, fire_at: int, now: int, digest: str | None, by: Actor) -> Run:
    return evolve(
        queued_run(job, Origin.MANUAL, fire_at, now),
        due_at=max(fire_at, now),
        work_digest=digest,
        request=one.request,
        fingerprint=one.fingerprint,
        triggered_by=by,
        depth=max(job.depth, one.depth),
    )
