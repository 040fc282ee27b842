"""Jobs are created, one or many at once, each once for its Idempotency-Key. One that is refused spoils no other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from functions.api.dependencies.examining import Item, examine_together
from functions.api.events.subscribing import unheard
from functions.api.http.body import canonical
from functions.api.http.bounds import check_job
from functions.api.http.edge import Edge
from functions.api.http.generations import generation_of
from functions.api.http.identity import fingerprint, job_id, job_id_of_key
from functions.api.http.problems import FieldError, ProblemError, invalid
from functions.api.http.quotas import count_submits, quotas_of, uncount_submits
from functions.api.http.reply import Reply, created
from functions.api.http.request import Request, idempotency_key, key_conflict, read_body
from functions.api.jobs.answers import job_answer
from functions.api.jobs.of_tasks import Tasks, seen, tasks_of, unfit_for_task
from functions.api.jobs.request import JobRequest, read_job_request
from functions.api.jobs.spec import over_quotas, spec_of, unfit
from functions.api.schedules.fields import no_calendar
from functions.api.schemas.cpu_limit import Allowance
from timeball.domain.model.actor import Actor
from timeball.domain.model.ids import JobKey
from timeball.domain.model.job import Job, JobSpec
from timeball.domain.model.new_job import new_job
from timeball.engine.exclusions.calendars import note_uses
from timeball.engine.exclusions.outlook import outlooks
from timeball.engine.scheduling.submit import Submission, submit


@dataclass(frozen=True)
class Asked:
    """A job as a body asks for it, and under which Idempotency-Key, if any; `errors` are those of its headers.

    `ref` is what others of a batch call it.
    """

    body: Mapping[str, Any]
    key: str | None
    errors: Sequence[FieldError] = ()
    ref: str | None = None


@dataclass(frozen=True)
class Made:
    """A job as it was stored at its creation, resolved; `is_repeated`: by an earlier request under the same key."""

    job: Job
    is_repeated: bool = False


@dataclass(frozen=True)
class _Wanted:
    """What a body asks for that is faultless at any time; `errors_now` is what is wrong with it only now."""

    request: JobRequest
    spec: JobSpec
    is_idempotent: bool
    errors_now: Sequence[FieldError]
    ref: str | None = None
    ancestors: int = 0


def create_job(edge: Edge, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    errors: list[FieldError] = []
    key = idempotency_key(request, errors)
    (made,) = create_jobs(edge, request, [Asked(body, key, errors)])
    if isinstance(made, ProblemError):
        raise made
    location = f"/v1/jobs/{made.job.key.job_id}"
    answer = job_answer(made.job, made.job.created_at, calendars=outlooks(edge.context, [made.job]))
    return created(answer, location, version=made.job.version, is_repeated=made.is_repeated)


def create_jobs(edge: Edge, request: Request, asked: Sequence[Asked]) -> list[Made | ProblemError]:
    """Create each job, or return the problem with it. Raises UnavailableError if it is unknown what was stored."""
    now = edge.context.clock.now()
    read = [_read(edge, request, one, now) for one in asked]
    tasks = tasks_of(edge, request.tenant, [one.request for one in read if isinstance(one, _Wanted)])
    allowance = Allowance()
    read = [_with_task(one, tasks, allowance) if isinstance(one, _Wanted) else one for one in read]
    read = _with_calendars(edge, read, now)
    lost = {one.ref for one, wanted in zip(asked, read, strict=True) if one.ref and isinstance(wanted, ProblemError)}
    wanted = _with_parents(edge, request, [one for one in read if isinstance(one, _Wanted)], lost)
    wanted = _with_events(edge, wanted, now)
    made = _submitted(edge, request, [one for one in wanted if not one.errors_now], now)
    made |= _standing(edge, [one for one in wanted if one.errors_now])
    made = {key: replace(one, job=seen(tasks, one.job)) if isinstance(one, Made) else one for key, one in made.items()}
    return [made[one.spec.key] if isinstance(one, _Wanted) else one for one in read]


def _with_parents(edge: Edge, request: Request, wanted: Sequence[_Wanted], lost: Collection[str]) -> list[_Wanted]:
    """Return what is wanted with the parents that are meant, in an order in which these come first."""
    if not any(one.spec.depends_on for one in wanted):
        return list(wanted)
    by_key = {one.spec.key: one for one in wanted}
    items = [Item(one.spec, one.ref, bool(one.errors_now)) for one in wanted]
    return [
        replace(
            one := by_key[item.spec.key],
            spec=item.spec,
            ancestors=item.ancestors,
            errors_now=[*one.errors_now, *item.errors],
        )
        for item in examine_together(edge.context, items, request.bounds, lost)
    ]


def _read(edge: Edge, request: Request, asked: Asked, now: int) -> _Wanted | ProblemError:
    wanted, errors, errors_now = read_job_request(asked.body, now)
    if asked.errors or errors:
        return invalid([*errors, *asked.errors, *errors_now])
    try:
        check_job(request, wanted.tags)
    except ProblemError as refused:
        return refused
    named = job_id(edge.random_bytes()) if asked.key is None else job_id_of_key(request.tenant, asked.key)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(asked.body)), now)
    errors_now = errors_now or unfit(edge, wanted, spec, None, now)
    errors_now = [*errors_now, *over_quotas(spec, None, quotas_of(edge, request))]
    return _Wanted(wanted, spec, asked.key is not None, errors_now, asked.ref)


def _with_task(wanted: _Wanted, tasks: Tasks, allowance: Allowance) -> _Wanted:
    errors = unfit_for_task(wanted.request, wanted.spec, tasks, allowance)
    return replace(wanted, errors_now=[*wanted.errors_now, *errors]) if errors else wanted


def _with_calendars(edge: Edge, read: Sequence[_Wanted | ProblemError], now: int) -> list[_Wanted | ProblemError]:
    """Note the calendars that jobs are about to name; a job whose calendar does not exist may not be created now."""
    specs = [one.spec for one in read if isinstance(one, _Wanted) and not one.errors_now]
    lacking = note_uses(edge.context, specs, now)
    return [
        replace(one, errors_now=[no_calendar()]) if isinstance(one, _Wanted) and one.spec.key in lacking else one
        for one in read
    ]


def _with_events(edge: Edge, wanted: Sequence[_Wanted], now: int) -> list[_Wanted]:
    """Let the bus match the patterns that jobs are about to have; one whose pattern it cannot may not be created."""
    refused = unheard(edge, [one.spec for one in wanted if not one.errors_now], now)
    return [replace(one, errors_now=[refused[one.spec.key]]) if one.spec.key in refused else one for one in wanted]


def _submitted(edge: Edge, request: Request, wanted: Sequence[_Wanted], now: int) -> dict[JobKey, Made | ProblemError]:
    depth = generation_of(edge, request, len(wanted)) if wanted else 0
    made: dict[JobKey, Made | ProblemError] = {}
    try:
        counted = count_submits(edge, request, len(wanted))
    except ProblemError:
        jobs = _repeats(edge, wanted)
        if not jobs:
            raise
        made = {one.spec.key: _repeated(one, jobs[one.spec.key]) for one in wanted if one.spec.key in jobs}
        wanted = [one for one in wanted if one.spec.key not in jobs]
        counted = count_submits(edge, request, len(wanted))
    ancestors = {one.spec.key: one.ancestors for one in wanted}
    submitted = submit(edge.context, [one.spec for one in wanted], now, request.by, depth, ancestors)
    uncount_submits(edge, counted, sum(done.outcome is not Submission.CREATED for done in submitted))
    return made | {
        one.spec.key: Made(done.job) if done.outcome is Submission.CREATED else _repeated(one, done.job)
        for one, done in zip(wanted, submitted, strict=True)
    }


def _standing(edge: Edge, wanted: Sequence[_Wanted]) -> dict[JobKey, Made | ProblemError]:
    """Refuse what may not be created now. What was right when its key was first used may be wrong by now: it stands."""
    jobs = _repeats(edge, wanted)
    return {
        one.spec.key: invalid(one.errors_now) if (job := jobs.get(one.spec.key)) is None else _repeated(one, job)
        for one in wanted
    }


def _repeats(edge: Edge, wanted: Sequence[_Wanted]) -> dict[JobKey, Job]:
    """Read the jobs that earlier requests under the same keys have created."""
    keys = [one.spec.key for one in wanted if one.is_idempotent]
    jobs = edge.context.store.jobs.read(keys) if keys else []
    return {job.key: job for job in jobs if job is not None}


def _repeated(wanted: _Wanted, standing: Job) -> Made | ProblemError:
    """Repeat the job as it was at its creation, whatever has become of it since."""
    if standing.spec.fingerprint != wanted.spec.fingerprint:
        return key_conflict()
    spec = spec_of(wanted.request, wanted.spec.key, wanted.spec.fingerprint, standing.created_at)
    spec = replace(spec, depends_on=wanted.spec.depends_on)
    if spec.inherits:
        spec = replace(spec, schedule=standing.spec.schedule)
    creator = Actor(standing.created_by)
    return Made(new_job(spec, standing.created_at, shards=1, by=creator), is_repeated=True)
