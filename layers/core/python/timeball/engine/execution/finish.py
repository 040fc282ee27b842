"""Finish attempts: write the run on condition that the attempt is still current, then carry out the effects of its end.

Only then may the message go. A run that belongs to another executor by now is left alone, unless it has ended: then the
effects of its end are carried out again, because the process that ended it may have died before them.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from timeball.domain.attempts.callback import handed_over
from timeball.domain.attempts.outcome import after_attempt, starts_as
from timeball.domain.ends.effects import guarantor_of
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.attempt import Attempt, Outcome
from timeball.domain.model.runs.guarantor import Guarantor
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.spent import NOTHING, Spent
from timeball.domain.model.runs.verdict import Accepted, Failed, Succeeded
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.spending import spent_on
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.execution.circuits import note_answers
from timeball.engine.execution.leases import owns
from timeball.engine.runs.attempts import inline, keep_last_attempts, needs_a_row
from timeball.engine.runs.on_run_end import change_runs
from timeball.ports.target import Answer

log = logging.getLogger(__name__)

_FAULT = 500
"""From this status on it is unknown what the target did."""


@dataclass(frozen=True)
class Result:
    """A run as its executor holds it, its job, and the answer of the target, whose resource may be watched.

    `took` is the run's share of its executor's invocation.
    """

    run: Run
    job: Job
    answer: Answer
    is_watched: bool = False
    took: Spent = NOTHING


def finish(context: Context, results: Sequence[Result]) -> list[bool]:
    """Finish each attempt; return for each whether its message may be deleted. Raises UnavailableError."""
    now = context.clock.now()
    attempts = [_attempt(result) for result in results]
    keep_last_attempts(context, [(result.run, result.job) for result in results], now)
    telling = [
        (result.run.id, attempt)
        for result, attempt in zip(results, attempts, strict=True)
        if not isinstance(result.answer.verdict, Accepted) and needs_a_row(attempt)
    ]
    context.store.attempts.insert(telling, now)
    rows = _write(context, results, attempts, now)
    note_answers(context, [(result.job, result.answer, result.is_watched) for result in results], now)
    return [_may_go(row, result.run) for row, result in zip(rows, results, strict=True)]


def _write(context: Context, results: Sequence[Result], attempts: Sequence[Attempt], now: int) -> list[Run | None]:
    """Write each outcome, again if only a renewal or a cancel came between; return the rows as they stand."""

    def after(position: int, run: Run) -> Run | None:
        result = results[position]
        verdict, called_at = result.answer.verdict, result.answer.called_at
        if not owns(run, result.run):
            return None
        run = evolve(run, spent=_spent(context, run, result, attempts[position]))
        if isinstance(verdict, Accepted):
            began_at = now if called_at is None else called_at
            return handed_over(run, result.job, began_at, now, context.rules.margin_ms, verdict.execution)
        return after_attempt(
            run, result.job, inline(attempts[position]), verdict, now, guarantor_of(run, result.job, Guarantor.MESSAGE)
        )

    jobs = {result.run.id: result.job for result in results}
    standing = compare_and_swap(partial(change_runs, context, jobs), [result.run for result in results], after, now)
    return [one.row for one in standing]


def _may_go(row: Run | None, run: Run) -> bool:
    """Return whether the message is done: the run has ended, waits with a due key, or its row is gone."""
    if row is None or row.is_terminal:
        return True
    waits = row.state is RunState.RETRYING or row.callback is not None
    done = waits and row.attempt == run.attempt
    if not done:
        log.info("attempt is no longer current", extra={"run_id": str(run.id), "attempt": run.attempt})
    return done


def _spent(context: Context, run: Run, result: Result, attempt: Attempt) -> Spent:
    is_handed_over = isinstance(result.answer.verdict, Accepted)
    more = spent_on(
        run,
        result.job,
        attempt,
        has_row=not is_handed_over and needs_a_row(attempt),
        is_handed_over=is_handed_over,
        heartbeat_ms=context.rules.heartbeat_seconds * SECOND_MS,
        lookahead_ms=context.rules.lookahead_ms,
    )
    return run.spent.plus(result.took).plus(more)


def _attempt(result: Result) -> Attempt:
    run, answer = result.run, result.answer
    failed = Outcome.TIMED_OUT if answer.timed_out else Outcome.FAILED
    return Attempt(
        number=run.attempt,
        outcome=Outcome.SUCCEEDED if isinstance(answer.verdict, Succeeded) else failed,
        claimed_at=run.claimed_at or run.created_at,
        started_at=answer.called_at,
        finished_at=answer.finished_at,
        status=answer.status,
        error=answer.error,
        body=answer.body or None,
        worker=run.owner,
        unheard_from=_unheard_from(run, answer),
    )


def _unheard_from(run: Run, answer: Answer) -> int | None:
    """Return the first attempt that may have started something unknown; a refusal says nothing of earlier attempts."""
    first = starts_as(run)
    is_refused = answer.called_at is None or (answer.status is not None and answer.status < _FAULT)
    is_known = not isinstance(answer.verdict, Failed) or (is_refused and first == run.attempt)
    return None if is_known else first
