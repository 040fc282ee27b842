"""Trigger jobs manually: each gets a run of its own, now, and its schedule does not change.

The run is announced, inserted with a due key, then sent, then removed from the index: a crash in between leaves it to
the scan.

If the job says so, successive triggers (or submits) share one run, which starts when no more come, or at a latest time.
The claim writes the row of that run too: the second of the two writes is refused, and a trigger that finds that the run
has begun makes another. If the job names a run that does not exist, because a process died, the next trigger makes it.
The row lists the newest requests with a name; a request that it drops has a note.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from timeball.domain.dependencies.named_cycle import begun, cycle_name
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey, Origin, RunId, fraction_of
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.jobs.revision import request_announced, trigger_announced
from timeball.domain.model.runs.run import Run
from timeball.domain.model.tenants.actor import NO_ACTOR, Action, Actor, Resource, ResourceKind
from timeball.domain.model.terms.flow import Debounce
from timeball.domain.planning import collecting
from timeball.domain.planning.collecting import Arrival
from timeball.domain.planning.ledger import queued_run
from timeball.domain.time.instants import MINUTE_MS
from timeball.engine.compare_and_swap import TRIES, compare_and_swap
from timeball.engine.context import Context
from timeball.engine.resolving import resolved_for_runs
from timeball.engine.runs.due_runs import resend_if_possible
from timeball.ports.errors import ContendedError

_FIRST_SPREAD_MS = 8

_MOST_TRIES: Final = 100
"""Many triggers may join one run at once, and each time one of them is the first to write."""


class Triggering(StrEnum):
    """The outcome of a trigger."""

    STARTED = "started"  # a run was made
    COLLECTED = "collected"  # a waiting run collected it
    REPEATED = "repeated"  # the same request made a run, or was collected, before
    CONFLICT = "conflict"  # the same request asked for something else before
    NOT_FOUND = "not_found"  # there is no such job
    CANCELLED = "cancelled"  # the job is cancelled
    ONCE = "once"  # a job that runs once has no cycle of its own


@dataclass(frozen=True)
class Trigger:
    """A job to trigger."""

    job: JobKey
    """The job."""
    payload: str | None = None
    """JSON text that replaces the job's payload if `has_payload`."""
    has_payload: bool = False
    """Whether the trigger has a payload of its own."""
    request: str | None = None
    """The name of a request that may be repeated: the same name makes one run."""
    fingerprint: str | None = None
    """A digest of what is asked for, which identifies a repeat. Without a request it differs from that of any other
    trigger: it distinguishes two of the same millisecond."""
    depth: int = 0
    """Its depth."""
    traceparent: str | None = None
    """The trace context that the run continues; None: none."""
    downstream: bool = False
    """Whether all jobs that depend on the job run too, in a cycle of their own."""
    is_large: bool = False
    """Whether these are so many that a scan inserts their rows: that takes longer than a request may."""


@dataclass(frozen=True)
class Triggered:
    """The outcome, and the run as it stands."""

    outcome: Triggering
    run: Run | None


@dataclass(frozen=True)
class CollectedInto:
    """The run that an arrival is in. `known_request`: the digest that the run has, if it was in the run before."""

    run: Run
    known_request: str | None = None


def trigger(context: Context, triggers: Sequence[Trigger], by: Actor = NO_ACTOR) -> list[Triggered]:
    """Make and send a run for each trigger. A paused or finished job may be triggered, a cancelled job may not.

    Raises UnavailableError if it is unknown whether a run was made; the caller may then repeat the same `request`.

    Order of writes of trigger:

    0. Announce it.
    1. Insert the run with a due key.
    2. Send.
    3. Drop the key.

    Safe: the scan sends a queued run that it finds in the due index.
    """
    return [_trigger(context, one, by) for one in triggers]


def collect_submit(context: Context, job: Job, spec: JobSpec, fingerprint: str, depth: int, by: Actor) -> Run | None:
    """Add a submit to the run of a one-off that collects submits, by the spec; None if it has begun or has ended.

    The job was read with its work. A run that is not planned yet is inserted before its plan, which then advances past
    it. Raises UnavailableError.
    """
    debounce, run_id = job.spec.flow.debounce, collecting.own_run(job)
    if debounce is None or run_id is None or job.spec.work is None or not job.is_open:
        return None
    now = context.clock.now()
    payload = None if spec.work is None else spec.work.payload
    digest = context.store.works.save([(job.key, evolve(job.spec.work, payload=payload))], now)[0]
    arrival = Arrival(digest, fingerprint, depth=depth)
    standing = context.store.runs.read([run_id])[0]
    if standing is None:
        (seen,) = resolved_for_runs(context, [job])
        planned = evolve(queued_run(seen, Origin.SCHEDULE, run_id.fire_at, now), due_at=max(run_id.fire_at, now))
        standing = context.store.runs.insert([planned], now)[0] or planned
    joined = _joined(context, standing, arrival, debounce, by)
    return None if joined is None else joined.run


