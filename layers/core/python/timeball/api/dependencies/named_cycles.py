"""Check whether a request may run a whole graph: its size, its first job, and the bounds of the key."""

from typing import Final

from timeball.api.http.access import are_within
from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import Problem, ProblemError
from timeball.domain.dependencies.named_cycle import MAX_JOBS, MAX_RUNS
from timeball.domain.model.jobs.job import Job
from timeball.domain.time.instants import SECOND_MS
from timeball.engine.dependencies.named_cycles import read_descendants
from timeball.engine.dependencies.walking import WALK_MS

MOST_AT_ONCE: Final = 1_000
"""A request inserts the rows of so many jobs itself; for more a scan does it."""


def check_graph(edge: ApiContext, request: Request, job: Job, cycles: int = 1) -> int:
    """Check that a request may run a job and all jobs that depend on it, in some cycles; return how many depend on it.

    Raises ProblemError.
    """
    if job.spec.schedule.is_one_off:
        raise no_cycles()
    now = edge.context.clock.now()
    members, is_cut = read_descendants(edge.context, job, stop_at=now + WALK_MS)
    if not all(are_within(member.spec.tags, request.bounds) for member in members):
        raise ProblemError(
            Problem.FORBIDDEN,
            "Your key is bounded to tags, and jobs without them would also run.",
        )
    if is_cut:
        raise ProblemError(
            Problem.GRAPH_TOO_LARGE,
            f"A cycle may have {MAX_JOBS} jobs, in as many levels as are read within {WALK_MS // SECOND_MS} s; more "
            "depend on this one, so begin with one of these.",
        )
    if (1 + len(members)) * cycles > MAX_RUNS:
        raise ProblemError(
            Problem.GRAPH_TOO_LARGE,
            f"A backfill may have {MAX_RUNS} runs, and {cycles} cycles of {1 + len(members)} jobs are more; "
            f"give a range of at most {MAX_RUNS // (1 + len(members))} fire times.",
        )
    return len(members)


def no_cycles() -> ProblemError:
    """Return the problem for a whole cycle of a job that runs once."""
    return ProblemError(
        Problem.NO_CYCLES,
        "The job runs once, so it has one cycle alone; run that again instead.",
    )
