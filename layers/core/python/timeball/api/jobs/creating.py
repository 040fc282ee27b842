"""Create jobs, one or many at once, each once for its Idempotency-Key. A refused job spoils no other.

A submit under a unique key that a job holds already answers with that job and creates none.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from timeball.api.dependencies.examining import BatchItem, examine_together
from timeball.api.dependencies.naming import next_round, refs_of
from timeball.api.events.subscribing import give_rules_back, unheard
from timeball.api.http import generations
from timeball.api.http.access import Access
from timeball.api.http.body import canonical
from timeball.api.http.bounds import check_flow, check_job, check_standing
from timeball.api.http.edge import ApiContext
from timeball.api.http.generations import generation_of
from timeball.api.http.identity import fingerprint, job_id, job_id_of_key
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid
from timeball.api.http.quotas import count_again, count_submits, quotas_of, uncount_submits
from timeball.api.http.reply import Reply, created, ok
from timeball.api.http.request import Request, idempotency_key, key_conflict, read_body
from timeball.api.http.route import Router
from timeball.api.jobs.answers import JobAnswer, job_answer
from timeball.api.jobs.of_tasks import Tasks, seen, tasks_of, unfit_for_task
from timeball.api.jobs.reading import standing_answer
from timeball.api.jobs.request import JobRequest, read_job_request
from timeball.api.jobs.spec import over_quotas, spec_of, unfit
from timeball.api.schedules.fields import no_calendar
from timeball.api.schemas.cpu_limit import Allowance
from timeball.domain.model.ids import JobKey, Shards
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.planning.collecting import collects_submits
from timeball.engine.blackouts.calendars import note_uses
from timeball.engine.blackouts.read import outlooks
from timeball.engine.runs.collect import collect_submit
from timeball.engine.scheduling.submit import Submission, Submitted, meant_by, submit

router = Router()


@dataclass(frozen=True)
class Asked:
    """A job as a request's body asks for it."""

    body: Mapping[str, Any]
    key: str | None
    """The Idempotency-Key, if any."""
    errors: Sequence[FieldError] = ()
    """The errors in the headers."""
    ref: str | None = None
    """The name by which others of the batch refer to it; without a `ref`, its name if no other item has the same."""


@dataclass(frozen=True)
class NewJob:
    """A created job, resolved; with `stood` the job that held the unique key, as it is now."""

    job: Job
    is_repeated: bool = False
    """Whether an earlier request with the same Idempotency-Key created it."""
    stood: bool = False
    """Whether it held the unique key already."""


@dataclass(frozen=True)
class _Wanted:
    """A job whose body is valid at any time; `errors_now` has what is wrong with it only now."""

    request: JobRequest
    spec: JobSpec
    is_idempotent: bool
    errors_now: Sequence[FieldError]
    ref: str | None = None
    ancestors: int = 0


@dataclass(frozen=True)
class _Met:
    """A wanted job, and the job that holds its unique key."""

    wanted: _Wanted
    job: Job


_Done = _Met | NewJob | ProblemError
_Read = _Wanted | _Done


@router.post(
    "/v1/jobs",
    "Create a job; a 200 returns the job that holds its uniqueKey already",
    JobAnswer,
    status=201,
    also={200: JobAnswer},
    body=JobRequest,
    headers=("Idempotency-Key", *generations.HEADERS),
    problems=(Problem.IDEMPOTENCY_CONFLICT, *generations.PROBLEMS),
    keeps_bounds=True,
    access=Access.SUBMIT,
)
def create_job(edge: ApiContext, request: Request) -> Reply:
    """Create a job, or repeat the first answer to the same Idempotency-Key and body."""
    body = read_body(request)
    errors: list[FieldError] = []
    key = idempotency_key(request, errors)
    (made,) = create_jobs(edge, request, [Asked(body, key, errors)])
    if isinstance(made, ProblemError):
        raise made
    if made.stood:
        return ok(standing_answer(edge, made.job), version=made.job.version)
    location = f"/v1/jobs/{made.job.key.job_id}"
    answer = job_answer(made.job, made.job.created_at, calendars=outlooks(edge.context, [made.job]))
    return created(answer, location, version=made.job.version, is_repeated=made.is_repeated)


def create_jobs(edge: ApiContext, request: Request, asked: Sequence[Asked]) -> list[NewJob | ProblemError]:
    """Create each job, or return its problem. Raises UnavailableError if it is unknown what was stored.

    Jobs with the same unique key are created one after the other, so that each finds the one before. A job that depends
    on a job that has to wait for this waits with it.
    """
    bodies = [one.body for one in asked]
    refs = refs_of(bodies, [one.ref for one in asked])
    asked = [replace(one, ref=ref) for one, ref in zip(asked, refs, strict=True)]
    made: dict[int, NewJob | ProblemError] = {}
    while left := [index for index in range(len(asked)) if index not in made]:
        batch = next_round(bodies, refs, left)
        meant = {ref: one for index, one in made.items() if (ref := refs[index])}
        created_now = _create(edge, request, [asked[index] for index in batch], meant)
        made |= {index: one for index, one in zip(batch, created_now, strict=True) if one is not None}
    return [made[index] for index in range(len(asked))]


