"""Jobs on their way from a valid request to a result: each step settles some of them, and the others go on.

A candidate under a unique key that a job holds already results in that job and creates none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from timeball.api.dependencies.examining import BatchItem, examine_together
from timeball.api.events.subscribing import give_rules_back, unheard
from timeball.api.http.access import check_standing
from timeball.api.http.depths import call_depth
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request, key_conflict, stale
from timeball.api.http.ids import fingerprint
from timeball.api.http.problems import FieldError, ProblemError, invalid
from timeball.api.http.quotas import count_again, count_submits, uncount_submits
from timeball.api.jobs.notify import kept_default
from timeball.api.jobs.request import JobRequest
from timeball.api.jobs.spec import Tasks, spec_of, tasks_of, unfit_for_task
from timeball.api.schedules.fields import no_calendar
from timeball.api.schemas.accepted import Allowance
from timeball.domain.changes.resolve import resolve
from timeball.domain.model.ids import JobKey, Shards, TaskKey
from timeball.domain.model.jobs.job import Job, JobSpec
from timeball.domain.model.jobs.job_states import new_job
from timeball.domain.model.tenants.actor import Actor
from timeball.domain.planning.collecting import collects_submits
from timeball.domain.sharing.submit_budget import Reservation
from timeball.engine.blackouts.calendars import note_uses
from timeball.engine.runs.trigger import collect_submit
from timeball.engine.scheduling.submit import Submission, Submitted, meant_by, submit


@dataclass(frozen=True)
class NewJob:
    """A created job, resolved; with `stood` the job that held the unique key, as it is now."""

    job: Job
    is_repeated: bool = False
    """Whether an earlier request with the same Idempotency-Key created it."""
    stood: bool = False
    """Whether it held the unique key already."""


@dataclass
class Candidate:
    """A job whose body is valid at any time."""

    request: JobRequest
    spec: JobSpec
    errors: list[FieldError]
    """What is wrong with it now."""
    ref: str | None = None
    """The name by which others of the batch refer to it."""
    is_repeatable: bool = False
    """Whether an Idempotency-Key names it."""
    is_own_id: bool = False
    """Whether the client chose its id: a job that has the id is a problem."""
    ancestors: int = 0
    """At least how many jobs it depends on, directly or not."""
    holder: Job | None = None
    """The job that holds its unique key."""
    result: NewJob | ProblemError | None = None

    @property
    def is_open(self) -> bool:
        """Whether it has neither a result nor a job that holds its unique key."""
        return self.result is None and self.holder is None

    @property
    def is_good(self) -> bool:
        """Whether it may still be created."""
        return self.is_open and not self.errors


Named = Mapping[str, str | ProblemError]
"""The results of other items of the batch by their names: the id of the job, or a problem."""
_NOTHING: Final[Named] = MappingProxyType({})


def settle(
    edge: ApiContext,
    request: Request,
    candidates: Sequence[Candidate],
    now: int,
    earlier: Named = _NOTHING,
) -> list[NewJob | ProblemError | None]:
    """Create each job, of which no two have the same unique key.

    None means that the run of the unique key's job has just begun, so the caller must ask again. Raises
    UnavailableError if it is unknown what was stored.
    """
    tasks = tasks_of(edge, request.tenant, [one.request for one in candidates])
    allowance = Allowance()
    for one in candidates:
        one.errors += unfit_for_task(one.request, one.spec, tasks, allowance)
    _find_holders(edge, candidates, now)
    _note_calendars(edge, candidates, now)
    ordered = _bind_parents(edge, request, candidates, earlier)
    _submit(edge, request, [one for one in ordered if one.is_good], now)
    _refuse(edge, ordered, {one.spec.key: invalid(one.errors) for one in ordered if one.errors})
    return [_result(edge, request, one, tasks) for one in candidates]


def _find_holders(edge: ApiContext, candidates: Sequence[Candidate], now: int) -> None:
    """Find the jobs that hold the unique keys; the first job under a key goes on with the id that the key names.

    A job that an Idempotency-Key has created already is repeated, whatever job the unique key names now.
    """
    asking = [one for one in candidates if one.spec.flow.unique and one.is_good]
    _repeat(edge, asking)
    asking = _open(asking)
    for one, meant in zip(asking, meant_by(edge.context, [one.spec for one in asking], now), strict=True):
        one.spec, one.holder = meant.spec, meant.job


def _note_calendars(edge: ApiContext, candidates: Sequence[Candidate], now: int) -> None:
    """Note the calendars that the jobs will use; a job whose calendar does not exist gets an error."""
    good = [one for one in candidates if one.is_good]
    lacking = note_uses(edge.context, [one.spec for one in good], now)
    for one in good:
        if one.spec.key in lacking:
            one.errors = [no_calendar()]


def _bind_parents(
    edge: ApiContext, request: Request, candidates: Sequence[Candidate], earlier: Named
) -> list[Candidate]:
    """Bind the open candidates to the parents that they name, and return them with parents first."""
    left = {one.spec.key: one for one in _open(candidates)}
    if not any(one.spec.depends_on for one in left.values()):
        return list(left.values())
    known = _results_by_ref(candidates, earlier)
    items = [BatchItem(one.spec, one.ref, bool(one.errors)) for one in left.values()]
    lost = {ref for ref, result in known.items() if isinstance(result, ProblemError)}
    standing = {ref: result for ref, result in known.items() if isinstance(result, str)}
    ordered = examine_together(edge.context, items, request.bounds, lost, standing)
    for item in ordered:
        one = left[item.spec.key]
        one.spec, one.ancestors = item.spec, item.ancestors
        one.errors += item.errors
    return [left[item.spec.key] for item in ordered]


def _results_by_ref(candidates: Sequence[Candidate], earlier: Named) -> Named:
    """Return the results so far by the refs of their items."""
    known = {**earlier}
    for one in candidates:
        result = one.result if one.holder is None else NewJob(one.holder)
        if one.ref and result:
            known[one.ref] = result.job.key.job_id if isinstance(result, NewJob) else result
    return known


def _submit(edge: ApiContext, request: Request, candidates: Sequence[Candidate], now: int) -> None:
    """Count jobs, then make rules for their patterns, then create them: a refused job leaves no rule behind."""
    if not candidates:
        return
    depth = call_depth(edge, request, len(candidates))
    counted = _count(edge, request, candidates)
    refused = unheard(edge, [one.spec for one in _open(candidates)], now)
    uncount_submits(edge, counted, len(refused))
    _refuse(edge, candidates, refused)
    good = _open(candidates)
    try:
        counted = count_again(edge, request, replace(counted, amount=len(good)))
    except ProblemError:
        give_rules_back(edge, [one.spec for one in good], now)
        raise
    ancestors = {one.spec.key: one.ancestors for one in good}
    submitted = submit(edge.context, [one.spec for one in good], now, request.by, depth, ancestors, request.key_name)
    stood = [done.outcome is not Submission.CREATED for done in submitted]
    uncount_submits(edge, counted, sum(stood))
    give_rules_back(edge, [one.spec for one, is_there in zip(good, stood, strict=True) if is_there], now)
    for one, done in zip(good, submitted, strict=True):
        _conclude(edge, one, done)


def _count(edge: ApiContext, request: Request, candidates: Sequence[Candidate]) -> Reservation:
    """Count jobs. Over a quota, count only those that no earlier request with the same key has created."""
    try:
        return count_submits(edge, request, len(candidates))
    except ProblemError:
        _repeat(edge, candidates)
        left = _open(candidates)
        if len(left) == len(candidates):
            raise
        return count_submits(edge, request, len(left))


def _conclude(edge: ApiContext, one: Candidate, done: Submitted) -> None:
    """Give a candidate its result: the id may belong to a job of this very request, or of the same unique key."""
    is_repeated = one.is_repeatable and done.outcome is Submission.REPEATED
    if done.outcome is Submission.CREATED:
        one.result = NewJob(done.job)
    elif one.is_own_id:
        one.result = stale("job", done.job.version, "replace")
    elif one.spec.flow.unique is None or is_repeated:
        one.result = _repeated(one, done.job)
    else:
        (job,) = edge.context.store.jobs.read([done.job.key], with_work=True)
        one.holder = job or done.job


def _refuse(edge: ApiContext, candidates: Sequence[Candidate], problems: Mapping[JobKey, ProblemError]) -> None:
    """Give candidates their problems; a job that an earlier request with the same key created stands."""
    refused = [one for one in candidates if one.spec.key in problems]
    _repeat(edge, refused)
    for one in refused:
        one.result = one.result or problems[one.spec.key]


def _repeat(edge: ApiContext, candidates: Sequence[Candidate]) -> None:
    """Give candidates the jobs that earlier requests with the same keys have created."""
    repeatable = [one for one in candidates if one.is_repeatable]
    jobs = edge.context.store.jobs.read([one.spec.key for one in repeatable]) if repeatable else []
    for one, job in zip(repeatable, jobs, strict=True):
        if job is not None:
            one.result = _repeated(one, job)


def _open(candidates: Sequence[Candidate]) -> list[Candidate]:
    return [one for one in candidates if one.is_open]


def _repeated(one: Candidate, standing: Job) -> NewJob | ProblemError:
    """Return the job as it was at its creation, whatever has become of it since."""
    if standing.spec.fingerprint != one.spec.fingerprint:
        return key_conflict()
    default = kept_default(standing.spec.notify)
    spec = spec_of(one.request, one.spec.key, one.spec.fingerprint, standing.created_at, default)
    spec = replace(spec, depends_on=one.spec.depends_on)
    if spec.inherits:
        spec = replace(spec, schedule=standing.spec.schedule)
    creator = Actor(standing.created_by)
    job = new_job(spec, standing.created_at, Shards(1), by=creator, owner=standing.default_owner)
    return NewJob(job, is_repeated=True)


def _result(edge: ApiContext, request: Request, one: Candidate, tasks: Tasks) -> NewJob | ProblemError | None:
    if one.holder is not None:
        return _held(edge, request, one.spec, one.holder)
    if not isinstance(one.result, NewJob) or one.spec.task is None:
        return one.result
    task = tasks.get(TaskKey(request.tenant, one.spec.task.task_id))
    return replace(one.result, job=resolve(task, one.result.job))


def _held(edge: ApiContext, request: Request, wanted: JobSpec, holder: Job) -> NewJob | ProblemError | None:
    """Return the job that holds the unique key, after it has collected the submit if it debounces; None: ask again."""
    try:
        check_standing(request, holder.spec.tags)
    except ProblemError as refused:
        return refused
    if not collects_submits(holder.spec):
        return NewJob(holder, stood=True)
    depth, mark = call_depth(edge, request, 1), fingerprint(edge.random_bytes())
    run = collect_submit(edge.context, holder, wanted, mark, depth, request.by)
    if run is not None:
        return NewJob(holder, stood=True)
    (named,) = meant_by(edge.context, [wanted], edge.context.clock.now())
    return NewJob(holder, stood=True) if named.job == holder else None
