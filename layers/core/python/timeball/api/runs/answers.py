"""The models of answers about runs and attempts, and how they are filled from the domain's runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.dependencies.answers import BlockedAnswer, blocked_answer
from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, Time, time_of
from timeball.api.runs.policy import RetryPolicyAnswer, retry_policy_answer
from timeball.api.runs.waits import WaitsAnswer, waits_answer
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.model.runs.values import Attempt, FanOut, Outcome
from timeball.domain.model.terms.policies import RetryPolicy
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.engine.runs.attempts import inline

MAX_BODIES_BYTES: Final = 512 * 1024
"""The most bytes of the bodies of a run's attempts: JSON takes up to six for one, and an answer may have six million.
"""


class CallbackAnswer(AnswerModel):
    """A run whose target answered 202 and will report how it ended."""

    until: Time = Field(description="When the attempt times out, whatever the target reports before.")
    heartbeat_seconds: int | None = Field(description="The longest time in seconds between heartbeats; null: no bound.")
    lease_until: Time = Field(description="When the lease ends; the target must send a heartbeat or report before.")
    execution: str | None = Field(description="The ARN of the followed execution, which is polled when the lease ends.")


class ItemsAnswer(AnswerModel):
    """The progress of a run that stands for the runs of all items of another."""

    of: str = Field(description="The run that named the items.")
    count: int | None = Field(description="The number of items; null until it is known.")
    released: int = Field(description="The number of runs that were sent.")


class RunAnswer(AnswerModel):
    """A row of the fire ledger: a run, or a range of skipped fires."""

    run_id: str = Field(description="The id of the run.")
    job_id: str = Field(description="The id of its job.")
    fire_time: Time = Field(description="The nominal instant.")
    moved_to: Time | None = Field(description="The start without jitter, if its calendar or triggers moved it.")
    last_fire_time: Time | None = Field(description="The last instant of a range of skipped fires.")
    count: int = Field(description="The number of instants that this row stands for.")
    origin: Origin = Field(description="Why the run exists.")
    backfill_id: str | None = Field(description="The backfill that it belongs to.")
    item: int | None = Field(description="The number of the item that it runs for, from 1.")
    items: ItemsAnswer | None = Field(
        description="Set if its target is not called because it stands for the runs of items."
    )
    status: RunState = Field(description="The state of the run.")
    reason: Reason | None = Field(description="Why it did not execute, did not succeed, or is asked to stop.")
    reason_text: str | None = Field(description="The reason as a sentence.")
    waiting_for_limit: str | None = Field(
        description="The name of the limit that it waits for; see `GET /v1/limits/{name}`."
    )
    task_id: str | None = Field(description="The task of its job.")
    task_version: int | None = Field(description="The version of the task that its attempts use; null before a claim.")
    attempt: int = Field(description="The number of the newest attempt; 0 before the first.")
    next_attempt_at: Time | None = Field(description="While it waits for an attempt: no call leaves before this.")
    created_at: CreatedAt
    started_at: Time | None = Field(description="When the first attempt's call left.")
    finished_at: Time | None = Field(description="When it ended.")
    lateness: float | None = Field(
        description="The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up."
    )
    waits: WaitsAnswer = Field(description="How long each gate held it before its first attempt.")
    cancel_requested: bool = Field(description="Whether a running attempt was asked to stop.")
    callback: CallbackAnswer | None = Field(description="Set after its target answered 202, until the target reports.")
    discarded_at: Time | None = Field(description="When a person removed it from the dead letters.")
    retried_at: Time | None = Field(description="From when its last manual retry may start.")
    payload_edited_at: Time | None = Field(description="When a manual retry last changed its payload.")
    waited_for: Literal["dependencies", "schedule"] | None = Field(
        description="For origin `dependency`: which came last, its parents' ends or its fire time."
    )
    blocked_by: BlockedAnswer | None = Field(description="The failed run that blocks it.")
    succeeded_because: str | None = Field(description="Why a person marked it as succeeded.")
    collected: int | None = Field(description="How many triggers or submits it has collected, if its job does so.")


class AttemptAnswer(AnswerModel):
    """One try of a run."""

    number: int = Field(description="The number of the attempt, from 1.")
    worker_id: str | None = Field(description="The executor that claimed it.")
    outcome: Outcome | None = Field(description="How it ended; null while it is under way.")
    claimed_at: Time = Field(description="When it was claimed.")
    started_at: Time | None = Field(description="When the call left.")
    finished_at: Time | None = Field(description="When it ended.")
    http_status: int | None = Field(description="The HTTP status of the target's answer.")
    duration_ms: int | None = Field(description="From the call to its end, in milliseconds.")
    error: str | None = Field(description="Why it failed.")
    body: str | None = Field(description="The target's answer, at most 16 KB.")


class ResultAnswer(AnswerModel):
    """The result of the attempt that succeeded: the target's answer or its report."""

    http_status: int | None = Field(description="The HTTP status of the answer; null for a report.")
    body: str | None = Field(description="The answer, or the report as JSON text, at most 16 KB.")


