"""Create (also as a dry run), read and cancel a job's backfills; listing.py lists them."""

from timeball.api.backfills.answers import BackfillAnswer, DryRunAnswer, backfill_answer, dry_run_answer
from timeball.api.backfills.request import BackfillRange, BackfillRequest, asks_for, fire_times, read_backfill_request
from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.edge import ApiContext, job_cancelled, job_key, note, read_job_row
from timeball.api.http.generations import generation_of
from timeball.api.http.identity import backfill_name, backfill_name_of_key
from timeball.api.http.problems import Problem, ProblemError, invalid, not_found
from timeball.api.http.reply import Reply, created, ok
from timeball.api.http.request import Request, expected_version, idempotency_key, key_conflict, read_body, stale
from timeball.api.http.route import Router
from timeball.domain.backfill import Backfill, new_backfill
from timeball.domain.model.ids import SERIES, BackfillKey
from timeball.domain.model.jobs.job import Job, JobStatus
from timeball.domain.model.tenants.actor import Action, Resource, ResourceKind
from timeball.engine import backfills as engine
from timeball.engine.backfills import create_backfills

router = Router()


@router.post(
    "/v1/jobs/{jobId}/backfills",
    "Run the fires of a past range again; with dryRun, only show them",
    BackfillAnswer,
    status=201,
    body=BackfillRequest,
    also={200: DryRunAnswer},
    headers=("Idempotency-Key", *generations.HEADERS),
    problems=(Problem.JOB_ENDED, Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
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
    if idempotent is None or wanted.is_dry:
        return _made(edge, request, job, wanted, BackfillKey(job.key, backfill_name(edge.random_bytes())))
    key = BackfillKey(job.key, backfill_name_of_key(job.key, idempotent))
    standing = edge.context.store.backfills.read([key])[0]
    # The request may be invalid by now; the backfill that its first use created stands.
    return _made(edge, request, job, wanted, key) if standing is None else _repeated(wanted, standing)


def _made(edge: ApiContext, request: Request, job: Job, wanted: BackfillRange, key: BackfillKey) -> Reply:
    if job.status is JobStatus.CANCELLED:
        raise job_cancelled()
    found, errors = fire_times(job.spec.schedule, wanted)
    if errors:
        raise invalid(errors)
    if wanted.is_dry:
        return ok(dry_run_answer(job, found, wanted.pace_seconds, wanted.overlap))
    now, depth = edge.context.clock.now(), generation_of(edge, request)
    note(edge, request, Action.CREATE, Resource(ResourceKind.BACKFILL, key.name, job.key.job_id))
    backfill = new_backfill(key, job, found, wanted.pace_seconds, wanted.overlap, now, depth)
    standing = create_backfills(edge.context, [backfill])[0]
    if standing != backfill:
        return _repeated(wanted, standing)
    return _created(_standing(edge, key))  # it runs or waits by now


def _created(backfill: Backfill, *, is_repeated: bool = False) -> Reply:
    location = f"/v1/jobs/{backfill.key.job.job_id}/backfills/{backfill.key.name}"
    return created(backfill_answer(backfill), location, version=backfill.version, is_repeated=is_repeated)


def _repeated(wanted: BackfillRange, standing: Backfill) -> Reply:
    if not asks_for(wanted, standing):
        raise key_conflict()
    return _created(standing, is_repeated=True)


@router.get(
    "/v1/jobs/{jobId}/backfills/{backfillId}", "Read the progress of a backfill", BackfillAnswer, access=Access.READ
)
def get_backfill(edge: ApiContext, request: Request) -> Reply:
    """Read the progress of a backfill."""
    backfill = _standing(edge, _key(request))
    return ok(backfill_answer(backfill), version=backfill.version)


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
    if version is not None and found.version != version:
        raise stale("backfill", found.version, "cancel")
    note(edge, request, Action.CANCEL, Resource(ResourceKind.BACKFILL, found.key.name, found.key.job.job_id))
    # A cancel is the only change that a user makes to a backfill, so no relevant change comes between these two.
    backfill, claimed = engine.cancel_backfill(edge.context, found)
    answer = backfill_answer(backfill, claimed_runs=[str(run) for run in claimed])
    return ok(answer, version=backfill.version)


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
