"""The models of answers about runs and attempts, and how they are filled from the domain's runs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.dependencies.fields import BlockedAnswer, blocked_answer
from timeball.api.http.exchange import (
    BY_NAME,
    AnswerModel,
    CreatedAt,
    EndedAt,
    Filled,
    NextCursor,
    Seconds,
    Text,
    Time,
    WhyItFailed,
    attribute,
)
from timeball.api.pages import CONSOLE_URL, ConsoleOfRun
from timeball.domain.dependencies.fan_out import number_of
from timeball.domain.dependencies.named_cycle import cycle_of, cycle_text
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import Origin
from timeball.domain.model.reason import Reason
from timeball.domain.model.runs.run import Callback, Run, RunState
from timeball.domain.model.runs.values import Attempt, FanOut, Outcome
from timeball.domain.model.terms.policies import Jitter, RetryPolicy
from timeball.domain.time.instants import SECOND_MS, format_instant
from timeball.engine.runs.attempts import inline

MAX_BODIES_BYTES: Final = 512 * 1024
"""The most bytes of the bodies of a run's attempts: JSON takes up to six for one, and an answer may have six million.
"""


class RetryPolicyAnswer(AnswerModel):
    """A retry policy: exponential backoff within all limits."""

    base_seconds: int = Field(description="The longest wait before the first retry in seconds.")
    factor: float = Field(description="The factor by which the longest wait grows with each retry.")
    max_seconds: int = Field(description="The bound of every wait in seconds.")
    jitter: Jitter = Field(description="`full`: a wait is random, up to the longest; `none`: it is the longest.")
    max_age_seconds: int | None = Field(
        description="The seconds after the fire time from which no retry begins; null: no bound."
    )
    retry_on: list[str] = Field(description="The failures that are retried: causes, statuses and classes of statuses.")


class WaitsAnswer(AnswerModel):
    """How long each gate held a run before its first attempt, in seconds; 0 if it did not."""

    parents: Seconds = Field(description="Seconds until its parents let it run.")
    limits: Seconds = Field(description="Seconds until the limits of its job admitted it.")
    quota: Seconds = Field(description="Seconds until the quotas of its tenant admitted it.")
    overlap: Seconds = Field(description="Seconds until an earlier run of its job let it run.")
    circuit: Seconds = Field(description="Seconds while the circuit of its target's resource was open.")
    frozen: Seconds = Field(description="Seconds in a pause or a freeze of its job.")


class CallbackAnswer(AnswerModel):
    """A run whose target answered 202 and will report how it ended."""

    until: Time = Field(description="When the attempt times out, whatever the target reports before.")
    heartbeat_seconds: int | None = Field(description="The longest time in seconds between heartbeats; null: no bound.")
    lease_until: Time = Field(description="When the lease ends; the target must send a heartbeat or report before.")
    execution: str | None = Field(description="The ARN of the followed execution, which is polled when the lease ends.")


class ItemsAnswer(AnswerModel):
    """The progress of a run that stands for the runs of all items of another."""

    of: Text = Field(description="The run that named the items.")
    count: int | None = Field(description="The number of items; null until it is known.")
    released: int = Field(description="The number of runs that were sent.")


class RunAnswer(AnswerModel):
    """A row of the fire ledger: a run, or a range of skipped fires."""

    model_config = BY_NAME

    run_id: Text = attribute("id", description="The id of the run.")
    job_id: str = attribute("id.job.job_id", description="The id of its job.")
    console_url: ConsoleOfRun = attribute("id", description=CONSOLE_URL)
    fire_time: Time = attribute("id.fire_at", description="The nominal instant.")
    moved_to: Time | None = Field(
        description="The start without jitter, if its calendar, its triggers or the wait for its events moved it."
    )
    last_fire_time: Time | None = Field(description="The last instant of a range of skipped fires.")
    count: int = Field(description="The number of instants that this row stands for.")
    origin: Origin = attribute("shown_origin", description="Why the run exists.")
    backfill_id: str | None = Field(description="The backfill that it belongs to.")
    cycle_id: str | None = Field(
        description="The cycle of its graph, for `GET /v1/cycles/{jobId}/{cycleId}`; null for a run beside all cycles."
    )
    item: int | None = Field(description="The number of the item that it runs for, from 1.")
    items: ItemsAnswer | None = Field(
        description="Set if its target is not called because it stands for the runs of items."
    )
    status: RunState = attribute("state", description="The state of the run.")
    reason: Reason | None = Field(description="Why it did not execute, did not succeed, or is asked to stop.")
    reason_text: str | None = attribute("reason.sentence", description="The reason as a sentence.")
    waiting_for_limit: Filled = attribute(
        "waiting.name", description="The name of the limit that it waits for; see `GET /v1/limits/{name}`."
    )
    task_id: str | None = Field(description="The task of its job.")
    task_version: int | None = Field(description="The version of the task that its attempts use; null before a claim.")
    attempt: int = Field(description="The number of the newest attempt; 0 before the first.")
    next_attempt_at: Time | None = Field(description="While it waits for an attempt: no call leaves before this.")
    created_at: CreatedAt
    started_at: Time | None = attribute("first_started_at", description="When the first attempt's call left.")
    finished_at: EndedAt
    lateness: Seconds | None = attribute(
        "lateness_ms",
        description="The seconds from when it could start, after `waits`, to `startedAt`; null if it was caught up.",
    )
    waits: WaitsAnswer = attribute("gate_waits", description="How long each gate held it before its first attempt.")
    cancel_requested: bool = Field(description="Whether a running attempt was asked to stop.")
    callback: CallbackAnswer | None = Field(description="Set after its target answered 202, until the target reports.")
    discarded_at: Time | None = Field(description="When a person removed it from the dead letters.")
    retried_at: Time | None = attribute("budget_at", description="From when its last manual retry may start.")
    payload_edited_at: Time | None = Field(description="When a manual retry last changed its payload.")
    waited_for: Literal["dependencies", "schedule"] | None = Field(
        description="For origin `dependency`: which came last, its parents' ends or its fire time."
    )
    blocked_by: BlockedAnswer | None = Field(description="The failed run that blocks it.")
    succeeded_because: str | None = attribute("marked_succeeded", description="Why a person marked it as succeeded.")
    collected: int | None = attribute(
        "collected.count", description="How many triggers or submits it has collected, if its job does so."
    )


class AttemptAnswer(AnswerModel):
    """One try of a run."""

    model_config = BY_NAME

    number: int = Field(description="The number of the attempt, from 1.")
    worker_id: str | None = attribute("worker", description="The executor that claimed it.")
    outcome: Outcome | None = Field(description="How it ended; null while it is under way.")
    claimed_at: Time = Field(description="When it was claimed.")
    started_at: Time | None = Field(description="When the call left.")
    finished_at: EndedAt
    http_status: int | None = attribute("status", description="The HTTP status of the target's answer.")
    duration_ms: int | None = Field(description="From the call to its end, in milliseconds.")
    error: WhyItFailed
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


def run_answer(run: Run, model: type[RunAnswer] = RunAnswer, **others: Any) -> RunAnswer:  # noqa: ANN401 - any types
    """Return the answer about a run; `others` are the fields that another model has beside those of RunAnswer."""
    return model.about(
        run,
        last_fire_time=run.last_fire_at if run.count > 1 else None,
        backfill_id=run.id.series if run.id.origin is Origin.BACKFILL else None,
        cycle_id=None if (cycle := cycle_of(run)) is None else cycle_text(cycle),
        item=number_of(run.id),
        items=_items_answer(run.fan),
        next_attempt_at=next_attempt_at(run),
        callback=_callback_answer(run, run.callback),
        waited_for=waited_for(run),
        blocked_by=blocked_answer(run.blocked, run.id.job.job_id),
        **others,
    )


def run_detail_answer(
    run: Run, stored: Iterable[Attempt], policy: RetryPolicy | None, waiting_for: Sequence[str] = ()
) -> RunAnswer:
    """Return the answer about a run, its attempts, its retry policy, and the jobs that it waits for."""
    attempts = attempt_answers(run, stored)
    last = attempts[-1] if attempts and run.state is RunState.SUCCEEDED else None
    return run_answer(
        run,
        RunDetailAnswer,
        waiting_for=waiting_for,
        attempts=attempts,
        result=last,
        max_retries=policy and policy.max_retries,
        retry_policy=policy,
    )


def attempt_answers(run: Run, stored: Iterable[Attempt]) -> list[AttemptAnswer]:
    """Return the answers about a run's attempts by number: stored, in the run's own row, and under way."""
    attempts = _attempts(run, stored)
    answers = [attempt_answer(attempt) for attempt in _shown(attempts)]
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


def _items_answer(fan: FanOut | None) -> ItemsAnswer | None:
    return None if fan is None else ItemsAnswer.about(fan, count=None if fan.items is None else fan.count)


def waited_for(run: Run) -> str | None:
    """Return which came last for a run that its parents let go: their ends, or its fire time."""
    if run.let_go_at is None:
        return None
    return "dependencies" if run.let_go_at > run.regular_at else "schedule"


def next_attempt_at(run: Run) -> int | None:
    """Return the instant (ms) before which no call leaves, if the run waits for one."""
    return run.not_before if run.state in {RunState.QUEUED, RunState.RETRYING} else None


def _callback_answer(run: Run, callback: Callback | None) -> CallbackAnswer | None:
    if callback is None:
        return None
    return CallbackAnswer.about(
        callback,
        heartbeat_seconds=None if callback.heartbeat_ms is None else callback.heartbeat_ms // SECOND_MS,
        lease_until=callback.until if run.lease_until is None else run.lease_until,
    )


def attempt_answer(attempt: Attempt) -> AttemptAnswer:
    """Return the answer about an attempt that has ended."""
    begun, ended = attempt.started_at, attempt.finished_at
    return AttemptAnswer.about(attempt, duration_ms=None if begun is None or ended is None else ended - begun)


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
