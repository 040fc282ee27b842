"""Check whether a request may run a whole graph: its size, its first job, and the bounds of the key."""

from timeball.api.http.access import are_within
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import Problem, ProblemError
from timeball.domain.dependencies.named_cycle import MAX_JOBS, MAX_RUNS
from timeball.domain.model.jobs.job import Job
from timeball.engine.dependencies.named_cycles import read_descendants


def check_graph(edge: ApiContext, request: Request, job: Job, cycles: int = 1) -> None:
    """Check that a request may run a job and all jobs that depend on it, in some cycles. Raises ProblemError."""
    if job.spec.schedule.is_one_off:
        raise no_cycles()
    members = read_descendants(edge.context, job)
    if not all(are_within(member.spec.tags, request.bounds) for member in members):
        raise ProblemError(
            Problem.FORBIDDEN,
            "Your key is bounded to tags, and jobs without them would also run.",
        )
    if len(members) >= MAX_JOBS:
        raise ProblemError(
            Problem.GRAPH_TOO_LARGE,
            f"A cycle may have {MAX_JOBS} jobs, and more depend on this one; begin with one of these.",
        )
    if (1 + len(members)) * cycles > MAX_RUNS:
        raise ProblemError(
            Problem.GRAPH_TOO_LARGE,
            f"A backfill may have {MAX_RUNS} runs, and {cycles} cycles of {1 + len(members)} jobs are more; "
            f"give a range of at most {MAX_RUNS // (1 + len(members))} fire times.",
        )


def no_cycles() -> ProblemError:
    """Return the problem for a whole cycle of a job that runs once."""
    return ProblemError(
        Problem.NO_CYCLES,
        "The job runs once, so it has one cycle alone; run that again instead.",
    )
