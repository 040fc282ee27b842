"""Jobs that are about to have a pattern get a rule on the bus; patterns that no job needs any more lose theirs."""

import logging
from collections.abc import Sequence

from functions.api.http.edge import Edge
from functions.api.http.problems import FieldError
from timeball.domain.model.ids import JobKey
from timeball.domain.model.jobs.job import JobSpec
from timeball.domain.planning.events import subscription_of
from timeball.engine.events.subscribe import retire_unneeded, subscribe
from timeball.ports.errors import UnavailableError

log = logging.getLogger(__name__)


def unheard(edge: Edge, specs: Sequence[JobSpec], now: int) -> dict[JobKey, FieldError]:
    """Let the bus match the patterns of jobs; return what is wrong with those that it cannot."""
    if not any(spec.event for spec in specs):
        return {}
    refusals = subscribe(edge.context, edge.events, specs, now)
    return {key: FieldError("event", sentence) for key, sentence in refusals.items()}


def let_go(edge: Edge, spec: JobSpec) -> None:
    """Remove the rule of a pattern that a job had, if no other job needs it; else, or later, somebody else will."""
    key = subscription_of(spec)
    if key is None:
        return
    try:
        retire_unneeded(edge.context, edge.events, [key])
    except UnavailableError as unavailable:
        log.warning("a rule that nobody needs may be left: %s", unavailable)
