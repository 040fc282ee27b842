"""Depths: a user's request has depth 0, and a request from a call of a run has the next depth after the run's.

So a target that creates or starts jobs endlessly, or by mistake, multiplies them five times and no more. The target
passes on a header of the call: `Timeball-Depth`, or `Timeball-Run-Id`, from which the depth is looked up. A
request with neither header counts as a user's.
"""

import re
from typing import Final

from timeball.api.http.edge import ApiContext
from timeball.api.http.exchange import Request
from timeball.api.http.problems import FieldError, Problem, ProblemError, invalid, over_quota
from timeball.domain.model.ids import RunId
from timeball.domain.time.instants import MINUTE_MS, SECOND_MS
from timeball.ports.counters import CountWindow

MOST: Final = 5


def next_depth(depth: int) -> int | None:
    """Return the depth of work that a run's call makes; None: the call must not make any."""
    return depth + 1 if depth < MOST else None


DEPTH: Final = "Timeball-Depth"
RUN_ID: Final = "Timeball-Run-Id"
QUOTA: Final = "requestsPerJobAndMinute"

HEADERS: Final = (DEPTH, RUN_ID)
PROBLEMS: Final = (Problem.TOO_DEEP, Problem.QUOTA_EXCEEDED)
"""The headers of a route that creates something, and the problems that they may cause."""

_NUMBER: Final = re.compile(r"\d{1,4}", re.ASCII)


def call_depth(edge: ApiContext, request: Request, amount: int = 1) -> int:
    """Return the depth of what a request creates: 0 if the request does not come from a call of Timeball.

    Raises ProblemError beyond the greatest depth, and if the calls of one job have asked for too much in this minute.
    """
    run = _run(request)
    depth = _depth(edge, request, run)
    if depth is None:
        return 0
    following = next_depth(depth)
    if following is None:
        raise ProblemError(
            Problem.TOO_DEEP,
            f"This request comes from a run of depth {MOST}, the greatest, so nothing is created: jobs that create "
            "jobs would never end. If you mean it, send the request from a service of yours, without Timeball's "
            "headers.",
        )
    if run is not None:
        _count(edge, request, run, amount)
    return following


def given_depth(request: Request) -> int | None:
    """Return the depth in the request's header; None without one. Raises ProblemError if it is not a number."""
    text = request.headers.get(DEPTH.lower())
    if text is not None and not _NUMBER.fullmatch(text.strip()):
        raise invalid([FieldError(DEPTH, "Pass on the number from the call's header, or leave it out.")])
    return None if text is None else int(text)


def _run(request: Request) -> RunId | None:
    text = request.headers.get(RUN_ID.lower())
    return None if text is None else RunId.parse(request.tenant, text.strip())


def _depth(edge: ApiContext, request: Request, run: RunId | None) -> int | None:
    """Return the depth of the run whose call sent the request; None if no run's call did."""
    depth = given_depth(request)
    if depth is not None:
        return depth
    row = None if run is None else edge.context.store.runs.read([run])[0]
    return None if row is None else row.depth


def _count(edge: ApiContext, request: Request, run: RunId, amount: int) -> None:
    """Count what a job's calls ask for. Raises ProblemError if that is too much in this minute.

    A key that is bounded to tags has a counter of its own: it may name a job outside its bounds, and must not use up
    that job's allowance.
    """
    now, most = edge.context.clock.now(), edge.context.rules.requests_per_job_and_minute
    counted = f"calls-of#{run.job.job_id}" + (f"#{request.by.key_id}" if request.bounds else "")
    window = CountWindow(run.job.tenant, counted, now - now % MINUTE_MS, 60)
    if not edge.context.store.windows.take(window, amount, most):
        raise over_quota(
            QUOTA,
            f"The calls of job {run.job.job_id} may create {most} things a minute; repeat this in the next minute.",
            -(-(window.ends_at - now) // SECOND_MS),
        )
