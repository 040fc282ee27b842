"""The trace context of a request: a run that happens once because of the request continues its trace (W3C).

A malformed context is ignored, as the standard says. The runs of a recurring job continue no trace: it would never end.
"""

from typing import Final

from timeball.api.http.exchange import Request
from timeball.domain.attempts.trace_context import parse_traceparent
from timeball.domain.model.evolve import evolve
from timeball.domain.model.jobs.job import JobSpec

TRACEPARENT: Final = "traceparent"

HEADERS: Final = (TRACEPARENT,)
"""The header of a route that makes a run."""


def trace_of(request: Request) -> str | None:
    """Return the trace context of a request; None: it has none that is valid."""
    return parse_traceparent(request.headers.get(TRACEPARENT))


def traced(request: Request, spec: JobSpec) -> JobSpec:
    """Return a job's spec with the trace context of the request for it, if the job runs once."""
    context = trace_of(request) if spec.schedule.is_one_off else None
    return spec if context == spec.traceparent else evolve(spec, traceparent=context)
