"""The models of answers about backfills, and how they are filled from the domain's backfills."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.http.reply import AnswerModel, CreatedAt, NextCursor, Time, UpdatedAt, Version
from timeball.api.schedules.fields import RulesAnswer
from timeball.domain.backfill import Backfill, BackfillStatus
from timeball.domain.model.jobs.job import Job, RuleSet
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import format_instant

MAX_SHOWN: Final = 1_000
"""The most fire times that a dry run shows."""


class BackfillAnswer(AnswerModel):
    """A backfill."""

    backfill_id: str = Field(description="The id of the backfill.")
    job_id: str = Field(description="The job whose fires it runs again.")
    status: BackfillStatus = Field(description="The status of the backfill.")
    from_at: Time = Field(serialization_alias="from", description="Its first fire time.")
    to_at: Time = Field(serialization_alias="to", description="Its last fire time.")
    total: int = Field(description="The number of its fire times.")
    started: int = Field(description="The number of fire times whose runs were sent.")
    skipped: int = Field(description="The number of fire times that the overlap policy skipped.")
    remaining: int = Field(description="The number of fire times without a run yet.")
    pace_seconds: int = Field(description="The seconds between the starts of two runs.")
    overlap_policy: OverlapPolicy = Field(description="The policy for a fire while the run before it is live.")
    schedule_rules: RulesAnswer = Field(description="The rules by which its fire times were calculated.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: Version
    claimed_runs: list[str] = Field(
        [], description="The runs that a cancel found under way; only in the answer to the cancel."
    )


class BackfillPageAnswer(AnswerModel):
    """A page of a job's backfills, newest first."""

    items: list[BackfillAnswer] = Field(description="The backfills.")
    next_cursor: NextCursor


class DryRunAnswer(AnswerModel):
    """What a backfill would run."""

    dry_run: Literal[True] = Field(description="True: nothing was stored.")
    job_id: str = Field(description="The job whose fires would run again.")
    from_at: Time = Field(serialization_alias="from", description="The first fire time.")
    to_at: Time = Field(serialization_alias="to", description="The last fire time.")
    total: int = Field(description="The number of fire times.")
    instants: list[Time] = Field(description="The first 1000 fire times.")
    pace_seconds: int = Field(description="The seconds between the starts of two runs.")
    overlap_policy: OverlapPolicy = Field(description="The policy for a fire while the run before it is live.")
    schedule_rules: RulesAnswer = Field(description="The rules by which the fire times were calculated.")


def backfill_answer(backfill: Backfill, **about: Any) -> BackfillAnswer:  # noqa: ANN401 - the model's optional field
    """Return the answer about a backfill; `about` sets `claimed_runs`."""
    return BackfillAnswer(
        backfill_id=backfill.key.name,
        job_id=backfill.key.job.job_id,
        status=backfill.status,
        from_at=format_instant(backfill.first_at),
        to_at=format_instant(backfill.last_at),
        total=backfill.total,
        started=backfill.started,
        skipped=backfill.skipped,
        remaining=backfill.total - backfill.started - backfill.skipped,
        pace_seconds=backfill.pace_seconds,
        overlap_policy=backfill.overlap,
        schedule_rules=RulesAnswer.model_validate(backfill.rules),
        created_at=format_instant(backfill.created_at),
        updated_at=format_instant(backfill.updated_at),
        version=backfill.version,
        **about,
    )


def dry_run_answer(job: Job, fire_times: Sequence[int], pace_seconds: int, overlap: OverlapPolicy) -> DryRunAnswer:
    """Return what a backfill of these fire times (ms; at least one, in order) would run."""
    return DryRunAnswer(
        dry_run=True,
        job_id=job.key.job_id,
        from_at=format_instant(fire_times[0]),
        to_at=format_instant(fire_times[-1]),
        total=len(fire_times),
        instants=[format_instant(at) for at in fire_times[:MAX_SHOWN]],
        pace_seconds=pace_seconds,
        overlap_policy=overlap,
        schedule_rules=RulesAnswer.model_validate(RuleSet()),
    )
