"""Read a tenant's present state in one request: for the screen of an operator, who asks again every few seconds."""

from collections.abc import Mapping

from pydantic import Field

from timeball.api.dead_letters.operations import DeadLetterGroupAnswer
from timeball.api.freezes import FreezeAnswer, freeze_answer
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import (
    AnswerModel,
    IdOfJob,
    IdOfRun,
    Reply,
    Request,
    Seconds,
    Text,
    Time,
    as_of,
    attribute,
)
from timeball.api.http.route import Router
from timeball.api.schedules.upcoming import UpcomingAnswer, shown_fire
from timeball.domain.model.ids import JobKey
from timeball.domain.model.runs.run import Run, RunState
from timeball.domain.usage.attention import Concern, Obstacle
from timeball.engine.digest import MOST_FIRES, Digest
from timeball.engine.kept_digests import FRESH_MS
from timeball.engine.now import MOST_DEAD, MOST_RUNS, MOST_SHOWN, Health, read_now
from timeball.engine.scheduling.upcoming import MOST_JOBS

router = Router()

_MOMENTS = {"as_of": True, "digest_at": True, "health": {"last_tick_at": True}}
"""The fields that say when the answer was read."""


class LatenessOfNowAnswer(AnswerModel):
    """Percentiles of the lateness of the last hour, up to a third too high; null if no run started."""

    p50: Seconds | None = Field(description="Half of the runs were at most so many seconds late.")
    p99: Seconds | None = Field(description="99 % of the runs were at most so many seconds late.")


class HealthOfNowAnswer(AnswerModel):
    """Whether the scheduler is alive and on time."""

    last_tick_at: Time | None = Field(description="When it last ticked, to some five seconds; null: never.")
    oldest_due_at: Time | None = Field(
        description="When the oldest of your jobs and runs was due that the scheduler has not processed; null: none."
    )
    lateness: LatenessOfNowAnswer | None = Field(
        description="How late runs started in the last hour; null for an API key that is bounded to tags."
    )


class WaitsForAnswer(AnswerModel):
    """What a run waits for."""

    kind: Obstacle = Field(description="Its kind; `resource`: the circuit of the resource that it calls is open.")
    ref: str | None = Field(
        description="The name of the limit, or the id of the run that blocks it or holds its job's overlap lock; null "
        "for other kinds."
    )


class AttentionAnswer(AnswerModel):
    """A run or a job that needs attention."""

    kind: Concern = Field(
        description="`late`: more than 5 s past its start and not started; `stuck`: running for five times the p95 of "
        "its job, or past its lease; `blocked`: a run that it waits for has failed for good; `failing`: its newest "
        "runs failed, as its `notify` counts; `silent`: no run succeeded for three fires of its schedule, and a minute."
    )
    since: Time = Field(description="Since when.")
    job_id: IdOfJob = attribute("job.job_id", description="The id of the job.")
    run_id: Text | None = attribute("run", description="The id of the run; null: it is about the job as a whole.")
    waits_for: WaitsForAnswer | None = Field(description="The cause of a late or blocked one; null: not known.")


class RunningAnswer(AnswerModel):
    """A run that has begun and has not ended."""

    run_id: IdOfRun
    job_id: IdOfJob
    status: RunState = Field(description="`running`, or `retrying` while it waits for its next attempt.")
    attempt: int = Field(description="The number of its newest attempt.")
    started_at: Time | None = Field(description="When its first call left; null: not known to have left.")
    claimed_at: Time | None = Field(description="When its newest attempt began: its call leaves a moment later.")
    p95_seconds: Seconds | None = Field(
        description="95 % of its job's newest runs took at most so many seconds; null: fewer than five succeeded, or "
        "it began after `digestAt`."
    )


class NowAnswer(AnswerModel):
    """A tenant's present state. `health`, `running`, late and blocked runs, and dead letters are live."""

    as_of: Time = Field(description="When it was read.")
    digest_at: Time | None = Field(
        description=f"When the parts were read that need all jobs: `next`, and silent, failing and blocked jobs. At "
        f"most {FRESH_MS // 1000} s old below {MOST_JOBS:,} jobs. Null: they are being read, {MOST_JOBS:,} jobs with "
        "each request."
    )
    health: HealthOfNowAnswer = Field(description="The health of the scheduler.")
    needs_attention: list[AttentionAnswer] = Field(
        description=f"What needs attention, longest first; at most {MOST_SHOWN}."
    )
    running: list[RunningAnswer] = Field(
        description=f"Runs that run for more than some seconds or are tried again, among the {MOST_RUNS} live runs "
        "with the earliest start."
    )
    next: list[UpcomingAnswer] = Field(
        description=f"The fires of the next hour from `digestAt` on: the first {MOST_FIRES}, and the first "
        f"{MOST_FIRES} of those that will not run."
    )
    next_count: int | None = Field(description="How many fires the next hour has, from `digestAt`; null without it.")
    next_count_exact: bool = Field(description="Whether all were counted; false: there are more.")
    freezes: list[FreezeAnswer] = Field(
        description="The freezes that are not over; for an API key that is bounded to tags those of all jobs, or of "
        "its tags."
    )
    dead_letter_groups: list[DeadLetterGroupAnswer] = Field(
        description=f"Groups of the newest {MOST_DEAD} dead letters; `GET /v1/dead-letters:groups` counts all."
    )


@router.get(
    "/v1/now",
    "Read what needs attention, what runs and what fires next",
    NowAnswer,
    keeps_bounds=True,
    access=Access.READ,
)
def get_now(edge: ApiContext, request: Request) -> Reply:
    """Read a tenant's present state."""
    found, now = read_now(edge.context, request.tenant, request.bounds), edge.context.clock.now()
    digest = found.digest
    answer = {
        "as_of": now,
        "digest_at": None if digest is None else digest.at,
        "health": _health(found.health),
        "needs_attention": found.needs_attention,
        "running": [_running(run, found.p95) for run in found.running],
        "next": _next(digest, now),
        "next_count": None if digest is None else digest.counted,
        "next_count_exact": digest is not None and digest.is_exact,
        "freezes": [freeze_answer(one, now) for one in found.freezes],
        "dead_letter_groups": found.groups,
    }
    return as_of(NowAnswer.model_validate(answer), _MOMENTS)


def _health(health: Health) -> HealthOfNowAnswer:
    late = health.lateness
    percentiles = late and LatenessOfNowAnswer(p50=late.percentile_ms(0.5), p99=late.percentile_ms(0.99))
    return HealthOfNowAnswer.about(health, lateness=percentiles)


def _running(run: Run, p95: Mapping[JobKey, int]) -> RunningAnswer:
    return RunningAnswer.model_validate(
        {
            "run_id": run.id,
            "job_id": run.id.job.job_id,
            "status": run.state,
            "attempt": run.attempt,
            "started_at": run.first_started_at,
            "claimed_at": run.claimed_at,
            "p95_seconds": p95.get(run.id.job),
        }
    )


def _next(digest: Digest | None, now: int) -> list[UpcomingAnswer]:
    """Return the fires of the digest that are still to come."""
    fires = () if digest is None else dict.fromkeys([*digest.fires, *digest.not_running])
    left = [one for one in fires if one.fire_at >= now]
    return [shown_fire(one) for one in sorted(left, key=lambda one: (one.fire_at, one.job))]
