"""What the API answers about jobs and backfills; run_answers.py has what it answers about runs.

Only `latestRun` and `claimedRuns` stand in those answers alone that are about them.
rendering.py fills the models.
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from timeball.domain.backfill import BackfillStatus
from timeball.domain.catch_up import CatchUpPolicy
from timeball.domain.job import Completion, Guarantee, JobStatus, Priority
from timeball.domain.overlap import OverlapPolicy
from timeball.domain.retry import Jitter
from timeball.domain.stepper import Gap, Overlap

from .answer_model import Answer, Time
from .run_answers import RunAnswer


class TargetAnswer(Answer):
    """What a run calls."""

    type: Literal["http"] = "http"
    url: str
    method: str
    headers: Mapping[str, str]


class RetryPolicyAnswer(Answer):
    """How a failed attempt is tried again."""

    base_seconds: int
    factor: float
    max_seconds: int
    jitter: Jitter
    max_age_seconds: int | None
    retry_on: list[str] = Field(description="What is worth another try: causes, statuses and classes of them.")


class DstPolicyAnswer(Answer):
    """What becomes of local times that clocks skip or show twice; where none was given, what follows from the cron."""

    gap: Gap
    overlap: Overlap


class CatchUpAnswer(Answer):
    """What becomes of fires that were missed."""

    policy: CatchUpPolicy
    max_runs: int | None = Field(description="Of `all`: so many run at most.")
    max_age_seconds: int


class RulesAnswer(Answer):
    """What fire times depend on besides the schedule."""

    version: int = Field(description="Raised when the same schedule may give other instants than before.")
    tzdata: str = Field(description="The release of the time zone database: `2026a`.")


class JobAnswer(Answer):
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
    completion: Completion
    heartbeat_seconds: int | None = Field(description="Of a job with completion `callback`.")
    delivery: Guarantee
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


class FireAnswer(Answer):
    """One fire time of a preview."""

    fire_time: Time
    local_time: str = Field(description="What clocks show then, without an offset: `2026-10-25T02:30:00`.")
    utc_offset: str = Field(description="Local time minus UTC: `+02:00`.")
    note: str | None = Field(description="What a clock change does to this fire, if anything.")


class PreviewAnswer(Answer):
    """The next fire times of a schedule."""

    items: list[FireAnswer]
    rules: RulesAnswer


class BackfillAnswer(Answer):
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


class BackfillPageAnswer(Answer):
    """A page of a job's backfills, newest first."""

    items: list[BackfillAnswer]
    next_cursor: str | None


class DryRunAnswer(Answer):
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


class HealthAnswer(Answer):
    """The API is up."""

    status: Literal["ok"] = "ok"