def _create(
    edge: ApiContext, request: Request, asked: Sequence[Asked], meant: Mapping[str, NewJob | ProblemError]
) -> list[NewJob | ProblemError | None]:
    """Create each job, of which no two have the same unique key.

    None means that the run of the unique key's job has just begun, so the caller must ask again. `meant` has the
    results of earlier rounds, by their refs.
    """
    now = edge.context.clock.now()
    read: list[_Read] = [_read(edge, request, one, now) for one in asked]
    tasks = tasks_of(edge, request.tenant, [one.request for one in read if isinstance(one, _Wanted)])
    allowance = Allowance()
    read = [_with_task(one, tasks, allowance) if isinstance(one, _Wanted) else one for one in read]
    read = _with_unique_keys(edge, read, now)
    read = _with_calendars(edge, read, now)
    lost = {one.ref for one, wanted in zip(asked, read, strict=True) if one.ref and isinstance(wanted, ProblemError)}
    lost |= {ref for ref, one in meant.items() if isinstance(one, ProblemError)}
    stood = {ref: one.job.key.job_id for ref, one in meant.items() if isinstance(one, NewJob)}
    stood |= {one.wanted.ref: one.job.key.job_id for one in read if isinstance(one, _Met) and one.wanted.ref}
    wanted = _with_parents(edge, request, [one for one in read if isinstance(one, _Wanted)], lost, stood)
    made: dict[JobKey, _Done] = {**_submitted(edge, request, [one for one in wanted if not one.errors_now], now)}
    wrong = {one.spec.key: invalid(one.errors_now) for one in wanted if one.errors_now}
    made |= _standing(edge, [one for one in wanted if one.errors_now], wrong)
    made = {
        key: replace(one, job=seen(tasks, one.job)) if isinstance(one, NewJob) else one for key, one in made.items()
    }
    done = [made[one.spec.key] if isinstance(one, _Wanted) else one for one in read]
    return [_met(edge, request, one) if isinstance(one, _Met) else one for one in done]


def _with_unique_keys(edge: ApiContext, read: Sequence[_Read], now: int) -> list[_Read]:
    """Find the jobs that hold the unique keys; the first job under a key goes on with the id that the key names.

    A job that an Idempotency-Key has created already is repeated, whatever job the unique key names now.
    """
    asking = [one for one in read if isinstance(one, _Wanted) and one.spec.flow.unique and not one.errors_now]
    if not asking:
        return [*read]
    repeats = _repeats(edge, asking)
    found: dict[JobKey, _Read] = {
        one.spec.key: _repeated(one, repeats[one.spec.key]) for one in asking if one.spec.key in repeats
    }
    asking = [one for one in asking if one.spec.key not in found]
    for one, meant in zip(asking, meant_by(edge.context, [one.spec for one in asking], now), strict=True):
        named = replace(one, spec=meant.spec)
        found[one.spec.key] = named if meant.job is None else _Met(named, meant.job)
    return [found.get(one.spec.key, one) if isinstance(one, _Wanted) else one for one in read]


def _met(edge: ApiContext, request: Request, met: _Met) -> NewJob | ProblemError | None:
    """Return the job that holds the unique key, after it has collected the submit if it debounces; None: ask again."""
    try:
        check_standing(request, met.job.spec.tags)
    except ProblemError as refused:
        return refused
    if not collects_submits(met.job.spec):
        return NewJob(met.job, stood=True)
    depth, mark = generation_of(edge, request, 1), fingerprint(edge.random_bytes())
    run = collect_submit(edge.context, met.job, met.wanted.spec, mark, depth, request.by)
    if run is not None:
        return NewJob(met.job, stood=True)
    (named,) = meant_by(edge.context, [met.wanted.spec], edge.context.clock.now())
    return NewJob(met.job, stood=True) if named.job == met.job else None


def _with_parents(
    edge: ApiContext, request: Request, wanted: Sequence[_Wanted], lost: Collection[str], stood: Mapping[str, str]
) -> list[_Wanted]:
    """Return the wanted jobs with the parents that they name, parents first."""
    if not any(one.spec.depends_on for one in wanted):
        return list(wanted)
    by_key = {one.spec.key: one for one in wanted}
    items = [BatchItem(one.spec, one.ref, bool(one.errors_now)) for one in wanted]
    return [
        replace(
            one := by_key[item.spec.key],
            spec=item.spec,
            ancestors=item.ancestors,
            errors_now=[*one.errors_now, *item.errors],
        )
        for item in examine_together(edge.context, items, request.bounds, lost, stood)
    ]


