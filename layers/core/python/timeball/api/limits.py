"""The limits that jobs name: runs share their slots and rate tokens with the runs of other jobs.

An operator reads a limit, and sets its bounds: these hold at once, whatever jobs state.
"""

import re
from typing import Annotated, Final, Literal
from urllib.parse import quote, unquote

from pydantic import Field

from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, note
from timeball.api.http.exchange import (
    AnswerModel,
    Reply,
    Request,
    Text,
    Time,
    attribute,
    created,
    expected_version,
    expects_nothing,
    moving,
    ok,
    read_body,
    stale,
)
from timeball.api.http.fields import Checked
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, not_found
from timeball.api.http.request_model import ByValue, Strict, read_valid
from timeball.api.http.route import Router
from timeball.domain.model.ids import LimiterKey
from timeball.domain.model.jobs.job import Priority
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.runs.run import RunState
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.terms.flow import OnFull
from timeball.engine.quotas import MOST_SHOWN, LimitOutcome, LimitView, fix_limit, read_limit, view_of

router = Router()

MOST_AT_ONCE: Final = 1_000
"""The row of a limit lists the holders of its slots, so it bounds them."""
LIMIT_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
WHAT_A_NAME_IS: Final = "Give 1 to 128 letters, digits, or any of - _ . and :"


LimitName = Annotated[
    str,
    Checked(LIMIT_NAME.fullmatch, WHAT_A_NAME_IS, pattern=f"^{LIMIT_NAME.pattern}$", examples=["warehouse-db"]),
]
PerSecond = Annotated[float, Field(ge=0.001, le=1_000)]


class ConcurrencyLimitField(Strict):
    """A limit of runs at once, over all jobs of the tenant that name it."""

    name: LimitName = Field(description="The name of the limit; see `GET /v1/limits/{name}`.")
    limit: int = Field(ge=1, le=MOST_AT_ONCE, description="The most runs under way at once.")
    on_full: Annotated[OnFull, ByValue] = Field(
        OnFull.WAIT, description="A run that finds no free slot waits, by priority and fire time, or is skipped."
    )


class RateLimitField(Strict):
    """A limit of calls a second, over all jobs of the tenant that name it."""

    name: LimitName = Field(description="The name of the limit; see `GET /v1/limits/{name}`.")
    per_second: PerSecond = Field(
        description="The most calls that begin in a second; they are spread evenly, except for bursts."
    )
    burst: int = Field(1, ge=1, le=MOST_AT_ONCE, description="The most calls that begin at once.")


class LimitFields(Strict):
    """The limits that the runs of a job share."""

    concurrency_limit: ConcurrencyLimitField | None = Field(None, description="The limit of runs at once.")
    rate_limit: RateLimitField | None = Field(None, description="The limit of calls a second.")


class ConcurrencyLimitAnswer(AnswerModel):
    """A limit of runs at once."""

    name: str = Field(description="The name of the limit.")
    limit: int = Field(description="The most runs under way at once, as the job states it.")
    on_full: OnFull = Field(description="The policy for a run that finds no free slot.")


class RateLimitAnswer(AnswerModel):
    """A limit of calls a second."""

    name: str = Field(description="The name of the limit.")
    per_second: float = Field(description="The most calls that begin in a second, as the job states it.")
    burst: int = Field(description="The most calls that begin at once, as the job states it.")


class LimitsAnswer(AnswerModel):
    """The limits that the runs of a job share."""

    concurrency_limit: ConcurrencyLimitAnswer | None = Field(description="The limit of runs at once.")
    rate_limit: RateLimitAnswer | None = Field(description="The limit of calls a second.")


class LimitBody(Strict):
    """The bounds of a limit from now on; bounds that are left out, or null, are those that jobs state."""

    limit: int | None = Field(
        None, ge=0, le=MOST_AT_ONCE, description="The most runs under way at once; 0: no run begins."
    )
    per_second: PerSecond | None = Field(None, description="The most calls that begin in a second.")
    burst: int | None = Field(None, ge=1, le=MOST_AT_ONCE, description="The most calls that begin at once.")


class HolderAnswer(AnswerModel):
    """A run that has a slot: it is under way, was admitted just now, or waits for something else that it needs."""

    run_id: Text = attribute("id", description="The id of the run.")
    job_id: str = attribute("id.job.job_id", description="The job of the run.")
    status: RunState = attribute("state", description="The status of the run.")
    attempt: int = Field(description="The attempt that has the slot.")
    claimed_at: Time | None = Field(description="When its newest attempt was claimed.")
    lease_until: Time | None = Field(description="When the slot becomes free, unless the attempt renews its lease.")


