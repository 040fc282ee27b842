"""Create (also as a dry run), list, read and cancel a job's backfills."""

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import Field

from timeball.api.backfills.request import BackfillRange, BackfillRequest, asks_for, fire_times, read_backfill_request
from timeball.api.dependencies.named_cycles import check_graph
from timeball.api.http import depths
from timeball.api.http.access import Access
from timeball.api.http.cursor import PAGE, PageQuery, identifier, number
from timeball.api.http.depths import call_depth
from timeball.api.http.edge import ApiContext, job_cancelled, job_key, note, read_job_row
from timeball.api.http.exchange import (
    AnswerModel,
    CreatedAt,
    NextCursor,
    Reply,
    Request,
    Text,
    Time,
    UpdatedAt,
    Version,
    attribute,
    check_version,
    created,
    expected_version,
    idempotency_key,
    key_conflict,
    moving,
    ok,
    read_body,
)
from timeball.api.http.ids import NewId
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.route import Router
from timeball.api.schedules.fields import RulesAnswer
from timeball.domain.backfill import Backfill, BackfillStatus, new_backfill
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import SERIES, BackfillKey
from timeball.domain.model.jobs.job import Job, JobStatus, RuleSet
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.domain.model.terms.policies import OverlapPolicy
from timeball.engine import backfills as engine
from timeball.engine.backfills import create_backfills

router = Router()

MAX_SHOWN: Final = 1_000
"""The most fire times that a dry run shows."""