def _read(edge: ApiContext, request: Request, asked: Asked, now: int) -> _Wanted | ProblemError:
    wanted, errors, errors_now = read_job_request(asked.body, now)
    if asked.errors or errors:
        return invalid([*errors, *asked.errors, *errors_now])
    named = job_id(edge.random_bytes()) if asked.key is None else job_id_of_key(request.tenant, asked.key)
    spec = spec_of(wanted, JobKey(request.tenant, named), fingerprint(canonical(asked.body)), now)
    try:
        check_job(request, wanted.tags)
        check_flow(edge, request, spec.flow)
    except ProblemError as refused:
        return refused
    errors_now = errors_now or unfit(edge, wanted, spec, None, now)
    errors_now = [*errors_now, *over_quotas(spec, None, quotas_of(edge, request))]
    return _Wanted(wanted, spec, asked.key is not None, errors_now, asked.ref)


def _with_task(wanted: _Wanted, tasks: Tasks, allowance: Allowance) -> _Wanted:
    errors = unfit_for_task(wanted.request, wanted.spec, tasks, allowance)
    return replace(wanted, errors_now=[*wanted.errors_now, *errors]) if errors else wanted


def _with_calendars(edge: ApiContext, read: Sequence[_Read], now: int) -> list[_Read]:
    """Note the calendars that the jobs will use; a job whose calendar does not exist gets an error."""
    specs = [one.spec for one in read if isinstance(one, _Wanted) and not one.errors_now]
    lacking = note_uses(edge.context, specs, now)
    return [
        replace(one, errors_now=[no_calendar()]) if isinstance(one, _Wanted) and one.spec.key in lacking else one
        for one in read
    ]


def _submitted(edge: ApiContext, request: Request, wanted: Sequence[_Wanted], now: int) -> dict[JobKey, _Done]:
    """Count jobs, then make rules for their patterns, then create them: a refused job leaves no rule behind."""
    depth = generation_of(edge, request, len(wanted)) if wanted else 0
    made: dict[JobKey, _Done] = {}
    try:
        counted = count_submits(edge, request, len(wanted))
    except ProblemError:
        jobs = _repeats(edge, wanted)
        if not jobs:
            raise
        made = {one.spec.key: _repeated(one, jobs[one.spec.key]) for one in wanted if one.spec.key in jobs}
        wanted = [one for one in wanted if one.spec.key not in jobs]
        counted = count_submits(edge, request, len(wanted))
    refused = unheard(edge, [one.spec for one in wanted], now)
    uncount_submits(edge, counted, len(refused))
    made |= _standing(edge, [one for one in wanted if one.spec.key in refused], refused)
    wanted = [one for one in wanted if one.spec.key not in refused]
    try:
        counted = count_again(edge, request, replace(counted, amount=len(wanted)))
    except ProblemError:
        give_rules_back(edge, [one.spec for one in wanted], now)
        raise
    ancestors = {one.spec.key: one.ancestors for one in wanted}
    submitted = submit(edge.context, [one.spec for one in wanted], now, request.by, depth, ancestors)
    stood = [done.outcome is not Submission.CREATED for done in submitted]
    uncount_submits(edge, counted, sum(stood))
    give_rules_back(edge, [one.spec for one, is_there in zip(wanted, stood, strict=True) if is_there], now)
    return made | {
        one.spec.key: NewJob(done.job) if done.outcome is Submission.CREATED else _found(edge, one, done)
        for one, done in zip(wanted, submitted, strict=True)
    }


def _found(edge: ApiContext, wanted: _Wanted, done: Submitted) -> _Done:
    """Return the job under the id: created by this very request before, or by another with the same unique key."""
    is_own = wanted.is_idempotent and done.outcome is Submission.REPEATED
    if wanted.spec.flow.unique is None or is_own:
        return _repeated(wanted, done.job)
    (job,) = edge.context.store.jobs.read([done.job.key], with_work=True)
    return _Met(wanted, job or done.job)


def _standing(
    edge: ApiContext, wanted: Sequence[_Wanted], problems: Mapping[JobKey, ProblemError]
) -> dict[JobKey, _Done]:
    """Return the job that an earlier request created with the same key, which stands; otherwise the problem."""
    jobs = _repeats(edge, wanted)
    keys = {one.spec.key: one for one in wanted}
    return {key: _repeated(one, jobs[key]) if key in jobs else problems[key] for key, one in keys.items()}


def _repeats(edge: ApiContext, wanted: Sequence[_Wanted]) -> dict[JobKey, Job]:
    """Read the jobs that earlier requests with the same keys have created."""
    keys = [one.spec.key for one in wanted if one.is_idempotent]
    jobs = edge.context.store.jobs.read(keys) if keys else []
    return {job.key: job for job in jobs if job is not None}


def _repeated(wanted: _Wanted, standing: Job) -> NewJob | ProblemError:
    """Return the job as it was at its creation, whatever has become of it since."""
    if standing.spec.fingerprint != wanted.spec.fingerprint:
        return key_conflict()
    spec = spec_of(wanted.request, wanted.spec.key, wanted.spec.fingerprint, standing.created_at)
    spec = replace(spec, depends_on=wanted.spec.depends_on)
    if spec.inherits:
        spec = replace(spec, schedule=standing.spec.schedule)
    creator = Actor(standing.created_by)
    return NewJob(new_job(spec, standing.created_at, Shards(1), by=creator), is_repeated=True)
