"""A run in flight: it waits in its executor for its instant, is called, answered, finished, and then over.

Invariant: from `stop_at` on, the run makes no call and none is in flight, whatever hangs: its lease expires, and
another executor may soon call.

Its lease is renewed from the claim until the finish is written. A renewal only ever moves the end of a lease later: the
cut of a call at that end waits for no renewal. A row that cannot be written costs no other run its lease.

Its message pays for a share of the invocation's time (`Hands`). A second in which the invocation holds five messages is
a fifth of a second for each. So all shares add up to the invocation's own time, from its beginning to its last answer,
and a message that takes long pays for the time in which it is alone.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from timeball.domain.attempts.retry import starts_as
from timeball.domain.attempts.trace_context import of_attempt
from timeball.domain.model.jobs.job import Completion, Job
from timeball.domain.model.runs.notable import is_slow, noted
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.transitions import renewed
from timeball.domain.model.runs.values import NOTHING, Failed, Spent
from timeball.domain.model.terms.policies import Cause
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context, Rules
from timeball.engine.execution.invocation import Offload, call_seconds
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer, Call

log = logging.getLogger(__name__)


class Hands:
    """The messages of one invocation, in all its batches, each from its arrival until it leaves; empty at first."""

    def __init__(self) -> None:
        self._held, self._at, self._part_ms = 0, 0, 0.0

    def take(self, count: int, now: int) -> float:
        """Add messages; return the value that each of them passes to `leave`: the share (ms) of one message so far."""
        self._pass_to(now)
        self._held += count
        return self._part_ms

    def leave(self, came_at_ms: float, now: int) -> int:
        """Remove one message; return its share (ms) of the time that it was held."""
        self._pass_to(now)
        self._held = max(0, self._held - 1)
        return round(self._part_ms - came_at_ms)

    def _pass_to(self, now: int) -> None:
        if self._held:
            self._part_ms += (now - self._at) / self._held
        self._at = now


@dataclass
class InFlight:
    """A run with its message, its row as last written, and its call.

    `is_watched` says that its resource has failed lately; `called_at` is when the call was made; `is_answered` says
    that the call has ended, `is_over` that this executor has nothing left to do for it; `took` is its share of the
    invocation, once it is answered.
    """

    delivery: Delivery
    run: Run
    job: Job
    is_watched: bool = False
    called_at: int | None = None
    is_answered: bool = False
    is_over: bool = False
    took: Spent = NOTHING
    _call: asyncio.Task[Answer | None] | None = None
    _is_cut: bool = False
    _instead: Answer | None = None

    @property
    def is_calling(self) -> bool:
        """Whether its call lasts."""
        return self.called_at is not None and not self.is_answered

    def is_lasting(self, now: int) -> bool:
        """Return whether its call has lasted for long, and its row does not yet say so."""
        return self.called_at is not None and self.is_calling and is_slow(self.run, now)

    def stop_at(self, rules: Rules) -> int:
        """Return when (ms) this executor must let go: a margin before the lease's end. A renewal extends it."""
        return (self.run.lease_until or 0) - rules.margin_ms

    def given_up(self, now: int, error: str, *, timed_out: bool = False) -> Answer:
        """Return the answer for a call that this executor ends. It says nothing of the target."""
        failed = Failed(self.job.spec.retry.retries(Cause.TIMEOUT))
        return Answer(failed, self.called_at, now, error=error, timed_out=timed_out)

    async def answered(self, call: asyncio.Task[Answer | None]) -> Answer | None:
        """Wait for the call's answer, or for the one it was cut with. None: the attempt is no longer ours to finish."""
        self._call = call
        try:
            return await call
        except asyncio.CancelledError:
            if not self._is_cut:
                raise
            return self._instead
        finally:
            self.is_answered = True

    def cut(self, instead: Answer | None) -> bool:
        """End the call, with `instead` as its answer (None: no answer). False: it has ended, or has not begun."""
        if self._call is None or self._is_cut or not self._call.cancel():
            return False
        self._is_cut, self._instead = True, instead
        return True


def call_of(run: Run, job: Job) -> Call:
    """Return the call of a claimed run's attempt."""
    if job.spec.work is None:
        raise ValueError(f"job {job.key.job_id} was read without its work")
    seconds, takes_report = call_seconds(job.spec.timeout_seconds), job.spec.completion is Completion.CALLBACK
    retry_on, has_parents = job.spec.retry.retry_on, job.spec.pass_parents
    return Call(
        run.id,
        run.attempt,
        job.spec.work,
        seconds,
        retry_on,
        takes_report,
        run.depth,
        has_parents,
        job.task_id,
        starts_as(run),
        run.shown_origin,
        None if run.traceparent is None else of_attempt(run.traceparent, run.id, run.attempt),
    )


async def renew_leases(context: Context, runs: Sequence[InFlight], offload: Offload) -> list[InFlight]:
    """Renew the leases of all runs in one write, or each alone if one is unknown; return the runs that were renewed.

    Calls that are asked to stop, or that are no longer ours, are cut.

    Order of writes of renew:

    1. Swap all live runs of a batch to a later lease, then hide their messages again.

    Safe: the answer says whether this executor still owns the run, and whether the run was asked to stop.
    """
    try:
        rows = await offload(renew, context, [flight.run for flight in runs])
    except Exception as error:
        log.warning("%d leases not renewed: %s", len(runs), error, exc_info=not isinstance(error, UnavailableError))
        alone = [] if len(runs) == 1 else [renew_leases(context, [flight], offload) for flight in runs]
        return [flight for those in await asyncio.gather(*alone) for flight in those]
    return [flight for flight, row in zip(runs, rows, strict=True) if _apply_renewal(context, flight, row)]


def _apply_renewal(context: Context, flight: InFlight, row: Run | None) -> bool:
    """Cut a call that is no longer ours, or that was asked to stop; return whether its lease now lasts longer."""
    if row is None:
        if flight.cut(None):
            log.warning(
                "lease lost; the call is cut", extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt}
            )
        return False
    flight.run = row
    if row.cancel_requested:
        moment = "before the call" if flight.called_at is None else "while it ran"
        flight.cut(flight.given_up(context.clock.now(), f"It was asked to stop {moment}."))
    return True


def renew(context: Context, runs: Sequence[Run]) -> list[Run | None]:
    """Extend the lease of each run that its holder still owns; None for a run that another owns, or that has ended.

    A run that was asked to stop is renewed as well, and says so in `cancel_requested`. Raises UnavailableError.
    """
    now, lease_ms = context.clock.now(), context.rules.lease_ms

    def extended(position: int, row: Run) -> Run | None:
        if not owns(row, runs[position]):
            return None
        after = renewed(row, now, lease_ms)
        return noted(after) if is_slow(row, now) else after

    standing = compare_and_swap(context.store.runs.swap, runs, extended, now)
    return [
        one.row if one.done and one.row is not None and owns(one.row, run) else None
        for one, run in zip(standing, runs, strict=True)
    ]


def owns(row: Run, run: Run) -> bool:
    """Return whether the stored row is still this holder's attempt, and was not handed over to its target."""
    return row.attempt == run.attempt and run.owner is not None and row.is_held_by(run.owner)
