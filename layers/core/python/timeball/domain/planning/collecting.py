"""Repeated submits and triggers: whether a unique key stands for its job, what a run collects, which run is replaced.

A run collects until it begins. Its claim and a process that adds to it write the same row, so one of them is refused.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin, RunId
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.transitions import put_off
from timeball.domain.model.terms.flow import Collected, Debounce, UniqueKeyRow
from timeball.domain.time.instants import DAY_MS, HOUR_MS, SECOND_MS

MOST_REQUESTS: Final = 50
"""How many repeatable requests a run's row names: with more, its row would cost more to write. Older requests that
the run has collected have notes of their own."""

_UNBORN_MS: Final = DAY_MS
"""How long a key stands for a job that is not stored. Until then the process that named the job, or any other
request, may still store it."""

_SLACK_MS: Final = HOUR_MS

_REPLACEABLE: Final = frozenset({Origin.SCHEDULE, Origin.MANUAL, Origin.EVENT})
"""The origins of runs that newer runs replace. Runs of a backfill and of items are each wanted."""

_NO_RUN: Final = frozenset({RunState.SKIPPED, RunState.CANCELLED})


@dataclass(frozen=True)
class Arrival:
    """A trigger or a submit that a run will collect."""

    digest: str | None
    """The digest that names its payload; None: the job's payload."""
    fingerprint: str | None
    """A digest of what was asked for; None: unknown."""
    request: str | None = None
    """The `request_digest` of a request that may be repeated; None: it may not."""
    depth: int = 0
    """Its depth."""


def collects_submits(spec: JobSpec) -> bool:
    """Say whether submits under a job's unique key put off its start until the run has begun."""
    is_free = spec.schedule.is_one_off and not spec.depends_on
    return spec.flow.unique is not None and spec.flow.debounce is not None and is_free


def own_run(job: Job) -> RunId | None:
    """Return the run of a one-off, whether or not it is planned; None if its fire was moved away."""
    at = job.final_fire_at if job.next_fire_at is None else job.next_fire_at
    return None if at is None else job.run_id(at)


def stands_for(named: UniqueKeyRow, job: Job | None, run: Run | None, now: int) -> bool:
    """Say whether a unique key stands for the job that it names; `run` is the run of a job that collects submits.

    The window is that of the stored job, for another request may have named the job first. A cancelled job has released
    its key. A job that collects keeps its key until its run begins, whatever its window.
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
    """Return until when (ms) a job's unique key stands for it in any case; None: until the job has ended."""
    unique = job.spec.flow.unique
    return None if unique is None or unique.seconds is None else job.created_at + unique.seconds * SECOND_MS


def lasting(named: UniqueKeyRow, asking: UniqueKeyRow) -> UniqueKeyRow:
    """Return the row of a unique key that names no stored job yet, extended for the job of another request.

    A row expires a day after its window, so a window that ends a little earlier suffices.
    """
    is_enough = named.until is None or (asking.until is not None and asking.until <= named.until + _SLACK_MS)
    return named if is_enough else evolve(named, until=asking.until)


def may_collect(run: Run) -> bool:
    """Say whether a run accepts another trigger: it has neither begun nor ended."""
    waits = run.state in (RunState.QUEUED, RunState.WITHDRAWN)
    return waits and run.is_unstarted and not run.cancel_requested


def starts_at(debounce: Debounce, since: int, now: int) -> int:
    """Return the start (ms) of a run that has collected since an instant (ms) and receives its newest trigger now."""
    return min(now + debounce.seconds * SECOND_MS, since + debounce.max_seconds * SECOND_MS)


def with_first(run: Run, arrival: Arrival, debounce: Debounce, now: int) -> Run:
    """Return a new run that has its first trigger, and waits in the due index for more."""
    at = max(run.not_before, starts_at(debounce, now, now))
    return evolve(_with_arrival(run, arrival, Collected(0, now)), not_before=at, moved_to=at, due_at=at)


def with_next(run: Run, arrival: Arrival, debounce: Debounce, now: int) -> Run:
    """Return a run with one more trigger, whose payload becomes the run's. Its start is put off again.

    The start never becomes earlier, because the run may wait for something else.
    """
    so_far = run.collected or Collected(1, run.created_at)
    at = max(run.not_before, starts_at(debounce, so_far.since, now))
    after = _with_arrival(run, arrival, so_far)
    if at == run.not_before:
        return after  # its message may be under way
    if run.state is RunState.QUEUED:
        after = put_off(after, at, at)
    return evolve(after, not_before=at, moved_to=at)


def _with_arrival(run: Run, arrival: Arrival, so_far: Collected) -> Run:
    requests = so_far.requests if arrival.request is None else (*so_far.requests, arrival.request)[-MOST_REQUESTS:]
    return evolve(
        run,
        work_digest=arrival.digest,
        fingerprint=arrival.fingerprint,
        depth=max(run.depth, arrival.depth),
        collected=Collected(so_far.count + 1, so_far.since, requests),
    )


def request_digest(request: str, fingerprint: str | None) -> str:
    """Return the text by which a run's row records a request: its name, and what it asked for, as digests."""
    return f"{_short(request)}.{_short(fingerprint or '')}"


def request_in(run: Run, request: str) -> str | None:
    """Return the record of a request with the same name on a run's row (`request_digest`); None: there is none.

    A full row may have dropped it (`dropped`).
    """
    requests = () if run.collected is None else run.collected.requests
    return next((one for one in requests if name_of(one) == name_of(request)), None)


def is_full(run: Run) -> bool:
    """Say whether a run's row may have dropped records of older requests."""
    return run.collected is not None and len(run.collected.requests) == MOST_REQUESTS


def dropped(before: Run, after: Run) -> list[str]:
    """Return the requests whose records a run's row has dropped."""
    earlier, left = before.collected, after.collected
    return [] if earlier is None or left is None else [one for one in earlier.requests if one not in left.requests]


def name_of(request: str) -> str:
    """Return the part of a `request_digest` that names the request, without what it asked for."""
    return request.partition(".")[0]


def is_replaceable(run: Run, spec: JobSpec) -> bool:
    """Say whether a newer run may replace a run, which is possible until it starts for the first time."""
    return spec.flow.supersede and run.is_unstarted and run.id.origin in _REPLACEABLE


def is_replaced_by(run: Run, other: Run, now: int) -> bool:
    """Say whether another run of the job replaces a run that is about to start: it is newer, and due."""
    is_newer = (run.regular_at, run.id) < (other.regular_at, other.id)
    is_run = other.last_fire_at is None and other.state not in _NO_RUN
    return is_newer and other.id.origin in _REPLACEABLE and is_run and other.regular_at <= now


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()
