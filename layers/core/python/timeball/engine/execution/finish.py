"""Finish attempts: write the run on condition that the attempt is still current, then carry out the effects of its end.

Only then may the message go. A run that belongs to another executor by now is left alone, unless it has ended: then the
effects of its end are carried out again, because the process that ended it may have died before them.

Finishes of one batch that come close together are one request; if that fails, each is written alone. While calls of the
batch last, an answer waits a moment for others: runs that were called at one instant mostly get their answers soon
after each other, and a write of ten costs one request, like a write of one. A run that is called alone waits for no
other.

Invariant: an answer is given up only when its run's lease ends, because that call is then made again. Until then its
write is tried again and its lease renewed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from timeball.domain.attempts.callback import handed_over
from timeball.domain.attempts.retry import after_attempt, starts_as
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import NOTHING, Accepted, Attempt, Failed, Guarantor, Outcome, Spent, Succeeded
from timeball.domain.run_ends.effects import guarantor_of
from timeball.domain.time.instants import SECOND_MS
from timeball.domain.usage.spending import spent_on
from timeball.engine.compare_and_swap import compare_and_swap
from timeball.engine.context import Context
from timeball.engine.execution.circuits import note_answers
from timeball.engine.execution.in_flight import InFlight, owns
from timeball.engine.execution.invocation import Offload
from timeball.engine.runs.attempts import inline, keep_last_attempts, needs_a_row
from timeball.engine.runs.effects import change_runs
from timeball.ports.errors import UnavailableError
from timeball.ports.queue import Delivery
from timeball.ports.target import Answer

log = logging.getLogger(__name__)

_FAULT = 500
"""From this status on it is unknown what the target did."""

TOGETHER_MS = 50
"""How long an answer waits for others, at the most: fifty that come within half a second take eight writes."""

_FIRST_PAUSE_MS = 200
_LONGEST_PAUSE_MS = 2_000


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
    """Finish each attempt; return for each whether its message may be deleted. Raises UnavailableError.

    Order of writes of finish:

    1. Insert the attempt in a row of its own, if it holds more than the run's row keeps.
    2. Swap the run: terminal, or `retrying` in the due index; due at its end, if runs of its cycle may wait for it.
    3. Effects.
    4. Delete the message after its last run: Lambda deletes it when the executor returns, or an executor that continues
       does.

    Safe: a message that comes back meets a terminal run and repeats step 3. An executor that loses step 2 does not
    delete the message, unless the run is over.

    Order of writes of hand over (the target answered 202):

    1. Swap the run: a lease for its target, and a due key at its end.
    2. Delete the message.

    Safe: the due key replaces the message; a message that comes back is dropped.
    """
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


class Finishes:
    """The answers of one batch on their way into the store, which must be written by `last_write_at` (ms).

    `more_may_come` says whether calls last.
    """

    def __init__(
        self, context: Context, offload: Offload, last_write_at: int, more_may_come: Callable[[], bool]
    ) -> None:
        self._context, self._offload, self._last_write_at = context, offload, last_write_at
        self._more_may_come = more_may_come
        self._waiting: list[tuple[InFlight, Answer]] = []
        self._may_go: dict[Delivery, bool] = {}
        self._writing = asyncio.Lock()
        self._moment: asyncio.Task[None] | None = None

    async def finish(self, flight: InFlight, answer: Answer) -> bool:
        """Finish an attempt, together with those that wait by then; return whether its message may go."""
        self._waiting.append((flight, answer))
        if self._moment is not None and not self._more_may_come():
            self._moment.cancel()
        async with self._writing:
            if self._waiting:
                await self._wait_for_others()
                await self._finish_together()
        may_go = self._may_go.get(flight.delivery)
        return await self._finish_alone(flight, answer) if may_go is None else may_go

    async def _wait_for_others(self) -> None:
        """Wait a moment, or until no call lasts."""
        if self._more_may_come():
            clock = self._context.clock
            self._moment = asyncio.create_task(clock.sleep_until(clock.now() + TOGETHER_MS))
            await asyncio.wait({self._moment})

    async def _finish_together(self) -> None:
        """Write the waiting finishes. If that fails, each is written alone, because it is unknown which one failed."""
        together, self._waiting = self._waiting, []
        try:
            results = [_result(flight, answer) for flight, answer in together]
            may_go = await self._offload(finish, self._context, results)
        except Exception as error:
            expected = isinstance(error, UnavailableError)
            log.warning("finishes not written together: %s", error, exc_info=not expected)
        else:
            self._may_go |= {flight.delivery: gone for (flight, _), gone in zip(together, may_go, strict=True)}

    async def _finish_alone(self, flight: InFlight, answer: Answer) -> bool:
        """Write one finish, repeatedly until the lease's end. An earlier try that succeeded is found written."""
        clock, pause_ms = self._context.clock, _FIRST_PAUSE_MS
        while (left_ms := self._stop_at(flight) - clock.now()) > 0:
            await clock.sleep_until(clock.now() + min(pause_ms, left_ms))
            try:
                (may_go,) = await self._offload(finish, self._context, [_result(flight, answer)])
            except UnavailableError as unavailable:
                log.warning("finish not written: %s", unavailable, extra={"run_id": str(flight.run.id)})
            else:
                return may_go
            pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
        log.error("an answer is given up", extra={"run_id": str(flight.run.id), "attempt": flight.run.attempt})
        return False

    def _stop_at(self, flight: InFlight) -> int:
        return min(flight.stop_at(self._context.rules), self._last_write_at)


def _result(flight: InFlight, answer: Answer) -> Result:
    return Result(flight.run, flight.job, answer, flight.is_watched, flight.took)