def _trigger(context: Context, one: Trigger, by: Actor) -> Triggered:
    job = context.store.jobs.read([one.job], with_work=one.has_payload)[0]
    refused = _refused(job, one)
    if job is None or refused is not None:
        return Triggered(refused or Triggering.NOT_FOUND, None)
    now = context.clock.now()
    digest = _save_payload(context, job, one, now)
    if job.spec.flow.debounce is not None and not one.downstream:
        return _collect(context, job, job.spec.flow.debounce, one, digest, by)
    (seen,) = resolved_for_runs(context, [job])
    noted_at = now
    if one.request is not None:
        (noted_at,) = context.store.requests.note([((one.job, one.request), now)], now)
    if (other := _of_other_kind(context, job, one, noted_at)) is not None:
        return Triggered(Triggering.CONFLICT, other)
    for fire_at in _fire_times(noted_at, one.request or one.fingerprint):
        run = _manual_run(seen, one, fire_at, now, digest, by)
        context.store.changes.note([trigger_announced(run)], now)
        standing = context.store.runs.insert([run], now)[0]
        if standing is None:
            _send(context, one, run)
            return Triggered(Triggering.STARTED, evolve(run, due_at=None, waits=False))
        if (known := _known(standing, one)) is not None:
            return known
    raise ContendedError(f"job {one.job.job_id} is triggered too often at once")


def _known(standing: Run, one: Trigger) -> Triggered | None:
    """Return the outcome of a request that an existing run names; None: another trigger made that run."""
    if one.request is None or standing.request != one.request:
        return None
    is_same = standing.fingerprint == one.fingerprint
    return Triggered(Triggering.REPEATED if is_same else Triggering.CONFLICT, standing)


def _refused(job: Job | None, one: Trigger) -> Triggering | None:
    """Return why a job cannot be triggered; None: it can."""
    if job is None:
        return Triggering.NOT_FOUND
    if job.status is JobStatus.CANCELLED:
        return Triggering.CANCELLED
    return Triggering.ONCE if one.downstream and job.spec.schedule.is_one_off else None


def _fire_times(noted_at: int, name: str | None) -> Iterator[int]:
    """Yield instants for the run, until one is free; a repeat gets the same instants.

    A job has one manual run at an instant. Each time an instant is taken, the next is drawn from a range twice as
    large, so that the triggers of a burst soon find free ones.
    """
    yield noted_at
    for tries in range(TRIES):
        yield noted_at + 1 + int(fraction_of("trigger", name, tries) * (_FIRST_SPREAD_MS << tries))


def _save_payload(context: Context, job: Job, one: Trigger, now: int) -> str | None:
    if not one.has_payload or job.spec.work is None:
        return None
    return context.store.works.save([(job.key, evolve(job.spec.work, payload=one.payload))], now)[0]


def _series_of(one: Trigger) -> str:
    """Return the name of the cycle that a trigger begins, the same for each repeat; empty: it begins none."""
    return cycle_name(one.job.job_id, one.request or one.fingerprint) if one.downstream else ""


def _of_other_kind(context: Context, job: Job, one: Trigger, fire_at: int) -> Run | None:
    """Return the run of the same request if that asked for the other kind: the job alone, or a whole cycle."""
    if one.request in (None, one.fingerprint):  # a bulk operation names the same request for the same contents only
        return None
    other = evolve(one, downstream=not one.downstream)
    name = RunId(job.key, fire_at, Origin.MANUAL, _series_of(other), job.generation)
    (run,) = context.store.runs.read([name])
    return run if run is not None and run.request == one.request else None


def _manual_run(job: Job, one: Trigger, fire_at: int, now: int, digest: str | None, by: Actor) -> Run:
    run = queued_run(job, Origin.MANUAL, fire_at, now)
    if one.downstream:
        run = begun(evolve(run, id=evolve(run.id, series=_series_of(one))))
    return evolve(
        run,
        due_at=max(fire_at, now),
        work_digest=digest,
        request=one.request,
        fingerprint=one.fingerprint,
        triggered_by=by,
        depth=max(job.depth, one.depth),
        traceparent=one.traceparent,
    )


def _send(context: Context, one: Trigger, run: Run) -> None:
    """Send a new run, unless a large cycle begins with it: its other rows come first, and a scan inserts them."""
    if not one.is_large:
        resend_if_possible(context, [run])


