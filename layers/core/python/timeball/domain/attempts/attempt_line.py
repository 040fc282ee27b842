"""The line of the log about an attempt that has ended: the names of what it belongs to, and figures. No text of users.

Invariant: a line has no payload, no answer, no error text, no header and no URL, because each of these may be secret.
"""

from collections.abc import Mapping
from typing import Final

from timeball.domain.attempts.trace_context import ids_in, of_attempt
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run
from timeball.domain.model.runs.values import Attempt
from timeball.domain.time.instants import format_instant

ATTEMPT: Final = "attempt"
"""The `message` of each line."""

Line = Mapping[str, str | int | None]
"""The fields of a line."""


def ended_attempt(before: Run, after: Run) -> Attempt | None:
    """Return the attempt that a change of a run has ended; None: it has ended none."""
    last = after.last
    if last is None or last is before.last or (before.last is not None and last.number <= before.last.number):
        return None
    return last


def attempt_line(run: Run, job: Job | None, attempt: Attempt) -> Line:
    """Return the line about an attempt of a run, whose row is as the end of the attempt left it."""
    finished_at = attempt.finished_at
    return {
        "message": ATTEMPT,
        "tenant": run.id.job.tenant,
        "job_id": run.id.job.job_id,
        "run_id": str(run.id),
        "attempt": attempt.number,
        "outcome": attempt.outcome.value,
        "state": run.state.value,
        "reason": None if run.reason is None else run.reason.value,
        "status": attempt.status,
        "resource": None if job is None or job.spec.work is None else job.spec.work.target.resource,
        "priority": str(run.priority),
        "origin": run.shown_origin.value,
        "fire_time": format_instant(run.id.fire_at),
        "lateness_ms": run.lateness_ms,
        "call_ms": None if finished_at is None or attempt.started_at is None else finished_at - attempt.started_at,
        "took_ms": None if finished_at is None else finished_at - attempt.claimed_at,
        "worker": attempt.worker,
        **_trace_of(run, attempt),
    }


def _trace_of(run: Run, attempt: Attempt) -> dict[str, str]:
    """Return the ids of the trace and of the attempt's span, if the run continues a trace."""
    if run.traceparent is None:
        return {}
    trace, span = ids_in(of_attempt(run.traceparent, run.id, attempt.number))
    return {"trace_id": trace, "span_id": span}
