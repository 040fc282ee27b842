"""A request that comes from a call of Timeball's says so, and is of a generation; there are five of them.

A target hands on the headers of the call: `Timeball-Depth`, or `Timeball-Run-Id`, by which the depth is found. Whoever
hands on neither is a user.
"""

import re
from typing import Final

from functions.api.http.edge import Edge
from functions.api.http.problems import FieldError, Problem, ProblemError, invalid, over_quota
from functions.api.http.request import Request
from timeball.domain.model.ids import RunId
from timeball.domain.planning.generations import MOST, next_generation
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.registers.windows import Window

DEPTH: Final = "Timeball-Depth"
RUN_ID: Final = "Timeball-Run-Id"
QUOTA: Final = "requestsPerJobAndMinute"

HEADERS: Final = (DEPTH, RUN_ID)
PROBLEMS: Final = (Problem.TOO_DEEP, Problem.QUOTA_EXCEEDED)
"""What a route takes that makes something, and what may be wrong with it."""

_NUMBER: Final = re.compile(r"\d{1,4}", re.ASCII)


def generation_of(edge: Edge, request: Request, amount: int = 1) -> int:
    """Return of which generation are the things that a request makes: 0 if it comes from no call of Timeball's.

    Raises ProblemError for one generation too many, and if the calls of a job have asked for too much in this minute.
    """
    run = _run(request)
    depth = _depth(edge, request, run)
    if depth is None:
        return 0
    generation = next_generation(depth)
    if generation is None:
        raise ProblemError(
            Problem.TOO_DEEP,
            f"This comes from a run that {MOST} generations of calls led to, so nothing more is made: jobs that make "
            "jobs would never end. If that is meant, let a service of yours ask, without Timeball's headers.",
        )
    if run is not None:
        _count(edge, request, run, amount)
    return generation


def given_depth(request: Request) -> int | None:
    """Return the depth that a request hands on; None: it hands on none. Raises ProblemError for what is no depth."""
    text = request.headers.get(DEPTH.lower())
    if text is not None and not _NUMBER.fullmatch(text.strip()):
        raise invalid([FieldError(DEPTH, "Hand on the number that the call brought, or leave it out.")])
    return None if text is None else int(text)


def _run(request: Request) -> RunId | None:
    text = request.headers.get(RUN_ID.lower())
    return None if text is None else RunId.parse(request.tenant, text.strip())


def _depth(edge: Edge, request: Request, run: RunId | None) -> int | None:
    """Return the depth of the run whose call it is; None: of none."""
    depth = given_depth(request)
    if depth is not None:
        return depth
    row = None if run is None else edge.context.store.runs.read([run])[0]
    return None if row is None else row.depth


def _count(edge: Edge, request: Request, run: RunId, amount: int) -> None:
    """Count what a job's calls ask for. Raises ProblemError if that would be too much in this minute.

    A key that is bounded to tags counts for itself: it may name a job outside, and is to take nothing from that.
    """
    now, most = edge.context.clock.now(), edge.context.rules.requests_per_job_and_minute
    counted = f"calls-of#{run.job.job_id}" + (f"#{request.by.key_id}" if request.bounds else "")
    window = Window(run.job.tenant, counted, now - now % MINUTE_MS, 60)
    if not edge.context.store.windows.take(window, amount, most):
        raise over_quota(
            QUOTA,
            f"The calls of job {run.job.job_id} may ask for {most} things in a minute; ask again in the next.",
            -(-(window.ends_at - now) // SECOND_MS),
        )
