"""What the API answers about jobs and runs. Every field stands in every answer, null where it has no value.

Only `latestRun` and `claimedRuns` stand in those answers alone that are about them.
rendering.py fills the models.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from timeball.domain.ids import Origin
from timeball.domain.job import JobStatus, Priority
from timeball.domain.retry import Jitter
from timeball.domain.run import Outcome, Reason, RunState
from timeball.domain.stepper import Gap, Overlap

Time = Annotated[
    str, WithJsonSchema({"type": "string", "format": "date-time", "examples": ["2026-11-21T09:30:00.000Z"]})
]


class _Answer(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)


class TargetAnswer(_Answer):
    """What a run calls."""

    type: Literal["http"] = "http"
    url: str
    method: str
    headers: Mapping[str, str]


class RetryPolicyAnswer(_Answer):
    """How a failed attempt is tried again."""

    base_seconds: int
    factor: float
    max_seconds: int
    jitter: Jitter
    max_age_seconds: int | None


class DstPolicyAnswer(_Answer):
    """What becomes of local times that clocks skip or show twice; where none was given, what follows from the cron."""

    gap: Gap
    overlap: Overlap


class RunAnswer(_Answer):
    """One row of the fire ledger; a range of skipped fires is one row, with its last one and their count."""

    run_id: str
    job_id: str
    fire_time: Time = Field(description="The nominal instant.")
    last_fire_time: Time | None = Field(description="Of a skipped range, its last instant.")
    count: int = Field(description="Instants that this row stands for.")
    origin: Origin
    status: RunState
    reason: Reason | None = Field(description="Why it did not execute, or did not succeed.")
    reason_text: str | None = Field(description="The reason as a sentence.")
    attempt: int = Field(description="Attempts so far; the newest one's number.")
    next_attempt_at: Time | None = Field(description="Before this no call leaves, while the run waits for one.")
    created_at: Time
    started_at: Time | None = Field(description="When the first attempt's call left.")
    finished_at: Time | None
    lateness_seconds: float | None = Field(description="`startedAt` minus `fireTime`.")
    cancel_requested: bool = Field(description="Whether a running attempt was asked to stop.")


class AttemptAnswer(_Answer):
    """One try of a run. `outcome` is null while it is under way."""

    number: int
    outcome: Outcome | None
    claimed_at: Time
    started_at: Time | None = Field(description="When the call left.")
    finished_at: Time | None
    http_status: int | None
    error: str | None
    body: str | None = Field(description="What the target answered, at most 16 KB of it.")


class ResultAnswer(_Answer):
    """What the target answered to the attempt that succeeded."""

    http_status: int | None
    body: str | None = Field(description="At most 16 KB of it.")


class RunDetailAnswer(RunAnswer):
    """A run with all of its attempts."""

    attempts: list[AttemptAnswer]
    result: ResultAnswer | None


class RunPageAnswer(_Answer):
    """A page of the fire ledger, newest first."""

    items: list[RunAnswer]
    next_cursor: str | None


class JobAnswer(_Answer):
    """A job as it stands."""

    job_id: str
    name: str | None
    status: JobStatus | Literal["running"]
    next_run_at: Time | None
    next_runs: list[Time] = Field(description="The next five fire times.")
    target: TargetAnswer | None
    payload: Any = None
    schedule_at: Time | None
    cron_expression: str | None
    timezone: str | None
    dst_policy: DstPolicyAnswer | None = Field(description="The policies that hold for the cron.")
    every_seconds: int | None
    anchor_at: Time | None
    start_at: Time | None
    end_at: Time | None
    max_runs: int | None
    priority: Priority
    max_retries: int
    retry_policy: RetryPolicyAnswer
    retry_timetable: list[int | float] = Field(description="The longest wait before each retry, in seconds.")
    timeout_seconds: int
    tags: Mapping[str, str]
    created_at: Time
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")
    latest_run: RunAnswer | None = Field(None, description="The newest row of the ledger; only where a job is read.")
    claimed_runs: list[str] = Field([], description="Runs that were already claimed; only in the answer to a cancel.")


class FireAnswer(_Answer):
    """One fire time of a preview."""

    fire_time: Time
    local_time: str = Field(description="What clocks show then, without an offset: `2026-10-25T02:30:00`.")
    utc_offset: str = Field(description="Local time minus UTC: `+02:00`.")
    note: str | None = Field(description="What a clock change does to this fire, if anything.")


class RulesAnswer(_Answer):
    """What fire times depend on besides the schedule."""

    version: int = Field(description="Raised when the same schedule may give other instants than before.")
    tzdata: str = Field(description="The release of the time zone database: `2026a`.")


class PreviewAnswer(_Answer):
    """The next fire times of a schedule."""

    items: list[FireAnswer]
    rules: RulesAnswer


class HealthAnswer(_Answer):
    """The API is up."""

    status: Literal["ok"] = "ok"
