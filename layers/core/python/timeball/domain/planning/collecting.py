"""What comes again: whether a unique key still stands for its job, what a run collects, which run takes whose place.

A run collects until it begins: its claim and whoever adds to it write the same row, so one of the two is refused.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import put_off
from timeball.domain.model.terms.flow import Collected, Debounce, Named
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS

MOST_REQUESTS: Final = 50
"""So many requests that may be repeated are told on a run: with more its row would cost more to write.

The older ones that are in it have notes of their own.
"""

_UNBORN_MS: Final = DAY_MS
"""How long a key stands for a job that is not stored: whoever named it may be about to, and anybody else may."""

_SLACK_MS: Final = HOUR_MS

_REPLACEABLE: Final = frozenset({Origin.SCHEDULE, Origin.MANUAL, Origin.EVENT})
"""The origins of runs that newer ones replace. Those of a backfill, and of items, are each wanted."""

_NO_RUN: Final = frozenset({RunState.SKIPPED, RunState.CANCELLED})


@dataclass(frozen=True)
class Arrival:
    """A trigger, or a submit, that a run is to collect: its payload, its generation, what tells it from all others.

    `digest` names its payload; None: it has that of the job. `request` is what tells on the run that it is in it,
    if its client may repeat it (`request_digest`).
    """

    digest: str | None
    fingerprint: str | None
    request: str | None = None
    depth: int = 0


def collects_submits(spec: JobSpec) -> bool:
    """Say whether submits under a job's unique key put its start off, until that has begun."""
    is_free = spec.schedule.is_one_off and not spec.depends_on
    return spec.flow.unique is not None and spec.flow.debounce is not None and is_free


def own_run(job: Job) -> RunId | None:
    """Return the run of a one-off, whether or not it is planned; None if its fire was moved away."""
    at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at
    return None if at is None else RunId(job.key, at, Origin.SCHEDULE)


def stands_for(named: Named, job: Job | None, run: Run | None, now: int) -> bool:
    """Say whether a unique key stands for the job that it names; `run` is the run of a job that collects submits.

    The window is that of the job, for another request may have named it first. A cancelled job has given its key back.
    A job that collects keeps its key until its run begins, whatever its window.
    """
    if job is None:
        return (named.until is None or now < named.until) and now < named.since + _UNBORN_MS
    if job.status is JobStatus.CANCELLED:
        return False
    until = window_end(job)
    if collects_submits(job.spec):
        may_come = job.is_open and (run is None or may_collect(run))
        return may_come or (until is not None and now < until)
    return job.is_open if until is None else now < until


def window_end(job: Job) -> int | None:
    """Return until when (ms) a job's unique key stands for it, whatever becomes of it; None: until the job is over."""
    unique = job.spec.flow.unique
    return None if unique is None or unique.seconds is None else job.created_at + unique.seconds * SECOND_MS


def lasting(named: Named, asking: Named) -> Named:
    """Return the row of a unique key that names no job yet, extended to last for another request's job too.

    A row expires a day after its window, so one that ends a little sooner lasts long enough.
    """
    is_enough = named.until is None or (asking.until is not None and asking.until <= named.until + _SLACK_MS)
    return named if is_enough else evolve(named, until=asking.until)


def may_collect(run: Run) -> bool:
    """Say whether a run takes another trigger in: it has not begun, and nobody has ended it."""
    waits = run.state in (RunState.QUEUED, RunState.WITHDRAWN)
    return waits and run.is_unstarted and not run.cancel_requested


def starts_at(debounce: Debounce, since: int, now: int) -> int:
    """Return when a run starts that collects since an instant (ms), and has got its newest trigger now."""
    return min(now + debounce.seconds * SECOND_MS, since + debounce.max_seconds * SECOND_MS)


def collecting(run: Run, arrival: Arrival, debounce: Debounce, now: int) -> Run:
    """Return a new run that has its first trigger, and waits in the due index for more."""
    at = max(run.not_before, starts_at(debounce, now, now))
    requests = () if arrival.request is None else (arrival.request,)
    return evolve(
        run,
        not_before=at,
        moved_to=at,
        due_at=at,
        work_digest=arrival.digest,
        fingerprint=arrival.fingerprint,
        depth=max(run.depth, arrival.depth),
        collected=Collected(1, now, requests),
    )


def collected(run: Run, arrival: Arrival, debounce: Debounce, now: int) -> Run:
    """Return a run that has one more trigger, whose payload is the run's from now on: its start is put off again.

    It is never put forward: it may wait for something else.
    """
    so_far = run.collected or Collected(1, run.created_at)
    at = max(run.not_before, starts_at(debounce, so_far.since, now))
    requests = so_far.requests if arrival.request is None else (*so_far.requests, arrival.request)[-MOST_REQUESTS:]
    after = evolve(
        run,
        work_digest=arrival.digest,
        fingerprint=arrival.fingerprint,
        depth=max(run.depth, arrival.depth),
        collected=Collected(so_far.count + 1, so_far.since, requests),
    )
    if at == run.not_before:
        return after  # its message may be on its way
    if run.state is RunState.QUEUED:
        after = put_off(after, at, at)
    return evolve(after, not_before=at, moved_to=at)


def request_digest(request: str, fingerprint: str | None) -> str:
    """Return what tells on a run that a request is in it, and what that asked for."""
    return f"{_short(request)}.{_short(fingerprint or '')}"


def told_of(run: Run, request: str) -> str | None:
    """Return what a run's row tells of a request with the name of one (`request_digest`); None: nothing.

    A row that is full may have dropped it (`dropped`).
    """
    requests = () if run.collected is None else run.collected.requests
    return next((one for one in requests if name_of(one) == name_of(request)), None)


def is_full(run: Run) -> bool:
    """Say whether a run's row may have dropped older requests that are in it."""
    return run.collected is not None and len(run.collected.requests) == MOST_REQUESTS


def dropped(before: Run, after: Run) -> list[str]:
    """Return the requests of which a run's row tells no longer."""
    told, left = before.collected, after.collected
    return [] if told is None or left is None else [one for one in told.requests if one not in left.requests]


def name_of(request: str) -> str:
    """Return the part of a `request_digest` that names the request, whatever that asked for."""
    return request.partition(".")[0]


def is_replaceable(run: Run, spec: JobSpec) -> bool:
    """Say whether a newer run may take a run's place: before it has started for the first time."""
    return spec.flow.supersede and run.is_unstarted and run.id.origin in _REPLACEABLE


def is_replaced_by(run: Run, other: Run, now: int) -> bool:
    """Say whether another run of the job takes the place of one that is about to start: it is newer, and due."""
    is_newer = (run.regular_at, run.id) < (other.regular_at, other.id)
    is_run = other.last_fire_at is None and other.state not in _NO_RUN
    return is_newer and other.id.origin in _REPLACEABLE and is_run and other.regular_at <= now


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
