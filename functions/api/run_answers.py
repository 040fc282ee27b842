"""What the API answers about runs, their attempts, and dead letters. run_rendering.py fills the models."""

from pydantic import Field

from timeball.domain.attempt import Outcome
from timeball.domain.ids import Origin
from timeball.domain.reason import Reason
from timeball.domain.run import RunState

from .answer_model import Answer, Time


class CallbackAnswer(Answer):
    """What a run waits for whose target answered 202: that the target says how it ended."""

    until: Time = Field(description="Then the attempt has timed out, whatever was heard of it.")
    heartbeat_seconds: int | None = Field(description="How often the target must be heard of; null: it need not be.")
    lease_until: Time = Field(description="By then the target must be heard of, or have said how it ended.")


class RunAnswer(Answer):
    """One row of the fire ledger; a range of skipped fires is one row, with its last one and their count."""

    run_id: str
    job_id: str
    fire_time: Time = Field(description="The nominal instant.")
    last_fire_time: Time | None = Field(description="Of a skipped range, its last instant.")
    count: int = Field(description="Instants that this row stands for.")
    origin: Origin
    backfill_id: str | None = Field(description="The backfill that it belongs to.")
    status: RunState
    reason: Reason | None = Field(description="Why it did not execute, did not succeed, or is asked to stop.")
    reason_text: str | None = Field(description="The reason as a sentence.")
    attempt: int = Field(description="Attempts so far; the newest one's number.")
    next_attempt_at: Time | None = Field(description="Before this no call leaves, while the run waits for one.")
    created_at: Time
    started_at: Time | None = Field(description="When the first attempt's call left.")
    finished_at: Time | None
    lateness_seconds: float | None = Field(description="`startedAt` minus `fireTime`.")
    cancel_requested: bool = Field(description="Whether a running attempt was asked to stop.")
    callback: CallbackAnswer | None = Field(description="While its target has answered 202 and is to report.")
    discarded_at: Time | None = Field(description="When somebody took it off the dead letters.")


class AttemptAnswer(Answer):
    """One try of a run. `outcome` is null while it is under way."""

    number: int
    outcome: Outcome | None
    claimed_at: Time
    started_at: Time | None = Field(description="When the call left.")
    finished_at: Time | None
    http_status: int | None
    error: str | None
    body: str | None = Field(description="What the target answered, at most 16 KB of it.")


class ResultAnswer(Answer):
    """What the target answered to the attempt that succeeded, or reported of it later, as JSON text."""

    http_status: int | None = Field(description="Null if it was reported later.")
    body: str | None = Field(description="At most 16 KB of it.")


class RunDetailAnswer(RunAnswer):
    """A run with all of its attempts."""

    attempts: list[AttemptAnswer]
    result: ResultAnswer | None


class RunPageAnswer(Answer):
    """A page of the fire ledger, newest first."""

    items: list[RunAnswer]
    next_cursor: str | None


class HeartbeatAnswer(RunAnswer):
    """A run that its target was heard of, and by when it must be heard of again."""

    lease_until: Time = Field(description="By then the target must be heard of again, or have said how it ended.")


class DeadLetterAnswer(RunAnswer):
    """A run that failed for good, and what its last attempt came to."""

    died_at: Time
    error: str | None = Field(description="Of its last attempt, the first 200 bytes of it.")
    http_status: int | None = Field(description="Of its last attempt.")


class DeadLetterPageAnswer(Answer):
    """A page of the dead letters, the newest death first. A filter may leave a page short, or empty."""

    items: list[DeadLetterAnswer]
    next_cursor: str | None


class DealtRunAnswer(Answer):
    """A dead letter that was replayed or discarded."""

    run_id: str
    next_attempt_at: Time | None = Field(description="Of one that is replayed: its turn.")


class DealtAnswer(Answer):
    """What became of dead letters."""

    done: int = Field(description="So many were replayed, or discarded.")
    runs: list[DealtRunAnswer] = Field(description="The first 100 of them.")
    refused: list[str] = Field(description="Runs that are no dead letters (any more), or whose job cannot run again.")
    next_cursor: str | None = Field(description="Of a filter: by it the next request goes on; null at the end.")
