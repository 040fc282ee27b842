"""Read all runs of a graph's cycle, with their dependencies, in one request."""

from urllib.parse import unquote

from timeball.api.cycles.answers import CycleAnswer, cycle_answer
from timeball.api.http.access import Access
from timeball.api.http.bounds import are_within
from timeball.api.http.edge import ApiContext, job_key, read_job_row
from timeball.api.http.problems import FieldError, ProblemError, invalid, not_found
from timeball.api.http.reply import Reply, ok
from timeball.api.http.request import Request
from timeball.api.http.route import Router
from timeball.domain.model.jobs.job import Job
from timeball.domain.time.instants import format_instant, parse_instant
from timeball.engine.dependencies.graph_views import own_fire, read_cycle

router = Router()


@router.get(
    "/v1/cycles/{jobId}/{fireTime}",
    "Read all runs of a graph's cycle, with their dependencies",
    CycleAnswer,
    access=Access.READ,
)
def get_cycle(edge: ApiContext, request: Request) -> Reply:
    """Read all runs of a graph's cycle. A key that is bounded to tags sees only jobs within its bounds."""
    fire_at = fire_time_in(request)
    job = read_job_row(edge, job_key(request))
    cycle = read_cycle(edge.context, job, fire_at)
    if cycle is None:
        raise no_cycle(job)
    shown = [node for node in cycle.nodes if are_within(node.job.spec.tags, request.bounds)]
    return ok(cycle_answer(job.key.job_id, fire_at, shown, edge.page_bytes, is_cut=cycle.is_cut))


def fire_time_in(request: Request) -> int:
    """Return the fire time (ms) in a path. Raises ProblemError if it is not a time."""
    try:
        return parse_instant(unquote(request.path["fireTime"]).replace(" ", "+"))
    except ValueError as bad:
        raise invalid([FieldError("fireTime", str(bad))]) from None


def no_cycle(job: Job) -> ProblemError:
    """Return the problem for a fire time that a graph does not have."""
    fire_at = own_fire(job)
    if not job.spec.schedule.is_one_off or fire_at is None:
        return not_found("The job has no such fire time; list its runs at /v1/jobs/{jobId}/runs.")
    return not_found(f"No job of this graph has this fire time; this job's is {format_instant(fire_at)}.")
