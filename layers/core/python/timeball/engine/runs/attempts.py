"""The records of attempts: the newest one, shortened, in the run's row, and longer records in rows of their own.

Invariant: the run's row says how an attempt ended. An executor stores what it saw before it writes the run, so that no
answer is lost. If the run's row then says otherwise (the attempt was lost by then, or the target's own report came
first), the record is replaced accordingly before a newer attempt takes its place on the run's row.
"""

from collections.abc import Mapping, Sequence

from timeball.domain.attempts.attempt_line import attempt_line, ended_attempt
from timeball.domain.attempts.callback import cause_of
from timeball.domain.attempts.retry import after_attempt
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import RunId
from timeball.domain.model.jobs.job import Completion, Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, Failed, Guarantor, Outcome, Succeeded
from timeball.engine.context import Context
from timeball.ports.rows import Swap, Swapped

INLINE_BYTES = 200
"""How much of an answer's body and of an error the run's row keeps: each write of that row is billed by the KB."""


_CUT_BYTES = INLINE_BYTES - 4
"""An answer that is no longer than this is complete in its run's row."""


def inline(attempt: Attempt) -> Attempt:
    """Return what the run's row keeps of an attempt."""
    return evolve(attempt, body=_cut(attempt.body), error=_cut(attempt.error))


def needs_a_row(attempt: Attempt) -> bool:
    """Return whether an attempt has more than the run's row keeps, which a later attempt replaces."""
    return attempt.outcome is not Outcome.SUCCEEDED or inline(attempt) != attempt


def after_report(run: Run, job: Job, attempt: Attempt, now: int, *, may_retry: bool = True) -> Run:
    """Return the run after an attempt that was handed over has ended. The scan carries out the effects of its end."""
    failed = Failed(may_retry and job.spec.retry.retries(cause_of(attempt)))
    verdict = Succeeded() if attempt.outcome is Outcome.SUCCEEDED else failed
    return after_attempt(run, job, inline(attempt), verdict, now, Guarantor.SCAN)


def keep_attempts(context: Context, attempts: Sequence[tuple[RunId, Attempt]], now: int) -> None:
    """Store attempts as their runs' rows say they ended, whatever was stored before. May be repeated."""
    stored = context.store.attempts.insert(attempts, now)
    wrong = [
        (run, attempt)
        for (run, attempt), standing in zip(attempts, stored, strict=True)
        if standing is not None and standing != attempt and inline(standing) != attempt
    ]
    context.store.attempts.replace(wrong, now)


def keep_last_attempts(context: Context, runs: Sequence[tuple[Run, Job | None]], now: int) -> None:
    """Store a run's last attempt in a row of its own, if it may have none. May be repeated.

    This covers: lost attempts that a take-over has replaced (an attempt whose lease has expired may still finish);
    attempts of callback runs, and attempts whose end an event reported (their rows are written after the run's row, and
    a crash may have come between); and the successes of runs that run again.
    """
    kept = [(run.id, last) for run, job in runs if (last := run.last) is not None and _may_have_no_row(run, last, job)]
    keep_attempts(context, kept, now)


def answer_of(context: Context, run: Run) -> str | None:
    """Return all that is kept of the answer of a successful run's target. Raises UnavailableError."""
    last = run.last
    if run.state is not RunState.SUCCEEDED or last is None or last.outcome is not Outcome.SUCCEEDED:
        return None
    if last.body is None or len(last.body.encode()) <= _CUT_BYTES:
        return last.body
    stored = context.store.attempts.of_run(run.id)
    return next((one.body for one in stored if one.number == last.number and inline(one) == last), last.body)


def _may_have_no_row(run: Run, last: Attempt, job: Job | None) -> bool:
    if last.outcome is Outcome.SUCCEEDED:
        return not run.is_terminal
    was_handed_over = last.worker is None or (job is not None and job.spec.completion is Completion.CALLBACK)
    return was_handed_over or last.outcome is Outcome.LOST


def _cut(text: str | None) -> str | None:
    """Return as many whole characters as fit."""
    return text.encode()[:INLINE_BYTES].decode(errors="ignore") if text else None


def log_ended(
    context: Context, jobs: Mapping[RunId, Job | None], swaps: Sequence[Swap[Run]], swapped: Sequence[Swapped[Run]]
) -> None:
    """Log the attempts that written changes of runs have ended: once, or never if the answer to the write was lost."""
    lines = []
    for before, after in ((swap.before, swap.after) for swap, one in zip(swaps, swapped, strict=True) if one.done):
        attempt = ended_attempt(before, after)
        if attempt is not None and context.attempt_log.wants(has_succeeded=attempt.outcome is Outcome.SUCCEEDED):
            lines.append(attempt_line(after, jobs.get(after.id), attempt))
    if lines:
        context.attempt_log.write(lines)
