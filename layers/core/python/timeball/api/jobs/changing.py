"""Changes of a job by a user: replace, patch, pause, resume. Each answers with the job and its runs under way.

A PUT creates a job under an id that its client chose, or makes it what the request says. The same PUT may be repeated:
its relative times (a delay, an interval without an anchor, no time at all) count from the job's creation, and a job
that is already as the request says gets no new version.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from timeball.api.dependencies.examining import field_errors, misnamed
from timeball.api.events.subscribing import give_rules_back, let_go, unheard
from timeball.api.http import depths, traces
from timeball.api.http.access import Access, check_flow, check_job
from timeball.api.http.body import canonical
from timeball.api.http.depths import call_depth, given_depth
from timeball.api.http.edge import ApiContext, job_key, new_job_key, no_job, read_job_row
from timeball.api.http.exchange import (
    MERGE_PATCH,
    Reply,
    Request,
    check_version,
    expected_version,
    expects_nothing,
    ok,
    read_body,
    refuse_fields,
    stale,
)
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, refuse
from timeball.api.http.quotas import count_submits, defaults_of, uncount_submits
from timeball.api.http.route import Router
from timeball.api.http.traces import traced
from timeball.api.jobs.answers import JobAnswer, shown_job
from timeball.api.jobs.candidates import Candidate, NewJob, settle
from timeball.api.jobs.creating import created_reply
from timeball.api.jobs.flow import flow_of
from timeball.api.jobs.notify import kept_default
from timeball.api.jobs.patch import kept_times, read_patch
from timeball.api.jobs.request import JobRequest, read_job_request
from timeball.api.jobs.spec import (
    beyond_the_tenant,
    form_of,
    misfits_of,
    replacing,
    spec_of,
    timed_as,
    unfit,
)
from timeball.api.schedules.fields import in_zone, no_calendar
from timeball.domain.model.evolve import evolve
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import Job, JobSpec, JobStatus
from timeball.domain.model.tenants.actor import Action, Actor
from timeball.domain.model.terms.notify import Notify
from timeball.domain.time.instants import InvalidSchedule
from timeball.domain.time.schedule import first_fire
from timeball.engine.blackouts.calendars import calendar_of, note_end_of_use, note_uses
from timeball.engine.changes.change import Changed, ChangeOutcome, pause, renew, resume, revise
from timeball.engine.changes.change import Request as Change
from timeball.engine.context import Context
from timeball.engine.dependencies.examine import examine
from timeball.engine.dependencies.graph_views import is_depended_on
from timeball.engine.dependencies.parents import adopt
from timeball.engine.resolving import resolved
from timeball.ports.errors import ContendedError

router = Router()

_TRIES: Final = 4
"""How often a patch is validated at most, if the job keeps changing."""

_Verb = Callable[[Context, Sequence[Change], Actor], list[Changed]]


@dataclass(frozen=True)
class Replaced:
    """A job that is now as its request asks, and the answer that shows it."""

    job: Job
    answer: JobAnswer


@router.put(
    "/v1/jobs/{jobId}",
    "Create a job under an id of your own, or replace it; repeating the request changes nothing",
    JobAnswer,
    body=JobRequest,
    also={201: JobAnswer},
    headers=("If-Match", "If-None-Match", *depths.HEADERS, *traces.HEADERS),
    problems=(Problem.JOB_ENDED, *depths.PROBLEMS),
    access=Access.SUBMIT,
)
def put_job(edge: ApiContext, request: Request) -> Reply:
    """Create a job under the id in the path, or replace all of its fields."""
    body = read_body(request)
    version, is_to_be_new = expected_version(request), expects_nothing(request)
    given_depth(request)  # replacing a job creates nothing, but an invalid depth is refused all the same
    key, now = new_job_key(request), edge.context.clock.now()
    standing = edge.context.store.jobs.read([key], with_work=True)[0]
    wanted, errors_now = read_put(edge, request, body, standing, now)
    if standing is None:
        if "if-match" in request.headers:
            raise ProblemError(Problem.STALE_VERSION, "You have no job with this id; leave out If-Match to create it.")
        (made,) = settle(edge, request, [named_candidate(edge, request, key, body, wanted, now)], now)
        if isinstance(made, NewJob):
            return created_reply(edge, request, made)
        raise made or ContendedError(f"the unique key of job {key.job_id} kept changing")
    if is_to_be_new:
        raise ProblemError(Problem.STALE_VERSION, "You have a job with this id already; leave out If-None-Match.")
    check_version("job", standing.version, version, "replace")
    done = put_again(edge, request, standing, wanted, errors_now)
    return created_reply(edge, request, done) if isinstance(done, NewJob) else ok(done.answer, version=done.job.version)


def read_put(
    edge: ApiContext, request: Request, body: Mapping[str, Any], standing: Job | None, now: int
) -> tuple[JobRequest, list[FieldError]]:
    """Return what a body asks of a job under an id of the client's, and what only a next generation cannot have.

    Raises ProblemError if it is invalid for the job that stands there, if any.
    """
    wanted, errors, errors_now = read_job_request(body, now)
    wanted = in_zone(wanted, defaults_of(edge, request).timezone)
    kept = set() if standing is None else kept_times(standing, wanted)
    unkept = [error for error in errors_now if error.field not in kept]
    if errors or unkept:
        raise invalid([*errors, *unkept])
    _check_key(wanted, standing)
    check_job(request, wanted.tags)
    return wanted, errors_now


def put_again(
    edge: ApiContext, request: Request, standing: Job, wanted: JobRequest, errors_now: Sequence[FieldError]
) -> Replaced | NewJob:
    """Make a job that stands what a request asks for, or begin its next generation. Raises ProblemError."""
    if standing.is_open:
        return replace_job(edge, standing, wanted, Action.PUT, request, defaults_of(edge, request).notify)
    if standing.status is not JobStatus.CANCELLED and is_as_asked(standing, wanted):
        return replace_job(edge, standing, wanted, Action.PUT, request, kept_default(standing.spec.notify))
    refuse(errors_now)
    return renew_job(edge, standing, wanted, request)


def _check_key(wanted: JobRequest, standing: Job | None) -> None:
    """Raise ProblemError for a unique key other than the job's: a document that was read may be sent again."""
    unique = flow_of(wanted).unique
    if unique is not None and (standing is None or unique != standing.spec.flow.unique):
        raise invalid(
            [FieldError("uniqueKey", "The id in the path is the job's unique key; leave this out, or POST the job.")]
        )