class BackfillAnswer(AnswerModel):
    """A backfill."""

    backfill_id: str = attribute("key.name", description="The id of the backfill.")
    job_id: str = attribute("key.job.job_id", description="The job whose fires it runs again.")
    status: BackfillStatus = Field(description="The status of the backfill.")
    from_at: Time = attribute("first_at", serialization_alias="from", description="Its first fire time.")
    to_at: Time = attribute("last_at", serialization_alias="to", description="Its last fire time.")
    total: int = Field(description="The number of its fire times.")
    started: int = Field(description="The number of fire times whose runs were sent.")
    skipped: int = Field(description="The number of fire times that the overlap policy skipped.")
    remaining: int = Field(description="The number of fire times without a run yet.")
    pace_seconds: int = Field(description="The seconds between the starts of two runs.")
    overlap_policy: OverlapPolicy = attribute(
        "overlap", description="The policy for a fire while the run before it is live."
    )
    graph: bool = Field(
        description="Whether each fire time has a whole cycle: also of all jobs that depend on the job."
    )
    schedule_rules: RulesAnswer = attribute("rules", description="The rules by which its fire times were calculated.")
    created_at: CreatedAt
    updated_at: UpdatedAt
    version: Version
    claimed_runs: list[Text] = Field(
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
    graph: bool = Field(description="Whether each fire time would have a whole cycle.")
    schedule_rules: RulesAnswer = Field(description="The rules by which the fire times were calculated.")


@router.post(
    "/v1/jobs/{jobId}/backfills",
    "Run the fires of a past range again; with dryRun, only show them",
    BackfillAnswer,
    status=201,
    body=BackfillRequest,
    also={200: DryRunAnswer},
    headers=("Idempotency-Key", *depths.HEADERS),
    problems=(
        Problem.JOB_ENDED,
        Problem.NO_CYCLES,
        Problem.GRAPH_TOO_LARGE,
        Problem.IDEMPOTENCY_CONFLICT,
        *depths.PROBLEMS,
    ),
    access=Access.OPERATE,
)
def create_backfill(edge: ApiContext, request: Request) -> Reply:
    """Run the fires of a past range again, or show them; repeat the answer to the same Idempotency-Key and body."""
    body = read_body(request)
    wanted, errors = read_backfill_request(body, edge.context.clock.now())
    idempotent = idempotency_key(request, errors)
    if errors:
        raise invalid(errors)
    job = read_job_row(edge, job_key(request))
    named = None if wanted.dry_run else idempotent
    name = NewId.BACKFILL.of(f"{job.key.tenant}\x1f{job.key.job_id}", named, edge.random_bytes)
    key = BackfillKey(job.key, name)
    if named is None:
        return _made(edge, request, job, wanted, key)
    standing = edge.context.store.backfills.read([key])[0]
    # The request may be invalid by now; the backfill that its first use created stands.
    return _made(edge, request, job, wanted, key) if standing is None else _repeated(wanted, standing)


def _made(edge: ApiContext, request: Request, job: Job, wanted: BackfillRange, key: BackfillKey) -> Reply:
    if job.status is JobStatus.CANCELLED:
        raise job_cancelled()
    found, errors = fire_times(job.spec.schedule, wanted)
    if errors:
        raise invalid(errors)
    if wanted.graph:
        check_graph(edge, request, job, len(found))
    if wanted.dry_run:
        return ok(_dry_run_answer(job, found, wanted))
    now, depth = edge.context.clock.now(), call_depth(edge, request)
    note(edge, request, Action.CREATE, Resource(ResourceKind.BACKFILL, key.name, job.key.job_id))
    backfill = new_backfill(key, job, found, wanted.pace_seconds, wanted.overlap_policy, now, depth)
    backfill = evolve(backfill, graph=wanted.graph)
    standing = create_backfills(edge.context, [backfill])[0]
    if standing != backfill:
        return _repeated(wanted, standing)
    return _created(_standing(edge, key))  # it runs or waits by now


def _created(backfill: Backfill, *, is_repeated: bool = False) -> Reply:
    location = f"/v1/jobs/{backfill.key.job.job_id}/backfills/{backfill.key.name}"
    return created(_answer(backfill), location, version=backfill.version, is_repeated=is_repeated)


def _repeated(wanted: BackfillRange, standing: Backfill) -> Reply:
    if not asks_for(wanted, standing):
        raise key_conflict()
    return _created(standing, is_repeated=True)


@router.get(
    "/v1/jobs/{jobId}/backfills",
    "List a job's backfills, newest first",
    BackfillPageAnswer,
    query=PAGE,
    access=Access.READ,
)
def list_backfills(edge: ApiContext, request: Request) -> Reply:
    """List a job's backfills, newest first."""
    key, asked = job_key(request), PageQuery(request)
    before = asked.after(number, identifier)
    read_job_row(edge, key)
    newest_first = sorted(edge.context.store.backfills.of_owner(key), key=_age, reverse=True)
    left = [one for one in newest_first if before is None or _age(one) < before]
    return asked.first(edge, left, _answer, _age)


@router.get(
    "/v1/jobs/{jobId}/backfills/{backfillId}", "Read the progress of a backfill", BackfillAnswer, access=Access.READ
)
def get_backfill(edge: ApiContext, request: Request) -> Reply:
    """Read the progress of a backfill."""
    backfill = _standing(edge, _key(request))
    return moving(_answer(backfill), backfill.version)


@router.delete(
    "/v1/jobs/{jobId}/backfills/{backfillId}",
    "Cancel a backfill",
    BackfillAnswer,
    headers=("If-Match",),
    access=Access.OPERATE,
)
def cancel_backfill(edge: ApiContext, request: Request) -> Reply:
    """Cancel a backfill: its waiting runs do not start, and its live runs are asked to stop."""
    version, found = expected_version(request), _standing(edge, _key(request))
    check_version("backfill", found.version, version, "cancel")
    note(edge, request, Action.CANCEL, Resource(ResourceKind.BACKFILL, found.key.name, found.key.job.job_id))
    # A cancel is the only change that a user makes to a backfill, so no relevant change comes between these two.
    backfill, claimed = engine.cancel_backfill(edge.context, found)
    return ok(_answer(backfill, claimed_runs=claimed), version=backfill.version)


def _answer(backfill: Backfill, **others: Any) -> BackfillAnswer:  # noqa: ANN401 - the model's optional field
    remaining = backfill.total - backfill.started - backfill.skipped
    return BackfillAnswer.about(backfill, remaining=remaining, **others)


def _dry_run_answer(job: Job, fire_times: Sequence[int], wanted: BackfillRange) -> DryRunAnswer:
    """Return what a backfill of these fire times (ms; at least one, in order) would run."""
    return DryRunAnswer.about(
        wanted,
        dry_run=True,
        job_id=job.key.job_id,
        from_at=fire_times[0],
        to_at=fire_times[-1],
        total=len(fire_times),
        instants=fire_times[:MAX_SHOWN],
        schedule_rules=RuleSet(),
    )


def _key(request: Request) -> BackfillKey:
    job, name = job_key(request), request.path["backfillId"]
    if not SERIES.fullmatch(name):
        raise _no_backfill()
    return BackfillKey(job, name)


def _standing(edge: ApiContext, key: BackfillKey) -> Backfill:
    backfill = edge.context.store.backfills.read([key])[0]
    if backfill is None:
        raise _no_backfill()
    return backfill


def _no_backfill() -> ProblemError:
    return not_found("You have no backfill with this id; list a job's backfills at /v1/jobs/{jobId}/backfills.")


def _age(backfill: Backfill) -> tuple[int, str]:
    return backfill.created_at, backfill.key.name