class RunDetailAnswer(RunAnswer):
    """A run with all of its attempts."""

    waiting_for: list[str] = Field(description="The ids of the jobs whose runs of its cycle it still waits for.")
    attempts: list[AttemptAnswer] = Field(description="The attempts, the oldest first.")
    result: ResultAnswer | None = Field(description="The result; null unless the run succeeded.")
    max_retries: int | None = Field(description="The job's value at the newest attempt; null if it is no longer kept.")
    retry_policy: RetryPolicyAnswer | None = Field(
        description="The job's policy at the newest attempt; null if it is no longer kept."
    )


class RunPageAnswer(AnswerModel):
    """A page of the fire ledger, newest first."""

    items: list[RunAnswer] = Field(description="The rows.")
    next_cursor: NextCursor


class HeartbeatAnswer(RunAnswer):
    """A run after a heartbeat of its target."""

    lease_until: Time = Field(description="When the lease ends; the target must send a heartbeat or report before.")


def run_answer(run: Run) -> RunAnswer:
    """Return the answer about a run."""
    return RunAnswer(**run_fields(run))


def heartbeat_answer(run: Run) -> HeartbeatAnswer:
    """Return the answer about a running run after a heartbeat of its target."""
    if run.lease_until is None:
        raise ValueError(f"{run.id} has no lease")
    return HeartbeatAnswer(**run_fields(run), lease_until=format_instant(run.lease_until))


def run_detail_answer(
    run: Run, stored: Iterable[Attempt], policy: RetryPolicy | None, waiting_for: Sequence[str] = ()
) -> RunDetailAnswer:
    """Return the answer about a run, its attempts, its retry policy, and the jobs that it waits for."""
    attempts = attempt_answers(run, stored)
    last = attempts[-1] if attempts and run.state is RunState.SUCCEEDED else None
    result = ResultAnswer(http_status=last.http_status, body=last.body) if last else None
    return RunDetailAnswer(
        **run_fields(run),
        waiting_for=list(waiting_for),
        attempts=attempts,
        result=result,
        max_retries=None if policy is None else policy.max_retries,
        retry_policy=None if policy is None else retry_policy_answer(policy),
    )


def attempt_answers(run: Run, stored: Iterable[Attempt]) -> list[AttemptAnswer]:
    """Return the answers about a run's attempts by number: stored, in the run's own row, and under way."""
    attempts = _attempts(run, stored)
    answers = [_attempt_answer(attempt) for attempt in _shown(attempts)]
    is_under_way = run.state is RunState.RUNNING and run.attempt not in attempts
    return [*answers, _live_attempt_answer(run)] if is_under_way else answers


def _shown(attempts: Mapping[int, Attempt]) -> list[Attempt]:
    """Return the attempts by number, without bodies of older ones beyond MAX_BODIES_BYTES."""
    shown: list[Attempt] = []
    left = MAX_BODIES_BYTES
    for _, attempt in sorted(attempts.items(), reverse=True):
        left -= len((attempt.body or "").encode())
        shown.append(attempt if left >= 0 else evolve(attempt, body=None))
    return shown[::-1]


