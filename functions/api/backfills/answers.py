"""What the API answers about backfills: the models, and how they are filled from the domain's backfills."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from functions.api.http.reply import Answer, Time
from functions.api.schedules.rules import RulesAnswer, rules_answer
from timeball.domain.backfills.backfill import Backfill, BackfillStatus
from timeball.domain.model.jobs.job import Job, RuleSet
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.domain.time.instants import format_instant

MAX_SHOWN: Final = 1_000
"""Of the fire times of a dry run, so many are shown."""


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


def backfill_answer(backfill: Backfill, **about: Any) -> BackfillAnswer:  # noqa: ANN401 - the model's optional field
    """Return the answer about a backfill; `about` is `claimed_runs`."""
    return BackfillAnswer(
        backfill_id=backfill.key.name,
        job_id=backfill.key.job.job_id,
        status=backfill.status,
        **_range(backfill.first_at, backfill.last_at),
        total=backfill.total,
        started=backfill.started,
        skipped=backfill.skipped,
        remaining=backfill.total - backfill.started - backfill.skipped,
        pace_seconds=backfill.pace_seconds,
        overlap_policy=backfill.overlap,
        schedule_rules=rules_answer(backfill.rules),
        created_at=format_instant(backfill.created_at),
        updated_at=format_instant(backfill.updated_at),
        version=backfill.version,
        **about,
    )


def dry_run_answer(job: Job, fire_times: Sequence[int], pace_seconds: int, overlap: OverlapPolicy) -> DryRunAnswer:
    """Return what a backfill of these fire times (at least one, in order) would run."""
    return DryRunAnswer(
        dry_run=True,
        job_id=job.key.job_id,
        **_range(fire_times[0], fire_times[-1]),
        total=len(fire_times),
        instants=[format_instant(at) for at in fire_times[:MAX_SHOWN]],
        pace_seconds=pace_seconds,
        overlap_policy=overlap,
        schedule_rules=rules_answer(RuleSet()),
    )


def _range(first_at: int, last_at: int) -> dict[str, Any]:
    """Return what a backfill's answer says of its range; as a mapping, for `from` is a word of Python's."""
    return {"from": format_instant(first_at), "to": format_instant(last_at)}
