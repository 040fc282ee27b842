"""What the API answers about jobs, runs and backfills. Every field stands in every answer, null where it has no value.

Only `latestRun` and `claimedRuns` stand in those answers alone that are about them.
rendering.py fills the models.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from timeball.domain.backfill import BackfillStatus
from timeball.domain.catch_up import CatchUpPolicy
from timeball.domain.ids import Origin
from timeball.domain.job import JobStatus, Priority
from timeball.domain.overlap import OverlapPolicy
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


class CatchUpAnswer(_Answer):
    """What becomes of fires that were missed."""

    policy: CatchUpPolicy
    max_runs: int | None = Field(description="Of `all`: so many run at most.")
    max_age_seconds: int


class RulesAnswer(_Answer):
    """What fire times depend on besides the schedule."""

    version: int = Field(description="Raised when the same schedule may give other instants than before.")
    tzdata: str = Field(description="The release of the time zone database: `2026a`.")


class RunAnswer(_Answer):
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
    catch_up: CatchUpAnswer | None = Field(description="Of a recurring job.")
    overlap_policy: OverlapPolicy
    jitter_seconds: int | None = Field(description="Of a recurring job.")
    tags: Mapping[str, str]
    schedule_rules: RulesAnswer = Field(description="The rules by which the next fire time was reckoned.")
    paused_at: Time | None
    created_at: Time
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")
    latest_run: RunAnswer | None = Field(None, description="The newest row of the ledger; only where a job is read.")
    claimed_runs: list[str] = Field(
        [], description="Runs that were under way already; only in the answer to a change of the job."
    )


class FireAnswer(_Answer):
    """One fire time of a preview."""

    fire_time: Time
    local_time: str = Field(description="What clocks show then, without an offset: `2026-10-25T02:30:00`.")
    utc_offset: str = Field(description="Local time minus UTC: `+02:00`.")
    note: str | None = Field(description="What a clock change does to this fire, if anything.")


class PreviewAnswer(_Answer):
    """The next fire times of a schedule."""

    items: list[FireAnswer]
    rules: RulesAnswer


class BackfillAnswer(_Answer):
    """A backfill as it stands."""

    backfill_id: str
    job_id: str
    status: BackfillStatus
    from_at: Time = Field(alias="from", description="Its first fire time.")
    to_at: Time = Field(alias="to", description="Its last fire time.")
    total: int = Field(description="Its fire times.")
    started: int = Field(description="Those whose runs were sent.")
    skipped: int = Field(description="Those that the overlap policy skipped.")
    remaining: int = Field(description="Those that have no run yet.")
    pace_seconds: int
    overlap_policy: OverlapPolicy
    schedule_rules: RulesAnswer = Field(description="The rules by which its fire times were reckoned.")
    created_at: Time
    updated_at: Time
    version: int = Field(description="Counts the changes of users; the ETag.")
    claimed_runs: list[str] = Field([], description="Runs that were under way already; only in the answer to a cancel.")


class BackfillPageAnswer(_Answer):
    """A page of a job's backfills, newest first."""

    items: list[BackfillAnswer]
    next_cursor: str | None


class DryRunAnswer(_Answer):
    """What a backfill would run."""

    dry_run: Literal[True]
    job_id: str
    from_at: Time = Field(alias="from", description="Its first fire time.")
    to_at: Time = Field(alias="to", description="Its last fire time.")
    total: int = Field(description="Its fire times.")
    instants: list[Time] = Field(description="The fire times, the first 1000 of them.")
    pace_seconds: int
    overlap_policy: OverlapPolicy
    schedule_rules: RulesAnswer


class HealthAnswer(_Answer):
    """The API is up."""

    status: Literal["ok"] = "ok"
