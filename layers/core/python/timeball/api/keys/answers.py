"""The models of answers about limits that jobs share by its name."""

from typing import Literal

from pydantic import Field

from timeball.api.http.reply import AnswerModel, Time, time_of
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Permit, Run, RunState
from timeball.domain.time.instants import format_instant
from timeball.engine.quotas import MOST_SHOWN, LimitView


class HolderAnswer(AnswerModel):
    """A run that has a slot: it is under way, was admitted just now, or waits for something else that it needs."""

    run_id: str = Field(description="The id of the run.")
    job_id: str = Field(description="The job of the run.")
    status: RunState = Field(description="The status of the run.")
    attempt: int = Field(description="The attempt that has the slot.")
    claimed_at: Time | None = Field(description="When its newest attempt was claimed.")
    lease_until: Time | None = Field(description="When the slot becomes free, unless the attempt renews its lease.")


class WaiterAnswer(AnswerModel):
    """A run that waits."""

    run_id: str = Field(description="The id of the run.")
    job_id: str = Field(description="The job of the run.")
    priority: Priority = Field(description="The priority of the run.")
    fire_time: Time = Field(description="The fire time of the run.")
    waits_for: Literal["slot", "token"] = Field(
        description="`slot`: a slot of the `concurrencyLimit`; `token`: a rate token of the `rateLimit`."
    )


class FixedAnswer(AnswerModel):
    """The bounds that a person has set; null where the bounds that jobs state hold."""

    limit: int | None = Field(description="The most runs under way at once.")
    per_second: float | None = Field(description="The most calls that begin in a second.")
    burst: int | None = Field(description="The most calls that begin at once.")


class LimitAnswer(AnswerModel):
    """A limit that jobs share by its name."""

    name: str = Field(description="The name by which jobs share it.")
    limit: int | None = Field(description="The most runs under way at once; null if no `concurrencyLimit` names it.")
    per_second: float | None = Field(
        description="The most calls that begin in a second; null if no `rateLimit` names it."
    )
    burst: int | None = Field(description="The most calls that begin at once.")
    fixed: FixedAnswer = Field(description="The bounds that a person has set; they hold whatever jobs state.")
    holders: list[HolderAnswer] = Field(description="The runs that have its slots.")
    waiters: list[WaiterAnswer] = Field(description=f"The first {MOST_SHOWN} runs that wait, in order.")
    version: int = Field(
        description="The number of the version of `fixed`, from 1; the `ETag` is this number in quotes."
    )


def limit_answer(view: LimitView) -> LimitAnswer:
    """Return the answer about a limit."""
    limiter = view.limiter
    bounds, fixed = limiter.bounds, limiter.fixed.bounds
    return LimitAnswer(
        name=limiter.key.name,
        limit=bounds.slots,
        per_second=bounds.per_second,
        burst=None if bounds.per_second is None else bounds.burst or 1,
        fixed=FixedAnswer(limit=fixed.slots, per_second=fixed.per_second, burst=fixed.burst),
        holders=[_holder(limiter, run) for run in view.holders],
        waiters=[_waiter(run) for run in view.waiters],
        version=limiter.fixed.version,
    )


def _holder(limiter: Limiter, run: Run) -> HolderAnswer:
    return HolderAnswer(
        run_id=str(run.id),
        job_id=run.id.job.job_id,
        status=run.state,
        attempt=next(one.attempt for one in limiter.begun if one.run == run.id),
        claimed_at=time_of(run.claimed_at),
        lease_until=time_of(run.lease_until),
    )


def _waiter(run: Run) -> WaiterAnswer:
    is_for_a_token = run.waiting is not None and run.waiting.permit is Permit.TOKEN
    return WaiterAnswer(
        run_id=str(run.id),
        job_id=run.id.job.job_id,
        priority=Priority(run.priority),
        fire_time=format_instant(run.id.fire_at),
        waits_for="token" if is_for_a_token else "slot",
    )
