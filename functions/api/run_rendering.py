"""From the domain's runs, attempts and dead letters to the API's answers."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from timeball.domain.attempt import Attempt
from timeball.domain.evolve import evolve
from timeball.domain.instants import SECOND_MS, format_instant
from timeball.domain.reason import SENTENCES
from timeball.domain.run import Run, RunState
from timeball.engine.attempts import inline
from timeball.engine.dead_letters import DeadPage, Dealt

from .run_answers import (
    AttemptAnswer,
    CallbackAnswer,
    DeadLetterAnswer,
    DeadLetterPageAnswer,
    DealtAnswer,
    DealtRunAnswer,
    HeartbeatAnswer,
    ResultAnswer,
    RunAnswer,
    RunDetailAnswer,
)

MAX_BODIES_BYTES: Final = 512 * 1024
"""Of all the bodies of one run's attempts: JSON makes up to six bytes of one, and an answer may have six million."""

MAX_SHOWN: Final = 100
"""Of the dead letters that were replayed or discarded, so many are shown."""


def run_answer(run: Run) -> RunAnswer:
    """Return the answer about a run."""
    return RunAnswer(**_run_fields(run))


def heartbeat_answer(run: Run) -> HeartbeatAnswer:
    """Return the answer about a running run that its target was heard of."""
    if run.lease_until is None:
        raise ValueError(f"{run.id} has no lease")
    return HeartbeatAnswer(**_run_fields(run), lease_until=format_instant(run.lease_until))


def run_detail_answer(run: Run, stored: Iterable[Attempt]) -> RunDetailAnswer:
    """Return the answer about a run and its attempts: stored, in the run's own row, and under way."""
    attempts = _attempts(run, stored)
    answers = [_attempt_answer(attempt) for attempt in _shown(attempts)]
    if run.state is RunState.RUNNING and run.attempt not in attempts:
        answers.append(_live_attempt_answer(run))
    last = attempts.get(run.attempt) if run.state is RunState.SUCCEEDED else None
    result = ResultAnswer(http_status=last.status, body=last.body) if last else None
    return RunDetailAnswer(**_run_fields(run), attempts=answers, result=result)


def _shown(attempts: Mapping[int, Attempt]) -> list[Attempt]:
    """Return the attempts by number, without the bodies of the older ones if all together would be too much."""
    shown: list[Attempt] = []
    left = MAX_BODIES_BYTES
    for _, attempt in sorted(attempts.items(), reverse=True):
        left -= len((attempt.body or "").encode())
        shown.append(attempt if left >= 0 else evolve(attempt, body=None))
    return shown[::-1]


def _attempts(run: Run, stored: Iterable[Attempt]) -> dict[int, Attempt]:
    """Return the attempts that ended, by number. A stored one tells more than the run's row, if it tells the same.

    It may not: an executor stores what it saw before it writes the run, and its target's own word may come in between.
    """
    attempts = {attempt.number: attempt for attempt in stored}
    if run.last is not None:
        full = attempts.get(run.last.number)
        attempts[run.last.number] = full if full is not None and inline(full) == run.last else run.last
    return attempts


def dead_letter_page_answer(page: DeadPage, next_cursor: str | None) -> DeadLetterPageAnswer:
    """Return the answer about a page of dead letters."""
    return DeadLetterPageAnswer(items=[_dead_letter_answer(run) for run in page.runs], next_cursor=next_cursor)


def dealt_answer(dealt: Dealt, next_cursor: str | None) -> DealtAnswer:
    """Return the answer about dead letters that were replayed or discarded."""
    return DealtAnswer(
        done=len(dealt.done),
        runs=[
            DealtRunAnswer(run_id=str(run.id), next_attempt_at=_next_attempt_at(run)) for run in dealt.done[:MAX_SHOWN]
        ],
        refused=[str(run_id) for run_id in dealt.refused],
        next_cursor=next_cursor,
    )


def time_of(at: int | None) -> str | None:
    """Return an instant that may be missing as text."""
    return None if at is None else format_instant(at)


def _dead_letter_answer(run: Run) -> DeadLetterAnswer:
    return DeadLetterAnswer(
        **_run_fields(run),
        died_at=format_instant(run.finished_at or 0),
        error=None if run.last is None else run.last.error,
        http_status=None if run.last is None else run.last.status,
    )


def _run_fields(run: Run) -> dict[str, Any]:
    return {
        "run_id": str(run.id),
        "job_id": run.id.job.job_id,
        "fire_time": format_instant(run.id.fire_at),
        "last_fire_time": time_of(run.last_fire_at),
        "count": run.count,
        "origin": run.id.origin,
        "backfill_id": run.id.series or None,
        "status": run.state,
        "reason": run.reason,
        "reason_text": None if run.reason is None else SENTENCES[run.reason],
        "attempt": run.attempt,
        "next_attempt_at": _next_attempt_at(run),
        "created_at": format_instant(run.created_at),
        "started_at": time_of(run.first_started_at),
        "finished_at": time_of(run.finished_at),
        "lateness_seconds": None if run.lateness_ms is None else run.lateness_ms / SECOND_MS,
        "cancel_requested": run.cancel_requested,
        "callback": _callback_answer(run),
        "discarded_at": time_of(run.discarded_at),
    }


def _next_attempt_at(run: Run) -> str | None:
    waits = run.state in {RunState.QUEUED, RunState.RETRYING}
    return format_instant(run.not_before) if waits else None


def _callback_answer(run: Run) -> CallbackAnswer | None:
    callback = run.callback
    if callback is None:
        return None
    return CallbackAnswer(
        until=format_instant(callback.until),
        heartbeat_seconds=None if callback.heartbeat_ms is None else callback.heartbeat_ms // SECOND_MS,
        lease_until=format_instant(callback.until if run.lease_until is None else run.lease_until),
    )


def _attempt_answer(attempt: Attempt) -> AttemptAnswer:
    return AttemptAnswer(
        number=attempt.number,
        outcome=attempt.outcome,
        claimed_at=format_instant(attempt.claimed_at),
        started_at=time_of(attempt.started_at),
        finished_at=time_of(attempt.finished_at),
        http_status=attempt.status,
        error=attempt.error,
        body=attempt.body,
    )


def _live_attempt_answer(run: Run) -> AttemptAnswer:
    return AttemptAnswer(
        number=run.attempt,
        outcome=None,
        claimed_at=format_instant(run.created_at if run.claimed_at is None else run.claimed_at),
        started_at=None if run.callback is None else format_instant(run.callback.called_at),
        finished_at=None,
        http_status=None,
        error=None,
        body=None,
    )