def named_candidate(
    edge: ApiContext, request: Request, key: JobKey, body: Mapping[str, Any], wanted: JobRequest, now: int
) -> Candidate:
    """Return a new job under an id of the client's. Raises ProblemError for a limit that its key may not name."""
    spec = traced(request, spec_of(wanted, key, fingerprint(canonical(body)), now, defaults_of(edge, request).notify))
    check_flow(edge, request, spec.flow)
    errors = [*unfit(edge, wanted, spec, None, now), *beyond_the_tenant(edge, request, wanted, spec, None)]
    return Candidate(wanted, spec, errors, is_own_id=True)


def is_as_asked(standing: Job, wanted: JobRequest) -> bool:
    """Say whether a job is as a request asks, whose relative times count from the beginning of its generation.

    A tenant's default that has changed since makes no difference: it must not run jobs again.
    """
    default = kept_default(standing.spec.notify)
    return replacing(standing, wanted, standing.begun_at, default) == standing.spec and standing.intent is None


def renew_job(edge: ApiContext, standing: Job, wanted: JobRequest, request: Request) -> NewJob:
    """Begin the next generation of a job that has ended. It counts as a new job: against quotas, and by its depth."""
    context, now = edge.context, edge.context.clock.now()
    spec = traced(request, replacing(standing, wanted, now, defaults_of(edge, request).notify))
    check_flow(edge, request, spec.flow, standing.spec.flow)
    refuse(misfits_of(edge, request, wanted, spec, evolve(standing.spec, task=None)))
    spec = with_parents(edge, request, standing, spec)
    if spec.depends_on:  # they may have gone since the last generation
        (examined,) = examine(context, [spec], request.bounds)
        refuse(field_errors(examined))
    depth = call_depth(edge, request)
    counted = count_submits(edge, request, 1)
    done = None
    try:
        done = _begin(edge, standing, spec, now, depth, request.by)
    finally:
        if done is None or done.outcome is not ChangeOutcome.DONE:
            uncount_submits(edge, counted, 1)
    job = changed_job(done, "replace")
    return NewJob(resolved(context, [job])[0])


