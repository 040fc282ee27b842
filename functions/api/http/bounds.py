"""A key that is bounded to tags sees and makes only jobs that have all of them.

Invariant: app.py asks `check_reach` before every operation. So a bounded key reaches what belongs to a job within its
bounds, and the routes that keep to them by themselves (`keeps_bounds`); whatever else there is or comes is closed.
Each operation that makes a job, or changes what it is, asks `check_job` and `check_flow`.
"""

from collections.abc import Mapping

from functions.api.http.edge import Edge, no_job, no_run
from functions.api.http.problems import Problem, ProblemError
from functions.api.http.request import Request
from functions.api.http.route import Route
from timeball.domain.model.ids import JOB_ID, JobKey, LimiterKey, RunId
from timeball.domain.model.runs.limiter import Bounds
from timeball.domain.model.terms.flow import ConcurrencyKey, Flow, RateKey


def are_within(tags: Mapping[str, str], bounds: Mapping[str, str]) -> bool:
    """Say whether a job with these tags lies within bounds."""
    return bounds.items() <= tags.items()


def check_reach(edge: Edge, route: Route, request: Request) -> None:
    """Raise ProblemError if a bounded key may not reach what a request is about; reads the job, for such a key alone.

    A job that is gone lies within no bounds, for its runs may be there still; but a PUT may make one.
    """
    if not request.bounds or route.keeps_bounds or route.is_public:
        return
    if not {"jobId", "runId"} & request.path.keys():
        raise _refused(request, "may use no more than its jobs and their runs")
    key = _job_of(request)
    if key is None:
        return  # nothing is called so, as the operation will tell
    job = edge.context.store.jobs.read([key])[0]
    if job is None and route.method == "PUT":
        return
    if job is None or not are_within(job.spec.tags, request.bounds):
        raise no_job() if "jobId" in request.path else no_run()


def check_job(request: Request, tags: Mapping[str, str] | None) -> None:
    """Raise ProblemError if a job with these tags is none that a key may make."""
    if not are_within(tags or {}, request.bounds):
        raise _refused(request, "makes only jobs with these tags")


def check_flow(edge: Edge, request: Request, flow: Flow, before: Flow | None = None) -> None:
    """Raise ProblemError if a job of a bounded key would decide what a flow key of the tenant allows.

    A flow key is shared with jobs that the API key does not see, and a job that names it says what it allows. So a
    bounded key names only flow keys that a person has set, and what the job had before. Reads the flow keys, for such
    an API key alone.
    """
    had = () if before is None else (before.concurrency, before.rate)
    named = [one for one in (flow.concurrency, flow.rate) if one is not None and one not in had]
    if not request.bounds or not named:
        return
    names = list(dict.fromkeys(one.key for one in named))
    keys = [LimiterKey(request.tenant, name) for name in names]
    rows = dict(zip(names, edge.context.store.limiters.read(keys), strict=True))
    for one in named:
        row = rows[one.key]
        if row is None or not _is_decided(one, row.fixed.bounds):
            raise _refused(request, "names only flow keys whose bounds stand; have them set at /v1/keys")


def _is_decided(named: ConcurrencyKey | RateKey, fixed: Bounds) -> bool:
    """Say whether nothing that a job says of a key changes what the key allows."""
    if isinstance(named, ConcurrencyKey):
        return fixed.places is not None
    return fixed.per_second is not None and (fixed.burst is not None or named.burst == 1)


def check_standing(request: Request, tags: Mapping[str, str]) -> None:
    """Raise ProblemError if the job for which a unique key stands has tags that a key does not see."""
    if not are_within(tags, request.bounds):
        raise _refused(request, "a job without them has this uniqueKey; choose another")


def _job_of(request: Request) -> JobKey | None:
    name = request.path.get("jobId")
    if name is not None:
        return JobKey(request.tenant, name) if JOB_ID.fullmatch(name) else None
    run = RunId.parse(request.tenant, request.path["runId"])
    return None if run is None else run.job


def _refused(request: Request, what: str) -> ProblemError:
    tags = ", ".join(f"{key}:{value}" for key, value in request.bounds.items())
    return ProblemError(Problem.FORBIDDEN, f"Your key is bounded to the tags {tags}, and {what}.")
