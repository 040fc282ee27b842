"""What the API answers about keys that jobs name."""

from typing import Literal

from pydantic import Field

from functions.api.http.reply import Answer, Time, time_of
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.runs.limiter import Limiter
from timeball.domain.model.runs.run import Part, Run, RunState
from timeball.domain.time.instants import format_instant
from timeball.engine.quotas.keys import MOST_SHOWN, KeyView


class HolderAnswer(Answer):
    """A run that has a place: it is under way, was just called, or waits for what else it needs."""

    run_id: str
    job_id: str
    status: RunState
    attempt: int
    claimed_at: Time | None = Field(description="When its newest attempt was claimed.")
    lease_until: Time | None = Field(description="Then its place is free, unless its attempt is heard of again.")


class WaiterAnswer(Answer):
    """A run that waits."""

    run_id: str
    job_id: str
    priority: Priority
    fire_time: Time
    waits_for: Literal["place", "turn"] = Field(description="A place of the concurrencyKey, or a turn of the rateKey.")


class FixedAnswer(Answer):
    """What a person has set; null: what jobs say holds."""

    limit: int | None
    per_second: float | None
    burst: int | None


class FlowKeyAnswer(Answer):
    """A key as it stands."""

    key: str
    limit: int | None = Field(description="Runs that may be under way at once; null: no concurrencyKey names it.")
    per_second: float | None = Field(description="Calls that may begin in a second; null: no rateKey names it.")
    burst: int | None = Field(description="Calls that may begin at once.")
    fixed: FixedAnswer = Field(description="What a person has set: it holds, whatever jobs say.")
    holders: list[HolderAnswer] = Field(description="The runs that have its places.")
    waiters: list[WaiterAnswer] = Field(description=f"The first {MOST_SHOWN} runs that wait, in their order.")
    version: int = Field(description="Counts how often people have set something else. The ETag.")


def key_answer(view: KeyView) -> FlowKeyAnswer:
    """Return the answer about a key."""
    limiter = view.limiter
    bounds, fixed = limiter.bounds, limiter.fixed.bounds
    return FlowKeyAnswer(
        key=limiter.key.name,
        limit=bounds.places,
        per_second=bounds.per_second,
        burst=None if bounds.per_second is None else bounds.burst or 1,
        fixed=FixedAnswer(limit=fixed.places, per_second=fixed.per_second, burst=fixed.burst),
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
    is_for_a_turn = run.waiting is not None and run.waiting.part is Part.TURN
    return WaiterAnswer(
        run_id=str(run.id),
        job_id=run.id.job.job_id,
        priority=Priority(run.priority),
        fire_time=format_instant(run.id.fire_at),
        waits_for="turn" if is_for_a_turn else "place",
    )