def _begin(edge: ApiContext, standing: Job, spec: JobSpec, since: int, depth: int, by: Actor) -> Changed:
    """Begin the next generation of a job. Raises ProblemError if its calendar, rule or schedule does not permit it."""
    now = edge.context.clock.now()
    if note_uses(edge.context, [spec], now):
        raise invalid([no_calendar()])
    if refused := unheard(edge, [spec], now):
        raise refused[spec.key]
    try:
        (done,) = renew(edge.context, [(standing, spec)], since, by, depth)
    except InvalidSchedule as bad:
        give_rules_back(edge, [spec], now)
        raise invalid([FieldError("endAt", str(bad))]) from None
    if done.outcome is not ChangeOutcome.DONE:
        give_rules_back(edge, [spec], now)
    return done


def replace_job(
    edge: ApiContext, standing: Job, wanted: JobRequest, action: Action, request: Request, default: Notify | None
) -> Replaced:
    """Change a job to what a request asks for. A request that loses a race is refused, and changes nothing.

    `default` has its notices if the request states none.
    """
    verb = "restore" if action is Action.RESTORE else "replace"
    spec = traced(request, replacing(standing, wanted, standing.begun_at, default))
    check_flow(edge, request, spec.flow, standing.spec.flow)
    if spec == standing.spec and standing.intent is None:
        return Replaced(standing, shown_job(edge, request, standing, claimed_runs=[]))
    if not standing.is_open:
        raise ended(standing, verb)
    refuse(misfits_of(edge, request, wanted, spec, standing.spec))
    spec = with_parents(edge, request, standing, spec)
    done = revise_job(edge, standing, spec, action, request.by)
    job = changed_job(done, verb)
    return Replaced(job, _shown(edge, request, job, done))


@router.post(
    "/v1/jobs/{jobId}/pause",
    "Pause a job: no fire of its schedule starts until it is resumed",
    JobAnswer,
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED,),
    access=Access.SUBMIT,
)
def pause_job(edge: ApiContext, request: Request) -> Reply:
    """Pause a job: no fire of its schedule starts until it is resumed."""
    refuse_fields(request)
    return _change(edge, request, pause, "pause")


@router.post(
    "/v1/jobs/{jobId}/resume",
    "Resume a paused job; its catch-up policy decides about the fires that it missed",
    JobAnswer,
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED,),
    access=Access.SUBMIT,
)
def resume_job(edge: ApiContext, request: Request) -> Reply:
    """Resume a job: its catch-up policy decides about the fires that it missed."""
    refuse_fields(request)
    return _change(edge, request, resume, "resume")


@router.patch(
    "/v1/jobs/{jobId}",
    "Change a job by a merge patch, such as its schedule, target or policies",
    JobAnswer,
    body=JobRequest,
    headers=("If-Match",),
    problems=(Problem.JOB_ENDED, Problem.QUOTA_EXCEEDED),
    access=Access.SUBMIT,
)
def update_job(edge: ApiContext, request: Request) -> Reply:
    """Change a job's fields by a merge patch; validate the whole result like a new job."""
    patch = read_body(request, MERGE_PATCH)
    version, key = expected_version(request), job_key(request)
    for _ in range(_TRIES):
        job = read_job_row(edge, key, with_work=True)
        check_version("job", job.version, version, "change")
        if not job.is_open:
            raise ended(job, "change")
        spec = _spec(edge, request, job, patch)
        check_job(request, spec.tags)
        check_flow(edge, request, spec.flow, job.spec.flow)
        spec = with_parents(edge, request, job, spec)
        done = revise_job(edge, job, spec, Action.PATCH, request.by)
        if done.outcome is not ChangeOutcome.STALE or version is not None:
            return changed_answer(edge, request, changed_job(done, "change"), done)
    raise ContendedError(f"job {key.job_id} kept changing")


def _change(edge: ApiContext, request: Request, verb: _Verb, name: str) -> Reply:
    version, key = expected_version(request), job_key(request)
    done = verb(edge.context, [(key, version)], request.by)[0]
    return changed_answer(edge, request, changed_job(done, name), done)