def _attempts(run: Run, stored: Iterable[Attempt]) -> dict[int, Attempt]:
    """Return the ended attempts by number. A stored attempt replaces the run's shorter copy if both agree.

    They may not agree: an executor stores what it saw before it writes the run, and the target's report may come in
    between.
    """
    attempts = {attempt.number: attempt for attempt in stored}
    if run.last is not None:
        full = attempts.get(run.last.number)
        attempts[run.last.number] = full if full is not None and inline(full) == run.last else run.last
    return attempts


def run_fields(run: Run) -> dict[str, Any]:
    """Return the fields that every answer about a run has."""
    return {
        "run_id": str(run.id),
        "job_id": run.id.job.job_id,
        "fire_time": format_instant(run.id.fire_at),
        "moved_to": time_of(run.moved_to),
        "last_fire_time": time_of(run.last_fire_at) if run.count > 1 else None,
        "count": run.count,
        "origin": run.shown_origin,
        "backfill_id": run.id.series if run.id.origin is Origin.BACKFILL else None,
        "item": int(run.id.series) if run.id.origin is Origin.DEPENDENCY else None,
        "items": _items_answer(run.fan),
        "status": run.state,
        "reason": run.reason,
        "reason_text": None if run.reason is None else run.reason.sentence,
        "waiting_for_limit": None if run.waiting is None else run.waiting.name or None,
        "task_id": run.task_id,
        "task_version": run.task_version,
        "attempt": run.attempt,
        "next_attempt_at": next_attempt_at(run),
        "created_at": format_instant(run.created_at),
        "started_at": time_of(run.first_started_at),
        "finished_at": time_of(run.finished_at),
        "lateness": None if run.lateness_ms is None else run.lateness_ms / SECOND_MS,
        "waits": waits_answer(run.gate_waits),
        "cancel_requested": run.cancel_requested,
        "callback": _callback_answer(run),
        "discarded_at": time_of(run.discarded_at),
        "retried_at": time_of(run.budget_at),
        "payload_edited_at": time_of(run.payload_edited_at),
        "waited_for": _waited_for(run),
        "blocked_by": blocked_answer(run.blocked, run.id.job.job_id),
        "succeeded_because": run.marked_succeeded,
        "collected": None if run.collected is None else run.collected.count,
    }


def _items_answer(fan: FanOut | None) -> ItemsAnswer | None:
    if fan is None:
        return None
    return ItemsAnswer(of=str(fan.of), count=None if fan.items is None else fan.count, released=fan.released)


def _waited_for(run: Run) -> str | None:
    if run.let_go_at is None:
        return None
    return "dependencies" if run.let_go_at > run.regular_at else "schedule"


def next_attempt_at(run: Run) -> str | None:
    """Return the instant before which no call leaves, if the run waits for one."""
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
        execution=callback.execution,
    )


def _attempt_answer(attempt: Attempt) -> AttemptAnswer:
    return AttemptAnswer(
        number=attempt.number,
        worker_id=attempt.worker,
        outcome=attempt.outcome,
        claimed_at=format_instant(attempt.claimed_at),
        started_at=time_of(attempt.started_at),
        finished_at=time_of(attempt.finished_at),
        http_status=attempt.status,
        duration_ms=_duration_ms(attempt),
        error=attempt.error,
        body=attempt.body,
    )


def _duration_ms(attempt: Attempt) -> int | None:
    if attempt.started_at is None or attempt.finished_at is None:
        return None
    return attempt.finished_at - attempt.started_at


def _live_attempt_answer(run: Run) -> AttemptAnswer:
    return AttemptAnswer(
        number=run.attempt,
        worker_id=run.owner,
        outcome=None,
        claimed_at=format_instant(run.created_at if run.claimed_at is None else run.claimed_at),
        started_at=None if run.callback is None else format_instant(run.callback.called_at),
        finished_at=None,
        http_status=None,
        duration_ms=None,
        error=None,
        body=None,
    )