def _collect(context: Context, job: Job, debounce: Debounce, one: Trigger, digest: str | None, by: Actor) -> Triggered:
    """Add a trigger to the run of a job that collects.

    A request that may be repeated is noted for that run, until the run turns out to have begun without it.

    Order of writes of collect (a trigger, or a submit):

    1. The job names the run, unless it names one that has not begun; a submit names the run of its one-off.
    2. Insert that run, due; or swap the run that stands: its payload, a later start, one trigger more; before the row
       drops a request, that request is noted.

    Safe: the claim swaps the same row: a trigger is in the run, or finds that the run has begun and makes another. The
    row or the note identifies a repeat.
    """
    asked = None if one.request is None else collecting.request_digest(one.request, one.fingerprint)
    arrival = Arrival(digest, asked or one.fingerprint, asked, one.depth)
    now = context.clock.now()
    for tries in range(TRIES):
        job, fire_at = _named(context, job, now)
        if one.request is not None:
            (fire_at,) = context.store.requests.note([((job.key, f"{one.request} {tries}"), fire_at)], now)
        run_id = job.run_id(fire_at, Origin.MANUAL)
        standing = context.store.runs.read([run_id])[0]
        if standing is None:
            new = evolve(_new(context, job, run_id, arrival, debounce, now, by), traceparent=one.traceparent)
            context.store.changes.note([trigger_announced(new)], now)
            standing = context.store.runs.insert([new], now)[0]
            if standing is None:
                return Triggered(Triggering.STARTED, new)
        joined = _joined(context, standing, arrival, debounce, by)
        if joined is not None:
            return _answered(joined, asked)
    raise ContendedError(f"job {job.key.job_id} is triggered too often at once")


def _answered(joined: CollectedInto, asked: str | None) -> Triggered:
    if joined.known_request is not None:
        return Triggered(Triggering.REPEATED if joined.known_request == asked else Triggering.CONFLICT, joined.run)
    is_new = joined.run.collected is None or joined.run.collected.count == 1
    return Triggered(Triggering.STARTED if is_new else Triggering.COLLECTED, joined.run)


def _named(context: Context, job: Job, now: int) -> tuple[Job, int]:
    """Return the job and the instant of its collecting run. If that run has begun, the job first names another."""

    def another(_: int, job: Job) -> Job | None:
        if job.collecting is None:
            return evolve(job, collecting=now)
        run = context.store.runs.read([job.run_id(job.collecting, Origin.MANUAL)])[0]
        may_come = run is None and now < job.collecting + MINUTE_MS  # the trigger that named it may be about to
        if may_come or (run is not None and run.collected is not None and collecting.may_collect(run)):
            return None
        return evolve(job, collecting=max(now, job.collecting + 1))

    (named,) = compare_and_swap(context.store.jobs.swap, [job], another, now)
    if not named.done or named.row is None or named.row.collecting is None:
        raise ContendedError(f"job {job.key.job_id} kept changing")
    return named.row, named.row.collecting


def _new(context: Context, job: Job, run_id: RunId, arrival: Arrival, debounce: Debounce, now: int, by: Actor) -> Run:
    (seen,) = resolved_for_runs(context, [job])
    run = evolve(queued_run(seen, Origin.MANUAL, run_id.fire_at, now), triggered_by=by)
    return collecting.with_first(run, arrival, debounce, now)


def _joined(context: Context, standing: Run, arrival: Arrival, debounce: Debounce, by: Actor) -> CollectedInto | None:
    """Add an arrival to an existing run, unless it is in it already; None if the run has begun without it."""
    if (known_request := _known_request(context, standing, arrival)) is not None:
        return CollectedInto(standing, known_request)
    if standing.collected is None or not collecting.may_collect(standing):
        return None
    now, run_id = context.clock.now(), standing.id
    asked = Resource(ResourceKind.RUN, str(run_id), run_id.job.job_id)
    context.store.changes.note([request_announced(run_id.job.tenant, asked, Action.COLLECT, by, now)], now)

    def add(_: int, run: Run) -> Run | None:
        is_in = run.fingerprint == arrival.fingerprint or (
            run != standing and _known_request(context, run, arrival) is not None
        )
        if is_in or not collecting.may_collect(run):
            return None
        after = collecting.with_next(run, arrival, debounce, now)
        for one in collecting.dropped(run, after):
            context.store.requests.note([((run_id.job, _note(run_id, one)), run_id.fire_at)], now)
        return after

    (done,) = compare_and_swap(context.store.runs.swap, [standing], add, now, _MOST_TRIES)
    if not done.done or done.row is None:
        raise ContendedError(f"{run_id} collects too many at once")
    is_in = done.row.fingerprint == arrival.fingerprint or _known_request(context, done.row, arrival) is not None
    return CollectedInto(done.row) if is_in else None


def _known_request(context: Context, run: Run, arrival: Arrival) -> str | None:
    """Return what the run has for an arrival: in its row, or in the note of a request that the row dropped."""
    if arrival.request is None:
        return None
    known_request = collecting.request_in(run, arrival.request)
    if (
        known_request is None
        and collecting.is_full(run)
        and context.store.requests.read([(run.id.job, _note(run.id, arrival.request))])[0]
    ):
        return arrival.request
    return known_request


def _note(run: RunId, request: str) -> str:
    return f"{run} has {collecting.name_of(request)}"