def _spec(edge: ApiContext, request: Request, job: Job, patch: Mapping[str, Any]) -> JobSpec:
    """Return the spec of a job after a patch. Raises ProblemError that names every error."""
    now = edge.context.clock.now()
    wanted, errors = read_patch(job, patch, now)
    refuse(errors)
    defaults = defaults_of(edge, request)
    wanted = in_zone(wanted, defaults.timezone)
    default = defaults.notify if "notify" in patch else kept_default(job.spec.notify)
    spec = spec_of(wanted, job.key, job.spec.fingerprint, now, default)
    spec = evolve(spec, traceparent=job.spec.traceparent)
    refuse(misfits_of(edge, request, wanted, spec, job.spec))
    return spec


def with_parents(edge: ApiContext, request: Request, job: Job, spec: JobSpec) -> JobSpec:
    """Return a job's new spec, bound to its parents. Raises ProblemError that says what is wrong with them.

    A job without a schedule of its own keeps its fire time, unless its parents change.
    """
    refuse([*misnamed(spec), *([] if spec.inherits else _left_behind(edge, job, spec))])
    adopted = adopt(edge.context, job, timed_as(job.spec, spec), request.bounds)
    refuse(field_errors(adopted) or _left_behind(edge, job, adopted.spec))
    return adopted.spec


def _left_behind(edge: ApiContext, job: Job, spec: JobSpec) -> list[FieldError]:
    """Return why the job cannot change its schedule while other jobs depend on it."""
    form = "dependsOn" if spec.inherits else "scheduleAt" if spec.schedule.is_one_off else form_of(spec.schedule)
    if job.has_children and spec.schedule.is_one_off is not job.spec.schedule.is_one_off:
        what = "Other jobs depend on this job, or once did, so it cannot change between recurring and running once."
        return [FieldError(form, what)]
    if job.has_children and not spec.schedule.is_one_off and _is_moved(edge, job, spec):
        return [
            FieldError(form, "Other jobs depend on this job and share its schedule; remove their dependency first.")
        ]
    return []


def _is_moved(edge: ApiContext, job: Job, spec: JobSpec) -> bool:
    """Say whether a recurring job gets another recurrence while jobs that may still run depend on it."""
    return spec.schedule.timing != job.spec.schedule.timing and is_depended_on(edge.context, job.key)


def revise_job(edge: ApiContext, job: Job, spec: JobSpec, action: Action, by: Actor) -> Changed:
    """Change a job, as it was read, to a spec.

    Raises ProblemError if that leaves it no fire or no calendar, or if the bus cannot match its events.
    """
    context, now = edge.context, edge.context.clock.now()
    is_new_use = calendar_of(spec) != calendar_of(job.spec)
    if is_new_use and note_uses(context, [spec], now):
        raise invalid([no_calendar()])
    is_new_pattern = spec.event != job.spec.event
    if is_new_pattern and (refused := unheard(edge, [spec], now)):
        raise refused[spec.key]
    try:
        (done,) = revise(context, [(job, spec)], action, by)
    except InvalidSchedule as bad:
        give_rules_back(edge, [spec] if is_new_pattern else [], now)
        is_used_up = first_fire(spec.schedule, context.clock.now()) is not None
        raise invalid([FieldError("maxRuns" if is_used_up else "endAt", str(bad))]) from None
    if done.outcome is ChangeOutcome.DONE:
        note_end_of_use(context, job.spec, spec)
    if is_new_pattern:
        let_go(edge, job.spec) if done.outcome is ChangeOutcome.DONE else give_rules_back(edge, [spec], now)
    return done


def changed_job(done: Changed, verb: str) -> Job:
    """Return the changed job. Raises ProblemError if it was not changed."""
    if done.job is None or done.outcome is ChangeOutcome.NOT_FOUND:
        raise no_job()
    if done.outcome is ChangeOutcome.STALE:
        raise stale("job", done.job.version, verb)
    if done.outcome is ChangeOutcome.ENDED:
        raise ended(done.job, verb)
    return done.job


def changed_answer(edge: ApiContext, request: Request, job: Job, done: Changed) -> Reply:
    """Return the answer to a change: the job, and the runs that were under way."""
    return ok(_shown(edge, request, job, done), version=job.version)


def _shown(edge: ApiContext, request: Request, job: Job, done: Changed) -> JobAnswer:
    return shown_job(edge, request, job, claimed_runs=[str(run) for run in done.claimed])


def ended(job: Job, verb: str) -> ProblemError:
    """Return the problem of a change to a job that has ended."""
    return ProblemError(Problem.JOB_ENDED, f"The job is {job.status} already; there is nothing to {verb}.")