class WaiterAnswer(AnswerModel):
    """A run that waits."""

    run_id: Text = attribute("id", description="The id of the run.")
    job_id: str = attribute("id.job.job_id", description="The job of the run.")
    priority: Priority = Field(description="The priority of the run.")
    fire_time: Time = attribute("id.fire_at", description="The fire time of the run.")
    waits_for: Literal["slot", "token"] = attribute(
        "waiting.permit",
        description="`slot`: a slot of the `concurrencyLimit`; `token`: a rate token of the `rateLimit`.",
    )


class FixedAnswer(AnswerModel):
    """The bounds that a person has set; null where the bounds that jobs state hold."""

    limit: int | None = attribute("slots", description="The most runs under way at once.")
    per_second: float | None = Field(description="The most calls that begin in a second.")
    burst: int | None = Field(description="The most calls that begin at once.")


class LimitAnswer(AnswerModel):
    """A limit that jobs share by its name."""

    name: str = attribute("key.name", description="The name by which jobs share it.")
    limit: int | None = attribute(
        "bounds.slots", description="The most runs under way at once; null if no `concurrencyLimit` names it."
    )
    per_second: float | None = attribute(
        "bounds.per_second", description="The most calls that begin in a second; null if no `rateLimit` names it."
    )
    burst: int | None = Field(description="The most calls that begin at once.")
    fixed: FixedAnswer = attribute(
        "fixed.bounds", description="The bounds that a person has set; they hold whatever jobs state."
    )
    holders: list[HolderAnswer] = Field(description="The runs that have its slots.")
    waiters: list[WaiterAnswer] = Field(description=f"The first {MOST_SHOWN} runs that wait, in order.")
    version: int = attribute(
        "fixed.version",
        description="The number of the version of `fixed`, from 1; the `ETag` is this number in quotes.",
    )


@router.get(
    "/v1/limits/{name}",
    "Read a limit: its bounds, the runs that have its slots, and the runs that wait",
    LimitAnswer,
    access=Access.READ,
)
def get_limit(edge: ApiContext, request: Request) -> Reply:
    """Read a limit: its bounds, the runs that have its slots, and the runs that wait."""
    key = _key(request)
    view = read_limit(edge.context, key) if LIMIT_NAME.fullmatch(key.name) else None
    if view is None:
        raise not_found("None of your jobs has named this limit lately, and no bounds are set for it.")
    return moving(_answer(view), view.limiter.fixed.version)


@router.put(
    "/v1/limits/{name}",
    "Set the bounds of a limit, whatever jobs state; repeating the request changes nothing",
    LimitAnswer,
    body=LimitBody,
    also={201: LimitAnswer},
    headers=("If-Match", "If-None-Match"),
    access=Access.OPERATE,
)
def replace_limit(edge: ApiContext, request: Request) -> Reply:
    """Set the bounds of a limit; bounds that are left out are those that jobs state."""
    key = _key(request)
    if not LIMIT_NAME.fullmatch(key.name):
        raise invalid([FieldError("name", WHAT_A_NAME_IS)])
    version = expected_version(request)
    wanted = read_valid(LimitBody, read_body(request))
    note(edge, request, Action.PUT, Resource(ResourceKind.LIMIT, key.name))
    bounds = Bounds(wanted.limit, wanted.per_second, wanted.burst)
    is_to_stand = False if expects_nothing(request) else True if "if-match" in request.headers else None
    now = edge.context.clock.now()
    outcome, limiter = fix_limit(edge.context, key, bounds, version, now, is_to_stand=is_to_stand)
    if outcome is LimitOutcome.ABSENT:
        raise ProblemError(Problem.STALE_VERSION, "You have no limit of this name; leave out If-Match.")
    if outcome is LimitOutcome.EXISTS:
        raise ProblemError(Problem.STALE_VERSION, "You have a limit of this name already; leave out If-None-Match.")
    if outcome is LimitOutcome.STALE:
        raise stale("limit", limiter.fixed.version, "set")
    answer = _answer(view_of(edge.context, limiter))
    if outcome is LimitOutcome.CREATED:
        return created(answer, f"/v1/limits/{quote(key.name)}", version=limiter.fixed.version)
    return ok(answer, version=limiter.fixed.version)


def _answer(view: LimitView) -> LimitAnswer:
    limiter, bounds = view.limiter, view.limiter.bounds
    attempts = {one.run: one.attempt for one in limiter.begun}
    return LimitAnswer.about(
        limiter,
        burst=None if bounds.per_second is None else bounds.burst or 1,
        holders=[HolderAnswer.about(run, attempt=attempts[run.id]) for run in view.holders],
        waiters=view.waiters,
    )


def _key(request: Request) -> LimiterKey:
    return LimiterKey(request.tenant, unquote(request.path["name"]))
