"""PUT: create a job under an id that its client chose, or make it what the request says, if it is not so already.

Invariant: the same request may be repeated. Its relative times (a delay, an interval without an anchor, no time at all)
count from the job's creation, and a job that is already as the request says gets no new version.
"""

from timeball.api.http import generations
from timeball.api.http.access import Access, check_flow, check_job
from timeball.api.http.body import canonical
from timeball.api.http.edge import ApiContext, new_job_key
from timeball.api.http.exchange import Reply, Request, expected_version, expects_nothing, ok, read_body, stale
from timeball.api.http.generations import given_depth
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.quotas import quotas_of
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, shown_job
from timeball.api.jobs.candidates import Candidate, NewJob, settle
from timeball.api.jobs.changing import (
    changed_answer,
    changed_job,
    ended,
    misfits_of,
    revise_job,
    timed_as,
    with_parents,
)
from timeball.api.jobs.creating import created_reply
from timeball.api.jobs.flow import flow_of
from timeball.api.jobs.patch import kept_times
from timeball.api.jobs.request import JobRequest, read_job_request
from timeball.api.jobs.spec import over_quotas, spec_of, unfit
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.tenants.actor import Action
from timeball.ports.errors import ContendedError

router = Router()


@router.put(
    "/v1/jobs/{jobId}",
    "Create a job under an id of your own, or replace it; repeating the request changes nothing",
    JobAnswer,
    body=JobRequest,
    also={201: JobAnswer},
    headers=("If-Match", "If-None-Match", *generations.HEADERS),
    problems=(Problem.JOB_ENDED, *generations.PROBLEMS),
    access=Access.SUBMIT,
)
def put_job(edge: ApiContext, request: Request) -> Reply:
    """Create a job under the id in the path, or replace all of its fields."""
    body = read_body(request)
    version, is_to_be_new = expected_version(request), expects_nothing(request)
    given_depth(request)  # replacing a job creates nothing, but an invalid depth is refused all the same
    key, now = new_job_key(request), edge.context.clock.now()
    standing = edge.context.store.jobs.read([key], with_work=True)[0]
    wanted, errors, errors_now = read_job_request(body, now)
    kept = set() if standing is None else kept_times(standing, wanted)
    errors_now = [error for error in errors_now if error.field not in kept]
    if errors or errors_now:
        raise invalid([*errors, *errors_now])
    _check_key(wanted, standing)
    check_job(request, wanted.tags)
    if standing is None:
        if "if-match" in request.headers:
            raise ProblemError(Problem.STALE_VERSION, "You have no job with this id; leave out If-Match to create it.")
        return _create(edge, request, wanted, spec_of(wanted, key, fingerprint(canonical(body)), now), now)
    if is_to_be_new:
        raise ProblemError(Problem.STALE_VERSION, "You have a job with this id already; leave out If-None-Match.")
    if version is not None and standing.version != version:
        raise stale("job", standing.version, "replace")
    return replace_job(edge, standing, wanted, Action.PUT, request)


def _check_key(wanted: JobRequest, standing: Job | None) -> None:
    """Raise ProblemError for a unique key other than the job's: a document that was read may be sent again."""
    unique = flow_of(wanted).unique
    if unique is not None and (standing is None or unique != standing.spec.flow.unique):
        raise invalid(
            [FieldError("uniqueKey", "The id in the path is the job's unique key; leave this out, or POST the job.")]
        )


def _create(edge: ApiContext, request: Request, wanted: JobRequest, spec: JobSpec, now: int) -> Reply:
    check_flow(edge, request, spec.flow)
    errors = [*unfit(edge, wanted, spec, None, now), *over_quotas(spec, None, quotas_of(edge, request))]
    (made,) = settle(edge, request, [Candidate(wanted, spec, errors, is_own_id=True)], now)
    if isinstance(made, NewJob):
        return created_reply(edge, made)
    raise made or ContendedError(f"the unique key of job {spec.key.job_id} kept changing")


def replace_job(edge: ApiContext, standing: Job, wanted: JobRequest, action: Action, request: Request) -> Reply:
    """Change a job to what a request asks for. A request that loses a race is refused, and changes nothing."""
    verb = "restore" if action is Action.RESTORE else "replace"
    spec = spec_of(wanted, standing.key, standing.spec.fingerprint, standing.created_at)
    spec = timed_as(standing.spec, spec)
    spec = evolve(spec, flow=evolve(spec.flow, unique=standing.spec.flow.unique))
    check_flow(edge, request, spec.flow, standing.spec.flow)
    if spec == standing.spec and standing.intent is None:
        return ok(shown_job(edge, standing, claimed_runs=[]), version=standing.version)
    if not standing.is_open:
        raise ended(standing, verb)
    misfits = misfits_of(edge, request, wanted, spec, standing.spec)
    if misfits:
        raise invalid(misfits)
    spec = with_parents(edge, request, standing, spec)
    done = revise_job(edge, standing, spec, action, request.by)
    return changed_answer(edge, changed_job(done, verb), done)
