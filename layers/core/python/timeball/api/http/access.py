"""Access to routes and jobs: the least role of each access, and the tags that a key is bounded to.

Invariants: every route declares its access, and a role that is not listed here may do nothing. The endpoint of every
route calls `check_reach`. So a bounded key reaches only jobs that have all of its tags, what belongs to them, and
routes that check the tags themselves (`keeps_bounds`); every other route is closed to it, also a future one. Each
operation that creates or changes a job calls `check_job` and `check_flow`.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from timeball.api.http.edge import ApiContext, no_job, no_run
from timeball.api.http.exchange import Request
from timeball.api.http.problems import Problem, ProblemError
from timeball.domain.model.ids import JOB_ID, JobKey, LimiterKey, RunId
from timeball.domain.model.jobs.job import Job
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.tenants.key import Role
from timeball.domain.model.terms.flow import ConcurrencyLimit, Flow, RateLimit


class Access(Enum):
    """What a route requires of its caller."""

    PUBLIC = auto()
    """Nothing, not even a key."""
    IDENTIFY = auto()
    """To read who one is: any key may."""
    SIGN_IN = auto()
    """To begin and end sessions: to read, for a while."""
    READ = auto()
    """To read; nothing is changed."""
    SUBMIT = auto()
    """To create and change jobs."""
    OPERATE = auto()
    """To intervene in runs, dead letters and backfills, and to manage what jobs share."""
    REPORT = auto()
    """To report, as its target, how an attempt proceeds or ended."""
    ADMINISTER = auto()
    """To read one's own tenant and manage its keys."""
    ADMINISTER_ALL = auto()
    """To manage tenants: only for an admin of the operating tenant."""


_LEAST: Final[Mapping[Access, Role]] = {
    Access.SIGN_IN: Role.VIEWER,
    Access.READ: Role.VIEWER,
    Access.SUBMIT: Role.SUBMITTER,
    Access.OPERATE: Role.OPERATOR,
    Access.REPORT: Role.WORKER,
    Access.ADMINISTER: Role.ADMIN,
    Access.ADMINISTER_ALL: Role.ADMIN,
}
"""The least role that has each access; roles that include this role have the access too."""


def roles_for(access: Access) -> tuple[Role, ...]:
    """Return the roles that have an access, the least role first; empty if no key is needed."""
    if access is Access.IDENTIFY:
        return tuple(reversed(Role))
    least = _LEAST.get(access)
    return () if least is None else tuple(role for role in reversed(Role) if role.includes(least))


def refusal(access: Access, role: str | None, *, is_operating: bool) -> str | None:
    """Return why a role may not have an access, in one sentence; None if it may.

    `is_operating` says that the role is one in the operating tenant.
    """
    if access is Access.PUBLIC:
        return None
    needed = roles_for(access)
    if role not in needed:
        return f"This needs a key with the role {either(needed)}; yours has the role {role or 'none'}."
    if access is Access.ADMINISTER_ALL and not is_operating:
        return (
            "This needs a key with the role admin in the tenant that operates this Timeball; yours belongs to another."
        )
    return None


def either(roles: tuple[Role, ...]) -> str:
    """Return the names of roles as a phrase, such as "operator or admin"."""
    *others, last = roles
    return f"{', '.join(others)} or {last}" if others else last


def are_within(tags: Mapping[str, str], bounds: Mapping[str, str]) -> bool:
    """Say whether a job with these tags is within bounds."""
    return bounds.items() <= tags.items()


def is_seen(request: Request, job: Job) -> bool:
    """Say whether a job is within the bounds of the key."""
    return are_within(job.spec.tags, request.bounds)


def check_reach(edge: ApiContext, request: Request, *, may_create: bool) -> None:
    """Raise ProblemError if a bounded key may not reach the resource of a request; reads the job for such keys only.

    A job that does not exist is within no bounds, because its runs may still exist; `may_create` says that the request
    may create it.
    """
    if not request.bounds:
        return
    if not {"jobId", "runId"} & request.path.keys():
        raise _refused(request, "may use only its jobs and their runs")
    key = _job_of(request)
    if key is None:
        return  # nothing can have this id; the operation says so
    job = edge.context.store.jobs.read([key])[0]
    if job is None and may_create:
        return
    if job is None or not is_seen(request, job):
        raise no_job() if "jobId" in request.path else no_run()


def check_job(request: Request, tags: Mapping[str, str] | None) -> None:
    """Raise ProblemError if the key may not create a job with these tags."""
    if not are_within(tags or {}, request.bounds):
        raise _refused(request, "may create only jobs with these tags")


def check_flow(edge: ApiContext, request: Request, flow: Flow, before: Flow | None = None) -> None:
    """Raise ProblemError if a job of a bounded key would change a limit that other jobs of the tenant share.

    Jobs that the API key does not see may share a limit, and a job that names a limit also states its bounds. So a
    bounded API key may name only limits that a person has set, and limits that the job named before. Reads the limits
    for bounded API keys only.
    """
    had = () if before is None else (before.concurrency, before.rate)
    named = [one for one in (flow.concurrency, flow.rate) if one is not None and one not in had]
    if not request.bounds or not named:
        return
    names = list(dict.fromkeys(one.name for one in named))
    keys = [LimiterKey(request.tenant, name) for name in names]
    rows = dict(zip(names, edge.context.store.limiters.read(keys), strict=True))
    for one in named:
        row = rows[one.name]
        if row is None or not _is_decided(one, row.fixed.bounds):
            raise _refused(request, "may name only limits that are set at /v1/limits; ask an operator to set this one")


def _is_decided(named: ConcurrencyLimit | RateLimit, fixed: Bounds) -> bool:
    """Say whether a job that names a limit cannot change what the limit allows."""
    if isinstance(named, ConcurrencyLimit):
        return fixed.slots is not None
    return fixed.per_second is not None and (fixed.burst is not None or named.burst == 1)


def check_standing(request: Request, tags: Mapping[str, str]) -> None:
    """Raise ProblemError if the job that holds a unique key has tags that the API key does not see."""
    if not are_within(tags, request.bounds):
        raise _refused(request, "a job outside of them has this uniqueKey; choose another")


def _job_of(request: Request) -> JobKey | None:
    name = request.path.get("jobId")
    if name is not None:
        return JobKey(request.tenant, name) if JOB_ID.fullmatch(name) else None
    run = RunId.parse(request.tenant, request.path["runId"])
    return None if run is None else run.job


def _refused(request: Request, what: str) -> ProblemError:
    tags = ", ".join(f"{key}:{value}" for key, value in request.bounds.items())
    return ProblemError(Problem.FORBIDDEN, f"Your key is bounded to the tags {tags}, and {what}.")
