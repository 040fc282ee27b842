"""A key that is bounded to tags sees and makes only jobs that have all of them.

Invariant: app.py asks `check_reach` before every operation. So a bounded key reaches what belongs to a job within its
bounds, and the routes that keep to them by themselves (`keeps_bounds`); whatever else there is or comes is closed.
Whoever makes a job, or changes what it is, asks `check_job`.
"""

from collections.abc import Mapping

from functions.api.http.edge import Edge, no_job, no_run
from functions.api.http.problems import Problem, ProblemError
from functions.api.http.request import Request
from functions.api.http.route import Route
from timeball.domain.model.ids import JOB_ID, JobKey, RunId


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
